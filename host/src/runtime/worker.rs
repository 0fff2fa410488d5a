//! A worker and what it is about to do.

use coyote_strategies::WorkerPath;

/// The operation that a worker announced, with all its arguments. `Operation` is its public face.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    /// The first step, a memory access, a yield, a forced point: nothing for the runtime to do.
    Step,
    Spawn(Start),
    Join {
        handle: u32,
    },
    Exit,
    /// Ends the whole program.
    ProcessExit {
        code: u32,
    },
    Sleep {
        span_ns: u64,
    },
    Lock {
        mutex: u32,
    },
    TryLock {
        mutex: u32,
    },
    Unlock {
        mutex: u32,
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
    Signal {
        condvar: u32,
    },
    Broadcast {
        condvar: u32,
    },
    FutexWait {
        address: u32,
        expected: u64,
        bytes: u8,
        span_ns: Option<u64>,
    },
    FutexNotify {
        address: u32,
        count: u32,
    },
    ChooseBool,
    ChooseInt {
        bound: u32,
    },
    /// An assumption that does not hold.
    Assume,
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
}

#[derive(Clone, Debug)]
pub struct Worker {
    pub path: WorkerPath,
    /// Hash of the path: how other state refers to this worker in a fingerprint.
    pub key: u64,
    pub name: Option<String>,
    pub start: Start,
    pub request: Request,
    /// Set while it sleeps or waits in a queue: `request` is half done.
    pub waiting: bool,
    /// How its wait ended.
    pub wake: Option<Wake>,
    pub detached: bool,
    /// Workers it has created.
    pub children: u32,
    /// Depth of functions without scheduling points that it is in.
    pub atomic_depth: u32,
    /// State of its stream of random numbers.
    pub random: u64,
    /// Where its announced `memory.copy` reads from.
    pub copy_source: u32,
}
