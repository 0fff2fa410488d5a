//! An order of turns: the first possible turn is next.

use crate::{Pick, View, WorkerId, WorkerState};

/// A turn of a worker or of a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// A step of this worker.
    Worker(WorkerId),
    /// The timeout of this worker.
    Timeout(WorkerId),
}

impl Turn {
    fn pick(self, view: &View) -> Option<Pick> {
        let pick = match self {
            Turn::Worker(worker) => Pick::Step(worker),
            Turn::Timeout(worker) => Pick::Timeout(worker),
        };
        view.allows(pick).then_some(pick)
    }
}

/// Every worker that has not ended, and every timeout that may fire, each once: so every possible pick has a turn,
/// and repeatedly putting the next turn last offers all of them.
///
/// Timeouts are put last after every step: they are meant to be exceptions. Preferring the first of them costs as many
/// delays as there are enabled workers.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    order: Vec<Turn>,
    /// How many workers were ever put into the order.
    known: u32,
}

impl Turns {
    /// Begins an execution, without turns.
    pub fn begin(&mut self) {
        self.order.clear();
        self.known = 0;
    }

    /// The pick of the first turn that is possible in this view.
    pub fn next(&self, view: &View) -> Option<Pick> {
        self.order.iter().find_map(|turn| turn.pick(view))
    }

    /// Puts the next turn last.
    pub fn delay(&mut self, view: &View) {
        if let Some(at) = self.order.iter().position(|turn| turn.pick(view).is_some()) {
            let turn = self.order.remove(at);
            self.order.push(turn);
        }
    }

    /// Moves the turns before this worker's to the end, so that the round continues with this worker.
    pub fn turn_to(&mut self, worker: WorkerId) {
        if let Some(at) = self.position(worker) {
            self.order.rotate_left(at);
        }
    }

    /// The index of a worker's turn, if it has one.
    pub fn position(&self, worker: WorkerId) -> Option<usize> {
        self.order.iter().position(|turn| *turn == Turn::Worker(worker))
    }

    /// The workers, in order.
    pub fn workers(&self) -> impl Iterator<Item = WorkerId> {
        self.order.iter().filter_map(|turn| match turn {
            Turn::Worker(worker) => Some(*worker),
            Turn::Timeout(_) => None,
        })
    }

    /// Inserts the worker, or moves it, before the turn that is at this place among the others.
    pub fn insert(&mut self, worker: WorkerId, at: usize) {
        self.order.retain(|turn| *turn != Turn::Worker(worker));
        self.order.insert(at.min(self.order.len()), Turn::Worker(worker));
    }

    /// Updates the order for the state in this view: removes ended workers and puts the timeouts last. Returns the
    /// new workers.
    pub fn settle(&mut self, view: &View) -> std::ops::Range<u32> {
        self.order.retain(|turn| match turn {
            Turn::Worker(worker) => view.workers[worker.index()].state != WorkerState::Ended,
            Turn::Timeout(_) => false,
        });
        self.order.extend(view.timeouts.iter().map(|worker| Turn::Timeout(*worker)));
        let new = self.known..view.workers.len() as u32;
        self.known = new.end;
        new
    }
}
