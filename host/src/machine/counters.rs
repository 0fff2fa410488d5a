//! Execution counts of instructions, in modules that count them (pass `counters` of the instrumenter).
//!
//! The instance keeps the numbers outside everything that snapshots save, so restoring a state does not change them.
//! They are read before an instance is given up. Instructions that are executed while an iteration is set aside do not
//! count.

use super::Machine;
use crate::execution_counts::ExecutionCounts;
use coyote_instrumenter::COUNTER_BYTES;

/// The counts that were read so far.
#[derive(Default)]
pub(super) struct Counters {
    /// Counts up to the start snapshot, which all iterations share.
    before: ExecutionCounts,
    /// Counts since the start, or since the last [`Machine::take_counts`].
    counts: ExecutionCounts,
    /// Whether counting is paused.
    paused: bool,
}

impl Machine {
    /// Whether the module counts anything.
    pub fn counts_anything(&self) -> bool {
        !self.artifact.table.counters.is_empty()
    }

    /// Reads the instance's numbers and resets them to zero.
    pub(super) fn read_counters(&mut self) {
        let Some(memory) = self.exports.counters else { return };
        let numbers = memory.data_mut(&mut self.store);
        for (number, offset) in numbers.chunks_exact_mut(COUNTER_BYTES).zip(&self.artifact.table.counters) {
            let times = u64::from_le_bytes((&*number).try_into().expect("of the length of a number"));
            if times > 0 {
                number.fill(0);
                if !self.counters.paused {
                    self.counters.counts.add(*offset, times);
                }
            }
        }
    }

    /// Counts what was executed so far as executed before every iteration.
    pub(super) fn counted_before(&mut self) {
        self.read_counters();
        let counts = std::mem::take(&mut self.counters.counts);
        self.counters.before.merge(&counts);
    }

    /// Discards the counts of a fresh instance, which has executed its start function again.
    pub(super) fn reset_counters(&mut self) {
        let paused = std::mem::replace(&mut self.counters.paused, true);
        self.read_counters();
        self.counters.paused = paused;
    }

    /// Pauses counting until [`Machine::go_on_counting`].
    pub(super) fn stop_counting(&mut self) {
        self.read_counters();
        self.counters.paused = true;
    }

    /// Resumes counting after [`Machine::stop_counting`].
    pub(super) fn go_on_counting(&mut self) {
        self.read_counters();
        self.counters.paused = false;
    }

    /// Takes the counts since the start or since the last call; `None` if the module counts nothing.
    pub fn take_counts(&mut self) -> Option<ExecutionCounts> {
        self.read_counters();
        self.counts_anything().then(|| std::mem::take(&mut self.counters.counts))
    }

    /// The counts before the start, which all iterations share; `None` if the module counts nothing.
    pub fn counts_before(&self) -> Option<&ExecutionCounts> {
        self.counts_anything().then_some(&self.counters.before)
    }
}
