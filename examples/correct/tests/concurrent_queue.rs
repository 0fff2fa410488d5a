//! concurrent-queue: all flavors.

use concurrent_queue::ConcurrentQueue;
use correct::message;
use std::thread;

/// Two threads push, two pop until they have all.
fn pushed_and_popped(queue: &ConcurrentQueue<Box<u32>>, count: u32) {
    let pop = || {
        let mut sum = 0;
        loop {
            match queue.pop() {
                Ok(number) => sum += *number,
                Err(error) if error.is_closed() => break sum,
                Err(_) => thread::yield_now(),
            }
        }
    };
    thread::scope(|scope| {
        let push = scope.spawn(|| {
            for number in 1..=count {
                let mut next = message(number);
                while let Err(error) = queue.push(next) {
                    next = error.into_inner();
                    thread::yield_now();
                }
            }
            queue.close();
        });
        let other = scope.spawn(pop);
        let here = pop();
        push.join().unwrap();
        assert_eq!(here + other.join().unwrap(), count * (count + 1) / 2);
    });
}

#[test]
fn unbounded() {
    pushed_and_popped(&ConcurrentQueue::unbounded(), 3);
}

#[test]
fn bounded_of_two() {
    pushed_and_popped(&ConcurrentQueue::bounded(2), 3);
}

#[test]
fn bounded_of_one() {
    pushed_and_popped(&ConcurrentQueue::bounded(1), 2);
}

#[test]
fn unbounded_across_blocks() {
    let queue = ConcurrentQueue::unbounded();
    thread::scope(|scope| {
        scope.spawn(|| (0..33).for_each(|number| queue.push(message(number)).unwrap()));
        for _ in 0..3 {
            assert!(queue.pop().is_ok_and(|number| *number < 33) || queue.len() <= 33);
        }
    });
    assert!(queue.try_iter().count() >= 30);
}

#[test]
fn pushed_over() {
    let queue = ConcurrentQueue::bounded(1);
    thread::scope(|scope| {
        for number in [1, 2] {
            let queue = &queue;
            scope.spawn(move || queue.force_push(message(number)).unwrap().is_none_or(|old| *old != number));
        }
    });
    assert_eq!(queue.len(), 1);
}
