//! A test harness inside of the guest: what it does before and after the test function is no part of the
//! test.
//!
//! The harness runs in the first worker, alone. As long as that is so, accesses to memory cannot be told
//! apart by anybody, and are no scheduling points. That holds for the test function too until it creates
//! a worker. When it has returned, the harness goes on as in an atomic function: what the other workers
//! can do meanwhile, they can do before the return as well, which is a scheduling point.

use super::{Runtime, panic};
use crate::evidence::Evidence;
use crate::outcome::BugKind;
use coyote_strategies::WorkerId;

/// The exit code of a Rust program whose `main` panics, where panics unwind.
const PANICKED: u32 = 101;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Harness {
    /// There is none, or it is a program like any other.
    #[default]
    None,
    /// It has not called a test function yet.
    Before,
    /// The number of calls of test functions that are under way.
    Calls(u32),
    /// The test function has returned, or was left by an exception.
    After { unwound: bool },
}

impl Runtime {
    /// From now on the harness is followed.
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

    /// Whether what a worker prints is the harness's report of the test.
    pub fn harness_reports(&self, worker: WorkerId) -> bool {
        self.test_has_returned() && worker == WorkerId(0)
    }

    /// Whether a harness, or its test, has the program for itself.
    #[inline]
    pub fn alone_in_harness(&self) -> bool {
        self.harness != Harness::None && self.workers.len() == 1
    }

    /// The worker calls a test function. Whether that is where the test begins.
    pub fn enter_test(&mut self, worker: WorkerId) -> bool {
        let begins = worker == WorkerId(0) && self.harness == Harness::Before;
        match &mut self.harness {
            Harness::Calls(calls) if worker == WorkerId(0) => *calls += 1,
            harness if begins => *harness = Harness::Calls(1),
            _ => {}
        }
        begins
    }

    /// The worker returns from a test function. Whether that is where the test ends.
    pub fn leave_test(&mut self, worker: WorkerId) -> bool {
        let ends = worker == WorkerId(0) && self.harness == Harness::Calls(1);
        match &mut self.harness {
            Harness::Calls(calls) if worker == WorkerId(0) && !ends => *calls -= 1,
            _ => {}
        }
        ends
    }

    /// The first worker performs the end of the test.
    pub(super) fn end_test(&mut self, unwound: bool) {
        self.harness = Harness::After { unwound };
        self.atomic_enter(WorkerId(0));
    }

    /// What it means that a worker ends the program with a code that is not 0.
    pub(super) fn failure(&self, worker: WorkerId, code: u32) -> (BugKind, Evidence) {
        let own = || panic::last_words(&self.output, Some(worker));
        match self.harness {
            // What it says may have been said by another worker, if it passes that one's panic on.
            Harness::After { unwound: true } => {
                let others =
                    || self.output.iter().rev().find_map(|o| panic::last_words(&self.output, Some(o.worker)));
                let said =
                    own().or_else(others).unwrap_or_else(|| "the test function passed a panic on".into());
                (BugKind::Panic, Evidence::Said(said))
            }
            Harness::After { unwound: false } => (BugKind::ExitCode, Evidence::TestFailed),
            _ => match own().filter(|_| code == PANICKED) {
                Some(said) => (BugKind::Panic, Evidence::Said(said)),
                None => (BugKind::ExitCode, Evidence::ExitCode(code)),
            },
        }
    }

    /// What was until now does not count: the test begins.
    pub fn begin_test(&mut self) {
        self.steps = 0;
        self.alone_ticks = 0;
        self.output.clear();
        self.events.clear();
    }
}
