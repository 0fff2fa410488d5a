//! One worker pops its own tasks, another one steals. Broken: a retry counts as nothing left.

use crossbeam_deque::{Steal, Worker};
use std::thread;

fn main() {
    let worker = Worker::new_lifo();
    worker.push(1);
    worker.push(2);
    let stealer = worker.stealer();
    let sum: i32 = thread::scope(|scope| {
        let thief = scope.spawn(move || {
            loop {
                match stealer.steal() {
                    Steal::Success(n) => return n,
                    Steal::Retry if !published::broken() => {}
                    Steal::Retry => panic!("one retry is no reason to give up"),
                    Steal::Empty => return 0,
                }
            }
        });
        let own: i32 = std::iter::from_fn(|| worker.pop()).sum();
        own + thief.join().unwrap()
    });
    assert_eq!(sum, 3);
}
