//! What a guest may import from module `coyote`, and how it names its tests.

use crate::{OpKind, Type, Type::*};

/// The module name of the guest imports.
pub const MODULE: &str = "coyote";

/// An export with this prefix and type `() -> ()` is a test; the rest of its name is the test's name.
pub const TEST_PREFIX: &str = "coyote.test.";

/// An export of this name and type `() -> ()` runs once before the start snapshot.
pub const SETUP: &str = "coyote.setup";

/// Stack size in bytes that the SDKs give a worker unless told otherwise.
pub const STACK_BYTES: u32 = 64 * 1024;

/// One function of module `coyote`.
#[derive(Clone, Copy, Debug)]
pub struct Import {
    pub name: &'static str,
    pub params: &'static [(&'static str, Type)],
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

/// Every function that a guest may import from [`MODULE`].
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
    point("yield", &[], None, OpKind::Yield, "Lets other workers run."),
    point("sleep", &[("nanoseconds", I64)], None, OpKind::Sleep, "Blocks for a span of virtual time."),
    plain("now", &[], Some(I64), "Virtual time since the start of the test, in nanoseconds."),
    point("mutex_lock", &[("mutex", I32)], None, OpKind::Lock, "Locks the mutex at this address."),
    point(
        "mutex_try_lock",
        &[("mutex", I32)],
        Some(I32),
        OpKind::TryLock,
        "Locks the mutex if it is free: returns 1 if it was.",
    ),
    point(
        "mutex_unlock",
        &[("mutex", I32)],
        None,
        OpKind::Unlock,
        "Unlocks the mutex; unlocking one that the caller does not hold is a bug of the guest.",
    ),
    point(
        "condvar_wait",
        &[("condvar", I32), ("mutex", I32)],
        None,
        OpKind::Wait,
        "Releases the mutex, waits for a notification and locks the mutex again.",
    ),
    point(
        "condvar_wait_timeout",
        &[("condvar", I32), ("mutex", I32), ("nanoseconds", I64)],
        Some(I32),
        OpKind::Wait,
        "As condvar_wait, for a span of virtual time at most: returns 1 if it timed out.",
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
        "memory.atomic.wait32 on any memory: returns 0 when woken, 1 if the value differed, 2 on \
         timeout; a negative timeout means none.",
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
        "fail",
        &[("text", I32), ("length", I32)],
        None,
        "Reports a failed assertion with a UTF-8 text. Does not return.",
    ),
    plain("log", &[("text", I32), ("length", I32)], None, "Writes a UTF-8 line to the log of the iteration."),
];

/// Looks an import up by name.
pub fn import(name: &str) -> Option<&'static Import> {
    IMPORTS.iter().find(|i| i.name == name)
}
