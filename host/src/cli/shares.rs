//! `--total-timeout`: time that several tests share.
//!
//! Every test that meets a choice gets an equal share of the time that is left when it begins, so time that one test
//! does not need goes to later ones. Bugs are minimised and explained within the share of their test, too. One execution of
//! each test determines first which tests meet a choice. The other tests are done after one execution, for which there is
//! always time. A test whose share was used up before it began also gets time for a few executions, and each bug half a
//! second for its explanation, so the run may take that much longer.

use super::run::Explored;
use super::session::Session;
use crate::engine_thread::on_engine_thread;
use crate::execution::{Execution, Test};
use crate::explore::alarm;
use crate::machine::MachineError;
use anyhow::Result;
use coyote_strategies::{Iteration, RandomWalk};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

pub struct Shares {
    /// The end of the run.
    end: Option<Instant>,
    /// Remaining tests that meet a choice.
    left: BTreeSet<String>,
}

impl Shares {
    pub fn new(session: &Session, tests: &[&Test]) -> Result<Shares> {
        let Some(total) = session.total_timeout else {
            return Ok(Shares { end: None, left: BTreeSet::new() });
        };
        // An execution that has not ended by then counts as one that meets a choice.
        let mut left = BTreeSet::new();
        for test in tests {
            if meets_choice(session, test)? {
                left.insert(test.name.clone());
            }
        }
        // The time begins here, so an execution that does not end costs the other tests nothing.
        Ok(Shares { end: Some(Instant::now() + total), left })
    }

    /// Explores a test within its share.
    pub fn explore(&mut self, session: &Session, test: &Test) -> Result<Explored> {
        let mut budget = session.options_of(test).budget.clone();
        let mut until = None;
        if let Some(end) = self.end {
            // A test that was not known to meet a choice is counted when it begins.
            let is_known = self.left.remove(&test.name);
            let sharing = self.left.len() + 1;
            let least = if is_known { LEAST } else { PROBE };
            let share = share(end.saturating_duration_since(Instant::now()), sharing).max(least);
            budget.timeout = Some(budget.timeout.map_or(share, |timeout| timeout.min(share)));
            until = Some(Instant::now() + share);
        }
        Ok(Explored { result: session.explore(test, &budget)?, until })
    }
}

fn share(left: Duration, sharing: usize) -> Duration {
    left / u32::try_from(sharing.max(1)).unwrap_or(u32::MAX)
}

/// The minimum time of a test that meets a choice.
const LEAST: Duration = Duration::from_millis(50);

/// The time limit of the execution that determines whether a test meets a choice.
const PROBE: Duration = Duration::from_secs(1);

/// Whether an execution of the test meets a choice within the time limit.
fn meets_choice(session: &Session, test: &Test) -> Result<bool> {
    let walk = Box::new(RandomWalk::default());
    let iteration = Iteration { seed: session.seed, index: 0 };
    let settings = &session.options_of(test).settings;
    let (artifact, interrupted) = (&session.artifact, &session.interrupted);
    Ok(on_engine_thread(|| -> Result<bool, MachineError> {
        let mut execution = Execution::new(artifact, test, settings)?;
        alarm::with(Some(PROBE), interrupted, |cancel| {
            execution.cancel_by(Some(cancel.clone()));
            execution.run(walk, iteration)?;
            Ok(execution.record(true).decisions > 0)
        })
    })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_needed_goes_to_those_that_follow() {
        let seconds = Duration::from_secs;
        assert_eq!(share(seconds(12), 3), seconds(4));
        // The first test took 1 of its 4 seconds.
        assert_eq!(share(seconds(11), 2), Duration::from_millis(5_500));
        assert_eq!(share(seconds(0), 1), seconds(0));
        assert_eq!(share(seconds(3), 0), seconds(3));
    }
}
