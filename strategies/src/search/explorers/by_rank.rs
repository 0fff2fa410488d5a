//! Run to completion among workers of equal rank; the program gives the ranks. An example of an explorer for
//! a protocol, modelled on the one that Desai et al. wrote for chain replication.
//!
//! Their case: servers, a master that watches them, and a process that makes servers fail. Every explorer
//! finds bugs of the start-up; the interesting failures happen when the system is stable, and interleaving
//! failures with the start-up wastes the search. So the servers go first during the start-up, and master and
//! failures go first after it.
//!
//! Here every worker begins with rank 0 and takes rank *r* by the hint `r` (`coyote::hint(r)`), which may be
//! negative; lower ranks go first. In that protocol, master and failing process come after the servers until
//! the system is stable, and before them after that:
//!
//! ```text
//! fn failures(servers) {             fn master(servers) {
//!     hint(1);                           hint(1);
//!     receive(start);                    start_up(servers);
//!     hint(-1);                          hint(-1);
//!     send(servers[..], fail);           send(failures, start);
//! ```
//!
//! Without hints it is run to completion. A hint changes only the order, not what is possible, so the
//! explorer is sound for every program.

use super::{Explorer, turns::Turns};
use crate::{Event, Pick, View, WorkerId};

/// See the module's documentation.
#[derive(Clone, Debug, Default)]
pub struct ByRank {
    turns: Turns,
    /// By [`WorkerId::index`].
    ranks: Vec<i64>,
}

impl ByRank {
    /// Puts the worker before all others of its rank. A worker that was delayed has lost its place: others
    /// need not be inserted after it.
    fn insert(&mut self, worker: WorkerId) {
        let rank = self.ranks[worker.index()];
        let ahead = |other: &WorkerId| *other != worker && self.ranks[other.index()] < rank;
        let at = self.turns.workers().filter(|other| *other != worker).take_while(ahead).count();
        self.turns.insert(worker, at);
    }

    /// Puts new workers into the order.
    fn settle(&mut self, view: &View) -> std::ops::Range<u32> {
        let new = self.turns.settle(view);
        self.ranks.resize(view.workers.len(), 0);
        new
    }
}

impl Explorer for ByRank {
    fn name(&self) -> String {
        "by-rank".into()
    }

    fn begin(&mut self, view: &View) {
        self.turns.begin();
        self.ranks.clear();
        for worker in self.settle(view) {
            self.turns.insert(WorkerId(worker), self.turns.workers().count());
        }
    }

    fn next(&self, view: &View) -> Option<Pick> {
        self.turns.next(view)
    }

    fn step(&mut self, _pick: Pick, events: &[Event], view: &View) {
        for worker in self.settle(view) {
            self.insert(WorkerId(worker));
        }
        for event in events {
            match *event {
                Event::Woken { worker, .. } => self.insert(worker),
                Event::Hint { worker, value } => {
                    self.ranks[worker.index()] = value as i64;
                    self.insert(worker);
                }
                Event::Spawned { .. } | Event::Ended(_) => {}
            }
        }
    }

    fn delay(&mut self, view: &View) {
        self.turns.delay(view);
    }
}
