//! What happened in executions, whatever their end: also in those that a search cuts off, since all that follows is
//! explored elsewhere. What happened on the way to the cut happened in this execution alone.

use super::Execution;
use crate::results::Incidents;

impl Execution {
    /// What happened in the present execution so far, without what is about its end.
    pub fn incidents(&self) -> Incidents {
        let runtime = self.runtime();
        Incidents {
            memory_refused: self.machine.memory_refused(),
            asked_random: self.machine.asked_random(),
            spurious_left_out: runtime.spurious_left_out,
            clock_looked_at: runtime.clock_looked_at,
            refused_calls: self.machine.refused_calls().map(String::from).collect(),
            faults: runtime.fault_counts.clone(),
            sometimes: runtime.sometimes.clone(),
            ..Incidents::default()
        }
    }

    /// From now on, notes what happened in executions that are driven as a [`System`](coyote_strategies::System) and
    /// left before their end.
    pub fn note_what_is_cut(&mut self) {
        self.cut = Some(Incidents::default());
    }

    /// What happened in executions that were left before their end, since this was taken before.
    pub fn take_cut(&mut self) -> Incidents {
        self.cut.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The present execution does not go on.
    pub fn leave(&mut self) {
        if self.cut.is_some() && self.machine.scheduler().outcome.is_none() {
            let incidents = self.incidents();
            self.cut.get_or_insert_default().merge(incidents);
        }
    }
}
