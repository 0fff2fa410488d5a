//! Waiting for a word of memory to change: what locks and queues are made of.
//!
//! The same as `memory.atomic.wait32` and `memory.atomic.notify`, which stable Rust has on
//! `wasm32-wasip1-threads` inside of std only. Each call is a scheduling point.

use crate::sys;
use std::sync::atomic::AtomicU32;

/// Blocks until somebody notifies, unless the word has another value than `expected` by the time the
/// call is executed: look at the word again afterwards. Returns whether the caller was blocked.
pub fn wait(word: &AtomicU32, expected: u32) -> bool {
    sys::futex_wait(sys::address(word), expected as i32, -1) == 0
}

/// Wakes at most `count` of those that wait at the word, and returns how many. Which ones is a choice of
/// the tool's.
pub fn notify(word: &AtomicU32, count: u32) -> u32 {
    sys::futex_notify(sys::address(word), count as i32) as u32
}
