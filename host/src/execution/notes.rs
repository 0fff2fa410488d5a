//! Notes on executions, whatever their end: also on those that a search cuts off, since all that follows is explored
//! elsewhere. What happened on the way to the cut happened in this execution alone.

use super::Execution;
use crate::results::IterationNotes;

impl Execution {
    /// What happened in the present execution so far. Other notes are about its end, or what detectors found.
    pub fn notes(&self) -> IterationNotes {
        let runtime = self.runtime();
        IterationNotes {
            memory_refused: self.machine.memory_refused(),
            asked_random: self.machine.asked_random(),
            spurious_left_out: runtime.spurious_left_out,
            refused_calls: self.machine.refused_calls().map(String::from).collect(),
            faults: runtime.fault_counts.clone(),
            sometimes: runtime.sometimes.clone(),
            ..IterationNotes::default()
        }
    }

    /// From now on, notes what happened in executions that are driven as a [`System`](coyote_strategies::System) and
    /// left before their end.
    pub fn note_what_is_cut(&mut self) {
        self.cut = Some(IterationNotes::default());
    }

    /// The notes on executions that were left before their end, since these were taken before.
    pub fn take_notes_of_cut(&mut self) -> IterationNotes {
        self.cut.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The present execution does not go on.
    pub fn leave(&mut self) {
        if self.cut.is_some() && self.machine.scheduler().outcome.is_none() {
            let notes = self.notes();
            self.cut.iter_mut().for_each(|cut| cut.add(&notes));
        }
    }
}
