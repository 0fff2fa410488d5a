//! Stratified exhaustive search (Desai, Qadeer, Seshia, FSE 2015): all executions with no delay of an
//! explorer, then all with one more, and so on.
//!
//! Searches states of program and explorer depth-first. Picks that would exceed the present bound on delays
//! wait in the frontier, from which the search continues with a larger bound: nothing is searched twice.
//!
//! **Caching.** As in the paper, a state of the *program* that was seen is not searched again, whatever the
//! state of the explorer: the explorer may have many more states than the program. Every state is still
//! reached in the limit. But a state that was first reached with more delays than necessary, or with another
//! state of the explorer, is searched from there. So what is found at a bound need not be all that this many
//! delays can reach: with a cache, only a false [`Counts::cut`] proves that something is impossible. Without
//! a cache every execution with at most the bound's delays is explored exactly once.
//!
//! **Memory** is limited for cache and frontier: [`Settings`]. For items without a snapshot the frontier
//! keeps decisions, which are executed again.
//!
//! Deviations from the paper: the values of data choices cost no delays. If bounds grow by more than one, an
//! item of the frontier continues with the delays that it has spent, where the paper's text charges it the
//! whole new bound. Ends are also counted if their state was seen.

use super::explorers::walk::{Place, Walk};
use super::explorers::{Explorer, Unsound};
use super::fingerprints::{Capacity, Fingerprints, Seen};
use super::prefix::Prefixes;
use super::{Advance, Branch, Counts, Item, Prefix, Search};
use crate::system::{Decision, Status, System};
use crate::{Pick, View};
use std::collections::VecDeque;

/// Bounds of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Maximal number of delays; executions with more are left out.
    pub delays_max: Option<u32>,
    /// How much the bound grows when its executions are explored (the paper's delta), at least 1.
    pub delays_step: u32,
    /// How many states the cache keeps.
    pub cache: Capacity,
    /// How many items of the frontier keep a snapshot.
    pub snapshots_max: usize,
}

impl Default for Settings {
    /// All delays; half a gigabyte of cache at most.
    fn default() -> Settings {
        let cache = Capacity::Replacing(1 << 24);
        Settings { delays_max: None, delays_step: 1, cache, snapshots_max: 1 << 17 }
    }
}

/// What remains to be tried in a state.
enum Todo {
    /// The explorer's further offers, the next one last.
    Picks(Vec<Pick>),
    /// The values from `next` on.
    Values { next: u64, bound: u64 },
}

/// A state with something left to try.
struct Branching<T, E> {
    /// The explorer offers the next pick there, with one more delay than `spent`.
    place: Place<T, E>,
    todo: Todo,
    /// Delays on the path, including those in the state itself.
    spent: u32,
}

/// Work at the end of a separate path.
pub(super) enum Work<T, E> {
    Known {
        prefix: Prefix,
        place: Place<T, E>,
        picks: Vec<Pick>,
        spent: u32,
    },
    /// Work from another search: the explorer's state is not known yet.
    Stored(Item),
}

/// See the module's documentation.
pub struct Ses<S: System, E> {
    settings: Settings,
    walk: Walk<E>,
    /// The states along the path, by depth.
    stack: Vec<Branching<S::Snapshot, E>>,
    /// Delays that may be spent at present.
    bound: u32,
    /// Delays spent on the path.
    spent: u32,
    /// Whether the system is in a state that was not examined.
    arrived: bool,
    /// Work within the present bound, if the bound has not grown since.
    round: VecDeque<Work<S::Snapshot, E>>,
    /// Work that needs a larger bound.
    frontier: VecDeque<Work<S::Snapshot, E>>,
    /// Items of round and frontier with a snapshot.
    snapshots: usize,
    /// Prefixes of the path, for work that waits.
    prefixes: Prefixes,
    cache: Fingerprints,
    counts: Counts,
    error: Option<String>,
}

impl<S: System, E: Explorer> Ses<S, E> {
    /// A search of the whole program, from its start.
    pub fn new(explorer: E, settings: Settings) -> Ses<S, E> {
        Ses::resume(explorer, settings, vec![Item::default()])
    }

    /// A search that does the remaining work of [`Search::save`] of another search. The cache is empty at
    /// first.
    pub fn resume(explorer: E, settings: Settings, items: Vec<Item>) -> Ses<S, E> {
        assert!(settings.delays_step > 0, "the bound has to grow");
        Ses {
            settings,
            walk: Walk::new(explorer),
            stack: Vec::new(),
            bound: 0,
            spent: 0,
            arrived: false,
            round: items.into_iter().map(Work::Stored).collect(),
            frontier: VecDeque::new(),
            snapshots: 0,
            prefixes: Prefixes::default(),
            cache: Fingerprints::new(settings.cache),
            counts: Counts::default(),
            error: None,
        }
    }

    /// Delays that an execution may have at present.
    pub fn bound(&self) -> u32 {
        self.bound
    }

    /// The work that is left when the largest bound is exhausted, for a search that continues from there.
    pub(super) fn into_frontier(self) -> (Walk<E>, VecDeque<Work<S::Snapshot, E>>) {
        (self.walk, self.frontier)
    }

    /// Examines the present state of the system. `Some` if the execution ended there.
    fn look(&mut self, system: &mut S) -> Result<Option<Status>, Unsound> {
        match system.status() {
            Status::Ready => {
                self.walk.settle(system);
                if !self.is_new(system) {
                    self.counts.redundant += 1;
                    self.arrived = false;
                    return Ok(None);
                }
                let offers = self.walk.offers(system)?;
                let first = offers[0];
                if offers.len() > 1 {
                    let picks = offers[1..].iter().rev().copied().collect();
                    self.branch(system, picks);
                }
                self.walk.decide(system, Decision::Pick(first));
                Ok(None)
            }
            Status::Choosing { bound } => {
                if bound > 1 {
                    let todo = Todo::Values { next: 1, bound };
                    let place = self.walk.mark(system, true);
                    self.stack.push(Branching { place, todo, spent: self.spent });
                }
                self.walk.decide(system, Decision::Value(0));
                Ok(None)
            }
            status => {
                self.is_new(system);
                self.arrived = false;
                self.counts.ended(status);
                Ok(Some(status))
            }
        }
    }

    fn is_new(&mut self, system: &mut S) -> bool {
        if self.settings.cache == Capacity::Nothing {
            return true;
        }
        let steps = system.view().step as u32;
        let seen = self.cache.insert(system.fingerprint(), steps);
        self.counts.states += u64::from(seen == Seen::Never);
        self.counts.cyclic |= matches!(seen, Seen::Before(other) if other != steps);
        seen == Seen::Never
    }

    /// Stores the picks that need delays, for this bound or a later one.
    fn branch(&mut self, system: &mut S, picks: Vec<Pick>) {
        let now = self.spent < self.bound;
        let mut place = self.walk.mark(system, now || self.snapshots < self.settings.snapshots_max);
        place.explorer.delay(&system.view());
        if now {
            self.stack.push(Branching { place, todo: Todo::Picks(picks), spent: self.spent });
        } else {
            self.defer(place, picks);
        }
    }

    fn defer(&mut self, mut place: Place<S::Snapshot, E>, picks: Vec<Pick>) {
        if self.snapshots < self.settings.snapshots_max {
            self.snapshots += usize::from(place.snapshot.is_some());
        } else {
            place.snapshot = None;
        }
        let prefix = self.prefixes.of(&self.walk.path[..place.depth]);
        self.frontier.push_back(Work::Known { prefix, place, picks, spent: self.spent });
    }

    /// Continues with the deepest remaining branch, or with the next item. False if there is none.
    fn go_on(&mut self, system: &mut S) -> Result<bool, String> {
        loop {
            if let Some(branching) = self.stack.pop() {
                self.take(system, branching)?;
                return Ok(true);
            }
            if let Some(work) = self.round.pop_front() {
                self.open(system, work)?;
                if self.arrived {
                    return Ok(true);
                }
            } else if self.frontier.is_empty() {
                return Ok(false);
            } else if self.settings.delays_max.is_some_and(|max| self.bound >= max) {
                self.counts.cut = true;
                return Ok(false);
            } else {
                let max = self.settings.delays_max.unwrap_or(u32::MAX);
                self.bound = self.bound.saturating_add(self.settings.delays_step).min(max);
                std::mem::swap(&mut self.round, &mut self.frontier);
            }
        }
    }

    /// Takes the next branch of a state on the stack.
    fn take(&mut self, system: &mut S, branching: Branching<S::Snapshot, E>) -> Result<(), String> {
        let Branching { mut place, todo, spent } = branching;
        self.walk.return_to(system, &place);
        self.spent = spent;
        let decision = match todo {
            Todo::Values { next, bound } => {
                if next + 1 < bound {
                    let todo = Todo::Values { next: next + 1, bound };
                    self.stack.push(Branching { place, todo, spent });
                }
                Decision::Value(next)
            }
            Todo::Picks(mut picks) => {
                let pick = picks.pop().expect("a branching has something to do");
                self.check_offer(pick, &system.view())?;
                self.spent += 1;
                if !picks.is_empty() {
                    place.explorer.delay(&system.view());
                    if self.spent < self.bound {
                        let todo = Todo::Picks(picks);
                        self.stack.push(Branching { place, todo, spent: self.spent });
                    } else {
                        self.defer(place, picks);
                    }
                }
                Decision::Pick(pick)
            }
        };
        self.walk.decide(system, decision);
        self.arrived = true;
        Ok(())
    }

    /// Refuses programs whose executions differ although their decisions are the same: these cannot be
    /// searched.
    fn check_offer(&self, pick: Pick, view: &View) -> Result<(), String> {
        if self.walk.explorer.next(view) == Some(pick) {
            return Ok(());
        }
        Err(format!("the same {} decisions led to another state: {pick:?} is gone", self.walk.path.len()))
    }

    /// Puts an item's state on the stack, or goes there if nothing is known about it.
    fn open(&mut self, system: &mut S, work: Work<S::Snapshot, E>) -> Result<(), String> {
        match work {
            Work::Known { prefix, place, picks, spent } => {
                self.snapshots -= usize::from(place.snapshot.is_some());
                self.walk.path = prefix.to_vec();
                self.prefixes = Prefixes::of_item(&prefix);
                self.stack.push(Branching { place, todo: Todo::Picks(picks), spent });
            }
            Work::Stored(item) => {
                let spent = item.branches.last().map_or(0, |b| b.spent);
                let todo = item.branches.last().map_or(&[][..], |b| &b.todo);
                let needed = spent.saturating_add(u32::from(matches!(todo.first(), Some(Decision::Pick(_)))));
                if needed > self.bound {
                    self.frontier.push_back(Work::Stored(item));
                    return Ok(());
                }
                self.prefixes = Prefixes::of_item(&item.prefix);
                self.walk.follow(system, &item.prefix.to_vec())?;
                self.spent = spent;
                match (todo.first(), system.status()) {
                    (None, _) => self.arrived = true,
                    (Some(Decision::Value(next)), Status::Choosing { bound }) if *next < bound => {
                        let (todo, place) =
                            (Todo::Values { next: *next, bound }, self.walk.mark(system, true));
                        self.stack.push(Branching { place, todo, spent });
                    }
                    (Some(Decision::Pick(next)), Status::Ready) => {
                        self.walk.settle(system);
                        self.walk.delay_until(system, *next)?;
                        let picks = todo.iter().rev().filter_map(|d| match d {
                            Decision::Pick(pick) => Some(*pick),
                            Decision::Value(_) => None,
                        });
                        let (todo, place) = (Todo::Picks(picks.collect()), self.walk.mark(system, true));
                        self.stack.push(Branching { place, todo, spent });
                    }
                    _ => return Err("a stored item does not fit the program".into()),
                }
            }
        }
        Ok(())
    }

    fn fail(&mut self, error: String) -> Advance {
        self.error = Some(error);
        self.counts.cut = true;
        Advance::Exhausted
    }

    /// An item: the path, and what to try at its end. `todo` is empty if the state was not examined.
    fn item(prefix: Prefix, spent: u32, todo: Vec<Decision>) -> Item {
        let depth = prefix.len() as u32;
        let branches = vec![Branch { depth, todo, spent, ..Branch::default() }];
        Item { prefix, branches, place: None }
    }

    fn stack_item(&self, branching: &Branching<S::Snapshot, E>) -> Item {
        let todo = match &branching.todo {
            Todo::Picks(picks) => picks.iter().rev().map(|p| Decision::Pick(*p)).collect(),
            // The greater values follow.
            Todo::Values { next, .. } => vec![Decision::Value(*next)],
        };
        Self::item(self.walk.path[..branching.place.depth].into(), branching.spent, todo)
    }

    pub(super) fn work_item(work: &Work<S::Snapshot, E>) -> Item {
        match work {
            Work::Stored(item) => item.clone(),
            Work::Known { prefix, picks, spent, .. } => {
                Self::item(prefix.clone(), *spent, picks.iter().rev().map(|p| Decision::Pick(*p)).collect())
            }
        }
    }
}

impl<S: System, E: Explorer> Search<S> for Ses<S, E> {
    fn name(&self) -> String {
        let max = self.settings.delays_max.map_or(String::new(), |max| format!(":{max}"));
        format!("ses:{}{max}", self.walk.name())
    }

    fn advance(&mut self, system: &mut S, steps: u64) -> Advance {
        let end = self.walk.steps.saturating_add(steps);
        while self.error.is_none() {
            if !self.arrived {
                match self.go_on(system) {
                    Ok(true) => {}
                    Ok(false) => return Advance::Exhausted,
                    Err(error) => return self.fail(error),
                }
            }
            match self.look(system) {
                Ok(Some(status)) => return Advance::Ended(status),
                Ok(None) if self.walk.steps >= end => return Advance::Working,
                Ok(None) => {}
                Err(unsound) => return self.fail(unsound.to_string()),
            }
        }
        Advance::Exhausted
    }

    fn path(&self) -> &[Decision] {
        &self.walk.path
    }

    fn counts(&self) -> Counts {
        Counts { steps: self.walk.steps, ..self.counts }
    }

    fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Gives away the shallowest state with something left to try within the present bound. The cache is not
    /// shared, so the sum of both searches' `states` may count a state twice.
    fn split(&mut self) -> Option<Item> {
        let more = usize::from(self.arrived) + self.stack.len() + self.round.len();
        if more < 2 {
            return None;
        }
        if let Some(work) = self.round.pop_back() {
            if let Work::Known { place, .. } = &work {
                self.snapshots -= usize::from(place.snapshot.is_some());
            }
            return Some(Self::work_item(&work));
        }
        let item = self.stack_item(&self.stack[0]);
        self.stack.remove(0);
        Some(item)
    }

    fn save(&self) -> Vec<Item> {
        let mut items = Vec::new();
        self.each_left(&mut |item| items.push(item.clone()));
        items
    }

    fn each_left(&self, each: &mut dyn FnMut(&Item)) {
        let here = self.arrived.then(|| Self::item(self.walk.path[..].into(), self.spent, Vec::new()));
        let stack = self.stack.iter().rev().map(|b| self.stack_item(b));
        let rest = self.round.iter().chain(&self.frontier).map(Self::work_item);
        here.into_iter().chain(stack).chain(rest).for_each(|item| each(&item));
    }
}
