//! Waits of drivers that other workers can end: see `passes/drivers.rs` of the instrumenter.
//!
//! A worker that turns a driver marks its next poll, and a wake ends the polls of all workers that are marked. Elsewhere a
//! wake is kept by the driver (in a pipe or an eventfd) until its next poll, which therefore returns at once. Here, wakes are
//! kept by workers, because it is not known which driver is meant: a wake marks every worker but the one that wakes. That one
//! needs no mark. It has written what the wake is about, and reads it before it waits.
//!
//! Where not all wakes are told, a poll for nothing else ends after a short time: the worker looks again.
//!
//! A worker that was woken for another's sake returns from its poll without an event, as poll may.

use super::internal::Internal;
use super::polled::Driver;
use super::{Request, Runtime, Wake};
use coyote_strategies::{Effect, WorkerId, WorkerState};

impl Runtime {
    /// Marks the worker's next poll as that of a driver.
    pub fn turn_driver(&mut self, id: WorkerId, all_known: bool) {
        let woken = self.worker(id).driver.woken;
        self.wakes_unknown |= !all_known;
        self.workers[id.index()].driver = Driver { turns: true, all_known, woken };
    }

    /// Ends the polls of the other workers' drivers.
    pub fn wake_drivers(&mut self, by: WorkerId) {
        self.footprint.touch_internal(Effect::Write, Internal::Drivers);
        for id in self.ids().filter(|id| *id != by) {
            self.workers[id.index()].driver.woken = true;
            let worker = self.worker(id);
            let polls =
                worker.waiting && worker.driver.turns && matches!(worker.request, Request::Poll { .. });
            if polls && worker.wake.is_none() && self.pending(id).state != WorkerState::Ended {
                self.touch_wait(id);
                self.wake(id, Wake::Notified);
            }
        }
    }

    /// Whether the poll of the worker ends, since its driver was woken. Only its next poll is marked.
    pub(super) fn driver_is_woken(&mut self, id: WorkerId) -> bool {
        let Driver { turns, woken, .. } = self.worker(id).driver;
        if turns {
            self.footprint.touch_internal(Effect::Read, Internal::Drivers);
        }
        turns && woken
    }

    /// Records that a poll of the worker ends.
    pub(super) fn end_turn(&mut self, id: WorkerId) {
        let driver = &mut self.workers[id.index()].driver;
        if driver.turns {
            *driver = Driver::default();
        }
    }
}
