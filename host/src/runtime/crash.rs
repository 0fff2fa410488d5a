//! The program crashes: all workers are gone, and so is the memory of the instance. It starts again with the files that
//! were on the disk.
//!
//! A crash is a step of the worker that came to an opportunity; it creates the first worker of the program that starts
//! again, and ends all others. What lives in memory is given back by [`crate::machine::Machine`] before the next step:
//! [`Runtime::restart`]. Time, the streams of other workers' random numbers, budgets of faults and what was printed stay.

use super::files::disk::OBJECT;
use super::{FaultClass, Performed, Runtime};
use coyote_strategies::{Class, Effect, Event, WorkerId, WorkerState};

/// What the first worker after a crash is called in reports.
const NAME: &str = "after the crash";

impl Runtime {
    /// The worker that began the program as it now is.
    pub fn first(&self) -> WorkerId {
        WorkerId(self.first)
    }

    /// The worker is at an opportunity for a crash.
    pub(super) fn may_crash(&mut self, id: WorkerId, values: &[u64]) -> Performed {
        // Whoever changes files before it may find them changed afterwards, or be gone.
        self.footprint.touch(Class::Other, Effect::Write, OBJECT);
        match self.fault(FaultClass::Crash, self.files.crash_ways().into(), values) {
            Err(bound) => Performed::NeedsValue(bound),
            Ok(0) => {
                self.touch_plainly(id);
                Performed::Continue(0)
            }
            Ok(way) => Performed::Crashed(way as u32 - 1),
        }
    }

    /// The program crashes, by a step of this worker.
    pub fn crash(&mut self, by: WorkerId, way: u32) {
        let crash = self.files.crash(way, self.steps);
        self.crashes.push(crash);
        for id in self.ids() {
            self.clock.cancel(id);
            if self.pending(id).state == WorkerState::Ended {
                continue;
            }
            self.stand(id, WorkerState::Ended);
            let worker = &mut self.workers[id.index()];
            worker.request = super::Request::Step;
            (worker.waiting, worker.wake) = (false, None);
            (worker.atomic_depth, worker.atomic_ticks, worker.failure) = (0, 0, 0);
            // It lay in memory that is gone.
            (worker.start.stack, worker.stack_block) = (None, None);
            self.happened(Event::Ended(id));
        }
        self.atomic_workers = 0;
        self.current = None;
        self.over = false;
        let start = self.recovery.expect("who gives a budget says how the program starts again");
        let first = self.create(Some(by), start);
        self.first = first.0;
        let worker = &mut self.workers[first.index()];
        worker.handle = 0;
        worker.name = Some(NAME.into());
    }

    /// What lives in the memory of the program is what it was in the beginning. All workers are suspended.
    pub fn restart(&mut self, begun: &Runtime) {
        self.sync.clone_from(&begun.sync);
        self.heap.clone_from(&begun.heap);
        self.weak.clone_from(&begun.weak);
        self.monitors.restart(&begun.monitors, self.steps);
        self.memory_refused = begun.memory_refused;
        self.worker_local_word = begun.worker_local_word;
        self.workers.iter_mut().for_each(|worker| worker.worker_local_word = 0);
    }
}
