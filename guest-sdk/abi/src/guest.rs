//! What a guest may import from module `coyote`, and how it names its tests.

use crate::{OpKind, Type, Type::*};

/// The module name of the guest imports.
pub const MODULE: &str = "coyote";

/// An export with this prefix and type `() -> ()` is a test; the rest of its name is the test's name.
pub const TEST_PREFIX: &str = "coyote.test.";

/// An export of this name and type `() -> ()` runs once before the start snapshot.
pub const SETUP: &str = "coyote.setup";

/// An export of this name and type `() -> ()` runs after a crash, instead of the test: see docs/crashes.md.
pub const RECOVER: &str = "coyote.recover";

/// Stack size in bytes that the SDKs give a worker unless told otherwise.
pub const STACK_BYTES: u32 = 64 * 1024;

/// One function of module `coyote`.
#[derive(Clone, Copy, Debug)]
pub struct Import {
    /// The import's name within [`MODULE`].
    pub name: &'static str,
    /// Its parameters with the names that `coyote.h` gives them.
    pub params: &'static [(&'static str, Type)],
    /// Its result, if it has one.
    pub result: Option<Type>,
    /// The operation that a call announces. `None`: the call is not a scheduling point.
    pub operation: Option<OpKind>,
    /// One sentence for `coyote.h`.
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

/// The imports that the instrumenter implements within the module.
pub const CALL_ENTRY: &str = "call_entry";
/// See [`CALL_ENTRY`]; this one calls the program's `main`.
pub const CALL_MAIN: &str = "call_main";
/// The import that the instrumenter takes out of the module.
pub const ORDER: &str = "order";

/// Every function that a guest may import from [`MODULE`].
///
/// Sync objects are known by their addresses, and one that nobody has used is in its initial state. What is
/// not said to return something else returns an error number of [`crate::errno`]. A span of virtual time,
/// `timeout_ns`, that is negative has no end; when it is up: ETIMEDOUT, and nothing is taken.
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
    plain("detach", &[("worker", I32)], None, "Declares that nobody will join the worker."),
    plain(
        "current",
        &[],
        Some(I32),
        "The calling worker's handle; 0 is the worker that the test started in.",
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
        "Says for reports what the calling worker awaits when it blocks in a semaphore_wait on `semaphore`, and that it \
         does so where this is called: an object, by a UTF-8 text, the file and the line in which it was made, and its \
         address. Without a text it is not known. If `more` is 0, what was said before does not hold any more.",
    ),
    point("yield", &[], None, OpKind::Yield, "Lets other workers run."),
    point("sleep", &[("nanoseconds", I64)], None, OpKind::Sleep, "Blocks for a span of virtual time."),
    plain("now", &[], Some(I64), "Virtual time since the start of the test, in nanoseconds."),
    point(
        "mutex_init",
        &[("mutex", I32), ("kind", I32)],
        Some(I32),
        OpKind::Init,
        "Makes the mutex at this address one of a kind: 0 normal, 1 recursive, 2 error-checking; any other is \
         EINVAL. One that was never initialised is normal.",
    ),
    point(
        "mutex_destroy",
        &[("mutex", I32)],
        Some(I32),
        OpKind::Destroy,
        "Forgets the mutex; a bug of the guest if somebody holds it or waits for it.",
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
        "Makes the rwlock at this address a free one, as one is that was never initialised.",
    ),
    point(
        "rwlock_destroy",
        &[("rwlock", I32)],
        Some(I32),
        OpKind::Destroy,
        "Forgets the rwlock; a bug of the guest if somebody holds it or waits for it.",
    ),
    point(
        "rwlock_read",
        &[("rwlock", I32), ("timeout_ns", I64)],
        Some(I32),
        OpKind::ReadLock,
        "Locks the rwlock together with other readers, several times if need be; EDEADLK if the caller has \
         it for writing.",
    ),
    point(
        "rwlock_try_read",
        &[("rwlock", I32)],
        Some(I32),
        OpKind::TryReadLock,
        "As rwlock_read if nobody has it for writing, else EBUSY.",
    ),
    point(
        "rwlock_write",
        &[("rwlock", I32), ("timeout_ns", I64)],
        Some(I32),
        OpKind::WriteLock,
        "Locks the rwlock for the caller alone; EDEADLK if the caller has it already, also for reading.",
    ),
    point(
        "rwlock_try_write",
        &[("rwlock", I32)],
        Some(I32),
        OpKind::TryWriteLock,
        "As rwlock_write if nobody has it, else EBUSY.",
    ),
    point(
        "rwlock_unlock",
        &[("rwlock", I32)],
        Some(I32),
        OpKind::RwUnlock,
        "Gives back what the caller has of the rwlock, one read lock at a time; a bug of the guest if that \
         is nothing.",
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
        "Forgets the semaphore; a bug of the guest if somebody waits for it.",
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
        "Takes 1 from the value, EAGAIN if it is 0.",
    ),
    point(
        "semaphore_post",
        &[("semaphore", I32)],
        Some(I32),
        OpKind::SemaphorePost,
        "Adds 1 to the value, EOVERFLOW if it is 2^31 - 1.",
    ),
    point(
        "semaphore_value",
        &[("semaphore", I32)],
        Some(I32),
        OpKind::SemaphoreValue,
        "The value, which is no error number.",
    ),
    point(
        "barrier_init",
        &[("barrier", I32), ("count", I32)],
        Some(I32),
        OpKind::Init,
        "Makes the barrier at this address one for so many workers; EINVAL for 0.",
    ),
    point(
        "barrier_destroy",
        &[("barrier", I32)],
        Some(I32),
        OpKind::Destroy,
        "Forgets the barrier; a bug of the guest if somebody waits at it.",
    ),
    point(
        "barrier_wait",
        &[("barrier", I32)],
        Some(I32),
        OpKind::BarrierWait,
        "Blocks until as many workers have arrived as the barrier is for, then lets them all go. Returns -1 \
         to the last that arrived, else 0; a bug of the guest if the barrier was not initialised.",
    ),
    point(
        "condvar_init",
        &[("condvar", I32)],
        Some(I32),
        OpKind::Init,
        "Makes the condvar at this address one without waiters, as one is that was never initialised.",
    ),
    point(
        "condvar_destroy",
        &[("condvar", I32)],
        Some(I32),
        OpKind::Destroy,
        "Forgets the condvar; a bug of the guest if somebody waits for it.",
    ),
    point(
        "condvar_wait",
        &[("condvar", I32), ("mutex", I32), ("timeout_ns", I64)],
        Some(I32),
        OpKind::Wait,
        "Unlocks the mutex, waits for a notification and locks the mutex again, also if the time is up. One \
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
    point("choose_bool", &[], Some(I32), OpKind::ChooseBool, "A value, 0 or 1, that the tool chooses."),
    point(
        "choose_int",
        &[("bound", I32)],
        Some(I32),
        OpKind::ChooseInt,
        "A value from 0 up to, but not including, the unsigned `bound`, that the tool chooses.",
    ),
    point(
        "fault",
        &[("name", I32), ("length", I32), ("ways", I32)],
        Some(I32),
        OpKind::Fault,
        "A fault point of this UTF-8 name, which a zero byte ends if its length is 2^32 - 1: 0 if nothing is to go wrong here, else in which of `ways` ways, from 1 on. \
         Always 0, and no scheduling point, unless the user gave points of this name a budget.",
    ),
    plain(
        "fault_stop",
        &[],
        None,
        "From now on no fault happens in this execution, of whatever class. No scheduling point.",
    ),
    plain(
        "monitor",
        &[("name", I32), ("length", I32), ("number", I32), ("heat", I32)],
        None,
        "What the monitor of this UTF-8 name, which a zero byte ends if its length is 2^32 - 1, and of this number is from \
         now on: 0 cold, at first; 1 warm; 2 hot, which it must not stay for ever. No scheduling point.",
    ),
    point(
        "assume",
        &[("condition", I32)],
        None,
        OpKind::Assume,
        "If the condition is 0, the calling worker goes no further, and an execution in which that happens \
         has no verdict unless it has a bug elsewhere. Else it is no scheduling point.",
    ),
    plain(
        "hint",
        &[("value", I64)],
        None,
        "Tells an explorer that knows this program what it cannot see; others ignore it.",
    ),
    plain(
        "happens_before",
        &[("object", I32)],
        None,
        "What the calling worker has done so far happens before what follows `happens_after` of the same address, for \
         detectors of data races: for synchronisation that they cannot know. No scheduling point.",
    ),
    plain(
        "happens_after",
        &[("object", I32)],
        None,
        "What follows happens after all that came before `happens_before` of the same address. No scheduling point.",
    ),
    plain(
        "fail",
        &[("text", I32), ("length", I32)],
        None,
        "Reports a failed assertion with a UTF-8 text. Does not return.",
    ),
    plain(
        "unsupported",
        &[("text", I32), ("length", I32)],
        None,
        "Says that the program needs what the tool cannot do, by a UTF-8 name such as pthread_cancel. Ends the \
         run without a verdict. Does not return.",
    ),
    plain(
        "mutex_kind",
        &[("mutex", I32), ("kind", I32)],
        None,
        "Says of what kind, as in mutex_init, a mutex is that its static initialiser made. A mutex that was in \
         the same memory before, and that nobody waits for, is forgotten.",
    ),
    plain(
        "own_word",
        &[("address", I32)],
        None,
        "From now on each worker has a value of its own in the four bytes at this address, 0 at first: for the \
         errno of a C library that was built without threads. Accesses of it are no scheduling points.",
    ),
    plain(
        "atomic_begin",
        &[],
        None,
        "Until the matching atomic_end of the same worker no other one runs, unless it has to wait for one. \
         No scheduling point: others may want to come before it, as at a fence.",
    ),
    plain("atomic_end", &[], None, "Ends what atomic_begin began."),
    plain(
        CALL_MAIN,
        &[("entry", I32), ("count", I32), ("arguments", I32), ("environment", I32)],
        Some(I32),
        "Calls table entry `entry`, a program's main, by its own type, which may leave out arguments from the \
         last on, and the result. A result that is missing is 0.",
    ),
    plain(
        CALL_ENTRY,
        &[("entry", I32), ("argument", I32)],
        Some(I32),
        "Calls table entry `entry` by its own type, which may leave out the argument and the result. A result \
         that is missing is 0.",
    ),
    plain(
        ORDER,
        &[("orders", I32)],
        None,
        "The memory order of the next atomic operation of the calling function, as in C: 0 relaxed, 1 consume, 2 \
         acquire, 3 release, 4 acq_rel, 5 seq_cst; plus 16 times that of a compare-exchange that fails, or 112 for \
         the same. The call is not in the instrumented module. See coyote_order.h.",
    ),
    plain("log", &[("text", I32), ("length", I32)], None, "Writes a UTF-8 line to the log of the iteration."),
];

/// Looks an import up by name.
pub fn import(name: &str) -> Option<&'static Import> {
    IMPORTS.iter().find(|i| i.name == name)
}
