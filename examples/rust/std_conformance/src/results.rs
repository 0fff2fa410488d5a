//! What calls returned, one more for each that has returned.

use std::hint::black_box;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

const WORKERS_MAX: usize = 4;
const CALLS_MAX: usize = 16;

/// Each byte is written by one worker, once.
#[repr(C)]
struct Results {
    /// By which they are found in memory.
    _name: [u8; 16],
    made: [[AtomicU8; CALLS_MAX]; WORKERS_MAX],
}

static RESULTS: Results = Results {
    _name: *b"\0std_conformance",
    made: [const { [const { AtomicU8::new(0) }; CALLS_MAX] }; WORKERS_MAX],
};

/// The compiler must not take the name apart from the rest.
pub fn keep() {
    black_box(&RESULTS);
}

/// The only function that writes them, so that its accesses can be left out of what is explored.
#[inline(never)]
pub fn record(worker: usize, call: usize, result: u8) {
    RESULTS.made[worker][call].store(result + 1, Relaxed);
}
