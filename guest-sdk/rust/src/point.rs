//! Read points and write points, for state that is not in memory: a device, a server, a table of the host.
//!
//! Such a point is executed before the state is used. It is a scheduling point, and says which object the worker is about
//! to read or change until its next scheduling point. Searches execute reads of one object in one order only, and reads
//! and writes in both; samplers that count accesses count it. A data race is never reported on it.
//!
//! An object is any number that the program chooses.

use crate::sys;

/// A scheduling point before the state with this number is read.
pub fn read(object: u32) {
    sys::read_point(object as i32);
}

/// A scheduling point before the state with this number is changed. Workers whose predicate has executed a [`read`] of
/// it evaluate the predicate again: see [`wait_until`](crate::wait_until).
pub fn write(object: u32) {
    sys::write_point(object as i32);
}
