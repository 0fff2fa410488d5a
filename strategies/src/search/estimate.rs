//! How many executions there are in all, estimated while searching.
//!
//! Knuth (1975) samples a tree by random probes. A depth-first search sees it from left to right instead,
//! so this is the recursive estimator of Kilby, Slaney, Thiebaux and Walsh (AAAI 2006): what is left of a
//! state is taken to be, per alternative, as large as what has been seen of its other alternatives. It is
//! biased as long as the search is in a small corner, and exact in the end. Alternatives that a search
//! finds out about later (races) count from then on: for DPOR it is far too low at first.

/// What a search knows of one state of its path.
#[derive(Clone, Copy, Debug, Default)]
pub struct Level {
    /// Executions below alternatives that are done.
    pub found: u64,
    /// How many alternatives are done.
    pub done: u64,
    /// How many alternatives are not begun.
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
            // Nothing is known but that it has something.
            0 => 1.0,
            _ => seen + level.left as f64 * seen / begun as f64,
        });
    }
    below.unwrap_or(0.0)
}
