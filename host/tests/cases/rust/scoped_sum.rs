//! A correct program of scoped threads. With `--points sync`, a search executes one order of its mutex's operations.
//! run: -i 500
//! exit: 0
//! run: -s dpor --points sync
//! exit: 0
//! line: Not everything was explored: --points sync leaves out the program's locks, which are atomics.
//! absent: Proved
use std::sync::Mutex;
use std::thread;

fn main() {
    let sum = Mutex::new(0);
    thread::scope(|scope| {
        for number in 1..3 {
            let sum = &sum;
            scope.spawn(move || *sum.lock().unwrap() += number);
        }
    });
    assert_eq!(sum.into_inner().unwrap(), 3);
}
