//! Deadlocks: no worker can go on, although one should ([`crate::runtime::Progress::Deadlock`]), or some workers wait
//! for each other in a circle and never can, whatever others do ([`Runtime::circle`](crate::runtime::Runtime::circle)
//! defines when that is certain). A circle is found as soon as it closes, and in searches at the end of the execution
//! ([`Scheduler::defers`](crate::machine::scheduler::Scheduler::defers)), with the same verdict.
//! [`Runtime::stuck`](crate::runtime::Runtime::stuck) selects the workers that cause a deadlock.
//!
//! Not found while others go on: workers that wait for a notification that never comes, or for a lock of which it is
//! not certain which workers can release it. An execution with such a deadlock ends when all others do, or at the bound
//! on steps.
//!
//! Cost: one test for each step that is no plain access, and a search through the blocked workers whenever a worker
//! begins to wait for a blocked one.

use crate::evidence::Evidence;
use crate::observe::{Detector, Event, Finding, GuestState, Interest};
use crate::outcome::{Bug, BugKind};
use coyote_strategies::WorkerState;

/// See the module's documentation. It has no state.
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
        let enabled = workers.iter().any(|worker| worker.state == WorkerState::Enabled);
        let others = enabled || !state.runtime.view().timeouts.is_empty();
        let evidence = match state.runtime.circle().len() {
            waiting if waiting > 0 && others => Evidence::Circle { waiting },
            _ => Evidence::Deadlock { blocked: state.runtime.blocked().count() },
        };
        Some(Bug { kind: BugKind::Deadlock, evidence, worker: None }.into())
    }
}
