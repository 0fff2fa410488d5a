//! The trait of programs that can be searched.

pub use crate::access::{Access, Class, Effect};
use crate::{Event, Pick, View, WorkerId};
use serde::{Deserialize, Serialize};

/// What a system waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A [`System::step`]: at least one pick is possible.
    Ready,
    /// A [`System::choose`] of a value below `bound`, which completes the last step.
    Choosing {
        /// At least 1.
        bound: u64,
    },
    /// Nothing more: every worker ended, or the rest does not matter.
    Passed,
    /// Nothing more: a bug was found.
    Bug,
    /// Nothing more: no verdict. An assumption failed, or the system itself cannot go on.
    Abandoned,
    /// Nothing more: the execution reached the system's bound on steps before an end. No verdict: it may
    /// end later, or never.
    Unfinished,
}

impl Status {
    /// Whether the execution has ended: nothing more can be picked or chosen.
    pub fn is_final(self) -> bool {
        matches!(self, Status::Passed | Status::Bug | Status::Abandoned | Status::Unfinished)
    }
}

/// A choice that was made, by the numbers of workers: it means the same in every execution that made the
/// same choices before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Decision {
    /// Whose step is executed, or whose timeout fires.
    Pick(Pick),
    /// The value given to [`System::choose`].
    Value(u64),
}

/// A program under control whose state can be saved and restored.
pub trait System {
    /// A saved state, that [`System::restore`] takes.
    type Snapshot: Clone + Send;

    /// What the system waits for in its present state.
    fn status(&self) -> Status;

    /// Whether the last step ended the program by itself, whatever others could still have done: a bug in
    /// that step, or the end of the first worker where that ends the process. Not if no worker can go on.
    ///
    /// Such a step depends on all others. To say so too often costs a search of classes redundant
    /// executions; to say so too seldom loses classes.
    fn ends_program(&self) -> bool {
        self.status() == Status::Bug
    }

    /// What can be picked now, also in a final state: a pick that is missing there was made impossible by
    /// the last step.
    fn view(&self) -> View<'_>;

    /// Executes the pick. Must be possible.
    fn step(&mut self, pick: Pick);

    /// Answers [`Status::Choosing`].
    fn choose(&mut self, value: u64);

    /// Goes back to the start of the program.
    fn restart(&mut self);

    /// What the last step really touched, the values chosen for it included; it may be more than was
    /// announced. Complete as soon as the status is not [`Status::Choosing`].
    fn footprint(&self) -> &[Access];

    /// Appends what a pending operation is known to touch before it is executed, at least every object
    /// on which its worker is blocked.
    fn announced(&self, pick: Pick, into: &mut Vec<Access>);

    /// Appends the events since the last call. A restore or restart drops those not asked for.
    fn take_events(&mut self, into: &mut Vec<Event>);

    /// Whether [`System::snapshot`] works. If not, a search executes prefixes again.
    fn can_snapshot(&self) -> bool;

    /// Saves the state, also one that is [`Status::Choosing`].
    fn snapshot(&mut self) -> Self::Snapshot;

    /// Goes to a state that this system saved.
    fn restore(&mut self, snapshot: &Self::Snapshot);

    /// Equal for equal states; different states differ with overwhelming probability.
    fn fingerprint(&mut self) -> u128;

    /// A hash of the part of the state that no step of another worker changes: where the worker is, and its own values.
    /// Equal for equal states; a system that cannot tell that part from the rest returns 0. Much cheaper than
    /// [`System::fingerprint`], it tells most states apart that one worker passes.
    fn worker_fingerprint(&self, _: WorkerId) -> u64 {
        0
    }
}

/// Makes a decision.
pub fn decide<S: System + ?Sized>(system: &mut S, decision: Decision) {
    match decision {
        Decision::Pick(pick) => system.step(pick),
        Decision::Value(value) => system.choose(value),
    }
}
