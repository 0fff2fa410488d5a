//! Rounds of steps that can be repeated for ever: three rows of the table, of which [`crate::lasso`] says what they are, how
//! they are proved, what could make them lie and what they miss.
//!
//! - `lassos`: all workers go round, and get nowhere; with a monitor that is never cold, that is the bug.
//! - `starvation`: a worker is overtaken for ever.
//! - `good-samaritan`: a worker goes round without giving way.
//!
//! They are no bugs unless the user says so: a program may rest on a scheduler that does not stay in step with it, and give
//! way by other means. They are looked for in executions of samplers, in each of the first 256 iterations and in one of 16
//! later, from up to four states; no step is told them.

use crate::artifact::Artifact;
use crate::observe::{Detector, Interest};
use coyote_instrumenter::Points;

/// What is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// See [`crate::evidence::RoundKind::Together`].
    pub together: bool,
    /// See [`crate::evidence::RoundKind::Without`].
    pub without: bool,
    /// See [`crate::evidence::RoundKind::Alone`].
    pub alone: bool,
}

impl Wanted {
    /// Whether it is anything.
    pub fn any(self) -> bool {
        self.together || self.without || self.alone
    }
}

/// See the module's documentation. It is told nothing.
pub struct Rounds;

impl Detector for Rounds {
    fn interest(&self) -> Interest {
        Interest::empty()
    }
}

/// Why no state of a module could be compared with another.
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
