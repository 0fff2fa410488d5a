//! Crashes of the program: all workers and the memory of the instance are lost, and the program starts again with the
//! files that were on the disk.
//!
//! A crash is a step of the worker that reached an opportunity. It ends all workers, and creates the first worker of
//! the program that starts again. [`crate::machine::Machine`] resets the state in memory before the next step, with
//! [`Runtime::restart`]. Time, the streams of other workers' random numbers, budgets of faults and printed output are
//! kept.

use super::internal::Internal;
use super::polled::{Driver, Polled};
use super::{FaultClass, Performed, Runtime};
use coyote_strategies::{Effect, Event, WorkerId, WorkerState};

/// The name of the first worker after a crash, for reports.
const NAME: &str = "after the crash";

impl Runtime {
    /// The worker that began the program, since the last crash.
    pub fn first(&self) -> WorkerId {
        WorkerId(self.first)
    }

    /// Whether the program has crashed and started again.
    pub fn has_restarted(&self) -> bool {
        self.first > 0
    }

    /// Handles an opportunity for a crash that the worker has reached.
    pub(super) fn may_crash(&mut self, id: WorkerId, values: &[u64]) -> Performed {
        // Workers that change files depend on the crash: their changes may be lost, or they may be gone.
        self.footprint.touch_internal(Effect::Write, Internal::Disk);
        match self.fault(FaultClass::Crash, self.files.crash_ways().into(), values) {
            Err(bound) => Performed::NeedsValue(bound),
            Ok(0) => {
                self.touch_plainly(id);
                Performed::Continue(0)
            }
            Ok(way) => Performed::Crashed(way as u32 - 1),
        }
    }

    /// Crashes the program, by a step of the worker `by`.
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
            (worker.suppressed, worker.socket_fault) = (0, None);
            worker.polled = Polled::default();
            worker.driver = Driver::default();
            // The stack was in memory that is lost.
            (worker.start.stack, worker.stack_block) = (None, None);
            self.forget_predicate(id);
            self.happened(Event::Ended(id));
        }
        self.stacks.clear();
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

    /// Resets the state that lives in the program's memory to that of the beginning. All workers must be
    /// suspended.
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
