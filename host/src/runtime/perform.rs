//! Executes the operations of workers that were picked.

use super::stream::AccessSource;
use super::{BudgetId, FaultClass, Mutant, ObjectId, Performed, Request, Runtime};
use crate::evidence::{Act, Evidence, Misuse, ObjectState, Trap};
use crate::outcome::{Bug, BugKind};
use coyote_abi::errno;
use coyote_strategies::{Access, Class, Effect, OpKind, WorkerId, WorkerState};

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
        debug_assert_eq!(self.pending[id.index()].state, WorkerState::Enabled);
        let request = self.workers[id.index()].request;
        self.stream.begin_step(Some(id));
        self.fault_asked = None;
        let performed = match request {
            Request::Step => {
                self.touch_plainly(id);
                Performed::Continue(0)
            }
            _ => self.perform_request(id, request, values, read),
        };
        match performed {
            Performed::NeedsValue(_) => {
                // The operation is performed once more, with the value.
                self.stream.clear();
                return performed;
            }
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
        let bug = |kind, evidence| Performed::Bug(Box::new(Bug { kind, evidence, worker: Some(id) }));
        let misuse = |misuse: Misuse| bug(BugKind::Misuse, Evidence::Misuse(misuse));
        let misused =
            |act: Act, place: ObjectId, state: ObjectState| misuse(Misuse::Object { act, place, state });
        let worker = &self.workers[id.index()];
        let of_two_halves =
            matches!(request, Request::Lock { .. } | Request::Relock { .. } | Request::WaitUntil)
                || matches!(request, Request::Socket { .. } | Request::Poll { .. });
        if worker.waiting && !of_two_halves {
            return self.waited(id, request);
        }
        if !worker.waiting {
            self.used(id, || request.uses());
            self.footprint.objects(request);
        }
        match request {
            Request::Step => Performed::Continue(0),
            // Threads of the SDK have a stack: the SDK asks about this fault before it prepares them.
            Request::Spawn(start) if start.stack.is_none() && self.may_fail(FaultClass::Thread) => {
                match self.fault(FaultClass::Thread, 1, values) {
                    Err(bound) => Performed::NeedsValue(bound),
                    Ok(0) => {
                        let child = self.create(Some(id), start);
                        Performed::Continue(self.worker(child).handle.into())
                    }
                    // The name that was meant for the worker is dropped.
                    Ok(_) => {
                        self.workers[id.index()].next_name = None;
                        Performed::Continue(-i64::from(errno::EAGAIN))
                    }
                }
            }
            Request::Spawn(start) => {
                let child = self.create(Some(id), start);
                Performed::Continue(self.worker(child).handle.into())
            }
            Request::Join { handle } => match self.worker_of(handle) {
                None => misuse(Misuse::JoinOfNobody { handle }),
                Some(ended) => {
                    self.join_stack(ended);
                    self.touch_worker(Class::End, Effect::Await, ended);
                    Performed::Continue(0)
                }
            },
            Request::Exit => Performed::Ended,
            Request::TestEnd { unwound } => {
                self.end_test(unwound);
                Performed::Continue(0)
            }
            Request::ProcessExit { code: 0 } => Performed::Exited,
            Request::ProcessExit { code } => {
                let (kind, evidence) = self.failure(id, code);
                bug(kind, evidence)
            }
            Request::Sleep { span_ns } => self.block(id, Some(span_ns)),
            Request::Lock { lock, span_ns } => self.lock(id, lock, span_ns),
            Request::TryLock { lock } => self.try_lock(id, lock, values),
            Request::Unlock { place } => match self.release(id, place) {
                Ok(error) => Performed::Continue(error.into()),
                Err(state) => misused(Act::Unlock, place, state),
            },
            Request::Init { place, value } => match self.init(id, place, value) {
                Ok(error) => Performed::Continue(error.into()),
                Err(state) => misused(Act::Init, place, state),
            },
            Request::Destroy { place, held } => match self.forget(id, place, held) {
                Ok(()) => Performed::Continue(errno::SUCCESS.into()),
                Err(state) => misused(Act::Destroy, place, state),
            },
            Request::SemaphoreValue { semaphore } => {
                // Unlike a try-lock that fails, this depends on every change of the value.
                self.footprint.touch(Class::Semaphore, Effect::Write, semaphore.into());
                Performed::Continue(self.sync.semaphores.get(semaphore).map_or(0, |s| s.value()).into())
            }
            Request::BarrierWait { barrier } => match self.arrive(id, barrier) {
                Ok(performed) => performed,
                Err(state) => {
                    misused(Act::WaitAt, ObjectId { class: Class::Barrier, address: barrier }, state)
                }
            },
            Request::Wait { condvar, mutex, span_ns } => {
                match self.wait(id, condvar, mutex, span_ns, values) {
                    Ok(performed) => performed,
                    Err(state) => {
                        misused(Act::WaitWith, ObjectId { class: Class::Mutex, address: mutex }, state)
                    }
                }
            }
            Request::Relock { mutex, .. } => self.relock(id, mutex),
            Request::Notify { place, count } => self.notify(id, place, count as usize, values),
            Request::FutexWait { address, bytes, .. } if address % u32::from(bytes) != 0 => {
                bug(BugKind::Trap, Evidence::Trap(Trap::MisalignedWait { address }))
            }
            Request::FutexWait { address, expected, bytes, span_ns } => {
                match self.read(id, (address, bytes), read) {
                    Some(value) => {
                        if let Some(weak) = &mut self.weak {
                            weak.host_read(id, address);
                        }
                        if value == expected || self.mutant(Mutant::FutexValueUnseen) {
                            self.futex_wait(id, address, span_ns, values)
                        } else {
                            Performed::Continue(1)
                        }
                    }
                    None => bug(BugKind::Trap, Evidence::Trap(Trap::WaitOutside { address })),
                }
            }
            Request::Socket { descriptor, function, bytes, ways } => {
                self.await_socket(id, (descriptor, function, bytes, ways), values)
            }
            Request::Poll { span_ns } => self.poll(id, span_ns),
            Request::Connect { listener } => self.connect(id, listener),
            Request::Outside { object, effect } => self.outside(id, object, effect),
            Request::WaitUntil => self.evaluate(id),
            Request::ChooseBool => self.chosen(2, values),
            Request::ChooseInt { bound: 0 } => misuse(Misuse::NoValues),
            Request::ChooseInt { bound } => self.chosen(u64::from(bound), values),
            Request::Fault { budget: BudgetId::Class(FaultClass::Crash), .. } => self.may_crash(id, values),
            Request::Fault { budget: BudgetId::Class(FaultClass::CrashNode), .. } => {
                self.node_may_crash(id, values)
            }
            Request::Fault { budget, ways, point } => match self.fault_of(budget, point, ways.into(), values)
            {
                Ok(chosen) => {
                    self.touch_plainly(id);
                    match budget {
                        BudgetId::Class(FaultClass::Seed) if chosen > 0 => self.change_stream(id, chosen),
                        BudgetId::Class(class) if class.row().fails_next_call => {
                            self.workers[id.index()].failure = chosen as u32;
                        }
                        _ => {}
                    }
                    Performed::Continue(chosen as i64)
                }
                Err(bound) => Performed::NeedsValue(bound),
            },
            Request::StopFaults => {
                self.stop_faults();
                Performed::Continue(0)
            }
            Request::Atomic { expected, orders } => self.atomic(id, expected, orders, values, read),
            Request::Assume => unreachable!("this is a bug in coyote-wasm: a failed assumption goes on"),
        }
    }

    /// Reads guest memory as a part of the step.
    fn read(
        &mut self,
        id: WorkerId,
        (address, bytes): (u32, u8),
        read: &mut dyn FnMut(u32, u8) -> Option<u64>,
    ) -> Option<u64> {
        self.footprint.memory(Effect::Read, address.into(), bytes.into());
        let access =
            Access { class: Class::Memory, effect: Effect::Read, object: address.into(), size: bytes.into() };
        self.observe_access(id, &access, AccessSource::Operation(OpKind::FutexWait), true);
        read(address, bytes)
    }

    fn chosen(&mut self, bound: u64, values: &[u64]) -> Performed {
        match values.first() {
            Some(value) => Performed::Continue(*value as i64),
            None if bound == 1 => Performed::Continue(0),
            None => Performed::NeedsValue(bound),
        }
    }
}
