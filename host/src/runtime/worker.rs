//! A worker and what it is about to do.

use super::BudgetId;
use super::awaits::Awaits;
use super::sync::Lock;
use super::weak::Orders;
use crate::object_id::ObjectId;
use coyote_strategies::{Class, WorkerPath};

/// The operation that a worker announced, with all its arguments. `Operation` is its public face.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    /// The first step, a memory access, a yield, a forced point: nothing for the runtime to do.
    Step,
    Spawn(Start),
    Join {
        /// The guest's name for a worker, if there is one of this name.
        handle: u32,
    },
    Exit,
    /// The test function returns to its harness, or an exception leaves it.
    TestEnd {
        unwound: bool,
    },
    /// Ends the whole program.
    ProcessExit {
        code: u32,
    },
    Sleep {
        span_ns: u64,
    },
    /// Performed twice if it has an end and finds the lock taken: then it begins to wait.
    Lock {
        lock: Lock,
        span_ns: Option<u64>,
    },
    TryLock {
        lock: Lock,
    },
    Unlock {
        place: ObjectId,
    },
    /// `value`: a mutex's kind, a semaphore's value, a barrier's count.
    Init {
        place: ObjectId,
        value: u32,
    },
    Destroy {
        place: ObjectId,
    },
    SemaphoreValue {
        semaphore: u32,
    },
    BarrierWait {
        barrier: u32,
    },
    Wait {
        condvar: u32,
        mutex: u32,
        span_ns: Option<u64>,
    },
    /// The second half of a `Wait`.
    Relock {
        condvar: u32,
        mutex: u32,
    },
    /// Wakes that many of those that wait at a condvar or futex.
    Notify {
        place: ObjectId,
        count: u32,
    },
    FutexWait {
        address: u32,
        expected: u64,
        bytes: u8,
        span_ns: Option<u64>,
    },
    ChooseBool,
    ChooseInt {
        bound: u32,
    },
    /// A fault point of the guest, or a call of WASI or of an allocator that may fail.
    Fault {
        budget: BudgetId,
        /// In how many ways.
        ways: u32,
        /// Of a fault point: see [`super::FaultCounts`].
        point: u32,
    },
    /// An atomic access or a fence, with weak memory.
    Atomic {
        /// What a compare-exchange compares with.
        expected: u64,
        orders: Orders,
    },
    /// An assumption that does not hold.
    Assume,
}

impl Request {
    /// The lock that the worker needs to go on, if it needs one.
    pub fn wants(self) -> Option<ObjectId> {
        match self {
            Request::Lock { lock, .. } => Some(lock.place()),
            Request::Relock { mutex, .. } => Some(ObjectId { class: Class::Mutex, address: mutex }),
            _ => None,
        }
    }

    /// Where the worker stands in a queue once it waits.
    pub fn queue(self) -> Option<ObjectId> {
        let (class, address) = match self {
            Request::Relock { condvar, .. } => (Class::Condvar, condvar),
            Request::FutexWait { address, .. } => (Class::Futex, address),
            Request::BarrierWait { barrier } => (Class::Barrier, barrier),
            _ => return None,
        };
        Some(ObjectId { class, address })
    }
}

/// How a new worker begins: the arguments of `Action::Start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Start {
    /// Index into the site table's entries.
    pub entry: u32,
    pub a: i32,
    pub b: i32,
    /// Bounds of its stack, if the guest said them.
    pub stack: Option<(u32, u32)>,
}

/// How a blocked worker was woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wake {
    Notified,
    TimedOut,
    /// By no worker.
    Spurious,
}

#[derive(Clone, Debug)]
pub struct Worker {
    pub path: WorkerPath,
    /// Hash of the path: how other state refers to this worker in a fingerprint, and steps that touch it.
    pub key: u64,
    /// What the guest calls it: see [`super::Runtime::worker_of`].
    pub handle: u32,
    pub name: Option<String>,
    /// What the worker that it starts next will be called.
    pub next_name: Option<String>,
    /// What it says that it awaits: see [`super::awaits`].
    pub awaits: Awaits,
    pub start: Start,
    pub request: Request,
    /// Set while it sleeps or waits in a queue: `request` is half done.
    pub waiting: bool,
    /// How its wait ended.
    pub wake: Option<Wake>,
    pub detached: bool,
    /// Whether some worker waited for its end.
    pub joined: bool,
    /// Workers it has created.
    pub children: u32,
    /// Depth of functions without scheduling points that it is in.
    pub atomic_depth: u32,
    /// Forced points since it last entered an atomic function, as far as they matter.
    pub atomic_ticks: u32,
    /// The event of the heap that allocated the block in which its stack lies, if one did.
    pub stack_block: Option<u32>,
    /// What it has in the word that is each worker's own, while it is suspended.
    pub worker_local_word: u32,
    /// Steps since it last changed anything, while a timeout was pending: see [`super::idle`].
    pub idle_steps: u32,
    /// State of its stream of random numbers.
    pub random: u64,
    /// How the call fails that it makes next: between the choice and that call there is no state.
    pub failure: u32,
    /// Where its announced `memory.copy` reads from.
    pub copy_source: u32,
    /// The last instruction that it announced of those with a site for each memory order: its first site, and the
    /// one that was announced.
    pub ordered_site: (u32, u32),
}
