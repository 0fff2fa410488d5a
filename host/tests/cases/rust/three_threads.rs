// Threads begin and end without points at wasi-libc's own locks, so a search ends.
// run: -s dpor -i 60000
// exit: 0
// line: Proved: no bug in 1 test
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

fn main() {
    let counter = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let counter = counter.clone();
            thread::spawn(move || counter.fetch_add(1, Relaxed))
        })
        .collect();
    let seen: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert_eq!(seen + counter.load(Relaxed), 3);
}
