//! Iterations that are watched for data races: some of a sampler's, since a watched one takes several times as long.
//!
//! Which ones these are follows from their numbers. That some are enough rests on how races are found: an execution shows
//! every race of accesses that it makes in whatever order, if nothing in it orders them.

use crate::artifact::Artifact;
use crate::execution::Execution;
use crate::observe::Detector;
use crate::settings::Settings;
use coyote_strategies::mix;

/// Iterations with numbers below this are all watched, except a profiling run that counts as one.
const ALL_BELOW: u64 = 4;
/// Of the later ones, one in so many.
pub const ONE_IN: u64 = 16;

/// Whether the iteration of this number is watched. A strategy that does different things in turn does each of them in
/// some of those that are.
pub fn is_watched(index: u64) -> bool {
    index < ALL_BELOW || mix(index).is_multiple_of(ONE_IN)
}

/// The detectors of a job that watches some of its iterations.
pub struct Watching<'a> {
    /// As long as no iteration is watched.
    detectors: Vec<Box<dyn Detector>>,
    /// As traces of watched iterations have them.
    watched: Settings,
    /// As all others have.
    usual: &'a Settings,
}

impl<'a> Watching<'a> {
    /// Makes the detectors for a module.
    pub fn new(artifact: &Artifact, settings: &'a Settings) -> Watching<'a> {
        let sampled = settings.sampled_detectors(artifact);
        let detectors = sampled.into_iter().filter_map(|entry| settings.detectors.create(entry)).collect();
        let watched = Settings { detectors: settings.detectors.in_all(), ..settings.clone() };
        Watching { detectors, watched, usual: settings }
    }

    /// Executes an iteration, watched if it is to be, and says what came of it by the settings that it had.
    pub fn during<R>(
        &mut self,
        execution: &mut Execution,
        index: u64,
        iteration: impl FnOnce(&mut Execution, &Settings) -> R,
    ) -> R {
        if self.detectors.is_empty() || !is_watched(index) {
            return iteration(execution, self.usual);
        }
        let added = self.detectors.len();
        self.detectors.drain(..).for_each(|detector| execution.detect(detector));
        let result = iteration(execution, &self.watched);
        self.detectors = execution.stop_detecting(added);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One in 16, whatever a strategy does in turn.
    #[test]
    fn the_watched_are_spread_evenly() {
        for turns in 1..=6 {
            for turn in 0..turns {
                let of_turn = (0..960_000).filter(|index| index % turns == turn);
                let watched = of_turn.filter(|index| is_watched(*index)).count() as u64;
                let expected = 960_000 / turns / ONE_IN;
                assert!(watched.abs_diff(expected) < expected / 20, "{watched} of turn {turn} of {turns}");
            }
        }
        assert!((0..4).all(is_watched));
    }
}
