//! Versions of the format, and the additions of each.

/// The beginning of every trace, before its version.
pub const MAGIC: &str = "coyote-wasm trace";

/// The versions that are read.
pub const VERSIONS: [u32; 5] = [1, 2, 3, 4, 5];

/// The version that is written.
pub(super) const WRITTEN: u32 = WITH_RUNS;

/// The version that has shared granules.
pub(super) const WITH_SHARED: u32 = 2;

/// The version that has answers of the host.
pub(super) const WITH_ANSWERS: u32 = 3;

/// The version that has the identity of a bug and names of functions.
pub(super) const WITH_IDENTITY: u32 = 4;

/// The version that has the decisions of a worker in one line.
pub(super) const WITH_RUNS: u32 = 5;

/// The line between header and decisions.
pub(super) const SCHEDULE: &str = "schedule";
