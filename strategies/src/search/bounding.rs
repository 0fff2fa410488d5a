//! Bounds on the differences between a schedule and a default one.
//!
//! Small bounds find most bugs (Musuvathi and Qadeer, PLDI 2007; Emmi, Qadeer and Rakamaric, POPL 2011).

use super::caching::Caching;
use crate::view::{View, WorkerState};
use crate::{Pick, WorkerId};

/// The cost of a pick. In every state some pick is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Every pick is free: no bound.
    Nothing,
    /// One for leaving a worker that is enabled. All other picks are free.
    Preemptions,
    /// One for each enabled worker that is passed over, in the order of creation from the last worker on.
    /// Timeouts come after all workers, as they fire by themselves when no worker is enabled.
    Delays,
}

/// The last pick and the last step of an execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Last {
    /// The last pick; `None` at the start.
    pub pick: Option<Pick>,
    /// The worker that executed the last step.
    pub running: Option<WorkerId>,
}

impl Last {
    /// The state after this pick.
    pub fn then(self, pick: Pick) -> Last {
        let running = match pick {
            Pick::Step(worker) => Some(worker),
            Pick::Timeout(_) => self.running,
        };
        Last { pick: Some(pick), running }
    }

    /// Whether another worker continues with this pick, or a timeout fires or has fired.
    pub fn switches_to(self, pick: Pick) -> bool {
        self.pick.is_some_and(|last| last != pick)
    }
}

impl Cost {
    /// The cost of a pick if `last` executed the last step.
    pub fn of(self, pick: Pick, last: Option<WorkerId>, view: &View) -> u32 {
        match self {
            Cost::Nothing => 0,
            Cost::Preemptions => {
                let goes_on = |w: WorkerId| view.workers[w.index()].state == WorkerState::Enabled;
                u32::from(last.is_some_and(|w| goes_on(w) && pick != Pick::Step(w)))
            }
            Cost::Delays => {
                let from = last.unwrap_or(WorkerId(0));
                let turn = |w: WorkerId| (w < from, w);
                match pick {
                    Pick::Step(w) => view.enabled.iter().filter(|o| turn(**o) < turn(w)).count() as u32,
                    Pick::Timeout(_) => view.enabled.len() as u32,
                }
            }
        }
    }
}

/// The name by which a user selects a depth-first search.
pub fn name_of(cost: Cost, max: Option<u32>, caching: Caching) -> String {
    let bound = match cost {
        Cost::Nothing if caching == Caching::States => return "stateful".into(),
        Cost::Nothing => "dfs",
        Cost::Preemptions => "preemption-bounding",
        Cost::Delays => "delay-bounding",
    };
    let cache = match caching {
        Caching::Nothing => "",
        Caching::States => "+states",
        Caching::Classes => "+hb",
    };
    format!("{bound}{cache}{}", max.map_or(String::new(), |max| format!(":{max}")))
}
