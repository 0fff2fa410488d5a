//! Kinds of operations: what a worker can be about to do at a scheduling point.

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $value:literal $name:literal,)*) => {
        /// What a worker is about to do. The number is part of the site table's format and the name
        /// is part of the trace format: neither may change its meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum OpKind { $($(#[$doc])* $variant = $value,)* }

        impl OpKind {
            /// Every kind, in the order of its number.
            pub const ALL: &[OpKind] = &[$(OpKind::$variant,)*];

            /// The kind's name in traces and reports.
            pub const fn name(self) -> &'static str {
                match self { $(OpKind::$variant => $name,)* }
            }

            /// The inverse of [`OpKind::name`].
            pub fn from_name(name: &str) -> Option<OpKind> {
                match name { $($name => Some(OpKind::$variant),)* _ => None }
            }

            /// The inverse of `as u8`.
            pub const fn from_u8(value: u8) -> Option<OpKind> {
                match value { $($value => Some(OpKind::$variant),)* _ => None }
            }
        }
    };
}

kinds! {
    /// A worker's first step.
    Start = 0 "start",
    /// A plain load.
    Load = 1 "load",
    /// A plain store.
    Store = 2 "store",
    /// memory.copy, whose footprint is two ranges.
    Copy = 3 "copy",
    /// memory.fill and memory.init: one written range.
    Fill = 4 "fill",
    /// An atomic load.
    AtomicLoad = 5 "atomic-load",
    /// An atomic store.
    AtomicStore = 6 "atomic-store",
    /// An atomic read-modify-write other than a compare-exchange.
    Rmw = 7 "rmw",
    /// An atomic compare-exchange, whether or not it stores.
    CompareExchange = 8 "compare-exchange",
    /// `atomic.fence`.
    Fence = 9 "fence",
    /// `memory.atomic.wait32` and `wait64`: blocks if memory has the expected value.
    FutexWait = 10 "futex-wait",
    /// `memory.atomic.notify`: wakes workers that wait at an address.
    FutexNotify = 11 "futex-notify",
    /// The countdown at a loop header or function entry came to zero.
    Loop = 12 "loop",
    /// The start of another worker.
    Spawn = 20 "spawn",
    /// Blocks until another worker has ended.
    Join = 21 "join",
    /// A worker's last step, if it calls `exit`, or if its end is that of all other workers (`--at-exit kill`).
    Exit = 22 "exit",
    /// Lets others run; has no other effect.
    Yield = 23 "yield",
    /// Blocks for a span of virtual time.
    Sleep = 24 "sleep",
    /// Blocks until the mutex is free, and takes it.
    Lock = 30 "lock",
    /// Takes the mutex if it is free.
    TryLock = 31 "try-lock",
    /// Gives the mutex back.
    Unlock = 32 "unlock",
    /// A condvar wait: releases the mutex. A `Relock` follows.
    Wait = 33 "wait",
    /// The second half of a wait: enabled once notified or timed out and the mutex is free.
    Relock = 34 "relock",
    /// Wakes one waiter of a condvar, if there is one.
    Signal = 35 "signal",
    /// Wakes all waiters of a condvar.
    Broadcast = 36 "broadcast",
    /// Gives a sync object of any class its initial state.
    Init = 37 "init",
    /// Ends the life of a sync object of any class.
    Destroy = 38 "destroy",
    /// A data choice between 0 and 1.
    ChooseBool = 40 "choose-bool",
    /// A data choice below a bound.
    ChooseInt = 41 "choose-int",
    /// An assumption that does not hold: its worker goes no further.
    Assume = 42 "assume",
    /// Blocks while an rwlock is held for writing, and takes it for reading.
    ReadLock = 50 "read-lock",
    /// Takes an rwlock for reading unless it is held for writing.
    TryReadLock = 51 "try-read-lock",
    /// Blocks until an rwlock is free, and takes it for writing.
    WriteLock = 52 "write-lock",
    /// Takes an rwlock for writing if it is free.
    TryWriteLock = 53 "try-write-lock",
    /// Gives back an rwlock that is held for reading or writing.
    RwUnlock = 54 "rw-unlock",
    /// Blocks while the semaphore's value is 0, and takes 1 from it.
    SemaphoreWait = 55 "semaphore-wait",
    /// Takes 1 from the semaphore's value unless that is 0.
    SemaphoreTryWait = 56 "semaphore-try-wait",
    /// Adds 1 to the semaphore's value.
    SemaphorePost = 57 "semaphore-post",
    /// Reads the semaphore's value.
    SemaphoreValue = 58 "semaphore-value",
    /// An arrival at a barrier. The second half, once all have arrived, has the same kind.
    BarrierWait = 59 "barrier-wait",
    /// A call of a file or directory function of WASI: see [`crate::file`].
    File = 60 "file",
    /// A call of an import that the user stubbed with a constant answer.
    Stub = 61 "stub",
    /// A call of a library function that is one step, and no other kind.
    Call = 62 "call",
    /// A place where a fault may happen: the chosen value says whether it does, and which one.
    Fault = 63 "fault",
    /// An explicit scheduling point; has no other effect.
    Interleave = 64 "interleave",
    /// A read of state outside of memory, by a number.
    ReadPoint = 65 "read-point",
    /// A change of state outside of memory, by a number.
    WritePoint = 66 "write-point",
    /// The beginning of an evaluation of a predicate. Blocks after one that was false, until what it accessed has
    /// changed.
    WaitUntil = 67 "wait-until",
    /// As `WaitUntil`, by a worker that watches an invariant.
    Watch = 68 "watch",
    /// A look at a clock.
    Clock = 69 "clock",
    /// From here on, no fault happens.
    FaultStop = 70 "fault-stop",
}

/// The classes of sync objects as a table for a macro: documentation, identifier, name in reports, whether an
/// acquisition needs the last release (`SINGLE`) or may do without it, since earlier ones may have been enough
/// (`COUNTED`), and the operations of this class alone. `Init` and `Destroy` belong to all classes.
#[macro_export]
macro_rules! sync_objects {
    ($table:ident) => {
        $table! {
            /// A mutex. Sync objects of all classes are identified by their address.
            Mutex "mutex" SINGLE [Lock, TryLock, Unlock, Relock],
            /// A lock that several readers can hold.
            Rwlock "rwlock" SINGLE [ReadLock, TryReadLock, WriteLock, TryWriteLock, RwUnlock],
            /// A counting semaphore.
            Semaphore "semaphore" COUNTED [SemaphoreWait, SemaphoreTryWait, SemaphorePost, SemaphoreValue],
            /// A barrier.
            Barrier "barrier" SINGLE [BarrierWait],
            /// A condition variable: the workers that wait for it.
            Condvar "condvar" SINGLE [Wait, Signal, Broadcast],
            /// The workers that wait at an address of memory; not the contents of this memory.
            Futex "futex" SINGLE [FutexWait, FutexNotify],
        }
    };
}

impl OpKind {
    /// Whether the operation may write guest memory at its object.
    #[inline]
    pub const fn writes(self) -> bool {
        matches!(
            self,
            OpKind::Store
                | OpKind::Copy
                | OpKind::Fill
                | OpKind::AtomicStore
                | OpKind::Rmw
                | OpKind::CompareExchange
        )
    }

    /// Whether the operation releases an object for which other workers may wait.
    pub const fn releases(self) -> bool {
        matches!(self, OpKind::Unlock | OpKind::RwUnlock | OpKind::SemaphorePost)
    }

    /// Whether the operation is progress of its worker: a worker that waits in a loop executes no such operation.
    #[inline]
    pub const fn is_progress(self) -> bool {
        self.writes()
            || matches!(
                self,
                OpKind::Start
                    | OpKind::Spawn
                    | OpKind::Signal
                    | OpKind::Broadcast
                    | OpKind::FutexNotify
                    | OpKind::SemaphorePost
                    | OpKind::BarrierWait
                    | OpKind::WritePoint
                    | OpKind::ChooseBool
                    | OpKind::ChooseInt
                    | OpKind::Fault
                    | OpKind::FaultStop
            )
    }

    /// Whether the operation's object is an address of guest memory that it accesses.
    #[inline]
    pub const fn accesses_memory(self) -> bool {
        matches!(
            self,
            OpKind::Load
                | OpKind::Store
                | OpKind::Copy
                | OpKind::Fill
                | OpKind::AtomicLoad
                | OpKind::AtomicStore
                | OpKind::Rmw
                | OpKind::CompareExchange
                | OpKind::FutexWait
        )
    }

    /// Whether two workers may execute the operation concurrently without a data race.
    #[inline]
    pub const fn is_atomic(self) -> bool {
        !matches!(self, OpKind::Load | OpKind::Store | OpKind::Copy | OpKind::Fill)
    }
}
