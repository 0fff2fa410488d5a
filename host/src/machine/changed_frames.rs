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
    /// Reads the layout of a suspended worker's stack. Returns false, and reads nothing, if steps have no footprints.
    pub(super) fn read_layout(&self, worker: WorkerId, layout: &mut Layout) -> bool {
        let host = self.store.data();
        let runtime = &host.scheduler.runtime;
        let saved = host.saved_workers.get(worker.index()).filter(|_| runtime.footprint.recording);
        let Some(saved) = saved else { return false };
        let main = || host.main_stack_alone.filter(|_| worker == runtime.first());
        // Whether the memory was freed does not matter here, and takes time to look up.
        let known = runtime.worker(worker).start.stack.or_else(main);
        layout.read(&host.table, saved, known.unwrap_or((0, u32::MAX)));
        // A thread that has not taken its stack yet has the pointer with which the module begins: that of the first worker.
        let initial = host.table.stack_pointer().map(|(_, global)| global.initial as u32);
        if known.is_none() && worker != runtime.first() && initial == Some(layout.end()) {
            *layout = Layout::default();
        }
        true
    }

    /// Adds to the footprint of a worker's step what has become something else in its stack. `before`: its layout before
    /// the step.
    pub(super) fn touch_changed_frames(&mut self, worker: WorkerId, before: &Layout) {
        // The worker had not begun.
        if !before.is_known() {
            return;
        }
        let mut after = std::mem::take(&mut self.layout_after);
        let runtime = &self.store.data().scheduler.runtime;
        if runtime.pending(worker).state == WorkerState::Ended {
            let high = runtime.stack_of(worker).map(|(_, high)| high);
            after = Layout::unused(high.unwrap_or(before.end()));
        } else {
            self.read_layout(worker, &mut after);
        }
        let changed = before.difference(&after);
        self.layout_after = after;
        let footprint = &mut self.scheduler_mut().runtime.footprint;
        footprint.memory(Effect::Write, changed.start.into(), changed.len() as u64);
    }
}
