//! Liveness: something that must eventually happen does not, and a monitor of the guest stays hot.
//!
//! - *At the end.* An execution that passed has a monitor that is hot. That is certain, whatever the strategy.
//! - *For too long.* A monitor has spent more steps hot, since it was last cold, than the bound on that: by default
//!   half of the bound on steps of fair strategies, `5N` for `--max-steps N`, as Coyote does. Only steps of a fair
//!   execution count (with a strategy that is fair from some step on, those from there on), and only once nothing is
//!   left of any budget of faults: the guest stops faults by `fault_stop`, or the budgets are used up. This is no
//!   proof: a longer execution may still make it cold.
//!
//! After Coyote's liveness checking, with its thresholds. Different from there, a warm monitor keeps its temperature,
//! which does not rise.
//!
//! What it can miss: monitors that are hot for ever in executions of unfair strategies and of searches, which only
//! check ends; monitors that are warm for ever. What could make it wrong: a bound that is too low for the program, and
//! a strategy that claims to be fair and is not.
//!
//! Cost: none for steps. A change of a monitor computes the step at which it will have been hot for too long.

use crate::evidence::{Evidence, HotMonitor, HotWhen};
use crate::observe::{Detector, Ending, Event, Finding, GuestState, Interest};
use crate::outcome::{Bug, BugKind, Outcome};
use crate::runtime::monitors::{Monitor, MonitorId};

/// See the module's documentation. It has no state: monitors belong to the state of the runtime.
pub struct Liveness;

impl Detector for Liveness {
    fn interest(&self) -> Interest {
        Interest::OVERHEATED | Interest::ENDS
    }

    fn event(&mut self, state: &GuestState<'_>, event: &Event<'_>) -> Option<Finding> {
        if *event != Event::Overheated {
            return None;
        }
        let (id, monitor, steps) = state.runtime.monitors.overheated(state.runtime.steps())?;
        Some(finding(state, id, monitor, HotWhen::TooLong { steps }))
    }

    fn end(&mut self, ending: &Ending<'_>) -> Option<Finding> {
        if *ending.outcome != Outcome::Passed {
            return None;
        }
        let (id, monitor) = ending.state.runtime.monitors.hot()?;
        Some(finding(ending.state, id, monitor, HotWhen::AtEnd))
    }
}

fn finding(state: &GuestState<'_>, id: &MonitorId, monitor: &Monitor, when: HotWhen) -> Finding {
    let ((name, number), by) = (id.clone(), state.runtime.title(monitor.by));
    let evidence = Evidence::Hot(HotMonitor { name, number, since: monitor.since, by, when });
    Bug { kind: BugKind::Liveness, evidence, worker: None }.into()
}
