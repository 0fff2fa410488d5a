//! What each operation does when its worker was picked.

use super::queue::Selection;
use super::{Performed, Request, Runtime, Wake, mutex};
use crate::outcome::{Bug, BugKind};
use coyote_strategies::{Class, Effect, OpKind, Standing, WorkerId};

/// Where workers wait for a notification.
#[derive(Clone, Copy)]
enum Place {
    Condvar(u32),
    Futex(u32),
}

impl Runtime {
    /// Executes the pending operation of an enabled worker. `values` are the data values chosen for it
    /// so far, `read` reads up to 8 bytes of guest memory as a little-endian number.
    #[inline]
    pub fn perform(
        &mut self,
        id: WorkerId,
        values: &[u64],
        read: &mut dyn FnMut(u32, u8) -> Option<u64>,
    ) -> Performed {
        debug_assert_eq!(self.pending[id.index()].standing, Standing::Enabled);
        let request = self.workers[id.index()].request;
        let performed = match request {
            Request::Step => {
                self.touch_plainly(id);
                Performed::Continue(0)
            }
            _ => self.perform_request(id, request, values, read),
        };
        match performed {
            Performed::NeedsValue(_) => return performed,
            // A worker that runs has nothing pending.
            Performed::Continue(_) => self.workers[id.index()].request = Request::Step,
            _ => {}
        }
        self.stepped(id);
        performed
    }

    fn perform_request(
        &mut self,
        id: WorkerId,
        request: Request,
        values: &[u64],
        read: &mut dyn FnMut(u32, u8) -> Option<u64>,
    ) -> Performed {
        let misuse =
            |message: String| Performed::Bug(Bug { kind: BugKind::Misuse, message, worker: Some(id) });
        let worker = &mut self.workers[id.index()];
        if worker.waiting && !matches!(request, Request::Relock { .. }) {
            worker.waiting = false;
            let timed_out = worker.wake.take() == Some(Wake::TimedOut);
            self.footprint.touch(Class::Wake, Effect::Await, id.0.into());
            let result = if timed_out && matches!(request, Request::FutexWait { .. }) { 2 } else { 0 };
            return Performed::Continue(result);
        }
        match request {
            Request::Step => Performed::Continue(0),
            Request::Spawn(start) => {
                let child = self.create(Some(id), start);
                Performed::Continue(i64::from(child.0))
            }
            Request::Join { handle } if handle as usize >= self.workers.len() => {
                misuse(format!("join of worker {handle}, which does not exist"))
            }
            Request::Join { handle } => {
                self.footprint.touch(Class::End, Effect::Await, handle.into());
                Performed::Continue(0)
            }
            Request::Exit => Performed::Ended,
            Request::ProcessExit { code: 0 } => Performed::Exited,
            Request::ProcessExit { code } => Performed::Bug(Bug {
                kind: BugKind::ExitCode,
                message: format!("the program ended with exit code {code}"),
                worker: Some(id),
            }),
            Request::Sleep { span_ns } => self.block(id, Some(span_ns)),
            Request::Lock { mutex } => {
                self.footprint.touch(Class::Mutex, Effect::Acquire, mutex.into());
                let taken = self.mutexes.update(mutex, |m| m.try_lock(id));
                assert!(taken, "this is a bug in coyote-wasm: a lock was performed while taken");
                // It does not want the mutex any more: what follows must not block it.
                self.workers[id.index()].request = Request::Step;
                self.mutex_changed(mutex);
                Performed::Continue(0)
            }
            Request::TryLock { mutex } => {
                let taken = self.mutexes.update(mutex, |m| m.try_lock(id));
                let effect = if taken { Effect::TryAcquire } else { Effect::Read };
                self.footprint.touch(Class::Mutex, effect, mutex.into());
                if taken {
                    self.mutex_changed(mutex);
                }
                Performed::Continue(i64::from(taken))
            }
            Request::Unlock { mutex } => match self.unlock(id, mutex) {
                Ok(()) => Performed::Continue(0),
                Err(owner) => misuse(format!("unlock of the mutex at {mutex:#x}, {owner}")),
            },
            Request::Wait { condvar, mutex, span_ns } => {
                if let Err(owner) = self.unlock(id, mutex) {
                    return misuse(format!("wait with the mutex at {mutex:#x}, {owner}"));
                }
                self.footprint.touch(Class::Condvar, Effect::Write, condvar.into());
                self.condvars.update(condvar, |q| q.add(id));
                self.workers[id.index()].request = Request::Relock { condvar, mutex };
                let operation = &mut self.pending[id.index()].operation;
                operation.kind = OpKind::Relock;
                operation.object = u64::from(mutex);
                self.block(id, span_ns)
            }
            Request::Relock { mutex, .. } => {
                self.footprint.touch(Class::Wake, Effect::Await, id.0.into());
                self.footprint.touch(Class::Mutex, Effect::Acquire, mutex.into());
                let taken = self.mutexes.update(mutex, |m| m.try_lock(id));
                assert!(taken, "this is a bug in coyote-wasm: a relock was performed while taken");
                let worker = &mut self.workers[id.index()];
                worker.waiting = false;
                let timed_out = worker.wake.take() == Some(Wake::TimedOut);
                worker.request = Request::Step;
                self.mutex_changed(mutex);
                Performed::Continue(i64::from(timed_out))
            }
            Request::Signal { condvar } => self.notify(id, Place::Condvar(condvar), 1, values),
            Request::Broadcast { condvar } => self.notify(id, Place::Condvar(condvar), usize::MAX, values),
            Request::FutexWait { address, bytes, .. } if address % u32::from(bytes) != 0 => {
                Performed::Bug(Bug {
                    kind: BugKind::Trap,
                    message: format!("misaligned wait at {address:#x}"),
                    worker: Some(id),
                })
            }
            Request::FutexWait { address, expected, bytes, span_ns } => match self.read(address, bytes, read)
            {
                Some(value) if value == expected => {
                    self.footprint.touch(Class::Futex, Effect::Write, address.into());
                    self.futexes.update(address, |q| q.add(id));
                    self.block(id, span_ns)
                }
                Some(_) => Performed::Continue(1),
                None => Performed::Bug(Bug {
                    kind: BugKind::Trap,
                    message: format!("wait at {address:#x}, outside of memory"),
                    worker: Some(id),
                }),
            },
            Request::FutexNotify { address, count } => {
                self.notify(id, Place::Futex(address), count as usize, values)
            }
            Request::ChooseBool => self.chosen(2, values),
            Request::ChooseInt { bound: 0 } => misuse("a choice among no values".into()),
            Request::ChooseInt { bound } => self.chosen(u64::from(bound), values),
            Request::Assume => unreachable!("this is a bug in coyote-wasm: a failed assumption goes on"),
        }
    }

    /// Reads guest memory as a part of the step.
    fn read(&mut self, address: u32, bytes: u8, read: &mut dyn FnMut(u32, u8) -> Option<u64>) -> Option<u64> {
        self.footprint.memory(Effect::Read, address.into(), bytes.into());
        read(address, bytes)
    }

    fn chosen(&mut self, bound: u64, values: &[u64]) -> Performed {
        match values.first() {
            Some(value) => Performed::Continue(*value as i64),
            None if bound == 1 => Performed::Continue(0),
            None => Performed::NeedsValue(bound),
        }
    }

    /// The error says who holds the mutex instead.
    fn unlock(&mut self, id: WorkerId, mutex: u32) -> Result<(), String> {
        self.footprint.touch(Class::Mutex, Effect::Release, mutex.into());
        let result = self.mutexes.update(mutex, |m| m.unlock(id));
        match result {
            Ok(()) => {
                self.mutex_changed(mutex);
                Ok(())
            }
            Err(mutex::NotOwner(None)) => Err("which is not locked".into()),
            Err(mutex::NotOwner(Some(owner))) => Err(format!("which {} holds", self.title(owner))),
        }
    }

    /// Wakes waiters, and says how many.
    fn notify(&mut self, id: WorkerId, place: Place, count: usize, values: &[u64]) -> Performed {
        let waiting = self.waiters(place).len();
        let selection = match Selection::new(waiting, count, values) {
            Ok(selection) => selection,
            Err(bound) => return Performed::NeedsValue(bound),
        };
        self.current = Some(id);
        let (class, object) = match place {
            Place::Condvar(address) => (Class::Condvar, address),
            Place::Futex(address) => (Class::Futex, address),
        };
        self.footprint.touch(class, Effect::Write, object.into());
        let count = count.min(waiting);
        for n in 0..count {
            let worker = self.waiters(place)[selection.index(n)];
            match place {
                Place::Condvar(address) => self.condvars.update(address, |q| q.remove(worker)),
                Place::Futex(address) => self.futexes.update(address, |q| q.remove(worker)),
            }
            self.wake(worker, Wake::Notified);
        }
        Performed::Continue(count as i64)
    }

    fn waiters(&self, place: Place) -> &[WorkerId] {
        let queue = match place {
            Place::Condvar(address) => self.condvars.get(address),
            Place::Futex(address) => self.futexes.get(address),
        };
        queue.map_or(&[], |q| q.waiters())
    }

    /// The worker leaves the runner's hands until it is woken.
    fn block(&mut self, id: WorkerId, span_ns: Option<u64>) -> Performed {
        let worker = &mut self.workers[id.index()];
        worker.waiting = true;
        worker.wake = None;
        self.stand(id, Standing::Blocked);
        if let Some(span) = span_ns {
            self.footprint.touch(Class::Clock, Effect::Write, 0);
            self.clock.start(id, span);
        }
        Performed::Blocked
    }

    /// A mutex was taken or released: whoever wants it is blocked or enabled.
    fn mutex_changed(&mut self, mutex: u32) {
        let free = self.owner(mutex).is_none();
        for i in 0..self.workers.len() {
            let worker = &self.workers[i];
            let wants = match worker.request {
                Request::Lock { mutex: m } => m == mutex,
                Request::Relock { mutex: m, .. } => m == mutex && worker.wake.is_some(),
                _ => false,
            };
            if wants && self.pending[i].standing != Standing::Ended {
                let standing = if free { Standing::Enabled } else { Standing::Blocked };
                self.stand(WorkerId(i as u32), standing);
            }
        }
    }
}
