//! The functions that a guest may import from module `coyote`, and the names of its exports.

use crate::{OpKind, Type, Type::*};

/// The module name of the guest imports.
pub const MODULE: &str = "coyote";

/// An export with this prefix and type `() -> ()` is a test; the rest of its name is the test's name.
pub const TEST_PREFIX: &str = "coyote.test.";

/// An export of this name and type `() -> ()` runs once before the start snapshot.
pub const SETUP: &str = "coyote.setup";

/// An export of this name and type `() -> ()` runs after a crash, instead of the test: see docs/crashes.md.
pub const RECOVER: &str = "coyote.recover";

/// Default size in bytes of the stack that the SDKs give a worker.
pub const STACK_BYTES: u32 = 64 * 1024;

/// One function of module `coyote`.
#[derive(Clone, Copy, Debug)]
pub struct Import {
    /// The import's name within [`MODULE`].
    pub name: &'static str,
    /// The parameters, with their names in `coyote_raw.h`.
    pub params: &'static [(&'static str, Type)],
    /// The type of the result, if there is one.
    pub result: Option<Type>,
    /// The operation that a call announces. `None`: the call is not a scheduling point.
    pub operation: Option<OpKind>,
    /// Documentation for `coyote_raw.h`.
    pub doc: &'static str,
}

const fn point(
    name: &'static str,
    params: &'static [(&'static str, Type)],
    result: Option<Type>,
    kind: OpKind,
    doc: &'static str,
) -> Import {
    Import { name, params, result, operation: Some(kind), doc }
}

const fn plain(
    name: &'static str,
    params: &'static [(&'static str, Type)],
    result: Option<Type>,
    doc: &'static str,
) -> Import {
    Import { name, params, result, operation: None, doc }
}

/// An import that the instrumenter implements within the module: calls a function of the table.
pub const CALL_ENTRY: &str = "call_entry";
/// See [`CALL_ENTRY`]; this one calls the program's `main`.
pub const CALL_MAIN: &str = "call_main";
/// An import of which [`IMPORTS`] says what it does. The instrumenter has the host told of every access of memory by
/// modules that have it.
pub const WAIT_UNTIL: &str = "wait_until";
/// As [`WAIT_UNTIL`].
pub const WATCH: &str = "watch";
/// See [`IMPORTS`]. A module that has it can have sockets.
pub const NET_CONNECT: &str = "net_connect";
/// An import whose calls the instrumenter removes from the module.
pub const ORDER: &str = "order";

/// Every function that a guest may import from [`MODULE`].
///
/// Sync objects are identified by their addresses; one that was never used is in its initial state. Unless its
/// documentation says otherwise, a result is an error number of [`crate::errno`]. A negative `timeout_ns`, a span
/// of virtual time, never expires; after a timeout, the result is ETIMEDOUT and the caller has acquired nothing.
pub const IMPORTS: &[Import] = &[
    point(
        "spawn",
        &[("entry", I32), ("argument", I32), ("stack_low", I32), ("stack_high", I32)],
        Some(I32),
        OpKind::Spawn,
        "Starts a worker that calls table entry `entry`, of type (i32) -> (), with `argument` on the \
         stack [stack_low, stack_high). Returns the worker's handle, at least 1.",
    ),
    point("join", &[("worker", I32)], None, OpKind::Join, "Blocks until the worker has ended."),
    point("exit", &[], None, OpKind::Exit, "Ends the calling worker. Does not return."),
    plain("detach", &[("worker", I32)], None, "Detaches the worker: no worker will join it."),
    plain(
        "current",
        &[],
        Some(I32),
        "Returns the calling worker's handle; 0 is the worker that the test started in.",
    ),
    plain(
        "set_name",
        &[("worker", I32), ("text", I32), ("length", I32)],
        None,
        "Names a worker in reports; the text is UTF-8.",
    ),
    plain(
        "awaits",
        &[
            ("semaphore", I32),
            ("what", I32),
            ("length", I32),
            ("file", I32),
            ("file_length", I32),
            ("line", I32),
            ("object", I32),
            ("more", I32),
        ],
        None,
        "Tells reports what the calling worker awaits when it blocks in a semaphore_wait on `semaphore`, and that it \
         waits at the place of this call: an object, given by a UTF-8 text, the file and the line of its creation, and \
         its address. An empty text means that it is unknown. If `more` is 0, this replaces earlier calls.",
    ),
    plain(
        "node",
        &[("semaphore", I32), ("name", I32), ("length", I32)],
        None,
        "From here on, the calling worker and those that it creates are a node that can crash, with this UTF-8 name. A crash \
         ends them where they are, and posts the semaphore, which stands for the node. With `semaphore` 0, the workers of \
         the calling worker's node belong to none any more.",
    ),
    point("yield", &[], None, OpKind::Yield, "Lets other workers run."),
    point(
        "interleave",
        &[],
        None,
        OpKind::Interleave,
        "A scheduling point, and nothing else. Unlike yield, it does not ask that another worker runs next.",
    ),
    point(
        "read_point",
        &[("object", I32)],
        None,
        OpKind::ReadPoint,
        "What follows, up to the next scheduling point, reads state outside of memory that has this number.",
    ),
    point(
        "write_point",
        &[("object", I32)],
        None,
        OpKind::WritePoint,
        "What follows, up to the next scheduling point, changes state outside of memory that has this number.",
    ),
    point(
        WAIT_UNTIL,
        &[],
        None,
        OpKind::WaitUntil,
        "Begins to evaluate a predicate, as an atomic section that evaluated ends. If the caller's last evaluation \
         was false, first blocks until another worker has changed memory that it accessed, or has executed a \
         write_point of the object of one of its read_points.",
    ),
    point(
        WATCH,
        &[],
        None,
        OpKind::Watch,
        "As wait_until, for a worker that does nothing else than to watch an invariant: strategies that draw schedules \
         let it evaluate as soon as it can, it takes part in no data race and no deadlock, and nobody waits for its end.",
    ),
    plain(
        "evaluated",
        &[("holds", I32)],
        None,
        "Ends the evaluation that wait_until began: 0 if the predicate does not hold. The caller must then call \
         wait_until again.",
    ),
    point("sleep", &[("nanoseconds", I64)], None, OpKind::Sleep, "Blocks for a span of virtual time."),
    point(
        "now",
        &[],
        Some(I64),
        OpKind::Clock,
        "Returns the virtual time since the start of the test in nanoseconds.",
    ),
    point(
        "mutex_init",
        &[("mutex", I32), ("kind", I32)],
        Some(I32),
        OpKind::Init,
        "Initialises the mutex at this address with a kind: 0 normal, 1 recursive, 2 error-checking; any other is \
         EINVAL. A mutex that was never initialised is normal.",
    ),
    point(
        "mutex_destroy",
        &[("mutex", I32)],
        Some(I32),
        OpKind::Destroy,
        "Destroys the mutex; a bug of the guest if a worker holds it or waits for it.",
    ),
    point(
        "mutex_discard",
        &[("mutex", I32)],
        Some(I32),
        OpKind::Destroy,
        "Destroys the mutex, also one that a worker holds (C11); a bug of the guest if a worker waits for it.",
    ),
    point(
        "mutex_lock",
        &[("mutex", I32), ("timeout_ns", I64)],
        Some(I32),
        OpKind::Lock,
        "Locks the mutex. By its holder: EDEADLK if it is error-checking, EAGAIN if a recursive one is locked \
         too often; a normal one blocks.",
    ),
    point(
        "mutex_try_lock",
        &[("mutex", I32)],
        Some(I32),
        OpKind::TryLock,
        "Locks the mutex if it is free, else EBUSY.",
    ),
    point(
        "mutex_unlock",
        &[("mutex", I32)],
        Some(I32),
        OpKind::Unlock,
        "Unlocks the mutex. One that the caller does not hold: EPERM if it is recursive or error-checking, \
         else a bug of the guest.",
    ),
    point(
        "rwlock_init",
        &[("rwlock", I32)],
        Some(I32),
        OpKind::Init,
        "Initialises the rwlock at this address as free. One that was never initialised is free.",
    ),
    point(
        "rwlock_destroy",
        &[("rwlock", I32)],
        Some(I32),
        OpKind::Destroy,
        "Destroys the rwlock; a bug of the guest if a worker holds it or waits for it.",
    ),
    point(
        "rwlock_read",
        &[("rwlock", I32), ("timeout_ns", I64)],
        Some(I32),
        OpKind::ReadLock,
        "Locks the rwlock for reading; a worker may hold several read locks of it. EDEADLK if the caller holds \
         it for writing.",
    ),
    point(
        "rwlock_try_read",
        &[("rwlock", I32)],
        Some(I32),
        OpKind::TryReadLock,
        "As rwlock_read if no worker holds it for writing, else EBUSY.",
    ),
    point(
        "rwlock_write",
        &[("rwlock", I32), ("timeout_ns", I64)],
        Some(I32),
        OpKind::WriteLock,
        "Locks the rwlock for writing; EDEADLK if the caller holds it for writing already. One that holds it for reading \
         waits for itself.",
    ),
    point(
        "rwlock_try_write",
        &[("rwlock", I32)],
        Some(I32),
        OpKind::TryWriteLock,
        "As rwlock_write if no worker holds it, else EBUSY.",
    ),
    point(
        "rwlock_unlock",
        &[("rwlock", I32)],
        Some(I32),
        OpKind::RwUnlock,
        "Releases the caller's write lock, or one of its read locks; a bug of the guest if the caller does not \
         hold the rwlock.",
    ),
    point(
        "semaphore_init",
        &[("semaphore", I32), ("value", I32)],
        Some(I32),
        OpKind::Init,
        "Gives the semaphore at this address a value, at most 2^31 - 1, else EINVAL. One that was never \
         initialised has 0.",
    ),
    point(
        "semaphore_destroy",
        &[("semaphore", I32)],
        Some(I32),
        OpKind::Destroy,
        "Destroys the semaphore; a bug of the guest if a worker waits for it.",
    ),
    point(
        "semaphore_wait",
        &[("semaphore", I32), ("timeout_ns", I64)],
        Some(I32),
        OpKind::SemaphoreWait,
        "Blocks while the value is 0, and takes 1 from it.",
    ),
    point(
        "semaphore_try_wait",
        &[("semaphore", I32)],
        Some(I32),
        OpKind::SemaphoreTryWait,
        "Takes 1 from the value; EAGAIN if it is 0.",
    ),
    point(
        "semaphore_post",
        &[("semaphore", I32)],
        Some(I32),
        OpKind::SemaphorePost,
        "Adds 1 to the value; EOVERFLOW if it is 2^31 - 1.",
    ),
    point(
        "semaphore_value",
        &[("semaphore", I32)],
        Some(I32),
        OpKind::SemaphoreValue,
        "Returns the value, not an error number.",
    ),
    point(
        "barrier_init",
        &[("barrier", I32), ("count", I32)],
        Some(I32),
        OpKind::Init,
        "Initialises the barrier at this address for `count` workers; EINVAL for 0.",
    ),
    point(
        "barrier_destroy",
        &[("barrier", I32)],
        Some(I32),
        OpKind::Destroy,
        "Destroys the barrier; a bug of the guest if a worker waits at it.",
    ),
    point(
        "barrier_wait",
        &[("barrier", I32)],
        Some(I32),
        OpKind::BarrierWait,
        "Blocks until as many workers have arrived as the barrier is for, then wakes them all. Returns -1 to \
         the last one that arrived, else 0; a bug of the guest if the barrier was not initialised.",
    ),
    point(
        "condvar_init",
        &[("condvar", I32)],
        Some(I32),
        OpKind::Init,
        "Initialises the condvar at this address. One that was never initialised has no waiters.",
    ),
    point(
        "condvar_destroy",
        &[("condvar", I32)],
        Some(I32),
        OpKind::Destroy,
        "Destroys the condvar; a bug of the guest if a worker waits for it.",
    ),
    point(
        "condvar_wait",
        &[("condvar", I32), ("mutex", I32), ("timeout_ns", I64)],
        Some(I32),
        OpKind::Wait,
        "Unlocks the mutex, waits for a notification and locks the mutex again, also after a timeout. A mutex \
         that the caller does not hold is treated as by mutex_unlock.",
    ),
    point(
        "condvar_signal",
        &[("condvar", I32)],
        None,
        OpKind::Signal,
        "Wakes one waiter, if any; which one is a choice.",
    ),
    point("condvar_broadcast", &[("condvar", I32)], None, OpKind::Broadcast, "Wakes all waiters."),
    point(
        "futex_wait",
        &[("address", I32), ("expected", I32), ("timeout_ns", I64)],
        Some(I32),
        OpKind::FutexWait,
        "memory.atomic.wait32 on any memory: returns 0 when woken, 1 if the value differed, 2 on timeout.",
    ),
    point(
        "futex_wait64",
        &[("address", I32), ("expected", I64), ("timeout_ns", I64)],
        Some(I32),
        OpKind::FutexWait,
        "memory.atomic.wait64: as futex_wait on eight bytes.",
    ),
    point(
        "futex_notify",
        &[("address", I32), ("count", I32)],
        Some(I32),
        OpKind::FutexNotify,
        "memory.atomic.notify: wakes at most `count` waiters and returns how many.",
    ),
    point("choose_bool", &[], Some(I32), OpKind::ChooseBool, "Returns 0 or 1, chosen by the tool."),
    point(
        "choose_int",
        &[("bound", I32)],
        Some(I32),
        OpKind::ChooseInt,
        "Returns a value, chosen by the tool, from 0 up to, but not including, the unsigned `bound`.",
    ),
    point(
        "fault",
        &[("name", I32), ("length", I32), ("ways", I32)],
        Some(I32),
        OpKind::Fault,
        "A fault point with this UTF-8 name, zero-terminated if `length` is 2^32 - 1. Returns 0 if no fault \
         happens here, else which one, from 1 to `ways`. Always 0, and no scheduling point, unless the user gave points of this name a budget.",
    ),
    point(
        "fault_stop",
        &[],
        None,
        OpKind::FaultStop,
        "Disables faults of all classes for the rest of this execution. No scheduling point if no class was given a budget.",
    ),
    plain(
        "monitor",
        &[("name", I32), ("length", I32), ("number", I32), ("heat", I32)],
        None,
        "Sets the monitor with this UTF-8 name, zero-terminated if `length` is 2^32 - 1, and this number: 0 cold, as it is \
         at first; 1 warm; 2 hot, which a monitor must not stay for ever. No scheduling point.",
    ),
    plain(
        "sometimes",
        &[("name", I32), ("length", I32), ("holds", I32)],
        None,
        "Counts an evaluation of the condition with this UTF-8 name, zero-terminated if `length` is 2^32 - 1: whether it \
         held. A report names conditions that never held. No scheduling point.",
    ),
    point(
        "assume",
        &[("condition", I32)],
        None,
        OpKind::Assume,
        "If the condition is 0, the calling worker is not executed any further, and the execution has no \
         verdict unless another worker has a bug. Otherwise no scheduling point.",
    ),
    plain(
        "hint",
        &[("value", I64)],
        None,
        "Informs a strategy that was written for this program. For strategies that learn, the last hint of each worker is part \
         of the state; others ignore it.",
    ),
    plain(
        "happens_before",
        &[("object", I32)],
        None,
        "For detectors of data races: what the calling worker has done so far happens before what follows \
         `happens_after` of the same address. Describes synchronisation that they cannot see. No scheduling point.",
    ),
    plain(
        "happens_after",
        &[("object", I32)],
        None,
        "What follows happens after all that preceded `happens_before` of the same address. No scheduling point.",
    ),
    plain(
        "fail",
        &[("text", I32), ("length", I32)],
        None,
        "Reports a failed assertion with a UTF-8 text. Does not return.",
    ),
    plain(
        "misuse",
        &[("object", I32), ("text", I32), ("length", I32)],
        None,
        "Reports with a UTF-8 text that a sync object or a worker is used against its rules. `object` is the address of \
         the object, or 0 if the text names it. Does not return.",
    ),
    plain(
        "unsupported",
        &[("text", I32), ("length", I32)],
        None,
        "Reports a feature that the tool does not support, by a UTF-8 name such as pthread_cancel. Ends the \
         run without a verdict. Does not return.",
    ),
    plain(
        "mutex_kind",
        &[("mutex", I32), ("kind", I32)],
        None,
        "Sets the kind, as in mutex_init, of a mutex that a static initialiser made. An earlier mutex at the \
         same address is forgotten if no worker waits for it.",
    ),
    plain(
        "own_word",
        &[("address", I32)],
        None,
        "Gives each worker a separate value of the four bytes at this address, 0 at first: for the errno of a C \
         library that was built without threads. Accesses of these bytes are no scheduling points.",
    ),
    plain(
        "atomic_begin",
        &[],
        None,
        "Begins an atomic section: until the matching atomic_end, other workers run only while this one is \
         blocked. No scheduling point: a fence before it is one.",
    ),
    plain("atomic_end", &[], None, "Ends an atomic section."),
    plain(
        "suppress",
        &[],
        None,
        "As atomic_begin, for a scope that the program says has no scheduling points: proofs state it as an \
         assumption.",
    ),
    plain("resume", &[], None, "Ends the scope of the matching suppress; a bug of the guest without one."),
    plain(
        CALL_MAIN,
        &[("entry", I32), ("count", I32), ("arguments", I32), ("environment", I32)],
        Some(I32),
        "Calls table entry `entry`, a program's main, by its own type, which may lack the last arguments and \
         the result. A missing result is 0.",
    ),
    plain(
        CALL_ENTRY,
        &[("entry", I32), ("argument", I32)],
        Some(I32),
        "Calls table entry `entry` by its own type, which may lack the argument and the result. A missing \
         result is 0.",
    ),
    plain(
        ORDER,
        &[("orders", I32)],
        None,
        "The memory order of the next atomic operation of the calling function, as in C: 0 relaxed, 1 consume, 2 \
         acquire, 3 release, 4 acq_rel, 5 seq_cst; plus 16 times that of a failed compare-exchange, or plus 112 if \
         it follows from this order. The instrumenter removes the call. See coyote_order.h.",
    ),
    point(
        NET_CONNECT,
        &[("listener", I32)],
        Some(I32),
        OpKind::File,
        "Connects to the listening socket of the option `--listen` with this number, as a simulated peer. Returns the \
         descriptor of a WASI socket, or a negative error number of WASI: ECONNREFUSED after the program closed the \
         listening socket.",
    ),
    plain("log", &[("text", I32), ("length", I32)], None, "Writes a UTF-8 line to the log of the iteration."),
];

/// Looks an import up by name.
pub fn import(name: &str) -> Option<&'static Import> {
    IMPORTS.iter().find(|i| i.name == name)
}
