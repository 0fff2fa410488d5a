//! `--total-timeout`: time that several tests share.
//!
//! Every test that meets a choice gets an equal share of the time that is left when it begins, so what one
//! does not need goes to those after it. Which tests these are is found out first, by one execution of
//! each: the others are done after one execution anyway, for which they always have the time. So has a test whose share was
//! used up before it came, for a few executions: the run may take that much longer.

use super::session::Session;
use crate::engine_thread::on_engine_thread;
use crate::execution::{Execution, Test};
use crate::explore::alarm;
use crate::machine::MachineError;
use crate::results::TestResult;
use anyhow::Result;
use coyote_strategies::{Iteration, RandomWalk};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

pub struct Shares {
    /// The end of the run.
    end: Option<Instant>,
    /// Tests yet to come that meet a choice.
    left: BTreeSet<String>,
}

impl Shares {
    pub fn new(session: &Session, tests: &[&Test]) -> Result<Shares> {
        let Some(total) = session.total_timeout else {
            return Ok(Shares { end: None, left: BTreeSet::new() });
        };
        // An execution that is not over by then can be taken for one that meets a choice.
        let mut left = BTreeSet::new();
        for test in tests {
            if meets_choice(session, test)? {
                left.insert(test.name.clone());
            }
        }
        // An execution that does not end costs the others nothing.
        Ok(Shares { end: Some(Instant::now() + total), left })
    }

    /// Explores a test within its share.
    pub fn explore(&mut self, session: &Session, test: &Test) -> Result<TestResult> {
        let mut budget = session.options_of(test).budget.clone();
        if let Some(end) = self.end {
            // One that an execution did not show to meet a choice counts when it comes.
            let is_known = self.left.remove(&test.name);
            let sharing = self.left.len() + 1;
            let least = if is_known { LEAST } else { PROBE };
            let share = share(end.saturating_duration_since(Instant::now()), sharing).max(least);
            budget.timeout = Some(budget.timeout.map_or(share, |timeout| timeout.min(share)));
        }
        session.explore(test, &budget)
    }
}

fn share(left: Duration, sharing: usize) -> Duration {
    left / u32::try_from(sharing.max(1)).unwrap_or(u32::MAX)
}

/// What a test gets in any case that meets a choice.
const LEAST: Duration = Duration::from_millis(50);

/// How long an execution may take that is only to show whether a test meets a choice.
const PROBE: Duration = Duration::from_secs(1);

/// Whether an execution of the test meets a choice, as far as there is time to see it.
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
        // The first took 1 of its 4 seconds.
        assert_eq!(share(seconds(11), 2), Duration::from_millis(5_500));
        assert_eq!(share(seconds(0), 1), seconds(0));
        assert_eq!(share(seconds(3), 0), seconds(3));
    }
}
