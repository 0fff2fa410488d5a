//! Restrictions on what searches can explore.

use super::Settings;
use crate::runtime::FaultClass;
use coyote_strategies::search;

/// Searches that enumerate schedules and values without any reduction.
const PLAIN: [&str; 3] = ["dfs", "preemption-bounding", "delay-bounding"];

/// Settings that the other searches cannot explore: these leave executions out because of what steps touch, or because
/// states are equal.
const REFUSED: &[(FaultClass, &str)] = &[
    // Older stores that memory does not hold any more are not a part of a state.
    (FaultClass::Stale, "--memory weak"),
    // A crash ends all workers at once, whatever they touch.
    (FaultClass::Crash, "crashes"),
    (FaultClass::CrashNode, "crashes of nodes"),
];

impl Settings {
    /// Checks that this search can explore tests with these settings.
    ///
    /// # Errors
    /// Why it cannot, and what to do.
    pub fn check_search(&self, name: &str) -> Result<(), String> {
        let family = name.split(':').next().unwrap_or(name);
        if !search::is_search(name) || PLAIN.contains(&family) && !name.contains('+') {
            return Ok(());
        }
        match REFUSED.iter().find(|(class, _)| self.faults.has(*class)) {
            None => Ok(()),
            Some((_, what)) => Err(format!(
                "the search {name} cannot explore {what}: take dfs, preemption-bounding or delay-bounding, or a strategy that \
                 samples"
            )),
        }
    }
}
