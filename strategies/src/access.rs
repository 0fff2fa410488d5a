//! Accesses of steps, in the terms of happens-before.

use coyote_abi::OpKind;
use serde::{Deserialize, Serialize};

const SINGLE: bool = false;
const COUNTED: bool = true;

macro_rules! classes {
    ($($(#[$doc:meta])* $class:ident $noun:literal $counted:ident [$($kind:ident),*],)*) => {
        /// The kind of object that an access is of: objects of different classes never overlap.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Class {
            /// Guest memory, by address and size.
            Memory,
            /// The size of guest memory, in pages.
            Size,
            /// Whether the guest's allocator finds memory: a request that finds none depends on all others.
            Heap,
            /// Entries of tables, and their sizes.
            Table,
            /// Globals that workers share, and passive segments.
            Global,
            $($(#[$doc])* $class,)*
            /// The existence of a worker: enabled by its creation, awaited by its first step.
            Birth,
            /// The end of a worker: enabled by its last step, awaited by joins.
            End,
            /// The waking of a blocked worker: enabled by the step that wakes it, awaited by the worker's
            /// next step.
            Wake,
            /// The virtual clock and the queue of timeouts.
            Clock,
            /// Numbers that the guest sees and whose order of assignment matters.
            Counter,
            /// A file or directory of the guest's world, by its number.
            File,
            /// A file descriptor, by its number; the greatest number stands for the set of numbers in use.
            Descriptor,
            /// Internal state of the system that the relation has to order too.
            Other,
            /// State outside of memory, by the number that the guest's read points and write points give it.
            Outside,
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

            /// Whether a worker may acquire a sync object of the class without its last release, because earlier
            /// ones were enough.
            pub const fn is_counted(self) -> bool {
                match self {
                    $(Class::$class => $counted,)*
                    _ => false,
                }
            }

            /// The name of a sync object of the class in reports.
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
/// | Release or Unshare | Acquire | yes | no: the second waits for the first; of a counted class as by a Write |
/// | Release | Share | yes | the same |
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
    /// Does not change the object. A try-lock that failed is also a read: two of them commute.
    Read,
    /// Changes the object.
    Write,
    /// Takes a lock; its worker was blocked while the lock was taken.
    Acquire,
    /// Takes a lock that was free, and would not have waited for it.
    TryAcquire,
    /// Releases a lock that the worker held alone, or adds to a semaphore.
    Release,
    /// Takes a lock together with others; its worker was blocked while another worker held it alone.
    Share,
    /// The same without waiting.
    TryShare,
    /// Releases a lock that the worker held together with others.
    Unshare,
    /// Enables every [`Effect::Await`] of the object.
    Enable,
    /// Can only be executed after the object's [`Effect::Enable`].
    Await,
}

/// One access of an executed step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Access {
    /// The kind of object that is accessed.
    pub class: Class,
    /// How it affects the order of steps.
    pub effect: Effect,
    /// An address, an identifier of a worker that is the same in all executions, or 0 if there is only one
    /// object.
    pub object: u64,
    /// Bytes of memory, entries of a table or pages from `object` on; 1 for objects without a size.
    pub size: u32,
}

impl Access {
    /// The objects of [`Class::Heap`] that describe what a step does, and conflict with nothing. This one: it
    /// frees a block.
    pub const FREES: u64 = 1;
    /// The step allocates a block, possibly where an earlier free made room. See [`Access::FREES`].
    pub const ALLOCATES: u64 = 2;

    /// An access of an object that has no size.
    pub fn new(class: Class, effect: Effect, object: u64) -> Access {
        Access { class, effect, object, size: 1 }
    }
}
