//! Stacks in the footprints of steps: a step after which memory of its worker's stack belongs to something else writes that
//! memory. An access of it by another worker depends on such a step, since it may be an error before it or after it
//! ([`crate::detect::use_after_return`]): frames begin and end, and with its worker all of them.
//!
//! Frames that begin and end within a step are in no footprint. Nor is the first step of a worker, before which the memory
//! is nobody's frame: no pointer can lead there but one to what was there before the stack was allocated.

use super::Machine;
use super::stack::Layout;
use coyote_strategies::{Effect, WorkerId, WorkerState};

impl Machine {
    /// The layout of a suspended worker's stack, if steps have footprints.
    pub(super) fn layout(&self, worker: WorkerId) -> Option<Layout> {
        let host = self.store.data();
        let runtime = &host.scheduler.runtime;
        if !runtime.footprint.recording {
            return None;
        }
        let main = || host.main_stack_alone.filter(|_| worker == runtime.first());
        let bounds = runtime.stack_of(worker).or_else(main).unwrap_or((0, u32::MAX));
        host.saved_workers.get(worker.index()).map(|saved| Layout::of(&host.table, saved, bounds))
    }

    /// Adds to the footprint of a worker's step what has become something else in its stack. `before`:
    /// [`Machine::layout`] before it.
    pub(super) fn touch_changed_frames(&mut self, worker: WorkerId, before: Option<Layout>) {
        let Some(before) = before.filter(|before| *before != Layout::default()) else { return };
        let runtime = &self.store.data().scheduler.runtime;
        let after = match runtime.pending(worker).state {
            WorkerState::Ended => {
                let high = runtime.stack_of(worker).map(|(_, high)| high);
                Some(Layout::unused(high.unwrap_or(before.end())))
            }
            _ => self.layout(worker),
        };
        let Some(after) = after else { return };
        let changed = before.difference(&after);
        let footprint = &mut self.scheduler_mut().runtime.footprint;
        footprint.memory(Effect::Write, changed.start.into(), changed.len() as u64);
    }
}
