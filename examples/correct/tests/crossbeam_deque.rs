//! crossbeam-deque: owners, thieves, a common queue.

use correct::message;
use crossbeam_deque::{Injector, Steal, Worker};
use crossbeam_utils::Backoff;
use std::thread;

#[test]
fn steals() {
    let own = Worker::new_lifo();
    let stealer = own.stealer();
    own.push(message(1));
    own.push(message(2));
    thread::scope(|scope| {
        let other = scope.spawn(move || {
            let mut got = 0;
            loop {
                match stealer.steal() {
                    Steal::Success(number) => got += *number,
                    Steal::Retry => {}
                    Steal::Empty => break got,
                }
            }
        });
        own.push(message(3));
        let mut here = 0;
        while let Some(number) = own.pop() {
            here += *number;
        }
        assert_eq!(here + other.join().unwrap(), 6);
    });
}

#[test]
fn steals_in_order() {
    let own = Worker::new_fifo();
    let stealer = own.stealer();
    for number in 1..4 {
        own.push(message(number));
    }
    thread::scope(|scope| {
        let other = scope.spawn(move || {
            let mine = Worker::new_fifo();
            while stealer.steal_batch(&mine).is_retry() {}
            std::iter::from_fn(|| mine.pop()).map(|number| *number).sum::<u32>()
        });
        let here: u32 = std::iter::from_fn(|| own.pop()).map(|number| *number).sum();
        assert_eq!(here + other.join().unwrap(), 6);
    });
}

#[test]
fn injector() {
    let injector = Injector::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            injector.push(message(1));
            injector.push(message(2));
        });
        let other = scope.spawn(|| match injector.steal() {
            Steal::Success(number) => *number,
            Steal::Empty | Steal::Retry => 0,
        });
        let mut got = other.join().unwrap();
        let backoff = Backoff::new();
        while got < 3 {
            match injector.steal() {
                Steal::Success(number) => got += *number,
                Steal::Empty | Steal::Retry => backoff.snooze(),
            }
        }
        assert_eq!(got, 3);
    });
}
