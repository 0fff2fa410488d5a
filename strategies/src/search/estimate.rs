//! Estimates the number of all executions during a search.
//!
//! Knuth (1975) samples a tree by random probes. A depth-first search visits it from left to right instead,
//! so this is the recursive estimator of Kilby, Slaney, Thiebaux and Walsh (AAAI 2006): each remaining
//! alternative of a state is assumed to be as large as the average of those that were seen. It is biased as
//! long as the search is in a small part of the tree, and exact at the end. Alternatives that a search
//! discovers later (races) count only after that: for DPOR the estimate is far too low at first.

/// A state of a search's path.
#[derive(Clone, Copy, Debug, Default)]
pub struct Level {
    /// The number of executions below completed alternatives.
    pub found: u64,
    /// The number of completed alternatives.
    pub done: u64,
    /// The number of alternatives that are not begun.
    pub left: u64,
}

/// The executions below the first level. All levels but the last have one alternative in progress: the
/// next level.
pub fn total(levels: impl DoubleEndedIterator<Item = Level>) -> f64 {
    let mut below = None;
    for level in levels.rev() {
        let seen = level.found as f64 + below.unwrap_or(0.0);
        let begun = level.done + u64::from(below.is_some());
        below = Some(match begun {
            // It is only known that there is at least one execution.
            0 => 1.0,
            _ => seen + level.left as f64 * seen / begun as f64,
        });
    }
    below.unwrap_or(0.0)
}
