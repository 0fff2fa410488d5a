//! rtrb: a ring from one thread to another.

use correct::message;
use rtrb::RingBuffer;
use std::thread;

#[test]
fn items() {
    let (mut sender, mut receiver) = RingBuffer::new(2);
    thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0..3 {
                let mut next = message(number);
                while let Err(error) = sender.push(next) {
                    let rtrb::PushError::Full(back) = error;
                    next = back;
                    thread::yield_now();
                }
            }
        });
        let mut next = 0;
        while next < 3 {
            match receiver.pop() {
                Ok(number) => {
                    assert_eq!(*number, next);
                    next += 1;
                }
                Err(_) => thread::yield_now(),
            }
        }
    });
}

#[test]
fn chunks() {
    let (mut sender, mut receiver) = RingBuffer::new(3);
    thread::scope(|scope| {
        scope.spawn(move || {
            for first in [1, 3] {
                while sender.slots() < 2 {
                    thread::yield_now();
                }
                let chunk = sender.write_chunk_uninit(2).unwrap();
                assert_eq!(chunk.fill_from_iter([first, first + 1].map(message)), 2);
            }
        });
        let mut sum = 0;
        while sum < 10 {
            let slots = receiver.slots();
            let chunk = receiver.read_chunk(slots).unwrap();
            sum += chunk.into_iter().map(|number| *number).sum::<u32>();
            thread::yield_now();
        }
    });
}

#[test]
fn sender_leaves() {
    let (mut sender, mut receiver) = RingBuffer::new(2);
    thread::scope(|scope| {
        scope.spawn(move || sender.push(message(1)).unwrap());
        while !receiver.is_abandoned() {
            thread::yield_now();
        }
        assert_eq!(*receiver.pop().unwrap(), 1);
    });
}
