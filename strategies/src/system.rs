//! The trait of programs that can be searched.

use crate::{Event, Pick, View, WorkerId};
use serde::{Deserialize, Serialize};

/// What a system waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A [`System::step`]: at least one pick is possible.
    Ready,
    /// A [`System::choose`] of a value below `bound`, which completes the last step.
    Choosing { bound: u64 },
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
    pub fn is_final(self) -> bool {
        matches!(self, Status::Passed | Status::Bug | Status::Abandoned | Status::Unfinished)
    }
}

/// What an access belongs to: objects of different classes never overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Class {
    /// Guest memory, by address and size.
    Memory,
    /// That guest memory is as large as it is, by pages.
    Size,
    /// Whether the guest's allocator finds memory: a request that does not depends on all others.
    Heap,
    /// Entries of tables, and their sizes.
    Table,
    /// Globals that workers share, and passive segments.
    Global,
    Mutex,
    Rwlock,
    Semaphore,
    Barrier,
    Condvar,
    Futex,
    /// That a worker exists: enabled by its creation, awaited by its first step.
    Birth,
    /// That a worker has ended: enabled by its last step, awaited by joins.
    End,
    /// That a blocked worker was woken: enabled by who wakes it, awaited by its next step.
    Wake,
    /// The virtual clock and the queue of timeouts.
    Clock,
    /// Numbers that the guest sees and whose order of assignment matters.
    Counter,
    /// A file or directory of the guest's world, by its number.
    File,
    /// A file descriptor, by its number; the greatest number stands for which of them are taken.
    Descriptor,
    /// What the system keeps for itself and the relation has to order all the same.
    Other,
}

/// How an access relates to others of the same object.
///
/// | first | second | dependent | can be reversed |
/// |---|---|---|---|
/// | Read | Read | no | |
/// | Read or Write | Write, or the other way round | yes | yes |
/// | Write | Acquire or Share | yes | yes, or what took it before the Write can |
/// | Acquire | Acquire | yes, through the Release between them | yes |
/// | Acquire | Share, or the other way round | the same | yes |
/// | Release or Unshare | Acquire | yes | no: the second waits for the first; of a semaphore as by a Write |
/// | Release | Share | yes | no: the second waits for the first |
/// | Read | Acquire | yes | no: the second waits for a Release between them |
/// | Read | Share | yes | as by a Write |
/// | Release | TryAcquire or TryShare | yes | yes: it then fails, which is a Read |
/// | Share, TryShare or Unshare | Share, TryShare or Unshare | no | |
/// | Enable | Await | yes | no: the second waits for the first |
/// | Await | Await | no | |
///
/// Everything else on one object is dependent and can be reversed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Effect {
    /// Also a try-lock that failed: two of them commute.
    Read,
    Write,
    /// Takes a lock; its worker was blocked as long as it was taken.
    Acquire,
    /// Takes a lock that it found free, and would not have waited for.
    TryAcquire,
    Release,
    /// Takes a lock together with others; its worker was blocked as long as somebody had it alone.
    Share,
    /// The same, but it would not have waited.
    TryShare,
    /// Gives back what it had together with others.
    Unshare,
    Enable,
    Await,
}

/// One access of an executed step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Access {
    pub class: Class,
    pub effect: Effect,
    /// An address, what identifies a worker in all executions, or 0 where there is one object only.
    pub object: u64,
    /// Bytes of memory, entries of a table or pages from `object` on; 1 where that has no meaning.
    pub size: u32,
}

impl Access {
    /// Objects of [`Class::Heap`] that say what a step does, and conflict with nothing: it takes a block back; it hands one
    /// out, where an earlier free may have made room.
    pub const FREES: u64 = 1;
    pub const ALLOCATES: u64 = 2;

    pub fn new(class: Class, effect: Effect, object: u64) -> Access {
        Access { class, effect, object, size: 1 }
    }
}

/// A choice that was made, by the numbers of workers: it means the same in every execution that made the
/// same choices before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Decision {
    Pick(Pick),
    Value(u64),
}

/// A program under control whose state can be saved and restored.
pub trait System {
    type Snapshot: Clone + Send;

    fn status(&self) -> Status;

    /// Whether the last step ended the program by itself, whatever others could still have done: a bug in
    /// that step, or the end of the first worker where that ends the process. Not if nobody can go on.
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
