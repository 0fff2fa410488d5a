//! Futexes: waiting for a word of memory to change, the basis of locks and queues.
//!
//! The same as `memory.atomic.wait32` and `memory.atomic.notify`, which stable Rust has on
//! `wasm32-wasip1-threads` inside of std only. Each call is a scheduling point.

use crate::sys;
use std::sync::atomic::AtomicU32;

/// Blocks until a worker notifies, unless the word has another value than `expected` when the call is
/// executed: read the word again afterwards. Returns whether the caller was blocked.
pub fn wait(word: &AtomicU32, expected: u32) -> bool {
    sys::futex_wait(sys::address(word), expected as i32, -1) == 0
}

/// Wakes at most `count` workers that wait at the word, and returns how many. Which ones is a choice of
/// the tool.
pub fn notify(word: &AtomicU32, count: u32) -> u32 {
    sys::futex_notify(sys::address(word), count as i32) as u32
}
