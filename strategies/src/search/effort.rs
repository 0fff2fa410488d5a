//! What a search needs until it finds a bug: the figure by which searches are compared.

use super::{Advance, Counts, Search};
use crate::system::{Decision, Status, System};

/// The result of a search for the first bug.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effort {
    /// The search's name with its parameters.
    pub search: String,
    /// The search's counts when the bug was found, or when the search ended.
    pub counts: Counts,
    /// Why the search ended.
    pub end: End,
}

/// How the run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// A bug was found; the decisions lead to it.
    Bug(Vec<Decision>),
    /// The search has nothing left within its bounds.
    Exhausted,
    /// More steps were needed than allowed.
    GivenUp,
    /// The search itself reported an error.
    Failed(String),
}

/// Runs a search until its first bug, for about `steps_max` steps at most.
pub fn states_to_bug<S: System>(
    system: &mut S,
    search: &mut (impl Search<S> + ?Sized),
    steps_max: u64,
) -> Effort {
    let end = loop {
        let left = steps_max.saturating_sub(search.counts().steps);
        match search.advance(system, left) {
            Advance::Ended(Status::Bug) | Advance::Livelock | Advance::Round => {
                break End::Bug(search.path().to_vec());
            }
            Advance::Exhausted => {
                break search.error().map_or(End::Exhausted, |error| End::Failed(error.into()));
            }
            _ if left == 0 => break End::GivenUp,
            Advance::Ended(_) | Advance::Working => {}
        }
    };
    Effort { search: search.name(), counts: search.counts(), end }
}
