//! How often instructions were executed, where the module counts them (`counters` of the instrumenter).
//!
//! The numbers are kept by the instance, outside of all that snapshots save: going back to a state takes nothing back. An
//! instance that is given up is read before. What is executed while an iteration is set aside, to find out what could
//! follow, is not counted.

use super::Machine;
use crate::execution_counts::ExecutionCounts;
use coyote_instrumenter::COUNTER_BYTES;

/// What was read so far.
#[derive(Default)]
pub(super) struct Counters {
    /// Up to the start, which all iterations share.
    before: ExecutionCounts,
    /// Since then, or since it was last asked for.
    counts: ExecutionCounts,
    /// Whether what is executed now does not count.
    paused: bool,
}

impl Machine {
    /// Whether the module counts anything.
    fn counts_anything(&self) -> bool {
        !self.artifact.table.counters.is_empty()
    }

    /// Reads the instance's numbers, which begin at zero again.
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

    /// All that was executed up to now is what comes before every iteration.
    pub(super) fn counted_before(&mut self) {
        self.read_counters();
        let counts = std::mem::take(&mut self.counters.counts);
        self.counters.before.merge(&counts);
    }

    /// A fresh instance has executed its start function again.
    pub(super) fn reset_counters(&mut self) {
        let paused = std::mem::replace(&mut self.counters.paused, true);
        self.read_counters();
        self.counters.paused = paused;
    }

    /// From now on nothing counts, until [`Machine::go_on_counting`].
    pub(super) fn stop_counting(&mut self) {
        self.read_counters();
        self.counters.paused = true;
    }

    /// See [`Machine::stop_counting`].
    pub(super) fn go_on_counting(&mut self) {
        self.read_counters();
        self.counters.paused = false;
    }

    /// What was executed since the start, or since this was last asked; `None` if nothing is counted.
    pub fn take_counts(&mut self) -> Option<ExecutionCounts> {
        self.read_counters();
        self.counts_anything().then(|| std::mem::take(&mut self.counters.counts))
    }

    /// What was executed before the start, which all iterations share.
    pub fn counts_before(&self) -> Option<&ExecutionCounts> {
        self.counts_anything().then_some(&self.counters.before)
    }
}
