//! Units of a search.
//!
//! A search has no numbers by which it could be divided before it is executed. A campaign of one goes by *stages*: the
//! parts of a stage are searched, each by a unit; what they have left is joined, and divided into the parts of the next
//! stage ([`coyote_strategies::search::division`]). The first stage has one part, the whole search. All of this is a
//! function of the campaign: a part, the budget of its unit, and so what the unit does and leaves.
//!
//! Units of a search that remembers states begin with what was visited in the stages before.

use super::Campaign;
use crate::explore::UnitBudget;
use crate::results::{SearchSummary, Stop, Subject, TestResult};
use crate::statistics::StepsMax;
use coyote_strategies::search::Counts;
use coyote_strategies::search::visited::Visited;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// The result of a unit of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchUnit {
    /// The campaign, which is of one test.
    pub campaign: Campaign,
    /// The module's path, as it was given.
    pub path: PathBuf,
    /// What it began with, and what it left.
    pub work: UnitWork,
    /// Wall-clock time: the only part that is not the same each time.
    pub elapsed: Duration,
    /// The result, without times and paths.
    pub result: TestResult,
}

/// The files of a unit of a search, by the blake3 of their bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnitWork {
    /// The part that it searched; `None`: the whole search.
    pub part: Option<String>,
    /// What it left; `None`: nothing.
    pub left: Option<String>,
}

/// The least number of steps of a unit, unless all units of the campaign have fewer.
const STEPS_MIN: u64 = 10_000;

/// The budget of the units of a stage with this number of parts, in a campaign whose stages have at most `units` parts. As
/// long as there are fewer parts, units are shorter, so that others can soon take a share of what they leave.
pub fn budget_of_stage(parts: u64, units: u64, steps: u64) -> UnitBudget {
    let share = u128::from(steps) * u128::from(parts) / u128::from(units.max(1));
    let pieces = 2 * units.div_ceil(parts.max(1));
    UnitBudget {
        steps: u64::try_from(share).unwrap_or(u64::MAX).max(STEPS_MIN.min(steps)),
        pieces: usize::try_from(pieces).unwrap_or(usize::MAX),
    }
}

/// Counts what several units have met once.
fn count_once(search: &mut SearchSummary, visited: &Visited) {
    let counts = &mut search.counts;
    let Counts { executions, bugs, abandoned, unfinished, .. } = visited.ends();
    // A search that compares classes counts no states.
    let states = if counts.states > 0 { visited.states.len() as u64 } else { 0 };
    let cyclic = visited.may_not_end();
    *counts = Counts { executions, bugs, abandoned, unfinished, states, cyclic, ..*counts };
    search.may_repeat = visited.cyclic;
}

/// The result of a campaign of a search, from those of its units in the order of stages and parts. `open`: the number of
/// units of the present stage without a result; `done`: whether nothing is left, or a bug ended the campaign. Bugs have no
/// paths. `visited`: the states that all units have visited, if the search remembers them; so each of their ends counts
/// once, though units of one stage may have met it several times. What depends on the module is not in the result: see
/// [`crate::explore::search::complete`].
///
/// # Errors
/// The units are of different campaigns: says in what they differ.
pub fn total(
    units: &[SearchUnit],
    visited: Option<&Visited>,
    open: u64,
    done: bool,
) -> Result<TestResult, String> {
    let mut total: Option<TestResult> = None;
    for SearchUnit { campaign, elapsed, result, .. } in units {
        let first = &units[0].campaign;
        if campaign != first {
            return Err("the results are of different campaigns".into());
        }
        match &mut total {
            None => total = Some(TestResult { elapsed: *elapsed, ..result.clone() }),
            Some(total) => {
                total.append(result.clone()).map_err(|error| error.to_string())?;
                total.elapsed += *elapsed;
            }
        }
    }
    let mut total =
        total.unwrap_or_else(|| TestResult::new(Subject::default(), StepsMax { unfair: 0, fair: 0 }, true));
    // A unit ends with its first bug unless the campaign goes on behind bugs.
    let ended_with_bug = units.iter().any(|unit| unit.result.stop == Stop::Bug);
    if let (Some(search), Some(visited), [_, _, ..]) = (&mut total.search, visited, units) {
        count_once(search, visited);
        total.statistics.buggy = total.statistics.buggy.min(search.counts.bugs);
        total.bugs.iter_mut().for_each(|bug| bug.count = bug.count.min(search.counts.bugs));
    }
    if let Some(search) = &mut total.search {
        let counts = search.counts;
        total.any_choice |= counts.executions + counts.abandoned + counts.unfinished + counts.redundant > 1;
        let cut = std::mem::take(&mut search.cut).missing_in(&total.incidents);
        total.incidents.merge(cut);
        search.exhausted = done && !ended_with_bug;
        search.open_units = open;
        search.estimate = None;
        total.stop = match () {
            () if ended_with_bug => Stop::Bug,
            () if done => Stop::Exhausted,
            () => Stop::Iterations,
        };
    }
    Ok(total)
}
