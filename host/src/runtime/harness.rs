//! A test harness inside of the guest: what it does before and after the test function is no part of the
//! test.
//!
//! The harness runs in the first worker, alone. As long as it is alone, no other worker can observe its
//! accesses to memory, so they are no scheduling points. That holds for the test function too, until it
//! creates a worker. After its return, the harness goes on as in an atomic function: whatever other workers
//! could do meanwhile, they can also do before the return, which is a scheduling point.

use super::{Runtime, panic};
use crate::evidence::Evidence;
use crate::outcome::BugKind;
use coyote_strategies::WorkerId;

/// The exit code of a Rust program whose `main` panics, where panics unwind.
const PANICKED: u32 = 101;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Harness {
    /// There is no harness, or it is treated like any other program.
    #[default]
    None,
    /// The harness has not called a test function yet.
    Before,
    /// The number of calls of test functions that are under way.
    Calls(u32),
    /// The test function has returned, or was left by an exception.
    After { unwound: bool },
}

impl Runtime {
    /// Begins to follow the harness.
    pub fn follow_harness(&mut self) {
        self.harness = Harness::Before;
    }

    /// Whether the harness is followed and is calling a test function.
    pub fn in_test(&self) -> bool {
        matches!(self.harness, Harness::Calls(_))
    }

    /// Whether the test function has ended.
    pub fn test_has_returned(&self) -> bool {
        matches!(self.harness, Harness::After { .. })
    }

    /// Whether the output of a worker is the harness's report of the test.
    pub fn harness_reports(&self, worker: WorkerId) -> bool {
        self.test_has_returned() && worker == WorkerId(0)
    }

    /// Whether the worker of the harness, or of its test, is the only one.
    #[inline]
    pub fn alone_in_harness(&self) -> bool {
        self.harness != Harness::None && self.workers.len() == 1
    }

    /// Records that the worker calls a test function. Returns whether that is where the test begins.
    pub fn enter_test(&mut self, worker: WorkerId) -> bool {
        let begins = worker == WorkerId(0) && self.harness == Harness::Before;
        match &mut self.harness {
            Harness::Calls(calls) if worker == WorkerId(0) => *calls += 1,
            harness if begins => *harness = Harness::Calls(1),
            _ => {}
        }
        begins
    }

    /// Records that the worker returns from a test function. Returns whether that is where the test ends.
    pub fn leave_test(&mut self, worker: WorkerId) -> bool {
        let ends = worker == WorkerId(0) && self.harness == Harness::Calls(1);
        match &mut self.harness {
            Harness::Calls(calls) if worker == WorkerId(0) && !ends => *calls -= 1,
            _ => {}
        }
        ends
    }

    /// Performs the end of the test, for the first worker.
    pub(super) fn end_test(&mut self, unwound: bool) {
        self.harness = Harness::After { unwound };
        self.atomic_enter(WorkerId(0));
    }

    /// The bug that a worker shows by ending the program with a code that is not 0.
    pub(super) fn failure(&self, worker: WorkerId, code: u32) -> (BugKind, Evidence) {
        let own = || panic::last_words(&self.output, Some(worker));
        match self.harness {
            Harness::After { unwound } if let Some(said) = panic::unmet_expectation(&self.harness_report) => {
                let kind = if unwound { BugKind::Panic } else { BugKind::ExitCode };
                (kind, Evidence::Said(said))
            }
            // If the test function passes on the panic of another worker, that worker printed the message.
            Harness::After { unwound: true } => {
                let others =
                    || self.output.iter().rev().find_map(|o| panic::last_words(&self.output, Some(o.worker)));
                let said = own().or_else(others).unwrap_or_else(|| {
                    "the test function passed a panic on, whose message was not printed".into()
                });
                (BugKind::Panic, Evidence::Said(said))
            }
            Harness::After { unwound: false } => (BugKind::ExitCode, Evidence::TestFailed),
            _ => match own().filter(|_| code == PANICKED) {
                Some(said) => (BugKind::Panic, Evidence::Said(said)),
                None => (BugKind::ExitCode, Evidence::ExitCode(code)),
            },
        }
    }

    /// Begins the test: earlier steps, output and events do not count.
    pub fn begin_test(&mut self) {
        self.steps = 0;
        self.alone_accesses = 0;
        self.output.clear();
        self.harness_report.clear();
        self.events.clear();
    }
}
