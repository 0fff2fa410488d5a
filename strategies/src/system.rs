//! The trait of programs that can be searched.

pub use crate::access::{Access, Class, Effect};
use crate::{Event, Pick, View, WorkerId};
use serde::{Deserialize, Serialize};

/// The status of a system: the decision that it waits for, or how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A [`System::step`]: at least one pick is possible.
    Ready,
    /// A [`System::choose`] of a value below `bound`, which completes the last step.
    Choosing {
        /// At least 1.
        bound: u64,
    },
    /// The execution has ended: every worker ended, or the others do not matter.
    Passed,
    /// The execution has ended: a bug was found.
    Bug,
    /// The execution has ended without a verdict: an assumption failed, or the system itself cannot continue.
    Abandoned,
    /// The execution has reached the system's bound on steps before an end. There is no verdict: it may end
    /// later, or never.
    Unfinished,
}

impl Status {
    /// Whether the execution has ended: nothing more can be picked or chosen.
    pub fn is_final(self) -> bool {
        matches!(self, Status::Passed | Status::Bug | Status::Abandoned | Status::Unfinished)
    }
}

/// A choice that was made. It contains numbers of workers, so it means the same in every execution that made
/// the same choices before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Decision {
    /// A step of a worker is executed, or a worker's timeout fires.
    Pick(Pick),
    /// The value given to [`System::choose`].
    Value(u64),
}

/// Something that must eventually happen, such as that a monitor becomes cold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Expected {
    /// What it is.
    pub id: u64,
    /// Whether the program waits for it now (a hot monitor), or merely has not seen it (a warm one).
    pub waits: bool,
    /// The step since which the program expects it without interruption.
    pub since: u64,
}

/// A program under control whose state can be saved and restored.
pub trait System {
    /// A saved state, which [`System::restore`] takes.
    type Snapshot: Clone + Send;

    /// The status of the present state.
    fn status(&self) -> Status;

    /// Whether the last step ended the program by itself, even if other workers could still make steps: a bug
    /// in that step, or the end of the first worker if that ends the process. False if merely no worker is
    /// enabled.
    ///
    /// Such a step depends on all others. A wrong true costs a search of classes redundant executions; a
    /// wrong false makes it lose classes.
    fn ends_program(&self) -> bool {
        self.status() == Status::Bug
    }

    /// What can be picked now, also in a final state: a pick that is missing there was made impossible by the
    /// last step.
    fn view(&self) -> View<'_>;

    /// Executes the pick, which must be possible.
    fn step(&mut self, pick: Pick);

    /// Answers [`Status::Choosing`].
    fn choose(&mut self, value: u64);

    /// Whether a circle of states through this one can be a livelock: not if something will happen that no pick stands
    /// for as yet, such as a timeout that fires once the workers do nothing more, nor if something may happen between
    /// picks that no state shows, nor if all workers that are left are those that a program leaves behind at its end.
    fn may_livelock(&self) -> bool {
        true
    }

    /// Whether a round of steps that can be repeated for ever may lead through this state: only if nothing can happen in
    /// it but steps, and no time is waited for.
    fn may_repeat(&self) -> bool {
        self.may_livelock() && self.view().timeouts.is_empty()
    }

    /// What the program says must eventually happen and has not happened yet, in any order that depends on nothing else.
    fn expected(&self) -> Vec<Expected> {
        Vec::new()
    }

    /// Restores the start of the program.
    fn restart(&mut self);

    /// What the last step really touched, including the values chosen for it; this may be more than was
    /// announced. Complete as soon as the status is not [`Status::Choosing`].
    fn footprint(&self) -> &[Access];

    /// Appends what a pending operation is known to touch before it is executed, including every object on
    /// which its worker is blocked.
    fn announced(&self, pick: Pick, into: &mut Vec<Access>);

    /// Appends the events since the last call. A restore or restart discards events that were not taken.
    fn take_events(&mut self, into: &mut Vec<Event>);

    /// Whether [`System::snapshot`] works. If not, a search executes prefixes again.
    fn can_snapshot(&self) -> bool;

    /// Saves the state, which may be [`Status::Choosing`].
    fn snapshot(&mut self) -> Self::Snapshot;

    /// Restores a state that this system saved.
    fn restore(&mut self, snapshot: &Self::Snapshot);

    /// A hash of the state: equal for equal states; different states differ with overwhelming probability.
    fn fingerprint(&mut self) -> u128;

    /// The same without what detectors know of the past, which has no effect on the program: two rounds of a loop that
    /// changes nothing leave the clocks of data races different.
    fn fingerprint_of_program(&mut self) -> u128 {
        self.fingerprint()
    }

    /// A hash of the part of the state that no step of another worker changes: the worker's position, and its
    /// own values. Equal for equal states; 0 if the system cannot separate that part. It is much cheaper than
    /// [`System::fingerprint`], and differs between most of the states that one worker passes.
    fn worker_fingerprint(&self, _: WorkerId) -> u64 {
        0
    }
}

/// Executes a decision.
pub fn decide<S: System + ?Sized>(system: &mut S, decision: Decision) {
    match decision {
        Decision::Pick(pick) => system.step(pick),
        Decision::Value(value) => system.choose(value),
    }
}
