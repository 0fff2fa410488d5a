//! Which searches can explore what.

use super::Settings;
use crate::runtime::FaultClass;
use coyote_strategies::search;

/// These enumerate schedules and values plainly.
const PLAIN: [&str; 3] = ["dfs", "preemption-bounding", "delay-bounding"];

/// What the others cannot explore, which leave executions out for what steps touch or because states are equal.
const REFUSED: &[(FaultClass, &str)] = &[
    // Stores that are no longer in memory are no part of a state.
    (FaultClass::Stale, "--memory weak"),
    // All workers end at once, whatever they touch.
    (FaultClass::Crash, "crashes"),
];

impl Settings {
    /// Why this search cannot explore what is asked for, if it cannot.
    ///
    /// # Errors
    /// What to do.
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
