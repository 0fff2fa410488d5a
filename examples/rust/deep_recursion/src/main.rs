//! An ordinary Rust program in which one of two threads needs a larger stack than it has, if it comes second:
//! then it has more to do.
//!
//! Expected: a stack overflow of the second thread, in `depth`. Without a bound on that stack it would write
//! over the blocks of the heap below.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

const STACK_BYTES: usize = 16 << 10;

fn depth(rounds: usize) -> usize {
    let frame = black_box([rounds as u8; 1000]);
    if rounds == 0 { 0 } else { depth(rounds - 1) + usize::from(frame[rounds % 1000] as usize == rounds) }
}

fn main() {
    static WORK: AtomicUsize = AtomicUsize::new(5);
    let spawn = || {
        let run = || black_box(depth(WORK.fetch_add(20, Ordering::Relaxed)));
        Builder::new().stack_size(STACK_BYTES).spawn(run).unwrap()
    };
    let threads = [spawn(), spawn()];
    for thread in threads {
        thread.join().unwrap();
    }
}
