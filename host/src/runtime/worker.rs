//! A worker and the operation that it is about to execute.

use super::BudgetId;
use super::awaits::Awaits;
use super::idling::Idling;
use super::polled::{Driver, Polled, SocketFault};
use super::predicate::Predicate;
use super::sync::Lock;
use super::weak::Orders;
use crate::object_id::ObjectId;
use crate::object_id::UseKind;
use coyote_strategies::{Class, Effect, WorkerPath};
use smallvec::{SmallVec, smallvec};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The operation that a worker announced, with all its arguments. `Operation` is its public face.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    /// The first step, a memory access, a yield, a round of a loop: the runtime has nothing to do.
    Step,
    Spawn(Start),
    Join {
        /// The handle of a worker, if there is one with this handle.
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
    /// Performed twice if it has a timeout and finds the lock taken: the first time, it begins to wait.
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
    /// `held`: a worker may hold the object.
    Destroy {
        place: ObjectId,
        held: bool,
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
    /// Wakes `count` of the workers that wait at a condvar or futex.
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
        /// Number of ways.
        ways: u32,
        /// The hash of the name of a fault point, or 0: see [`super::FaultCounts`].
        point: u32,
    },
    /// Ends all faults: nothing is left of any budget.
    StopFaults,
    /// An atomic access or a fence, with weak memory.
    Atomic {
        /// The value that a compare-exchange compares with.
        expected: u64,
        orders: Orders,
    },
    /// A call of a function that may have to wait for a socket: see [`super::sockets`].
    Socket {
        descriptor: u32,
        /// Its number in [`coyote_abi::file::CALLS`].
        function: u8,
        /// Bytes that it may transfer.
        bytes: u32,
        /// Number of ways in which it may fail if the descriptor is a file.
        ways: u8,
    },
    /// Waits for one of the sockets that the worker polls, or for a wake of its driver.
    Poll {
        span_ns: Option<u64>,
    },
    /// Makes a connection.
    Connect {
        listener: u32,
    },
    /// A read point or a write point of state outside of memory.
    Outside {
        object: u32,
        /// `Read` or `Write`.
        effect: Effect,
    },
    /// Begins an evaluation of a predicate: see `predicates`.
    WaitUntil,
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

    /// Whether it takes a lock with a timeout, and so may give up.
    pub fn is_timed_lock(self) -> bool {
        matches!(self, Request::Lock { span_ns: Some(_), .. })
    }

    /// The sync objects that the operation is given, and what it does to them. Futexes are no objects.
    pub fn uses(self) -> SmallVec<[(ObjectId, UseKind); 2]> {
        let object = |class, address| ObjectId { class, address };
        let uses = |object| smallvec![(object, UseKind::Uses)];
        match self {
            Request::Init { place, .. } => smallvec![(place, UseKind::Begins)],
            Request::Destroy { place, .. } => smallvec![(place, UseKind::Ends)],
            Request::Lock { lock, .. } | Request::TryLock { lock } => uses(lock.place()),
            Request::Unlock { place } => uses(place),
            Request::Notify { place, .. } if place.class != Class::Futex => uses(place),
            Request::SemaphoreValue { semaphore } => uses(object(Class::Semaphore, semaphore)),
            Request::BarrierWait { barrier } => uses(object(Class::Barrier, barrier)),
            Request::Wait { condvar, mutex, .. } => {
                let both = [object(Class::Condvar, condvar), object(Class::Mutex, mutex)];
                both.map(|object| (object, UseKind::Uses)).into()
            }
            _ => SmallVec::new(),
        }
    }

    /// The object in whose queue the worker is while it waits.
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

/// The start of a new worker: the arguments of `Action::Start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Start {
    /// Index into the site table's entries.
    pub entry: u32,
    pub a: i32,
    pub b: i32,
    /// Bounds of its stack, if the guest gave them.
    pub stack: Option<(u32, u32)>,
}

/// The cause by which a blocked worker was woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wake {
    Notified,
    TimedOut,
    /// Without a notification.
    Spurious,
}

/// A node, by its semaphore: see [`super::nodes`].
#[derive(Clone, Debug)]
pub struct NodeId {
    pub semaphore: u32,
    /// For reports.
    pub name: Arc<str>,
}

impl PartialEq for NodeId {
    fn eq(&self, other: &NodeId) -> bool {
        self.semaphore == other.semaphore
    }
}

impl Eq for NodeId {}

impl Hash for NodeId {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.semaphore.hash(hasher);
    }
}

#[derive(Clone, Debug)]
pub struct Worker {
    pub path: WorkerPath,
    /// Hash of the path, with which fingerprints and footprints refer to this worker.
    pub key: u64,
    /// The guest's handle of it: see [`super::Runtime::worker_of`].
    pub handle: u32,
    pub name: Option<String>,
    /// The name of the worker that it starts next.
    pub next_name: Option<String>,
    /// The objects that it reports to await: see [`super::awaits`].
    pub awaits: Awaits,
    pub start: Start,
    pub request: Request,
    /// Set while it sleeps or waits in a queue: `request` is half done.
    pub waiting: bool,
    /// The cause by which its wait ended.
    pub wake: Option<Wake>,
    /// The node that it belongs to: see [`super::nodes`].
    pub node: Option<NodeId>,
    pub detached: bool,
    /// Whether some worker waited for its end.
    pub joined: bool,
    /// Number of workers that it has created.
    pub children: u32,
    /// Depth of the nested functions and sections without scheduling points that it is in.
    pub atomic_depth: u32,
    /// Number of announced rounds of loops since it last entered an atomic function, up to the bound that
    /// matters.
    pub atomic_ticks: u32,
    /// Depth of the nested scopes in which the program suppresses scheduling points; `atomic_depth` contains it.
    pub suppressed: u32,
    /// The predicate that it evaluates, or for which it waits.
    pub predicate: Option<Box<Predicate>>,
    /// Whether it only watches an invariant, and has evaluated it at least once.
    pub watches: bool,
    /// The event of the heap that allocated the block in which its stack lies, if one did.
    pub stack_block: Option<u32>,
    /// Its value of the worker-local word, while it is suspended.
    pub worker_local_word: u32,
    /// What it has done since it last changed anything, while a timeout was pending: see [`super::idle`].
    pub idling: Idling,
    /// State of its stream of random numbers.
    pub random: u64,
    /// The way in which its next call fails, 0 if it does not. There is no state between the choice and that
    /// call.
    pub failure: u32,
    /// The same for its next call on a socket.
    pub socket_fault: Option<SocketFault>,
    /// The sockets for which it waits.
    pub polled: Polled,
    /// Whether its polls are those of a driver, and whether that was woken.
    pub driver: Driver,
    /// The address from which its announced `memory.copy` reads.
    pub copy_source: u32,
    /// The last instruction that it announced of those with a site for each memory order: its first site, and the
    /// one that was announced.
    pub ordered_site: (u32, u32),
}
