//! One program each for Coyote, Shuttle and Loom, moved over line by line: docs/coming-from.md has the originals beside these.
//!
//! Expected: `from_coyote` and `from_loom` fail their assertions, `from_shuttle` deadlocks.

mod from_coyote;
mod from_loom;
mod from_shuttle;
