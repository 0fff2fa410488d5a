//! What an instrumented module imports from and exports to the host. Guests never see these names.
//!
//! An instrumented module is driven by one call of its export [`RUN`], which loops: it asks the
//! host's [`NEXT`] which worker to run, puts that worker's saved frames and globals in place, runs it
//! until it ends or unwinds, and asks again.
//!
//! # Suspending imports
//! A call of a suspending import announces an operation. In the module before the suspend pass such
//! an import has its plain type `(params.., site: i32) -> results`. The suspend pass appends one more
//! result, the *unwind flag*: 0 means that the operation was executed and the results hold; 1 means
//! that the worker must unwind. The import is not called again when the worker is resumed: its
//! result (at most one, i32 or i64) then arrives in `NEXT`'s `result`.
//!
//! # `next(frames_end: i32) -> (action, frames_end, result: i64, entry, a, b)`
//! Called with the end of the running worker's saved bytes in the frame memory, or 0 when that
//! worker has ended (or none ran yet). The saved bytes are `[0, frames_end)`: first the per-worker
//! globals, then frames, innermost first. The host copies them out, copies the next worker's in and
//! returns what to do: see [`Action`].
//!
//! # Frames
//! A frame is its function's slots followed by a u32, the suspension site; the last word before
//! `frames_end` is the site of the outermost frame. The frame table gives each site's frame size, so
//! that a stack can be walked from its end to its beginning.

/// The module name of all runtime imports.
pub const MODULE: &str = "coyote_rt";

/// `point(site, address)`: a memory access of one range. Suspending.
pub const POINT: &str = "point";
/// `atomic_point(site, address, expected: i64)`: an atomic access or a fence; what a compare-exchange expects. Takes the
/// place of [`POINT`] in modules that are instrumented for weak memory. Suspending.
pub const ATOMIC_POINT: &str = "atomic_point";
/// `atomic_inside(site, address, expected: i64)`: the same for an access or fence that is no scheduling point.
pub const ATOMIC_INSIDE: &str = "atomic_inside";
/// `atomic_done()`: the access that was announced last was executed.
pub const ATOMIC_DONE: &str = "atomic_done";
/// `point_bulk(site, destination, source, length)`: a bulk memory operation. Suspending.
pub const POINT_BULK: &str = "point_bulk";
/// `tick(site)`: the countdown came to zero. Suspending.
pub const TICK: &str = "tick";
/// `atomic_enter()`: until the matching exit, announced memory accesses are not scheduling points.
pub const ATOMIC_ENTER: &str = "atomic_enter";
/// `atomic_exit()`.
pub const ATOMIC_EXIT: &str = "atomic_exit";
/// `touch(address, bytes, write: i32) -> i32`: an access of memory that may not be the running worker's
/// alone. Returns whether it is a scheduling point: see [`OWNERS`].
pub const TOUCH: &str = "touch";
/// `allocator_enter(old)`: as `atomic_enter`, and what is accessed until the exit is the allocator's, to
/// which the block at `old` is about to be given back, unless it is 0.
pub const ALLOCATOR_ENTER: &str = "allocator_enter";
/// `allocator_exit(old, new, bytes)`: the allocator took back the block at `old` and handed out one of
/// `bytes` bytes at `new`; 0 stands for none. `(0, 0, _)` reports no change, and neither does a `new` of 0
/// with a request for bytes: the allocator had no memory for it. If `old` and `new` are the same, the block
/// has another size now.
pub const ALLOCATOR_EXIT: &str = "allocator_exit";
/// In place of `bytes`, without a block: the effect of this allocator function is unknown.
pub const ALLOCATOR_UNKNOWN: u32 = u32::MAX;
/// `seen(what, object, size: i32)`: the running step touches what it did not announce: see [`Seen`]. Only in
/// modules that are instrumented for footprints.
pub const SEEN: &str = "seen";
/// `check(address, bytes, write: i32)`: asks detectors whether an access of memory may be made that is no scheduling point,
/// in an atomic function that is no allocator.
pub const CHECK: &str = "check";
/// `thread_name(name)`: names the thread that this worker starts next. `name` is the address of an
/// `Option<String>` of Rust's standard library.
pub const THREAD_NAME: &str = "thread_name";
/// `futex_wait(address, expected, timeout: i64, site) -> i32`: also what `memory.atomic.wait32`
/// becomes. Traps where that does: on an address that is misaligned or out of bounds. Suspending.
pub const FUTEX_WAIT: &str = "futex_wait";
/// `futex_wait64(address, expected: i64, timeout: i64, site) -> i32`. Suspending.
pub const FUTEX_WAIT64: &str = "futex_wait64";
/// `futex_notify(address, count, site) -> i32`. Suspending.
pub const FUTEX_NOTIFY: &str = "futex_notify";
/// `thread_spawn(start_argument, site) -> i32`: what `wasi.thread-spawn` becomes. Suspending.
pub const THREAD_SPAWN: &str = "thread_spawn";
/// `wasi_sched_yield(site) -> i32`. Suspending.
pub const WASI_SCHED_YIELD: &str = "wasi_sched_yield";
/// `wasi_poll_oneoff(in, out, subscriptions, events, site) -> i32`. Suspending.
pub const WASI_POLL_ONEOFF: &str = "wasi_poll_oneoff";
/// `wasi_proc_exit(code, site)`. Does not return. Suspending.
pub const WASI_PROC_EXIT: &str = "wasi_proc_exit";
/// `call(object, site)`: the guest is about to call a function of [`crate::file`], or an import that
/// always gives the same answer. The object is a file descriptor or 0. Suspending.
pub const CALL: &str = "call";
/// `socket_call(object, what, list, count, site) -> i32`: takes the place of [`CALL`] and, for files, of [`FAULT_HOOK`]
/// before functions that may have to wait for a socket ([`crate::file::waits`]), in modules that can have one. `what` is
/// the number of the function in [`crate::file::CALLS`], `list` and `count` are its list of buffers, if it has one. The
/// result has no meaning. Suspending.
pub const SOCKET_CALL: &str = "socket_call";
/// `socket_poll(in, out, subscriptions, events, site) -> i32`: takes the place of [`WASI_POLL_ONEOFF`] in modules that can
/// have sockets, or have a driver ([`DRIVER_TURN`]): waits. The result is for [`SOCKET_EVENTS`], which must follow. Suspending.
pub const SOCKET_POLL: &str = "socket_poll";
/// `socket_events(in, out, subscriptions, events, waited: i32) -> i32`: writes the events of a poll, after
/// [`SOCKET_POLL`], which returned `waited`. Returns the error number of the poll.
pub const SOCKET_EVENTS: &str = "socket_events";
/// `driver_turn(all_known: i32)`: the next poll of the running worker is that of a driver, which [`DRIVER_WAKE`] can end.
/// `all_known`: whether all wakes of drivers are told.
pub const DRIVER_TURN: &str = "driver_turn";
/// `driver_wake()`: ends the polls of drivers of all other workers, and if a worker polls in none, its next one.
pub const DRIVER_WAKE: &str = "driver_wake";
/// `fault_hook(object, hook, what, site) -> i32`: what follows may fail, see [`FaultHook`]: 0 if it does not. Suspending.
/// Only in modules that are instrumented for faults of its class.
pub const FAULT_HOOK: &str = "fault_hook";
/// `allocation_failed()`: the allocator is about to answer that there is no memory.
pub const ALLOCATION_FAILED: &str = "allocation_failed";
/// `test_begin(site)`: a test harness in the guest calls the test function. Suspending. Does nothing
/// unless the host follows the harness.
pub const TEST_BEGIN: &str = "test_begin";
/// `test_end(site)`: the test function has returned to the test harness. Suspending.
pub const TEST_END: &str = "test_end";
/// `test_unwound(site)`: as `test_end`, but the test function is left by an exception. Suspending.
pub const TEST_UNWOUND: &str = "test_unwound";
/// `thrown()`: the running worker is about to throw an exception. Only in modules that throw.
pub const THROWN: &str = "thrown";
/// `stack_overflow(stack_pointer)`: the stack pointer is below [`STACK_LOW`]. Returns only if the bound was
/// not known before and is now.
pub const STACK_OVERFLOW: &str = "stack_overflow";
/// `frames_overflow()`: the frame memory is full. Does not return.
pub const FRAMES_OVERFLOW: &str = "frames_overflow";
/// `need(function: i32)`: a function is called for the first time whose code is in a part of its own; puts it into the
/// table of what is left out.
pub const NEED: &str = "need";
/// `memory_grown(pages: i32) -> i32`: the guest wants its memory to have `pages` pages, which are
/// there already. Returns 0 if it may not.
pub const MEMORY_GROWN: &str = "memory_grown";
/// See the module's documentation.
pub const NEXT: &str = "next";

/// What `next` tells `run` to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Action {
    /// Return to the host.
    Leave = 0,
    /// Load the worker globals and call entry number `entry` with `a` and `b`.
    Start = 1,
    /// Load the worker globals and call the same entry again, rewinding.
    Resume = 2,
}

/// The call that may fail after a call of [`FAULT_HOOK`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum FaultHook {
    /// The call number `what` of [`crate::file::CALLS`], whose descriptor is the object. Takes the place of [`CALL`].
    File = 0,
    /// `clock_time_get` of the clock that is the object.
    Clock = 1,
    /// `random_get`.
    Random = 2,
    /// An allocator that is asked for a number of bytes, the object. `what` is 1 in a program with Rust code.
    Allocation = 3,
    /// A poll of the task that is the object; the fault delays the poll.
    Poll = 4,
    /// A crash before or after a call of [`crate::file`].
    Crash = 5,
}

impl FaultHook {
    /// The inverse of `as i32`.
    pub fn from_argument(hook: i32) -> Option<FaultHook> {
        use FaultHook::{Allocation, Clock, Crash, File, Poll, Random};
        [File, Clock, Random, Allocation, Poll, Crash].get(hook as usize).copied()
    }
}

/// A flag of [`SEEN`]: the access is in a function that the user has left out.
pub const LEFT_OUT: u32 = 1;
/// A flag of [`SEEN`] for accesses that are left out: the instruction is atomic.
pub const ATOMIC: u32 = 2;

/// The kind of a call of [`SEEN`], in the lower 8 bits of its first argument. The upper bits hold the number
/// of the table, global or segment, or, for an access of memory, [`LEFT_OUT`] and [`ATOMIC`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Seen {
    /// Reads `size` bytes of memory at the address `object`.
    MemoryRead = 0,
    /// Writes `size` bytes of memory at the address `object`.
    MemoryWrite = 1,
    /// Reads the size of memory.
    MemorySize = 2,
    /// Reads `size` entries of a table from the one at `object` on.
    TableRead = 3,
    /// Writes `size` entries of a table from the one at `object` on.
    TableWrite = 4,
    /// Reads the size of a table.
    TableSize = 5,
    /// Makes the table larger, or tries to.
    TableGrow = 6,
    /// Reads a global that all workers share.
    GlobalRead = 7,
    /// Writes a global that all workers share.
    GlobalWrite = 8,
    /// Reads a passive data segment.
    DataRead = 9,
    /// Drops a passive data segment.
    DataDrop = 10,
    /// Reads a passive element segment.
    ElementsRead = 11,
    /// Drops a passive element segment.
    ElementsDrop = 12,
    /// Executes a sequentially consistent fence.
    Fence = 13,
}

impl Seen {
    /// Every kind, at the index of its number.
    pub const ALL: [Seen; 14] = [
        Seen::MemoryRead,
        Seen::MemoryWrite,
        Seen::MemorySize,
        Seen::TableRead,
        Seen::TableWrite,
        Seen::TableSize,
        Seen::TableGrow,
        Seen::GlobalRead,
        Seen::GlobalWrite,
        Seen::DataRead,
        Seen::DataDrop,
        Seen::ElementsRead,
        Seen::ElementsDrop,
        Seen::Fence,
    ];

    /// The first argument of a call about the table, global or segment of this number.
    pub fn of(self, number: u32) -> i32 {
        (number << 8 | self as u32) as i32
    }

    /// The inverse of [`Seen::of`].
    pub fn from_argument(argument: i32) -> Option<(Seen, u32)> {
        let seen = Seen::ALL.get((argument as u32 & 0xff) as usize)?;
        Some((*seen, argument as u32 >> 8))
    }
}

/// The state of a granule in [`OWNERS`]. A granule that only one worker has accessed has the byte of a segment of
/// this worker: `2 n + 2` for segment `n` as long as it was only read, `2 n + 3` from the first write on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Granule {
    /// No worker has accessed it since the start snapshot.
    Untouched = 0,
    /// Several workers have read it and none has written it.
    Read = 1,
    /// It belongs to the allocator.
    Freed = 254,
    /// Every access is a scheduling point.
    Shared = 255,
}

/// `run()`.
pub const RUN: &str = "__cy_run";
/// The guest's memory, whatever the guest itself called it.
pub const MEMORY: &str = "__cy_memory";
/// The frame memory: the running worker's saved bytes while it unwinds and rewinds.
pub const FRAMES: &str = "__cy_frames";
/// One byte for each chunk of guest memory, 1 if the chunk was written since the host last cleared it.
pub const DIRTY: &str = "__cy_dirty";
/// The lease memory: the accesses that the running worker may make without a call of the host. See [`lease`].
/// Only in modules whose points are gated.
pub const LEASE: &str = "__cy_lease";
/// The owner table: one byte for each granule of guest memory, see [`Granule`]. Only if scheduling points
/// are left out where memory is not shared. An index is the granule's number plus, for an access that is
/// not aligned to its size, the misalignment times 2^26: there the table is always 0.
pub const OWNERS: &str = "__cy_owners";
/// The name of a worker global: the byte of [`OWNERS`] that marks the worker's own granules, or [`NOBODY`].
pub const ME: &str = "__cy_me";
/// A value that no byte of [`OWNERS`] has.
pub const NOBODY: u32 = 256;
/// The memory through which the shared mutable globals are read and written. Exported, with
/// [`SAVE_GLOBALS`] and [`LOAD_GLOBALS`], only if there is such a global.
pub const GLOBALS: &str = "__cy_globals";
/// `save_globals()`: writes the shared mutable globals to [`GLOBALS`] from offset 0, each
/// zero-extended to [`GLOBAL_BYTES`].
pub const SAVE_GLOBALS: &str = "__cy_save_globals";
/// `load_globals()`: the inverse.
pub const LOAD_GLOBALS: &str = "__cy_load_globals";
/// A mutable i32 global: pages of memory as the guest sees it. Only if the guest can grow it; there
/// are then really [`SLACK_PAGES`] more, as far as the memory's maximum allows.
pub const PAGES: &str = "__cy_pages";
/// See [`PAGES`].
pub const SLACK_PAGES: u64 = 64;
/// A table of all functions that a reference of the module can be to, and a null: only where it changes tables. Calls
/// through its tables are made through this one.
pub const FUNCTIONS: &str = "__cy_functions";
/// `function_index(funcref) -> i32`: the index of a function in [`FUNCTIONS`].
pub const FUNCTION_INDEX: &str = "function_index";
/// Prefix of the exports, followed by a number, of the guest's tables and of its mutable globals that hold
/// references. Only if the module changes tables or such globals.
pub const REFERENCES_PREFIX: &str = "__cy_references_";
/// A mutable i32 global that the module sets to 1 when it changes a table or a reference-typed global.
pub const TABLES_CHANGED: &str = "__cy_tables_changed";
/// A mutable i32 global: the lowest address of the running worker's stack, or 0 if unknown. It is a
/// worker global of the same name, so the host sets it in a worker's saved bytes. Only in modules
/// with a stack pointer.
pub const STACK_LOW: &str = "__cy_stack_low";
/// The name of a worker global: rounds left of [`COUNTDOWN`].
pub const BUDGET: &str = "__cy_budget";
/// Worker global number `n` is exported as `__cy_worker_global_n`: a start function may have changed
/// its initial value for the worker that a test starts in.
pub const WORKER_GLOBAL_PREFIX: &str = "__cy_worker_global_";
/// Prefix of the exports that the instrumenter adds.
pub const EXPORT_PREFIX: &str = "__cy_";

/// The layout of the memory [`LEASE`]. All numbers are little-endian.
///
/// - From 0 on, a byte for each [`GRANULE`](lease::GRANULE) of guest memory: 1 if accesses of it may pass, else 0.
/// - At [`AT`](lease::AT), an i32: the address for the next step's record; [`END`](lease::END) if no lease is left.
/// - At [`BYTES`](lease::BYTES), an i32: the last byte of guest memory; 0 if it has none.
/// - Up to [`END`](lease::END), the steps that were made under the lease, 8 bytes each: the site, and the address
///   without the instruction's offset.
/// - From [`PAGES`](lease::PAGES) on, a byte for each [`PAGE`](lease::PAGE): 0 if no access of it may pass, whatever
///   its granules say.
/// - From [`SITES`](lease::SITES) on, 8 bytes for each site: the instruction's offset, and how many bytes it accesses,
///   less 1; [`NEVER`](lease::NEVER) of a site that must always ask. Others access at most 8 bytes.
pub mod lease {
    /// Bytes of guest memory that a byte of the table stands for.
    pub const GRANULE: u32 = 8;
    /// Bytes of guest memory that a byte of the table of pages stands for.
    pub const PAGE: u32 = 1 << 14;
    /// Maximum number of steps of a lease.
    pub const STEPS_MAX: u32 = 64;
    /// See the module's documentation.
    pub const AT: u32 = 1 << 29;
    /// See the module's documentation.
    pub const BYTES: u32 = AT + 4;
    /// See the module's documentation.
    pub const END: u32 = AT + 64 + 8 * STEPS_MAX;
    /// See the module's documentation.
    pub const PAGES: u32 = AT + 0x1000;
    /// See the module's documentation.
    pub const SITES: u32 = PAGES + (1 << 18);
    /// See the module's documentation.
    pub const NEVER: u32 = u32::MAX;

    /// Size of the memory for this number of sites, in pages of 64 KiB.
    pub const fn pages(sites: u32) -> u64 {
        (SITES as u64 + 8 * sites as u64).div_ceil(1 << 16)
    }
}

/// Size of a chunk of guest memory in bytes. A store marks the chunk of its first byte only; it may
/// reach at most 15 bytes into the next one.
pub const CHUNK: usize = 1024;
/// Size of a granule of guest memory in bytes: [`OWNERS`] has a byte for each.
pub const GRANULE: u32 = 64;
/// Loop rounds or recursive calls without a scheduling point before one is forced.
pub const COUNTDOWN: i32 = 1000;
/// Bytes of one saved global, whatever its type.
pub const GLOBAL_BYTES: usize = 16;
/// Size of the frame memory in wasm pages of 64 KiB.
pub const FRAME_PAGES: u64 = 1024;

/// Prefix of the exports, followed by a number, of what the parts of a module import from its root.
pub const PART_PREFIX: &str = "__cy_part_";

/// The custom section that holds the site table.
pub const SITES_SECTION: &str = "coyote.sites";
