//! Delaying explorers (Desai, Qadeer, Seshia, FSE 2015): the default next step, and delays that deviate from
//! it.
//!
//! An explorer is plain state beside the program: it offers one pick, is told what was executed, and can be
//! *delayed*, after which it offers another pick. The executions that need the same number of delays are a
//! stratum; bugs that need few delays are cheap to find. Which explorer needs few depends on the program, so
//! writing one is meant to be easy: [`ByRank`] is an example.
//!
//! An explorer is *sound* for a program if in every state repeated delays offer every possible pick.
//! [`offers`] checks exactly that, and the searches call it in every state with more than one pick.
//!
//! An explorer does not decide values: all values of a data choice follow the same pick, the smallest first.
//!
//! - [`turns`]: an order of workers, a building block of explorers.
//! - [`round_robin`], [`run_to_completion`], [`by_rank`]: explorers.
//! - [`walk`]: an execution of a program together with an explorer.

pub mod by_rank;
pub mod round_robin;
pub mod run_to_completion;
pub mod turns;
pub mod walk;

pub use by_rank::ByRank;
pub use round_robin::RoundRobin;
pub use run_to_completion::RunToCompletion;

use crate::{Decision, Event, Pick, View};
use std::fmt;

/// A delaying explorer: see the module's documentation.
///
/// Deviation from the paper: an explorer sees the [`View`] and so offers only what is possible, where the
/// paper's keeps track of blocked processes itself.
pub trait Explorer: Clone + Send {
    /// The name under which a user selects it.
    fn name(&self) -> String;

    /// Begins an execution.
    fn begin(&mut self, view: &View);

    /// The pick that it offers now; `None` if it offers none that is possible, which is a mistake of the
    /// explorer.
    fn next(&self, view: &View) -> Option<Pick>;

    /// Records that the pick was executed with these events and led to this view.
    fn step(&mut self, pick: Pick, events: &[Event], view: &View);

    /// Delays the pick that it offers now, and offers another one.
    fn delay(&mut self, view: &View);
}

/// An explorer that is not sound: nothing can be concluded from a search with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsound {
    /// The explorer's name.
    pub explorer: String,
    /// The decisions that lead to the state.
    pub path: Vec<Decision>,
    /// The explorer's mistake in that state.
    pub mistake: Mistake,
}

/// A mistake of an explorer in a state with `choices` picks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// This pick was not offered, after as many offers as there are picks.
    Missing {
        /// The possible pick that was not offered.
        pick: Pick,
        /// How many picks are possible.
        choices: usize,
    },
    /// It offered a pick that is not possible.
    Impossible {
        /// The pick that was offered.
        pick: Pick,
        /// How many picks are possible.
        choices: usize,
    },
    /// It offered nothing.
    Silent {
        /// How many picks are possible.
        choices: usize,
    },
}

impl fmt::Display for Unsound {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Unsound { explorer, path, mistake } = self;
        write!(f, "explorer {explorer} is not sound: after {} decisions [", path.len())?;
        let shown = &path[path.len().saturating_sub(12)..];
        if shown.len() < path.len() {
            write!(f, "..")?;
        }
        for (i, decision) in shown.iter().enumerate() {
            write!(f, "{}{}", if i > 0 || shown.len() < path.len() { " " } else { "" }, Short(decision))?;
        }
        write!(f, "] it ")?;
        match mistake {
            Mistake::Missing { pick, choices } => {
                write!(f, "never offers {}: not within {choices} offers for {choices} picks", Long(*pick))
            }
            Mistake::Impossible { pick, choices } => {
                write!(f, "offers {}, which is none of the {choices} possible picks", Long(*pick))
            }
            Mistake::Silent { choices } => write!(f, "offers nothing where {choices} picks are possible"),
        }
    }
}

struct Long(Pick);

impl fmt::Display for Long {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.0 {
            Pick::Step(worker) => write!(f, "a step of worker {}", worker.0),
            Pick::Timeout(worker) => write!(f, "the timeout of worker {}", worker.0),
        }
    }
}

struct Short<'a>(&'a Decision);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.0 {
            Decision::Pick(Pick::Step(worker)) => write!(f, "{}", worker.0),
            Decision::Pick(Pick::Timeout(worker)) => write!(f, "t{}", worker.0),
            Decision::Value(value) => write!(f, "={value}"),
        }
    }
}

/// The offers of the explorer with 0, 1, 2, ... delays, as many as there are possible picks. It is sound in
/// this state if these are the possible picks, each once.
///
/// # Errors
/// The first mistake, if the explorer is not sound in this state.
pub fn offers<E: Explorer>(explorer: &E, view: &View, into: &mut Vec<Pick>) -> Result<(), Mistake> {
    into.clear();
    let choices = view.choices();
    let mut offer = |explorer: &E| {
        let pick = explorer.next(view).ok_or(Mistake::Silent { choices })?;
        into.push(pick);
        if view.allows(pick) { Ok(()) } else { Err(Mistake::Impossible { pick, choices }) }
    };
    offer(explorer)?;
    if choices > 1 {
        let mut explorer = explorer.clone();
        for _ in 1..choices {
            explorer.delay(view);
            offer(&explorer)?;
        }
    }
    match view.picks().find(|pick| !into.contains(pick)) {
        Some(pick) => Err(Mistake::Missing { pick, choices }),
        None => Ok(()),
    }
}
