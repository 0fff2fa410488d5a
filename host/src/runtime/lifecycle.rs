//! The creation and the end of workers, and the end of the program.

use super::Runtime;
use super::awaits::Awaits;
use super::idling::Idling;
use super::internal::Internal;
use super::polled::{Driver, Polled};
use super::worker::{Request, Start, Worker};
use coyote_strategies::{
    Class, Effect, Event, OpKind, Operation, Pending, WorkerId, WorkerPath, WorkerState, mix,
};
use std::collections::BTreeMap;

/// When the test ends after its first worker has ended.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum AtExit {
    /// The other workers run to their ends.
    #[default]
    Wait,
    /// The other workers end too, as when a process ends.
    Kill,
}

/// The progress of the test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A worker can be picked.
    Ready,
    /// The test has ended. `left_blocked`: workers that are blocked for ever, if any.
    Over { left_blocked: Vec<WorkerId> },
    /// No worker can go on, although one should.
    Deadlock,
    /// An assumption failed: there is no verdict.
    AssumedAway,
}

/// Handles of workers that were not created by the first one. wasi-threads has numbers up to 2^29.
const HASHED_HANDLES: std::ops::Range<u32> = 1 << 16..1 << 29;

impl Runtime {
    pub(super) fn create(&mut self, parent: Option<WorkerId>, start: Start) -> WorkerId {
        let id = WorkerId(self.workers.len() as u32);
        let node = parent.and_then(|creator| self.worker(creator).node.clone());
        let (path, key, handle, name) = match parent {
            None => (WorkerPath::default(), 0, 0, None),
            Some(creator) => {
                let parent = &mut self.workers[creator.index()];
                let mut path = Vec::with_capacity(parent.path.0.len() + 1);
                path.extend_from_slice(&parent.path.0);
                path.push(parent.children);
                parent.children += 1;
                let (children, name) = (parent.children, parent.next_name.take());
                let key = mix(parent.key.wrapping_add(u64::from(children)));
                (WorkerPath(path), key, self.new_handle(creator, children, key), name)
            }
        };
        self.workers.push(Worker {
            path,
            key,
            handle,
            name,
            next_name: None,
            awaits: Awaits::default(),
            start,
            request: Request::Step,
            waiting: false,
            wake: None,
            node,
            detached: false,
            joined: false,
            children: 0,
            atomic_depth: 0,
            atomic_ticks: 0,
            suppressed: 0,
            predicate: None,
            watches: false,
            stack_block: start.stack.and_then(|(low, _)| self.block_at(low)),
            worker_local_word: 0,
            idling: Idling::default(),
            random: self.first_random(key),
            failure: 0,
            socket_fault: None,
            polled: Polled::default(),
            driver: Driver::default(),
            copy_source: 0,
            ordered_site: (Operation::NO_SITE, Operation::NO_SITE),
        });
        if let Some((_, high)) = start.stack {
            self.stacks.add(high, id);
        }
        self.pending.push(Pending { operation: Operation::START, state: WorkerState::Blocked });
        self.stand(id, WorkerState::Enabled);
        if let Some(parent) = parent {
            self.touch_worker(Class::Birth, Effect::Enable, id);
            // Whoever wakes drivers wakes those of the workers that exist.
            self.footprint.touch_internal(Effect::Read, Internal::Drivers);
            self.happened(Event::Spawned { parent, child: id });
        }
        id
    }

    /// The creations of the present workers, for a strategy that begins in mid-run.
    pub fn spawnings(&self) -> impl Iterator<Item = Event> {
        let numbers: BTreeMap<&[u32], WorkerId> =
            self.ids().map(|id| (self.worker(id).path.0.as_slice(), id)).collect();
        self.ids().skip(1).filter_map(move |child| {
            let (_, parent) = self.worker(child).path.0.split_last()?;
            Some(Event::Spawned { parent: *numbers.get(parent)?, child })
        })
    }

    /// A handle for a new worker, the `n`-th of its parent.
    pub(super) fn new_handle(&self, parent: WorkerId, n: u32, key: u64) -> u32 {
        if parent.0 == self.first && n < HASHED_HANDLES.start {
            return n;
        }
        // In the rare case that the hashes of two paths collide, the order of creation decides which worker
        // has the handle.
        let mut handle =
            HASHED_HANDLES.start + (key % u64::from(HASHED_HANDLES.end - HASHED_HANDLES.start)) as u32;
        while self.worker_of(handle).is_some() {
            handle = if handle + 1 < HASHED_HANDLES.end { handle + 1 } else { HASHED_HANDLES.start };
        }
        handle
    }

    /// Takes over the effects of the program's initialisation on files, sync objects, time, monitors and the
    /// worker-local word. The machine keeps the heap.
    pub fn continue_from(&mut self, initialised: &Runtime) {
        self.files.clone_from(&initialised.files);
        self.sync.clone_from(&initialised.sync);
        self.clock.clone_from(&initialised.clock);
        self.monitors.take_over(&initialised.monitors);
        self.worker_local_word = initialised.worker_local_word;
    }

    /// The workers that were neither joined nor detached, of a program whose joins are visible.
    pub fn never_joined(&self) -> impl Iterator<Item = WorkerId> {
        let sees = self.program && self.joins_visible;
        let never = |id: &WorkerId| {
            let worker = self.worker(*id);
            !worker.detached && !worker.joined && !worker.watches
        };
        self.ids().skip(self.first as usize + 1).filter(move |id| sees && never(id))
    }

    /// The reason why a test cannot begin where this program has ended, if there is one: a worker still holds or awaits
    /// an object.
    pub fn left_behind(&self) -> Option<String> {
        let holder = self.ids().skip(self.first as usize + 1).find(|id| self.holds(*id));
        let waits = |id: &WorkerId| self.pending(*id).state != WorkerState::Ended;
        let waiter = || self.ids().find(waits);
        match (holder, waiter()) {
            (Some(holder), _) => Some(format!("{} has ended and still holds a lock", self.title(holder))),
            (None, Some(waiter)) => Some(format!("{} is still blocked at its end", self.title(waiter))),
            (None, None) => None,
        }
    }

    /// Records that the worker's entry returned. If that ends the process, it is no mistake that other
    /// workers still wait. If it ends the other workers too, they may go on before it does: it is a step of its own.
    pub fn returned(&mut self, id: WorkerId) {
        self.stream.begin_step(Some(id));
        let is_first = id.0 == self.first;
        self.over |= self.program && is_first;
        match is_first && self.at_exit == AtExit::Kill {
            true => self.announce(id, Operation { kind: OpKind::Exit, ..Operation::START }, Request::Exit),
            false => self.end(id),
        }
    }

    /// Ends the worker, which returned or called `exit`, or whose program has ended.
    pub fn end(&mut self, id: WorkerId) {
        self.stand(id, WorkerState::Ended);
        self.leave_stack(id);
        let worker = &mut self.workers[id.index()];
        worker.request = Request::Step;
        worker.suppressed = 0;
        self.atomic_workers -= u32::from(std::mem::take(&mut worker.atomic_depth) > 0);
        if self.current == Some(id) {
            self.current = None;
        }
        let (handle, detached) = (worker.handle, worker.detached);
        self.forget_predicate(id);
        if detached {
            self.touch_abandoned_stack();
        }
        self.touch_worker(Class::End, Effect::Enable, id);
        self.happened(Event::Ended(id));
        for i in 0..self.workers.len() {
            if self.pending[i].state == WorkerState::Blocked
                && self.workers[i].request == (Request::Join { handle })
            {
                let worker = WorkerId(i as u32);
                self.stand(worker, WorkerState::Enabled);
                self.happened(Event::Woken { by: id, worker });
            }
        }
    }

    /// Whether a worker can be picked, and if not, how the test has ended.
    #[inline]
    pub fn progress(&self) -> Progress {
        if self.killed() {
            return match self.assumed_away {
                true => Progress::AssumedAway,
                false => Progress::Over { left_blocked: Vec::new() },
            };
        }
        if !self.enabled.is_empty() || self.clock.has_pending() {
            return Progress::Ready;
        }
        self.quiescent()
    }

    /// Whether the first worker has ended and its end also ends all others.
    pub fn killed(&self) -> bool {
        self.at_exit == AtExit::Kill && self.main_has_ended()
    }

    /// Whether the first worker has ended.
    pub fn main_has_ended(&self) -> bool {
        self.pending[self.first as usize].state == WorkerState::Ended
    }

    /// The workers that are blocked, without those that only watch an invariant.
    pub fn blocked(&self) -> impl Iterator<Item = WorkerId> {
        let blocked = |w: &WorkerId| self.pending[w.index()].state == WorkerState::Blocked;
        self.ids().filter(move |w| blocked(w) && !self.worker(*w).watches)
    }

    fn quiescent(&self) -> Progress {
        if self.assumed_away {
            return Progress::AssumedAway;
        }
        let blocked: Vec<WorkerId> = self.blocked().collect();
        let expected =
            |w: &WorkerId| !self.holds(*w) && (self.workers[w.index()].detached || !self.joins_visible);
        if !self.main_has_ended() || !self.over && !blocked.iter().all(expected) {
            return Progress::Deadlock;
        }
        Progress::Over { left_blocked: blocked }
    }
}
