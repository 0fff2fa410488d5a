//! futures-channel, by threads that run futures.

use correct::{block_on, message};
use futures_channel::{mpsc, oneshot};
use std::thread;

#[test]
fn oneshot() {
    let (tell, told) = oneshot::channel();
    thread::scope(|scope| {
        scope.spawn(move || tell.send(message(1)).unwrap());
        assert_eq!(*block_on(told).unwrap(), 1);
    });
}

#[test]
fn oneshot_that_is_dropped() {
    let (mut tell, told) = oneshot::channel::<Box<u32>>();
    thread::scope(|scope| {
        scope.spawn(move || drop(told));
        block_on(tell.cancellation());
        assert!(tell.send(message(1)).is_err());
    });
}

#[test]
fn mpsc() {
    let (outbox, mut inbox) = mpsc::unbounded();
    thread::scope(|scope| {
        for number in [1, 2] {
            let outbox = outbox.clone();
            scope.spawn(move || outbox.unbounded_send(message(number)).unwrap());
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
fn mpsc_bounded() {
    let (mut outbox, mut inbox) = mpsc::channel(0);
    thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0..3 {
                block_on(std::future::poll_fn(|context| outbox.poll_ready(context))).unwrap();
                outbox.start_send(message(number)).unwrap();
            }
        });
        for number in 0..3 {
            assert_eq!(*block_on(inbox.recv()).unwrap(), number);
        }
        assert!(block_on(inbox.recv()).is_err());
    });
}
