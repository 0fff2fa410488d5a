//! Searches: they drive a [`System`] through its executions, and know when there are no more.
//!
//! A search goes from one end of an execution to the next and shares prefixes through snapshots. What is
//! left to do is a list of [`Item`]s, which can be split off for another job or written to a file.
//!
//! - [`prefix`]: the beginnings of executions, shared; [`stored`]: whether stored work is work that there is.
//! - [`dfs`]: every execution, or all within a bound ([`bounding`]), with or without a memory of what was
//!   seen ([`caching`]).
//! - [`dependence`]: which steps commute.
//! - [`clocks`]: happens-before of the current path.
//! - [`dpor`]: one execution of every class of equivalent ones.
//! - [`graph`]: states from which no end can be reached.
//! - [`estimate`]: how many executions there will be.
//! - [`explorers`]: delaying explorers, which say what happens next by default.
//! - [`ses`]: everything, in the order of an explorer's delays.
//! - [`ss`]: samples of it; [`ses_ss`]: first the one, then the other.
//! - [`stratified`]: these three by name.
//! - [`fingerprints`]: a set of states in bounded memory.
//! - [`cheapest`]: executions in the order of how hard they are to read.
//! - [`effort`]: what a search needs until it finds a bug.
//! - [`catalog`]: all of them.

pub mod bounding;
pub mod caching;
pub mod catalog;
pub mod cheapest;
pub mod clocks;
pub mod dependence;
pub mod dfs;
pub mod dpor;
pub mod effort;
pub mod estimate;
pub mod explorers;
pub mod fingerprints;
pub mod graph;
mod names;
pub mod prefix;
pub mod ses;
pub mod ses_ss;
pub mod ss;
pub mod stored;
pub mod stratified;

pub use names::{by_name, is_search, rests_on_footprints, shardable};
pub use prefix::Prefix;

use crate::Pick;
use crate::system::{Access, Decision, Status, System};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// How far [`Search::advance`] came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// An execution ended like this; [`Search::path`] leads to it.
    Ended(Status),
    /// A livelock: no end can be reached from the state that [`Search::path`] leads to. Counted as a bug,
    /// not as an execution.
    Livelock,
    /// The allowance of steps is used up before an end was reached.
    Working,
    /// There is nothing left, or nothing that the search's bounds allow: see `Counts::complete`.
    Exhausted,
}

/// What a search has done so far. Adds up over items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Executions that ended by passing or with a bug.
    pub executions: u64,
    /// Of these, with a bug. Livelocks, too, and bugs of executions in which a worker spun, though those do
    /// not count as executions.
    pub bugs: u64,
    /// Executions that ended in [`Status::Abandoned`], such as by a failed assumption.
    pub abandoned: u64,
    /// Executions that ended in [`Status::Unfinished`]: there is no verdict on them.
    #[serde(default)]
    pub unfinished: u64,
    /// Executions given up because all that could follow is explored elsewhere: redundant, not lost. Under
    /// [`dpor`] also those in which a worker spun, which equal others in which it did not.
    pub redundant: u64,
    /// Steps executed, those to get back to a state that could not be restored included.
    pub steps: u64,
    /// Different states seen, if the search compares them.
    pub states: u64,
    /// Whether something was left out because of a bound of the search.
    pub cut: bool,
    /// Whether a state that was seen was reached again in another number of steps, by a search that goes on
    /// from each state once: some execution may never end. On a cycle of states the numbers cannot all be equal, so
    /// without this there is none. A search that finds livelocks itself does not leave it set.
    #[serde(default)]
    pub cyclic: bool,
}

impl Counts {
    /// Counts an execution that ended with this status.
    pub fn ended(&mut self, status: Status) {
        match status {
            Status::Abandoned => self.abandoned += 1,
            Status::Unfinished => self.unfinished += 1,
            _ => self.executions += 1,
        }
        self.bugs += u64::from(status == Status::Bug);
    }
}

impl std::ops::Add for Counts {
    type Output = Counts;

    fn add(self, other: Counts) -> Counts {
        Counts {
            executions: self.executions + other.executions,
            bugs: self.bugs + other.bugs,
            abandoned: self.abandoned + other.abandoned,
            unfinished: self.unfinished + other.unfinished,
            redundant: self.redundant + other.redundant,
            steps: self.steps + other.steps,
            states: self.states + other.states,
            cut: self.cut || other.cut,
            cyclic: self.cyclic || other.cyclic,
        }
    }
}

impl std::iter::Sum for Counts {
    fn sum<I: Iterator<Item = Counts>>(all: I) -> Counts {
        all.fold(Counts::default(), std::ops::Add::add)
    }
}

/// Work left to do along one path: a search that starts with it does exactly that and no more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// Decisions from the start of the program.
    pub prefix: Prefix,
    /// What is known and left to do at states along the prefix, by ascending depth.
    pub branches: Vec<Branch>,
}

/// A state along an item's prefix. States without one belong to another item: nothing is to be done there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// Decisions before it.
    pub depth: u32,
    /// Steps that were executed from it; in an item's first branch also those that slept there already.
    pub tried: Vec<Tried>,
    /// What is still to be tried. With no values either at the prefix's end: nothing is known yet, and
    /// everything to be done.
    pub todo: Vec<Decision>,
    /// The same at a state that waits for a value.
    pub values: Range<u64>,
    /// What the search has spent of its bound (preemptions, delays) to get here.
    pub spent: u32,
    /// What an execution through here that tries something of the above costs at least, as far as that is known: of
    /// no matter but for the order in which a bounding search goes on with what it stored.
    #[serde(default)]
    pub least: u32,
}

/// A step that need not be executed again as long as nothing that depends on it was executed, or what is
/// to be remembered of it afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// The pick that was executed.
    pub pick: Pick,
    /// The values chosen in it.
    pub values: Vec<u64>,
    /// What the step touched.
    pub footprint: Vec<Access>,
    /// Whether it ended the execution, and so depends on everything.
    pub last: bool,
    /// Whether steps with all other values of its pick are tried as well.
    pub whole: bool,
    /// Not a step that was tried: its worker spins and goes no further, whatever is executed.
    #[serde(default)]
    pub spins: bool,
    /// Not one that need not be executed: this event of the prefix depends on it.
    #[serde(default)]
    pub woken: Option<u32>,
    /// Steps by process and number that wake it, whatever they touch: they depend on it if they come after it.
    #[serde(default)]
    pub followers: Vec<(u32, u32)>,
    /// Whether every step that hands memory out may be one of those.
    #[serde(default)]
    pub frees: bool,
}

/// See the module's documentation.
pub trait Search<S: System>: Send {
    /// The name and parameters under which a user selects it, such as `dfs` or `ses:round-robin`.
    fn name(&self) -> String;

    /// Goes on until an execution ends or about `steps` steps were executed. The system must be as the last
    /// call left it; the first call may get any and restarts it.
    fn advance(&mut self, system: &mut S, steps: u64) -> Advance;

    /// The decisions that lead from the start to where the search is.
    fn path(&self) -> &[Decision];

    /// What was done so far, by all calls of [`Search::advance`] together.
    fn counts(&self) -> Counts;

    /// How many executions there are in all, estimated from those seen so far (Knuth 1975); `None` as
    /// long as nothing can be said.
    fn estimate(&self) -> Option<f64> {
        None
    }

    /// Why the search gave up before its bounds, if it did: something that comes from outside, such as a
    /// delaying explorer or a stored item, is wrong. It is then exhausted, and cut.
    fn error(&self) -> Option<&str> {
        None
    }

    /// Gives a part of what is left to another job; `None` if there is nothing worth it.
    fn split(&mut self) -> Option<Item> {
        None
    }

    /// All that is left to do. A search made from these items goes on where this one is.
    fn save(&self) -> Vec<Item>;

    /// The same, one after the other, for callers that do not need all of them at once.
    fn each_left(&self, each: &mut dyn FnMut(&Item)) {
        self.save().iter().for_each(each);
    }
}
