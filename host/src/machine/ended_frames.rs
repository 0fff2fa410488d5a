//! Stacks in the footprints of steps: a step that ends frames writes them. An access of such a frame by another worker
//! depends on that step, since it is an error after it ([`crate::detect::use_after_return`]).
//!
//! An access that comes after the end is an error where it is made. Frames that begin and end within a step are in no
//! footprint; a frame in whose place another one begins before the worker's next scheduling point ends for this purpose
//! when the other one does.

use super::{Machine, stack};
use coyote_strategies::{Effect, WorkerId};

impl Machine {
    /// See [`stack::in_use`].
    pub(super) fn stack_in_use(&self, worker: WorkerId) -> Option<(u32, Option<u32>)> {
        let host = self.store.data();
        stack::in_use(&host.table, host.saved_workers.get(worker.index())?)
    }

    /// Adds the frames that a worker's step has ended to its footprint. `before`: [`Machine::stack_in_use`] before it.
    pub(super) fn touch_ended_frames(&mut self, worker: WorkerId, before: Option<(u32, Option<u32>)>) {
        let after = self.stack_in_use(worker);
        if let (Some((before, leaf)), Some((after, now))) = (before, after) {
            let ended = leaf.is_some() && leaf != now;
            let begin = if ended { before.saturating_sub(stack::RED_ZONE) } else { before };
            let end = if ended { after.max(before) } else { after };
            let footprint = &mut self.scheduler_mut().runtime.footprint;
            footprint.memory(Effect::Write, begin.into(), end.saturating_sub(begin).into());
        }
    }
}
