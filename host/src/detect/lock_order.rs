//! Locks that workers take in opposite orders, so that a deadlock is possible although this execution had none
//! (Goodlock: Havelund, SPIN 2000; Bensalem and Havelund, 2005; cycles of several workers and gate locks as in Agarwal
//! et al., 2006).
//!
//! Each acquisition that waits without a timeout makes an edge from every lock that its worker holds. Edges of different
//! workers that close a cycle are an *inversion*, unless one of the workers' other locks keeps them apart (a gate lock), or
//! one worker did its part before another one was created or after it was joined.
//!
//! An inversion is no bug. After an exploration without a bug, schedules are steered towards each (`explore/steer.rs`):
//! a deadlock that is reached is reported as such, with its trace; other inversions are notes.
//!
//! Found are inversions of mutexes and rwlocks that the host knows: those of the SDK, of pthreads, C11 and C++ threads.
//! Not found: locks that a library makes of futexes, as Rust's std does; cycles of more than [`LENGTH_MAX`] workers;
//! inversions of locks that no execution took. What could make it wrong: an order by semaphores, condvars or flags is
//! not seen, so a note may be about a deadlock that cannot happen. That is why only a deadlock that was executed is a bug.
//!
//! Cost: an event for each acquisition and release. The detector does not see accesses of memory.

use super::clock::Clock;
use crate::evidence::{Inversion, Side};
use crate::observe::{
    Detector, Ending, Event, Finding, GuestState, HbObject, Interest, Join, SavedState, SyncEvent, SyncKind,
};
use crate::runtime::ObjectId;
use coyote_instrumenter::Location;
use coyote_strategies::{Class, OpKind, WorkerId};
use std::collections::BTreeMap;

/// Maximum number of workers of an inversion.
pub const LENGTH_MAX: usize = 4;

/// Maximum number of edges of one execution, and of steps of the search for cycles: more are left out.
const EDGES_MAX: usize = 2_000;
const STEPS_MAX: usize = 100_000;

/// Maximum number of inversions that are kept.
const INVERSIONS_MAX: usize = 64;

/// A lock that a worker holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    place: ObjectId,
    /// Whether it is held to read, possibly with other readers.
    shared: bool,
    taken: Option<Location>,
}

/// An edge: a worker takes a lock while it holds another one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Edge {
    worker: WorkerId,
    held: Held,
    wanted: Held,
    site: u32,
    /// All locks that the worker holds.
    gates: Vec<Held>,
    /// For each worker, the number of its epochs that are known. An epoch ends when its worker creates another
    /// worker, or ends.
    clock: Clock,
}

/// The state about one execution.
#[derive(Clone, Default)]
struct Known {
    held: Vec<Vec<Held>>,
    clocks: Vec<Clock>,
    released: BTreeMap<HbObject, Clock>,
    edges: Vec<Edge>,
}

/// See the module's documentation.
#[derive(Default)]
pub struct LockOrder {
    known: Known,
    /// Inversions of all executions, by the locations of their acquisitions.
    found: BTreeMap<Vec<[Option<Location>; 2]>, Inversion>,
}

impl Known {
    fn worker(&mut self, id: WorkerId) {
        while self.held.len() <= id.index() {
            let mut clock = Clock::default();
            clock.advance(WorkerId(self.clocks.len() as u32));
            self.held.push(Vec::new());
            self.clocks.push(clock);
        }
    }

    fn sync(&mut self, state: &GuestState<'_>, event: &SyncEvent) {
        let SyncEvent { worker, object, kind, .. } = *event;
        self.worker(worker);
        match object {
            HbObject::Start(_) | HbObject::End(_) => self.order(worker, object, kind),
            HbObject::Object(place) if matches!(place.class, Class::Mutex | Class::Rwlock) => match kind {
                SyncKind::Release | SyncKind::ReleaseShared => self.release(worker, place),
                SyncKind::Acquire | SyncKind::AcquireShared => self.acquire(state, event, place),
                SyncKind::AcquireRelease => {}
            },
            _ => {}
        }
    }

    /// Records the order by creations and joins of workers.
    fn order(&mut self, worker: WorkerId, object: HbObject, kind: SyncKind) {
        let clock = &mut self.clocks[worker.index()];
        if kind.releases() {
            self.released.insert(object, clock.clone());
            clock.advance(worker);
        } else if let Some(released) = self.released.get(&object) {
            clock.join(released);
        }
    }

    fn release(&mut self, worker: WorkerId, place: ObjectId) {
        let drop = |held: &mut Vec<Held>| {
            let at = held.iter().rposition(|held| held.place == place);
            at.map(|at| held.remove(at))
        };
        if drop(&mut self.held[worker.index()]).is_none() {
            // Another worker holds it.
            self.held.iter_mut().for_each(|held| _ = drop(held));
        }
    }

    fn acquire(&mut self, state: &GuestState<'_>, event: &SyncEvent, place: ObjectId) {
        let SyncEvent { worker, kind, timed, .. } = *event;
        let operation = state.runtime.pending(worker).operation;
        let shared = kind == SyncKind::AcquireShared;
        let wanted = Held { place, shared, taken: state.location(operation.site) };
        let waits = matches!(operation.kind, OpKind::Lock | OpKind::ReadLock | OpKind::WriteLock) && !timed;
        let gates = self.held[worker.index()].clone();
        if waits {
            for held in &gates {
                let (clock, gates, held) = (self.clocks[worker.index()].clone(), gates.clone(), *held);
                let edge = Edge { worker, held, wanted, site: operation.site, gates, clock };
                if self.edges.len() < EDGES_MAX && !self.edges.contains(&edge) {
                    self.edges.push(edge);
                }
            }
        }
        self.held[worker.index()].push(wanted);
    }

    /// Cycles of edges, each of which begins with its first edge.
    fn cycles(&self) -> Vec<Vec<&Edge>> {
        let mut cycles = Vec::new();
        let mut steps = 0;
        for first in 0..self.edges.len() {
            self.extend(&mut vec![first], &mut cycles, &mut steps);
        }
        cycles
    }

    fn extend<'a>(&'a self, path: &mut Vec<usize>, cycles: &mut Vec<Vec<&'a Edge>>, steps: &mut usize) {
        let (first, last) = (&self.edges[path[0]], &self.edges[path[path.len() - 1]]);
        for (next, edge) in self.edges.iter().enumerate().skip(path[0] + 1) {
            *steps += 1;
            if *steps > STEPS_MAX || cycles.len() == INVERSIONS_MAX {
                return;
            }
            if !keeps(&last.wanted, &edge.held)
                || !path.iter().all(|other| may_meet(&self.edges[*other], edge))
            {
                continue;
            }
            path.push(next);
            if keeps(&edge.wanted, &first.held) {
                cycles.push(path.iter().map(|at| &self.edges[*at]).collect());
            } else if path.len() < LENGTH_MAX {
                self.extend(path, cycles, steps);
            }
            path.pop();
        }
    }
}

/// Whether a worker with `held` keeps others from taking `wanted`.
fn keeps(wanted: &Held, held: &Held) -> bool {
    wanted.place == held.place && !(wanted.shared && held.shared)
}

/// Whether two workers may be at these edges at the same time.
fn may_meet(a: &Edge, b: &Edge) -> bool {
    // Whether the first edge happened before the second.
    let before = |a: &Edge, b: &Edge| b.clock.of(a.worker) >= a.clock.of(a.worker);
    a.worker != b.worker
        && !before(a, b)
        && !before(b, a)
        && !a.gates.iter().any(|gate| b.gates.iter().any(|other| keeps(gate, other)))
}

impl Detector for LockOrder {
    fn interest(&self) -> Interest {
        Interest::SYNC | Interest::ENDS
    }

    fn begin(&mut self, _state: &GuestState<'_>) {
        self.known = Known::default();
    }

    fn event(&mut self, state: &GuestState<'_>, event: &Event<'_>) -> Option<Finding> {
        if let Event::Sync(event) = event {
            self.known.sync(state, event);
        }
        None
    }

    fn end(&mut self, ending: &Ending<'_>) -> Option<Finding> {
        let runtime = ending.state.runtime;
        for cycle in self.known.cycles() {
            let mut key: Vec<_> = cycle.iter().map(|edge| [edge.held.taken, edge.wanted.taken]).collect();
            key.sort();
            if self.found.contains_key(&key) || self.found.len() == INVERSIONS_MAX {
                continue;
            }
            let side = |edge: &&Edge| Side {
                title: runtime.title(edge.worker),
                held: edge.held.place,
                taken: edge.held.taken,
                wanted: edge.wanted.place,
                wanted_at: edge.wanted.taken,
                site: edge.site,
            };
            self.found.insert(key, Inversion { sides: cycle.iter().map(side).collect() });
        }
        None
    }

    fn save(&self) -> SavedState {
        SavedState::new(self.known.clone())
    }

    fn restore(&mut self, saved: &SavedState) {
        self.known = saved.get::<Known>().cloned().unwrap_or_default();
    }

    fn inversions(&self) -> Vec<Inversion> {
        self.found.values().cloned().collect()
    }
}
