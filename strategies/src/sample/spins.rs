//! Recognises steps that only wait, from announcements.
//!
//! A worker that reaches the same place with the same object again, has written nothing in between and has
//! read nothing that others have written since, is in the same state as before: it spins, whether with
//! yields, sleeps, try-locks or plain reads. (Local state outside of memory is not visible: a loop that only
//! counts in a local looks like a spin.) Another round of a loop that was reported by the countdown always
//! counts: at least a thousand rounds without any scheduling point have passed. Read-modify-writes are
//! writes, even those that change nothing, such as a test-and-set of a flag that is set.

use crate::{OpKind, Operation, WorkerId, mix};

/// The maximal number of steps in a worker's round. Rounds are short: a later step replaces the oldest one.
const ROUND_MAX: usize = 32;

/// The steps of each worker since it last changed something, or something that it read was changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Spins {
    rounds: Vec<Round>,
}

#[derive(Clone, Debug, Default)]
struct Round {
    steps: Vec<Operation>,
    /// Where the next step is stored once the round is full.
    oldest: usize,
    /// The marks of all steps, and perhaps of some that were replaced: an operation with none of these marks
    /// is not in the round.
    marks: u64,
}

impl Round {
    fn clear(&mut self) {
        self.steps.clear();
        self.oldest = 0;
        self.marks = 0;
    }

    fn push(&mut self, operation: Operation) {
        self.marks |= marks(&operation);
        if self.steps.len() < ROUND_MAX {
            self.steps.push(operation);
        } else {
            self.steps[self.oldest] = operation;
            self.oldest = (self.oldest + 1) % ROUND_MAX;
        }
    }

    fn contains(&self, operation: &Operation) -> bool {
        self.marks & marks(operation) != 0
            && self.steps.iter().any(|s| (s.site, s.object) == (operation.site, operation.object))
    }

    /// Whether any step may not commute with an operation.
    fn depends_on(&self, operation: &Operation) -> bool {
        self.marks & marks(operation) != 0 && self.steps.iter().any(|s| s.dependent(operation))
    }
}

impl Spins {
    pub fn clear(&mut self) {
        self.rounds.iter_mut().for_each(Round::clear);
    }

    /// Records an event of the worker: what it waits for may have happened.
    pub fn woken(&mut self, worker: WorkerId) {
        if let Some(round) = self.rounds.get_mut(worker.index()) {
            round.clear();
        }
    }

    /// Records a step of the worker. Returns whether it completes a round without progress.
    pub fn step(&mut self, worker: WorkerId, operation: &Operation) -> bool {
        if self.rounds.len() <= worker.index() {
            self.rounds.resize(worker.index() + 1, Round::default());
        }
        if changes_what_others_read(operation.kind) {
            for (other, round) in self.rounds.iter_mut().enumerate() {
                if other != worker.index() && round.depends_on(operation) {
                    round.clear();
                }
            }
        }
        let round = &mut self.rounds[worker.index()];
        if operation.kind.is_progress() {
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

/// One or more of 64 bits for the object of an operation: operations that depend on each other, or have the
/// same object, share one.
#[inline]
fn marks(operation: &Operation) -> u64 {
    let files = matches!(operation.kind, OpKind::File | OpKind::Call);
    if files || operation.size > 8 {
        return u64::MAX;
    }
    let last = operation.object + u64::from(operation.size.max(1)) - 1;
    1 << (operation.object >> 3 & 63) | 1 << (last >> 3 & 63)
}

/// Whether an operation may change what other workers have read. The release of a lock does, because they may
/// have tried to take the lock.
fn changes_what_others_read(kind: OpKind) -> bool {
    kind.writes() || kind.releases()
}

/// Loops, one per worker, that write in each round but repeat for so long that they count as waiting.
///
/// Code that is not optimised keeps all its locals in memory: `while flag.load() == 0 {}` stores the value
/// that it read before it compares it. Such writes cannot be distinguished from progress round by round. But
/// a worker that repeats the same few operations on the same objects for many steps is in a tight loop;
/// letting other workers run between its rounds is then harmless in any case.
#[derive(Clone, Debug, Default)]
pub(super) struct Circles {
    workers: Vec<Circle>,
}

/// The operations of a worker since it last executed more than [`ROUND_MAX`] different ones.
#[derive(Clone, Debug, Default)]
struct Circle {
    operations: Vec<(u32, u64)>,
    /// A bit of 64 for each of them.
    marks: u64,
    /// Index of the previous operation: the one after it mostly follows.
    at: usize,
    /// Steps since the last new operation.
    known: u32,
    /// Number of its first steps, which are not recorded: most workers end before they can have repeated a
    /// loop for long.
    first: u32,
}

impl Circles {
    /// Prepares for another iteration, keeping allocations.
    pub fn clear(&mut self) {
        for Circle { operations, marks, at, known, first } in &mut self.workers {
            operations.clear();
            *marks = 0;
            (*at, *known, *first) = (0, 0, 0);
        }
    }

    /// Records a step of the worker. Returns whether it begins another round of a loop that has lasted for
    /// `patience` steps.
    #[inline]
    pub fn step(&mut self, worker: WorkerId, operation: &Operation, patience: u32) -> bool {
        if self.workers.len() <= worker.index() {
            self.workers.resize(worker.index() + 1, Circle::default());
        }
        let circle = &mut self.workers[worker.index()];
        if circle.first < patience / 2 {
            circle.first += 1;
            return false;
        }
        let operation = (operation.site, operation.object);
        let mark = 1 << (mix(operation.1 << 20 ^ u64::from(operation.0)) & 63);
        let next = if circle.at + 1 < circle.operations.len() { circle.at + 1 } else { 0 };
        let found = match circle.operations.get(next) {
            Some(expected) if *expected == operation => Some(next),
            _ if circle.marks & mark == 0 => None,
            _ => circle.operations.iter().position(|known| *known == operation),
        };
        let Some(at) = found else {
            if circle.operations.len() == ROUND_MAX {
                circle.operations.clear();
                circle.marks = 0;
            }
            circle.marks |= mark;
            circle.at = circle.operations.len();
            circle.operations.push(operation);
            circle.known = 0;
            return false;
        };
        // A jump backwards: true for one step of each round, wherever the loop was entered.
        let again = at <= circle.at;
        circle.at = at;
        circle.known = circle.known.saturating_add(1);
        again && circle.known >= patience
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(kind: OpKind, site: u32, object: u64) -> Operation {
        Operation { kind, site, object, size: 4 }
    }

    /// Which steps of worker 0 spin, in a program with steps of worker 1 in between.
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
    fn a_loop_that_writes_is_a_circle_when_it_has_gone_round_for_long() {
        let round = [op(OpKind::Load, 1, 64), op(OpKind::Store, 2, 128), op(OpKind::Store, 3, 132)];
        let mut circles = Circles::default();
        let mut rounds = |count: usize, round: &[Operation]| {
            let steps = (0..count).flat_map(|_| round.iter());
            steps.filter(|step| circles.step(WorkerId(1), step, 30)).count()
        };
        // An operation before the loop; the first 15 steps are not recorded.
        assert_eq!(rounds(1, &[op(OpKind::Store, 9, 8)]), 0);
        assert_eq!(rounds(15, &round), 0);
        assert_eq!(rounds(100, &round), 100, "one step of each");
        // A new operation: the worker has made progress.
        assert_eq!(rounds(1, &[op(OpKind::Store, 4, 136)]), 0);
        assert_eq!(rounds(9, &round), 0);
        // A walk over an array.
        let walk: Vec<Operation> = (0..100).map(|i| op(OpKind::Store, 5, i * 4)).collect();
        assert_eq!(rounds(20, &walk), 0);
    }

    #[test]
    fn progress_is_no_spin() {
        let (load, pause) = (op(OpKind::Load, 1, 64), op(OpKind::Yield, 2, 0));
        // A write of the same worker to another object.
        let write = op(OpKind::Store, 3, 128);
        assert_eq!(spins(&[(0, pause), (0, write), (0, pause)]), [false; 3]);
        // Another worker's write to the object that was read, and to another one.
        let theirs = |object| (1, op(OpKind::Rmw, 9, object));
        assert_eq!(spins(&[(0, load), theirs(66), (0, load)]), [false, false]);
        assert_eq!(spins(&[(0, load), theirs(68), (0, load)]), [false, true]);
        // The same place with another object: a walk over an array.
        assert_eq!(spins(&[(0, load), (0, op(OpKind::Load, 1, 68))]), [false, false]);
    }
}
