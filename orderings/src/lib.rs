//! Which line of Rust's `core/src/sync/atomic.rs` stands for which memory ordering.
//!
//! WebAssembly's atomic instructions have no orderings. Rust's atomics have them as values: each function of
//! `atomic.rs` chooses an intrinsic by a `match` with an arm on lines of its own for each ordering. The optimiser
//! leaves one arm, and the line table says which line it was:
//!
//! ```text
//! match order {
//!     Relaxed => intrinsics::atomic_load::<T, { AO::Relaxed }>(dst),   // line 4027
//!     Acquire => intrinsics::atomic_load::<T, { AO::Acquire }>(dst),   // line 4028
//! ```
//!
//! - [`source`]: the arms of an `atomic.rs`.
//! - [`releases`]: those of Rust's releases, as they are committed here. `cargo xtask orderings` makes them.
//! - [`toolchain`]: those of installed toolchains.

pub mod releases;
pub mod source;
pub mod toolchain;

pub use coyote_abi::Ordering;

/// The file within the source of Rust, as line tables end their paths.
pub const SOURCE: &str = "library/core/src/sync/atomic.rs";

/// What the source asks for. The instruction can be another one: a read-modify-write that changes nothing may
/// become a load, and one that the target does not have becomes a loop around a compare-exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// An atomic load.
    Load,
    /// An atomic store.
    Store,
    /// A swap, an addition and the like: one step that loads and stores.
    ReadModifyWrite,
    /// A compare-exchange, weak or strong: it has an ordering for either outcome.
    CompareExchange,
    /// A fence between threads; a compiler fence emits no instruction and has no arm.
    Fence,
}

impl Operation {
    /// Every operation, with its name in the committed tables.
    pub const NAMES: [(Operation, &str); 5] = [
        (Operation::Load, "load"),
        (Operation::Store, "store"),
        (Operation::ReadModifyWrite, "rmw"),
        (Operation::CompareExchange, "exchange"),
        (Operation::Fence, "fence"),
    ];
}

/// An arm of a `match` over orderings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arm {
    /// From 1; the arm's pattern begins in `first`, its body ends in `last`.
    pub first: u32,
    /// The last line of the arm's body, inclusive.
    pub last: u32,
    /// What the arm's intrinsic does.
    pub operation: Operation,
    /// The ordering, of a compare-exchange the one where it stores.
    pub success: Ordering,
    /// Of a compare-exchange that fails; else the same as `success`.
    pub failure: Ordering,
}

/// The arms of one `atomic.rs`, by ascending lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// The arms, by ascending lines; no two share a line.
    pub arms: Vec<Arm>,
}

impl Table {
    /// The arm that the line belongs to.
    pub fn at(&self, line: u32) -> Option<&Arm> {
        let next = self.arms.partition_point(|arm| arm.first <= line);
        self.arms.get(next.checked_sub(1)?).filter(|arm| line <= arm.last)
    }
}
