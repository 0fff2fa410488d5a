//! Which steps only wait, as far as announcements tell.
//!
//! A worker that comes to the same place with the same object again, has written nothing in between
//! and has read nothing that others have written since, is where it was before: it spins, be it
//! with yields, sleeps, try-locks or plain reads. (Local state that is not in memory we cannot see: a
//! loop that counts in a local and does nothing else looks like a spin.) Another round of a loop that
//! was reported by the countdown always counts: at least a thousand rounds without any scheduling
//! point have passed. Read-modify-writes are writes, even those that change nothing, such as a
//! test-and-set of a flag that is set.

use crate::{OpKind, Operation, WorkerId};

/// How many steps a worker's round may have. Rounds are short: what comes later takes the place of the
/// oldest.
const ROUND_MAX: usize = 32;

/// What each worker has done since it last changed anything, or had anything changed that it read.
#[derive(Clone, Debug, Default)]
pub(super) struct Spins {
    rounds: Vec<Round>,
}

#[derive(Clone, Debug, Default)]
struct Round {
    steps: Vec<Operation>,
    /// Where the next step goes once the round is full.
    oldest: usize,
}

impl Round {
    fn clear(&mut self) {
        self.steps.clear();
        self.oldest = 0;
    }

    fn push(&mut self, operation: Operation) {
        if self.steps.len() < ROUND_MAX {
            self.steps.push(operation);
        } else {
            self.steps[self.oldest] = operation;
            self.oldest = (self.oldest + 1) % ROUND_MAX;
        }
    }

    fn contains(&self, operation: &Operation) -> bool {
        self.steps.iter().any(|s| (s.site, s.object) == (operation.site, operation.object))
    }
}

impl Spins {
    pub fn clear(&mut self) {
        self.rounds.iter_mut().for_each(Round::clear);
    }

    /// Something happened to the worker: what it waits for may have come.
    pub fn woken(&mut self, worker: WorkerId) {
        if let Some(round) = self.rounds.get_mut(worker.index()) {
            round.clear();
        }
    }

    /// The worker executes this: whether it then has gone round without any progress.
    pub fn step(&mut self, worker: WorkerId, operation: &Operation) -> bool {
        if self.rounds.len() <= worker.index() {
            self.rounds.resize(worker.index() + 1, Round::default());
        }
        if changes_what_others_read(operation.kind) {
            for (other, round) in self.rounds.iter_mut().enumerate() {
                if other != worker.index() && round.steps.iter().any(|s| s.dependent(operation)) {
                    round.clear();
                }
            }
        }
        let round = &mut self.rounds[worker.index()];
        if is_progress(operation.kind) {
            round.clear();
            return false;
        }
        let again = operation.kind == OpKind::Loop || round.contains(operation);
        if again {
            round.clear();
        }
        round.push(*operation);
        again
    }
}

/// A lock that is released is news for those that tried to take it.
fn changes_what_others_read(kind: OpKind) -> bool {
    kind.writes() || kind.releases()
}

/// Whether a worker that does this may be somewhere else than before.
fn is_progress(kind: OpKind) -> bool {
    kind.writes()
        || matches!(
            kind,
            OpKind::Start
                | OpKind::Spawn
                | OpKind::Signal
                | OpKind::Broadcast
                | OpKind::FutexNotify
                | OpKind::SemaphorePost
                | OpKind::BarrierWait
                | OpKind::ChooseBool
                | OpKind::ChooseInt
                | OpKind::Fault
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(kind: OpKind, site: u32, object: u64) -> Operation {
        Operation { kind, site, object, size: 4 }
    }

    /// Which steps of worker 0 spin, in a program where worker 1's steps stand between.
    fn spins(steps: &[(u32, Operation)]) -> Vec<bool> {
        let mut spins = Spins::default();
        let all = steps.iter().map(|(w, o)| (*w, spins.step(WorkerId(*w), o)));
        all.filter(|(w, _)| *w == 0).map(|(_, spin)| spin).collect()
    }

    #[test]
    fn a_round_without_a_write_is_a_spin() {
        let (load, pause) = (op(OpKind::Load, 1, 64), op(OpKind::Yield, 2, 0));
        assert_eq!(spins(&[(0, load), (0, pause), (0, load), (0, pause)]), [false, false, true, false]);
        // A second round without a scheduling point but the countdown's.
        assert_eq!(spins(&[(0, op(OpKind::Loop, 3, 0))]), [true]);
        // Locking and unlocking around the read changes nothing.
        let locked = [op(OpKind::Lock, 4, 8), load, op(OpKind::Unlock, 5, 8)].map(|o| (0, o));
        assert_eq!(spins(&[locked, locked].concat()), [false, false, false, true, false, false]);
    }

    #[test]
    fn progress_is_no_spin() {
        let (load, pause) = (op(OpKind::Load, 1, 64), op(OpKind::Yield, 2, 0));
        // An own write, elsewhere.
        let write = op(OpKind::Store, 3, 128);
        assert_eq!(spins(&[(0, pause), (0, write), (0, pause)]), [false; 3]);
        // Another worker's write to what was read, and to what was not.
        let theirs = |object| (1, op(OpKind::Rmw, 9, object));
        assert_eq!(spins(&[(0, load), theirs(66), (0, load)]), [false, false]);
        assert_eq!(spins(&[(0, load), theirs(68), (0, load)]), [false, true]);
        // The same place with another object: a walk over an array.
        assert_eq!(spins(&[(0, load), (0, op(OpKind::Load, 1, 68))]), [false, false]);
    }
}
