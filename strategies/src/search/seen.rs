//! The states that were reached in one exploration, which all of its searches share: each is explored by the search
//! that reaches it first. They may begin with what others have visited ([`super::visited`]).

use super::ending::Ending;
use super::graph::Graph;
use super::rounds::Wanted;
use super::visited::{End, Visit, Visited};
use crate::system::Status;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The number of maps among which states are divided by their hash, so that searches seldom wait for each other.
const PARTS: usize = 64;

/// An explored state.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// The smallest number of steps by which it was reached.
    steps: u32,
    /// Its number, in the order in which states were first reached.
    number: u32,
}

/// The hash of a state, and the last worker if costs depend on it.
pub type Key = (u128, u32);

/// How a state was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// It was not there.
    First {
        /// Whether the state is new also with any other last worker.
        state: bool,
        /// Its number.
        number: u32,
    },
    /// It was there.
    Again {
        /// Its number.
        number: u32,
        /// Whether it was reached with another number of steps.
        other_steps: bool,
        /// Whether its continuations may reach further than before.
        fewer: bool,
    },
}

/// See the module's documentation.
#[derive(Debug)]
pub struct Seen {
    parts: Vec<Mutex<BTreeMap<Key, Known>>>,
    next: AtomicU32,
    /// What others had visited.
    before: Arc<Visited>,
    /// The states, by number, at which executions ended.
    ends: Mutex<BTreeMap<u32, End>>,
    /// The states, by number, from which no end was reached yet, if that is asked for.
    ending: Option<Mutex<Ending<u32>>>,
    /// Whether an execution was cut off that could have continued.
    cut_off: AtomicBool,
    /// Whether states were reached again with another number of steps, and the graph that is kept was not judged yet.
    cyclic: AtomicBool,
    /// Whether that was ever so.
    had_cycles: AtomicBool,
    /// The rounds that are looked for if the graph is kept.
    wanted: Wanted,
    whole: Mutex<Whole>,
}

/// An exploration that began at the start and has no bound.
#[derive(Debug, Default)]
struct Whole {
    /// The graph of its states, if it is kept.
    graph: Option<Graph>,
    /// How many items were given away, and how many are finished; the first one was not given away.
    given: u64,
    finished: u64,
}

impl Default for Seen {
    fn default() -> Seen {
        Seen {
            parts: (0..PARTS).map(|_| Mutex::default()).collect(),
            next: AtomicU32::new(0),
            before: Arc::default(),
            ends: Mutex::default(),
            ending: None,
            cut_off: AtomicBool::new(false),
            cyclic: AtomicBool::new(false),
            had_cycles: AtomicBool::new(false),
            wanted: Wanted::default(),
            whole: Mutex::default(),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Seen {
    /// Nothing was seen yet, and such rounds are looked for.
    pub fn looking_for(wanted: Wanted) -> Seen {
        Seen { wanted, ..Seen::default() }
    }

    /// Others have visited `before`, and will be told what was visited.
    pub fn of_part(self, before: Arc<Visited>) -> Seen {
        let mut ending = Ending::default();
        for (number, (hash, Visit { steps, .. })) in (0..).zip(&before.states) {
            self.part(*hash).insert((*hash, u32::MAX), Known { steps: *steps, number });
            if before.ending.open.contains_key(hash) {
                ending.open(number);
            }
        }
        let next = u32::try_from(before.states.len()).expect("memory is exhausted before");
        Seen {
            next: AtomicU32::new(next),
            cut_off: AtomicBool::new(before.cut_off),
            before,
            ending: Some(Mutex::new(ending)),
            ..self
        }
    }

    /// What was visited, without what others had visited before in as few steps and with the same ends. For searches
    /// whose costs do not depend on the last worker.
    pub fn visited(&self) -> Visited {
        let ends = lock(&self.ends);
        let open = self.ending.as_ref().map(|ending| lock(ending).open.clone()).unwrap_or_default();
        let mut hashes = vec![0; self.next.load(Ordering::Relaxed) as usize];
        let mut states = BTreeMap::new();
        for part in &self.parts {
            for ((hash, _), Known { steps, number }) in lock(part).iter() {
                hashes[*number as usize] = *hash;
                let is_known = self.before.states.get(hash).is_some_and(|before| before.steps <= *steps);
                let ends_now = self.before.ending.open.contains_key(hash) && !open.contains_key(number);
                if !is_known || ends_now {
                    states.insert(*hash, Visit { steps: *steps, end: ends.get(number).copied() });
                }
            }
        }
        let hash = |number: u32| hashes[number as usize];
        let named = |(to, from): (u32, Vec<u32>)| (hash(to), from.into_iter().map(hash).collect());
        let ending = Ending { open: open.into_iter().map(named).collect() };
        Visited { states, cut_off: self.cut_off.load(Ordering::Relaxed), cyclic: self.cyclic(), ending }
    }

    /// Does something with the states from which no end was reached yet, if that is asked for.
    pub fn with_ending(&self, act: impl FnOnce(&mut Ending<u32>)) {
        if let Some(ending) = &self.ending {
            act(&mut lock(ending));
        }
    }

    /// Records that an execution ended at a state.
    pub fn ended(&self, number: u32, status: Status) {
        if let Some(end) = End::of(status) {
            lock(&self.ends).insert(number, end);
        }
    }

    /// The rounds that are looked for if the graph is kept.
    pub fn wanted(&self) -> Wanted {
        self.wanted
    }

    fn part(&self, hash: u128) -> MutexGuard<'_, BTreeMap<Key, Known>> {
        lock(&self.parts[(hash >> 64) as usize % PARTS])
    }

    /// The number of a state, if it was seen, where costs do not matter.
    pub fn number(&self, hash: u128) -> Option<u32> {
        self.part(hash).get(&(hash, u32::MAX)).map(|known| known.number)
    }

    /// Adds a state that was reached by so many steps. `cut`: executions are cut off after some number of steps, so a
    /// state that is reached with fewer steps than before is to be explored again.
    pub fn insert(&self, key: Key, steps: u32, cut: bool) -> Arrived {
        let cut = cut | self.cut_off.load(Ordering::Relaxed);
        if cut {
            self.cut_off.store(true, Ordering::Relaxed);
        }
        let mut known = self.part(key.0);
        if let Some(before) = known.get_mut(&key) {
            let (other_steps, fewer) = (steps != before.steps, cut && steps < before.steps);
            before.steps = steps.min(before.steps);
            return Arrived::Again { number: before.number, other_steps, fewer };
        }
        let state = known.range((key.0, 0)..=(key.0, u32::MAX)).next().is_none();
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        assert!(number < u32::MAX, "memory is exhausted before");
        known.insert(key, Known { steps, number });
        self.with_ending(|ending| ending.open(number));
        Arrived::First { state, number }
    }

    /// Keeps the graph of states from now on: nothing was explored yet.
    pub fn keep_graph(&self) {
        lock(&self.whole).graph.get_or_insert_with(|| Graph::new(self.wanted));
    }

    /// Whether the graph of states is kept.
    pub fn keeps_graph(&self) -> bool {
        lock(&self.whole).graph.is_some()
    }

    /// Does something with the graph, if it is kept.
    pub fn with_graph<T>(&self, act: impl FnOnce(&mut Graph) -> T) -> Option<T> {
        lock(&self.whole).graph.as_mut().map(act)
    }

    /// Records that a state was reached again with another number of steps.
    pub fn note_cyclic(&self) {
        self.cyclic.store(true, Ordering::Relaxed);
        self.had_cycles.store(true, Ordering::Relaxed);
    }

    /// Whether a state was ever reached again with another number of steps, also if the graph was judged since: if not,
    /// there is no cycle of states.
    pub fn had_cycles(&self) -> bool {
        self.had_cycles.load(Ordering::Relaxed)
    }

    /// Whether an execution may never end, because the graph was kept and not judged: see
    /// [`super::Counts::cyclic`].
    pub fn cyclic(&self) -> bool {
        self.cyclic.load(Ordering::Relaxed)
    }

    /// Records that the graph was judged.
    pub fn judged(&self) {
        self.cyclic.store(false, Ordering::Relaxed);
    }

    /// Records that an item is given to another search.
    pub fn give(&self) {
        lock(&self.whole).given += 1;
    }

    /// Records that an item is finished.
    pub fn finish(&self) {
        lock(&self.whole).finished += 1;
    }

    /// Whether no other search has an item.
    pub fn is_finished(&self) -> bool {
        let whole = lock(&self.whole);
        whole.finished > whole.given
    }
}
