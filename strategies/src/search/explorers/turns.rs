//! An order of turns: the first one that is possible is next.

use super::is_possible;
use crate::{Pick, View, WorkerId, WorkerState};

/// Whose turn it can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// A step of this worker.
    Worker(WorkerId),
    /// The earliest timeout, whosever it is. There is one such turn, as one timeout is possible at a time.
    Timeout,
}

impl Turn {
    fn pick(self, view: &View) -> Option<Pick> {
        let pick = match self {
            Turn::Worker(worker) => Pick::Step(worker),
            Turn::Timeout => Pick::Timeout(view.timeout?),
        };
        is_possible(pick, view).then_some(pick)
    }
}

/// Every worker that has not ended, and the timeout, each once: so whatever is possible has its turn, and
/// putting the next turn last again and again offers everything.
///
/// The timeout comes last after every step: a timeout is meant to be the exception. Preferring it costs
/// as many delays as there are workers that could go on.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    order: Vec<Turn>,
    /// Workers that were ever put into the order.
    known: u32,
}

impl Turns {
    /// An execution begins: the timeout's turn alone.
    pub fn begin(&mut self) {
        self.order.clear();
        self.order.push(Turn::Timeout);
        self.known = 0;
    }

    /// How many turns there are, the timeout's included.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether no execution has begun: from then on there is always the timeout's turn.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
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

    /// Workers that came before this one and were passed over go to the end: the round goes on from here.
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
            Turn::Timeout => None,
        })
    }

    /// Inserts the worker, or moves it, before the turn that is at this place when it is left out.
    pub fn insert(&mut self, worker: WorkerId, at: usize) {
        self.order.retain(|turn| *turn != Turn::Worker(worker));
        self.order.insert(at.min(self.order.len()), Turn::Worker(worker));
    }

    /// After a step: drops who has ended and puts the timeout last. Returns the workers that are new.
    pub fn settle(&mut self, view: &View) -> std::ops::Range<u32> {
        self.order.retain(|turn| match turn {
            Turn::Worker(worker) => view.workers[worker.index()].state != WorkerState::Ended,
            Turn::Timeout => false,
        });
        self.order.push(Turn::Timeout);
        let new = self.known..view.workers.len() as u32;
        self.known = new.end;
        new
    }
}
