//! What steps touch, in the terms of happens-before.

use coyote_abi::OpKind;
use serde::{Deserialize, Serialize};

macro_rules! classes {
    ($($(#[$doc:meta])* $class:ident $noun:literal [$($kind:ident),*],)*) => {
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
            $($(#[$doc])* $class,)*
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

        impl Class {
            /// The class of the sync object that an operation is about; `None` also for [`OpKind::Init`] and
            /// [`OpKind::Destroy`], whose object is of any class.
            pub const fn of_sync_object(kind: OpKind) -> Option<Class> {
                match kind {
                    $($(OpKind::$kind)|* => Some(Class::$class),)*
                    _ => None,
                }
            }

            /// What reports call a sync object of the class.
            pub const fn noun(self) -> &'static str {
                match self {
                    $(Class::$class => $noun,)*
                    _ => "object",
                }
            }
        }
    };
}

coyote_abi::sync_objects!(classes);

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
    /// Changes the object.
    Write,
    /// Takes a lock; its worker was blocked as long as it was taken.
    Acquire,
    /// Takes a lock that it found free, and would not have waited for.
    TryAcquire,
    /// Gives back a lock that it had alone, or adds to a semaphore.
    Release,
    /// Takes a lock together with others; its worker was blocked as long as one had it alone.
    Share,
    /// The same, but it would not have waited.
    TryShare,
    /// Gives back what it had together with others.
    Unshare,
    /// Makes possible what an [`Effect::Await`] of the object waits for.
    Enable,
    /// Could not be executed before the object's [`Effect::Enable`].
    Await,
}

/// One access of an executed step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Access {
    /// Which kind of object it is an access of.
    pub class: Class,
    /// What it means for the order of steps.
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
    /// See [`Access::FREES`].
    pub const ALLOCATES: u64 = 2;

    /// An access of an object that has no size.
    pub fn new(class: Class, effect: Effect, object: u64) -> Access {
        Access { class, effect, object, size: 1 }
    }
}
