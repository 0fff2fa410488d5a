//! Searches: they drive a [`System`] through its executions, and know when all of them are explored.
//!
//! A search goes from one end of an execution to the next and shares prefixes through snapshots. The
//! remaining work is a list of [`Item`]s, which can be split off for another job or written to a file.
//!
//! - [`prefix`]: the beginnings of executions, shared; [`stored`]: checks stored work; [`division`]: divides it.
//! - [`dfs`]: every execution, or all within a bound ([`bounding`]), with or without remembering what was
//!   seen ([`caching`]).
//! - [`dependence`]: which steps commute.
//! - [`clocks`]: happens-before of the current path.
//! - [`dpor`]: one execution of every class of equivalent ones.
//! - [`graph`]: states from which no end can be reached; [`rounds`]: steps that can be repeated for ever, which are
//!   components of it.
//! - [`estimate`]: estimates the number of executions.
//! - [`explorers`]: delaying explorers, which determine the default next step.
//! - [`ses`]: all executions, in the order of an explorer's delays.
//! - [`ss`]: samples of these; [`ses_ss`]: first the search, then samples.
//! - [`stratified`]: these three by name.
//! - [`seen`]: the states that searches with a cache share; [`visited`]: the same, stored and joined; [`ending`]: those
//!   from which no end was reached yet.
//! - [`fingerprints`]: a set of states in bounded memory.
//! - [`cheapest`]: executions in the order of how hard they are to read.
//! - [`effort`]: what a search needs until it finds a bug.
//! - [`catalog`]: the rows of all searches.

pub mod bounding;
pub mod caching;
pub mod catalog;
pub mod cheapest;
pub mod clocks;
mod components;
pub mod dependence;
pub mod dfs;
pub mod division;
pub mod dpor;
pub mod effort;
pub mod ending;
pub mod estimate;
pub mod explorers;
pub mod fingerprints;
pub mod graph;
mod names;
pub mod prefix;
pub mod rounds;
pub mod seen;
pub mod ses;
pub mod ses_ss;
pub mod ss;
pub mod stored;
pub mod stratified;
pub mod visited;

pub use names::{by_name, divisible, is_search, remembers, rests_on_footprints, shardable};
pub use prefix::Prefix;

use crate::Pick;
use crate::system::{Access, Decision, Status, System};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// Result of [`Search::advance`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// An execution ended with this status; [`Search::path`] leads to it.
    Ended(Status),
    /// A livelock: no end can be reached from the state that [`Search::path`] leads to. Counted as a bug, not
    /// as an execution.
    Livelock,
    /// A round of steps that can be repeated for ever: [`Search::round`] begins where [`Search::path`] leads to. Counted
    /// as a bug, not as an execution.
    Round,
    /// The allowance of steps is used up; no execution has ended.
    Working,
    /// Nothing is left, or nothing within the search's bounds: see `Counts::complete`.
    Exhausted,
}

/// Counts of what a search has done so far. The counts of items can be added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Executions that ended by passing or with a bug.
    pub executions: u64,
    /// How many of them ended with a bug. Livelocks and rounds count too, and bugs of executions in which a worker spun,
    /// though those do not count as executions.
    pub bugs: u64,
    /// Executions that ended in [`Status::Abandoned`], such as by a failed assumption.
    pub abandoned: u64,
    /// Executions that ended in [`Status::Unfinished`]: there is no verdict on them.
    #[serde(default)]
    pub unfinished: u64,
    /// Executions given up because all their continuations are explored elsewhere: redundant, not lost. Under
    /// [`dpor`] also those in which a worker spun, which equal others in which it did not.
    pub redundant: u64,
    /// Steps executed, including those that repeat a prefix whose state could not be restored.
    pub steps: u64,
    /// Different states seen, if the search compares them.
    pub states: u64,
    /// Whether something was left out because of a bound of the search.
    pub cut: bool,
    /// Whether a state was reached again with another number of steps, in a search that explores each state
    /// once: some execution may never end. On a cycle of states the numbers cannot all be equal, so if this
    /// is false there is no cycle. A search that finds livelocks itself resets it at the end.
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

/// Work left to do along one path: a search that starts with an item does exactly this work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// Decisions from the start of the program.
    pub prefix: Prefix,
    /// What is known and what is left at states along the prefix, by ascending depth.
    pub branches: Vec<Branch>,
    /// Where it belongs in the states that searches share, if it does.
    pub place: Option<dpor::Place>,
}

impl Item {
    /// The least cost of its executions, in a search with a bound.
    pub fn level(&self) -> u32 {
        self.branches.iter().map(|branch| branch.spent.max(branch.least)).max().unwrap_or(0)
    }
}

/// A state along an item's prefix. States without a branch belong to another item: nothing is to be done
/// there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// How many decisions are before it.
    pub depth: u32,
    /// Steps that were executed from it; in an item's first branch also those that already slept there.
    pub tried: Vec<Tried>,
    /// The decisions still to be tried. If this and `values` are empty at the prefix's end, nothing is known
    /// yet, and everything is to be done.
    pub todo: Vec<Decision>,
    /// The values still to be tried, at a state that waits for a value.
    pub values: Range<u64>,
    /// The part of the search's bound (preemptions, delays) that was spent to get here.
    pub spent: u32,
    /// A lower bound, if known, on the cost of an execution that makes one of these decisions. Only affects
    /// the order in which a bounding search continues with stored items.
    #[serde(default)]
    pub least: u32,
}

/// A step that need not be executed again until a step that depends on it is executed; or a step that must be
/// remembered after it was woken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// The pick that was executed.
    pub pick: Pick,
    /// The values chosen in it.
    pub values: Vec<u64>,
    /// The step's footprint.
    pub footprint: Vec<Access>,
    /// Whether it ended the execution, and so depends on everything.
    pub last: bool,
    /// Whether steps with all other values of its pick are also tried.
    pub whole: bool,
    /// Whether this is not a tried step: its worker spins and makes no more steps, whatever is executed.
    #[serde(default)]
    pub spins: bool,
    /// If the step was woken and may have to be executed again: the event of the prefix that depends on it.
    #[serde(default)]
    pub woken: Option<u32>,
    /// Steps, by process and number, that wake it whatever they touch: they depend on it if they come after
    /// it.
    #[serde(default)]
    pub followers: Vec<(u32, u32)>,
    /// Whether every step that allocates memory may be one of these.
    #[serde(default)]
    pub frees: bool,
}

/// What the searches of one exploration share. Clones share the same.
#[derive(Clone, Debug, Default)]
pub struct Shared {
    /// The states at which several searches by [`dpor`] work.
    pub dpor: Arc<dpor::Shared>,
    /// The states that were reached, if states are compared.
    pub seen: Arc<seen::Seen>,
    /// Of a part of an exploration that remembers states: decides the order in which decisions are made at a state, so that
    /// parts come to different states first. 0: the usual order.
    pub turn: u64,
}

/// A search: see the module's documentation.
pub trait Search<S: System>: Send {
    /// The name and parameters under which a user selects it, such as `dfs` or `ses:round-robin`.
    fn name(&self) -> String;

    /// Continues until an execution ends or about `steps` steps were executed. The system must be in the
    /// state in which the last call left it; the first call restarts it.
    fn advance(&mut self, system: &mut S, steps: u64) -> Advance;

    /// The decisions that lead from the start to the present state.
    fn path(&self) -> &[Decision];

    /// The counts so far, of all calls of [`Search::advance`] together.
    fn counts(&self) -> Counts;

    /// The number of all executions, estimated from those seen so far (Knuth 1975); `None` as long as no
    /// estimate is possible.
    fn estimate(&self) -> Option<f64> {
        None
    }

    /// The round, after [`Advance::Round`].
    fn round(&self) -> Option<&rounds::Round> {
        None
    }

    /// Why the search gave up before its bounds, if it did: an input from outside, such as a delaying
    /// explorer or a stored item, is wrong. The search is then exhausted, and cut.
    fn error(&self) -> Option<&str> {
        None
    }

    /// Lets it share states with the other searches of one exploration, all of which must be passed the same ones,
    /// before anything else. To be stored, an exploration needs the shared states besides the items of its searches.
    fn share(&mut self, _shared: &Shared) {}

    /// Gives a part of the remaining work to another job; `None` if no part is large enough.
    fn split(&mut self) -> Option<Item> {
        None
    }

    /// All remaining work. A search made from these items continues where this one is.
    fn save(&self) -> Vec<Item>;

    /// Passes the items one after the other, for callers that do not need all of them at once.
    fn each_left(&self, each: &mut dyn FnMut(&Item)) {
        self.save().iter().for_each(each);
    }
}
