//! A search of executions in the order of their costs, up to the cost of the local minimum.

use super::Effort;
use super::attempt::{Attempt, Attempts};
use super::contended::Contended;
use crate::execution::Execution;
use crate::granules::Sharing;
use crate::machine::MachineError;
use coyote_strategies::search::cheapest::{Cheapest, Price, Reached};
use coyote_strategies::{Guided, Status, System, Weight};
use std::sync::Arc;

/// The result of the search.
pub struct Searched {
    /// The first execution with the bug.
    pub found: Option<Attempt>,
    search: Option<Cheapest<Execution>>,
}

impl Searched {
    /// The number of executions with fewer preemptions that were tried, if these were all.
    pub fn all_below(&self, preemptions: u64) -> Option<u64> {
        self.search.as_ref()?.tried_below(Price { preemptions, ..Price::default() })
    }

    /// The number of cheaper executions, with any number of steps, that were tried, if these were all.
    pub fn all_cheaper(&self, weight: &Weight) -> Option<u64> {
        self.search.as_ref()?.tried_below(price(weight))
    }
}

fn price(weight: &Weight) -> Price {
    Price { preemptions: weight.preemptions, switches: weight.switches, values: weight.values }
}

/// The number of steps between two checks of the limits.
const ALLOWANCE: u64 = 20_000;

/// Searches for an execution with the bug that costs at most as much as the best one. The first search, which is quick,
/// leaves workers only before operations on objects that several workers use according to `contended`. The second one
/// leaves them everywhere, and so determines which executions do not have the bug. With the same effort, it does not get
/// further than the first one: if that one gave up, the second one only tries the executions with fewer preemptions than
/// the best one, and is omitted if the first one did not even try these. Not for programs that cannot be snapshotted.
pub fn search(
    attempts: &mut Attempts,
    best: &Attempt,
    contended: &Contended,
    effort: Effort,
) -> Result<Searched, MachineError> {
    if !attempts.execution.can_snapshot() {
        return Ok(Searched { found: None, search: None });
    }
    let max = price(&best.weight);
    let filter = contended.clone();
    let filtered =
        Cheapest::new(max).leaving_only_before(Box::new(move |operation| filter.contains(operation)));
    let (found, quick) = first(attempts, filtered, effort, None)?;
    let fewer_preemptions = Price { preemptions: best.weight.preemptions, ..Price::default() };
    let gave_up_at = quick.next_price().filter(|_| found.is_none());
    if gave_up_at.is_some_and(|price| fewer_preemptions == Price::default() || price < fewer_preemptions) {
        return Ok(Searched { found: None, search: None });
    }
    let max = found.as_ref().map_or(max, |found| price(&found.weight).min(max));
    // The execution that the second search finds first depends only on the program.
    let up_to = gave_up_at.map(|_| fewer_preemptions);
    let (surely, search) = first(attempts, Cheapest::new(max), effort, up_to)?;
    // With points only where memory is known to be shared, the search misses schedules that would reveal more sharing.
    let complete = *attempts.execution.machine().sharing() == Sharing::All;
    Ok(Searched { found: surely.or(found), search: complete.then_some(search) })
}

/// The first execution with the bug that a search reaches within its effort, or before this price.
fn first(
    attempts: &mut Attempts,
    mut search: Cheapest<Execution>,
    effort: Effort,
    up_to: Option<Price>,
) -> Result<(Option<Attempt>, Cheapest<Execution>), MachineError> {
    attempts.execution.ends_at_once = true;
    let result = first_at_once(attempts, &mut search, effort, up_to);
    attempts.execution.ends_at_once = false;
    Ok((result?, search))
}

fn first_at_once(
    attempts: &mut Attempts,
    search: &mut Cheapest<Execution>,
    effort: Effort,
    up_to: Option<Price>,
) -> Result<Option<Attempt>, MachineError> {
    let mut found = None;
    let is_enough = |search: &Cheapest<Execution>| search.next_price() >= up_to && up_to.is_some();
    while found.is_none() && attempts.may_go_on() && !is_enough(search) {
        let allowance = effort.search_steps_max.min(search.steps() + ALLOWANCE);
        let reached = search.advance(attempts.execution, allowance, effort.search_states_max);
        if let Some(error) = attempts.execution.take_error() {
            return Err(error);
        }
        match reached {
            Reached::Ended(Status::Bug, _) => {
                let guided = Guided::new(Arc::default()).after(search.path().to_vec());
                found = attempts.run(guided, 0)?;
            }
            Reached::Ended(..) => {}
            // The limit of steps or of states is reached.
            Reached::Stopped if allowance == effort.search_steps_max || search.steps() <= allowance => break,
            Reached::Stopped => {}
            Reached::Exhausted => break,
        }
    }
    Ok(found)
}
