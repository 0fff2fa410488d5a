//! Stratified exhaustive search, then samples from its frontier.
//!
//! Desai et al. propose it as future work: the exhaustive search finds rare bugs that need few delays; beyond
//! some number of delays it becomes too large, and samples, which begin where it stopped, still reach every
//! place. A sample draws a state of the frontier, each with the same probability, makes the delay that the
//! exhaustive search was not allowed, and d - 1 further ones as in [`super::ss`].
//!
//! An execution with d more delays than the exhaustive search's bound is thereby sampled with probability at
//! least 1/(F L^(d-1)), where F is the size of the frontier, unless the search's cache has cut it off: then
//! it is replaced by an execution through the same state of the program, possibly with another state of the
//! explorer.

use super::explorers::Explorer;
use super::ses::{Ses, Settings};
use super::ss::{Samples, Ss};
use super::{Advance, Counts, Item, Search};
use crate::system::{Decision, System};

/// See the module's documentation.
pub struct SesSs<S: System, E> {
    name: String,
    samples: Samples,
    phase: Phase<S, E>,
    /// The counts of the exhaustive search, once it has ended.
    exhaustive: Counts,
}

enum Phase<S: System, E> {
    Exhaustive(Ses<S, E>),
    Sampling(Ss<S, E>),
    /// Between the two phases.
    None,
}

impl<S: System, E: Explorer> SesSs<S, E> {
    /// The exhaustive search ends at its [`Settings::delays_max`]; those of `samples` count from there.
    pub fn new(explorer: E, settings: Settings, samples: Samples) -> SesSs<S, E> {
        SesSs::resume(explorer, settings, samples, vec![Item::default()])
    }

    /// Continues from the result of [`Search::save`]. Sampling begins again: with the same seed, with the
    /// same samples.
    pub fn resume(explorer: E, settings: Settings, samples: Samples, items: Vec<Item>) -> SesSs<S, E> {
        let max = settings.delays_max.map_or(String::new(), |max| format!(":{max}"));
        SesSs {
            name: format!("ses-ss:{}{max}", explorer.name()),
            samples,
            phase: Phase::Exhaustive(Ses::resume(explorer, settings, items)),
            exhaustive: Counts::default(),
        }
    }

    fn search(&self) -> &dyn Search<S> {
        match &self.phase {
            Phase::Exhaustive(ses) => ses,
            Phase::Sampling(ss) => ss,
            Phase::None => unreachable!("the phase is put back at once"),
        }
    }

    fn search_mut(&mut self) -> &mut dyn Search<S> {
        match &mut self.phase {
            Phase::Exhaustive(ses) => ses,
            Phase::Sampling(ss) => ss,
            Phase::None => unreachable!("the phase is put back at once"),
        }
    }

    /// Begins sampling, if the exhaustive search has reached its bound. Returns whether it has.
    fn begin_sampling(&mut self) -> bool {
        match std::mem::replace(&mut self.phase, Phase::None) {
            Phase::Exhaustive(ses) if ses.error().is_none() && ses.counts().cut => {
                self.exhaustive = ses.counts();
                let (mut walk, frontier) = ses.into_frontier();
                walk.steps = 0;
                self.phase = Phase::Sampling(Ss::from_origins(walk, self.samples, frontier.into()));
                true
            }
            other => {
                self.phase = other;
                false
            }
        }
    }
}

impl<S: System, E: Explorer> Search<S> for SesSs<S, E> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn advance(&mut self, system: &mut S, steps: u64) -> Advance {
        match self.search_mut().advance(system, steps) {
            Advance::Exhausted if self.begin_sampling() => self.search_mut().advance(system, steps),
            advance => advance,
        }
    }

    fn path(&self) -> &[Decision] {
        self.search().path()
    }

    fn counts(&self) -> Counts {
        self.exhaustive + self.search().counts()
    }

    fn error(&self) -> Option<&str> {
        self.search().error()
    }

    /// Only work of the exhaustive search can be given away.
    fn split(&mut self) -> Option<Item> {
        self.search_mut().split()
    }

    fn save(&self) -> Vec<Item> {
        match &self.phase {
            Phase::Sampling(ss) => ss.origins().iter().map(Ses::<S, E>::work_item).collect(),
            _ => self.search().save(),
        }
    }

    fn each_left(&self, each: &mut dyn FnMut(&Item)) {
        match &self.phase {
            Phase::Sampling(ss) => ss.origins().iter().for_each(|work| each(&Ses::<S, E>::work_item(work))),
            _ => self.search().each_left(each),
        }
    }
}
