//! No worker can go on, and one should: what [`crate::runtime::Progress::Deadlock`] says. Which of them matter is told by
//! [`Runtime::stuck`](crate::runtime::Runtime::stuck).
//!
//! Not found: a deadlock of some workers while others go on. It ends when those do, or at the bound on steps.

use crate::evidence::Evidence;
use crate::observe::{Detector, Event, Finding, GuestState, Interest};
use crate::outcome::{Bug, BugKind};
use coyote_strategies::WorkerState;

/// See the module's documentation. It keeps nothing.
pub struct Deadlock;

impl Detector for Deadlock {
    fn interest(&self) -> Interest {
        Interest::STUCK
    }

    fn event(&mut self, state: &GuestState<'_>, event: &Event<'_>) -> Option<Finding> {
        if *event != Event::Stuck {
            return None;
        }
        let workers = state.runtime.view().workers;
        let blocked = workers.iter().filter(|worker| worker.state == WorkerState::Blocked).count();
        let evidence = Evidence::Deadlock { blocked };
        Some(Bug { kind: BugKind::Deadlock, evidence, worker: None }.into())
    }
}
