//! The memory of a depth-first search, by which it explores nothing twice.

use super::clocks::{Clock, Clocks, process};
use super::dependence::{dependent, signature};
use super::seen::{Arrived, Seen};
use crate::WorkerId;
use crate::system::{Access, Class, Decision, Effect, Status, System};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// The access of a step that created a worker.
const BORN: (Class, Effect) = (Class::Birth, Effect::Enable);

/// The information by which explored states are recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caching {
    /// Nothing is remembered: plain depth-first search.
    Nothing,
    /// States, by their fingerprints. The search ends on cyclic state spaces.
    States,
    /// Happens-before graphs, by their hashes (CHESS, OSDI 2008): equivalent prefixes lead to the same state.
    /// Sound only if the footprints of steps are complete.
    Classes,
}

/// What a search remembers: the states that it shares with others, and the graph of its own path.
#[derive(Debug)]
pub struct Cache {
    caching: Caching,
    seen: Arc<Seen>,
    /// How many states this search was the first to reach.
    states: u64,
    /// See [`super::Counts::cyclic`].
    pub cyclic: bool,
    past: Past,
}

impl Cache {
    /// An empty cache.
    pub fn new(caching: Caching) -> Cache {
        Cache { caching, seen: Arc::default(), states: 0, cyclic: false, past: Past::default() }
    }

    /// Lets it share what was seen.
    pub fn share(&mut self, seen: &Arc<Seen>) {
        self.seen = seen.clone();
    }

    /// What it shares with others.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    /// Records that an execution ended at the state of this number.
    pub fn ended(&self, number: u32, status: Status) {
        if self.caching != Caching::Nothing {
            self.seen.ended(number, status);
        }
    }

    /// The information that this cache compares.
    pub fn caching(&self) -> Caching {
        self.caching
    }

    /// How many different states this search was the first to reach, if they are compared.
    pub fn states(&self) -> u64 {
        self.states
    }

    /// Records a complete step.
    pub fn push<S: System>(&mut self, system: &S, decisions: &[Decision], partial: &[Access]) {
        if self.caching == Caching::Classes {
            let created = system.footprint().iter().any(|a| (a.class, a.effect) == BORN);
            let number = if created { system.view().workers.len() } else { 0 };
            self.past.push((decisions, number), partial, system.footprint(), system.ends_program());
        }
    }

    /// Goes back to the state after the first `steps` steps.
    pub fn truncate(&mut self, steps: usize) {
        self.past.truncate(steps);
    }

    /// How many steps of the present path were pushed; 0 unless graphs are compared.
    pub fn steps(&self) -> usize {
        self.past.hashes.len()
    }

    /// The number of the present state, if states are compared and this one was seen.
    pub fn number<S: System>(&self, system: &mut S) -> Option<u32> {
        (self.caching == Caching::States)
            .then(|| system.fingerprint())
            .and_then(|hash| self.seen.number(hash))
    }

    /// Whether the present state is new (together with the last worker, on which future costs depend), and
    /// its number. If executions are cut off after some number of steps, a state reached with fewer steps
    /// than before is new again.
    pub fn insert<S: System>(&mut self, system: &mut S, last: Option<WorkerId>, cut: bool) -> (bool, u32) {
        let steps = u32::try_from(system.view().step).unwrap_or(u32::MAX);
        let hash = match self.caching {
            Caching::Nothing => return (true, 0),
            Caching::States => system.fingerprint(),
            // An incomplete step is not in the graph.
            Caching::Classes if matches!(system.status(), Status::Choosing { .. }) => return (true, 0),
            Caching::Classes => self.past.hashes.last().copied().unwrap_or(0),
        };
        let key = (hash, last.map_or(u32::MAX, |w| w.0));
        match self.seen.insert(key, steps, cut) {
            Arrived::First { state, number } => {
                self.states += u64::from(self.caching == Caching::States && state);
                (true, number)
            }
            Arrived::Again { number, other_steps, fewer } => {
                self.cyclic |= self.caching == Caching::States && other_steps;
                (fewer, number)
            }
        }
    }
}

/// The happens-before graph of the path.
#[derive(Debug, Default)]
struct Past {
    clocks: Clocks,
    touched: Vec<Access>,
    /// The hash of the graph up to each event: a sum, because the order of independent events does not
    /// matter.
    hashes: Vec<u128>,
    clock: Clock,
}

impl Past {
    /// Adds a step: its decisions, and the number of the worker that it created, if it did, because the
    /// default order of workers may depend on numbers. A step that ended the program by itself depends on all
    /// others.
    fn push(
        &mut self,
        (decisions, number): (&[Decision], usize),
        partial: &[Access],
        footprint: &[Access],
        last: bool,
    ) {
        let Decision::Pick(pick) = decisions[0] else { unreachable!("a step begins with a pick") };
        let start = self.touched.len();
        self.touched.extend(partial);
        self.touched.extend(footprint);
        let range = start..self.touched.len();
        let (process, signature) = (process(pick), signature(&self.touched[start..]));
        self.clock.set(self.clocks.latest(process));
        for (i, event) in self.clocks.events().iter().enumerate().rev() {
            let new =
                event.index > self.clock.get(event.process) && (last || event.signature & signature != 0);
            let depends =
                || last || dependent(&self.touched[event.footprint.clone()], &self.touched[range.clone()]);
            if new && depends() {
                self.clock.join(self.clocks.row(i));
            }
        }
        self.clocks.push(process, &self.clock, range, signature, 0..0);
        let row = self.clocks.latest(process);
        let row = &row[..row.len() - row.iter().rev().take_while(|count| **count == 0).count()];
        let half = |salt: u64| {
            let mut hasher = DefaultHasher::new();
            (salt, decisions, number, row).hash(&mut hasher);
            u128::from(hasher.finish())
        };
        let hash = half(1) << 64 | half(2);
        self.hashes.push(hash.wrapping_add(self.hashes.last().copied().unwrap_or(0)));
    }

    fn truncate(&mut self, steps: usize) {
        while self.hashes.len() > steps {
            self.hashes.pop();
            let event = self.clocks.pop().expect("one for each hash");
            self.touched.truncate(event.footprint.start);
        }
    }
}
