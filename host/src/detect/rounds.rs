//! Rounds of steps that can be repeated for ever: three rows of the table. [`crate::lasso`] says what they are, how
//! they are proved, what could make them wrong and what they miss.
//!
//! - `lassos`: all workers repeat their steps without progress; if a monitor is never cold meanwhile, that is
//!   the bug.
//! - `starvation`: a worker is overtaken for ever.
//! - `good-samaritan`: a worker repeats its steps without giving way.
//!
//! They are bugs only if the user says so: a program may rely on a scheduler that does not stay in step with it, and
//! give way by other means. They are searched for in executions of samplers, in each of the first 256 iterations and in
//! one of 16 later ones, from up to four states; and by the search `stateful` in all states
//! ([`coyote_strategies::search::rounds`]). These detectors receive no events.

use crate::artifact::Artifact;
use crate::observe::{Detector, Interest};
use coyote_instrumenter::Points;
pub use coyote_strategies::search::rounds::Wanted;

/// See the module's documentation. It receives no events.
pub struct Rounds;

impl Detector for Rounds {
    fn interest(&self) -> Interest {
        Interest::empty()
    }
}

/// Checks that states of a module can be compared; the error says why not.
pub fn check(artifact: &Artifact) -> Result<(), String> {
    let options = &artifact.options;
    let filtered = !options.no_points_in.is_empty() || !options.points_only_in.is_empty();
    if options.points == Points::Sync || filtered {
        return Err("rounds are only looked for where all accesses are scheduling points: leave out --points sync and the \
                    filters"
            .into());
    }
    Ok(())
}
