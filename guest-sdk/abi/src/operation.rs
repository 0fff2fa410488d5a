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
    /// Plain memory.
    Load = 1 "load",
    Store = 2 "store",
    /// memory.copy, whose footprint is two ranges.
    Copy = 3 "copy",
    /// memory.fill and memory.init: one written range.
    Fill = 4 "fill",
    /// Atomic memory, sequentially consistent.
    AtomicLoad = 5 "atomic-load",
    AtomicStore = 6 "atomic-store",
    Rmw = 7 "rmw",
    CompareExchange = 8 "compare-exchange",
    Fence = 9 "fence",
    FutexWait = 10 "futex-wait",
    FutexNotify = 11 "futex-notify",
    /// The countdown at a loop header or function entry came to zero.
    Loop = 12 "loop",
    Spawn = 20 "spawn",
    Join = 21 "join",
    Exit = 22 "exit",
    Yield = 23 "yield",
    Sleep = 24 "sleep",
    Lock = 30 "lock",
    TryLock = 31 "try-lock",
    Unlock = 32 "unlock",
    /// A condvar wait: releases the mutex. A `Relock` follows.
    Wait = 33 "wait",
    /// The second half of a wait: enabled once notified or timed out and the mutex is free.
    Relock = 34 "relock",
    Signal = 35 "signal",
    Broadcast = 36 "broadcast",
    /// A sync object, of whatever class, is given its initial state.
    Init = 37 "init",
    /// A sync object, of whatever class, is forgotten.
    Destroy = 38 "destroy",
    ChooseBool = 40 "choose-bool",
    ChooseInt = 41 "choose-int",
    /// An assumption that does not hold: its worker goes no further.
    Assume = 42 "assume",
    ReadLock = 50 "read-lock",
    TryReadLock = 51 "try-read-lock",
    WriteLock = 52 "write-lock",
    TryWriteLock = 53 "try-write-lock",
    RwUnlock = 54 "rw-unlock",
    SemaphoreWait = 55 "semaphore-wait",
    SemaphoreTryWait = 56 "semaphore-try-wait",
    SemaphorePost = 57 "semaphore-post",
    SemaphoreValue = 58 "semaphore-value",
    /// An arrival at a barrier. The second half, once all have arrived, has the same kind.
    BarrierWait = 59 "barrier-wait",
    /// A call of a file or directory function of WASI: see [`crate::file`].
    File = 60 "file",
    /// A call of an import that the user stubbed with a constant answer.
    Stub = 61 "stub",
    /// A call of a library function that is one step, and no other kind.
    Call = 62 "call",
    /// A place where a fault may happen: a value says whether, and how.
    Fault = 63 "fault",
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

    /// Whether the operation gives back what others may wait for.
    pub const fn releases(self) -> bool {
        matches!(self, OpKind::Unlock | OpKind::RwUnlock | OpKind::SemaphorePost)
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

    /// Whether two workers may do this at once without a data race.
    #[inline]
    pub const fn is_atomic(self) -> bool {
        !matches!(self, OpKind::Load | OpKind::Store | OpKind::Copy | OpKind::Fill)
    }
}
