//! async-channel, by threads that run futures.

use correct::{block_on, message};
use std::thread;

#[test]
fn unbounded() {
    let (outbox, inbox) = async_channel::unbounded();
    thread::scope(|scope| {
        for number in [1, 2] {
            let outbox = outbox.clone();
            scope.spawn(move || block_on(outbox.send(message(number))).unwrap());
        }
        drop(outbox);
        let mut sum = 0;
        while let Ok(number) = block_on(inbox.recv()) {
            sum += *number;
        }
        assert_eq!(sum, 3);
    });
}

#[test]
fn of_one() {
    let (outbox, inbox) = async_channel::bounded(1);
    thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0..3 {
                block_on(outbox.send(message(number))).unwrap();
            }
        });
        for number in 0..3 {
            assert_eq!(*block_on(inbox.recv()).unwrap(), number);
        }
        assert!(block_on(inbox.recv()).is_err());
    });
}

#[test]
fn that_is_closed() {
    let (outbox, inbox) = async_channel::bounded(1);
    thread::scope(|scope| {
        scope.spawn(move || while block_on(outbox.send(message(1))).is_ok() {});
        assert_eq!(*block_on(inbox.recv()).unwrap(), 1);
        inbox.close();
    });
}

#[test]
fn to_all() {
    let (outbox, inbox) = async_channel::unbounded();
    thread::scope(|scope| {
        let other = scope.spawn({
            let inbox = inbox.clone();
            move || u32::from(block_on(inbox.recv()).is_ok())
        });
        outbox.try_send(message(1)).unwrap();
        drop(outbox);
        let here = u32::from(inbox.try_recv().is_ok());
        assert_eq!(here + other.join().unwrap(), 1);
    });
}
