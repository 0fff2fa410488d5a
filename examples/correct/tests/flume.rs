//! flume: channels of all capacities, by threads and by futures, the selector.

use correct::{block_on, message};
use flume::{RecvTimeoutError, Selector, TryRecvError, TrySendError};
use std::thread;
use std::time::Duration;

#[test]
fn unbounded_two_senders() {
    let (outbox, inbox) = flume::unbounded();
    thread::scope(|scope| {
        for number in [1, 2] {
            let outbox = outbox.clone();
            scope.spawn(move || outbox.send(message(number)).unwrap());
        }
        drop(outbox);
        assert_eq!(inbox.iter().map(|number| *number).sum::<u32>(), 3);
    });
}

#[test]
fn bounded_of_one() {
    let (outbox, inbox) = flume::bounded(1);
    thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0..3 {
                outbox.send(message(number)).unwrap();
            }
        });
        for number in 0..3 {
            assert_eq!(*inbox.recv().unwrap(), number);
        }
        assert!(inbox.recv().is_err());
    });
}

#[test]
fn rendezvous() {
    let (outbox, inbox) = flume::bounded(0);
    thread::scope(|scope| {
        for number in [1, 2] {
            let outbox = outbox.clone();
            scope.spawn(move || outbox.send(message(number)).unwrap());
        }
        drop(outbox);
        assert_eq!(*inbox.recv().unwrap() + *inbox.recv().unwrap(), 3);
        assert!(inbox.recv().is_err());
    });
}

#[test]
fn two_receivers() {
    let (outbox, inbox) = flume::bounded(2);
    thread::scope(|scope| {
        let other = scope.spawn({
            let inbox = inbox.clone();
            move || inbox.iter().map(|number: Box<u32>| *number).sum::<u32>()
        });
        for number in 1..4 {
            outbox.send(message(number)).unwrap();
        }
        drop(outbox);
        let here: u32 = inbox.iter().map(|number| *number).sum();
        assert_eq!(here + other.join().unwrap(), 6);
    });
}

#[test]
fn tries() {
    let (outbox, inbox) = flume::bounded(1);
    thread::scope(|scope| {
        scope.spawn(move || {
            for number in [1, 2] {
                match outbox.try_send(message(number)) {
                    Ok(()) => {}
                    Err(TrySendError::Full(back)) => assert_eq!(*back, 2),
                    Err(TrySendError::Disconnected(_)) => unreachable!(),
                }
            }
        });
        loop {
            match inbox.try_recv() {
                Ok(number) => assert!(*number == 1 || *number == 2),
                Err(TryRecvError::Empty) => {
                    if inbox.recv().is_err() {
                        break;
                    }
                }
                Err(TryRecvError::Disconnected) => break,
            }
        }
    });
}

#[test]
fn timeouts() {
    let (outbox, inbox) = flume::bounded(0);
    thread::scope(|scope| {
        scope.spawn(move || {
            let _ = outbox.send_timeout(message(1), Duration::from_millis(10));
        });
        match inbox.recv_timeout(Duration::from_millis(10)) {
            Ok(number) => assert_eq!(*number, 1),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
    });
}

#[test]
fn receiver_leaves() {
    let (outbox, inbox) = flume::bounded(1);
    thread::scope(|scope| {
        scope.spawn(move || while outbox.send(message(1)).is_ok() {});
        assert_eq!(*inbox.recv().unwrap(), 1);
        drop(inbox);
    });
}

#[test]
fn futures() {
    let (outbox, inbox) = flume::bounded(1);
    thread::scope(|scope| {
        scope.spawn(move || {
            block_on(async {
                for number in 0..3 {
                    outbox.send_async(message(number)).await.unwrap();
                }
            });
        });
        block_on(async {
            for number in 0..3 {
                assert_eq!(*inbox.recv_async().await.unwrap(), number);
            }
            assert!(inbox.recv_async().await.is_err());
        });
    });
}

#[test]
fn a_thread_and_a_future() {
    let (outbox, inbox) = flume::bounded(0);
    thread::scope(|scope| {
        scope.spawn(move || {
            outbox.send(message(1)).unwrap();
            outbox.send(message(2)).unwrap();
        });
        block_on(async {
            assert_eq!(*inbox.recv_async().await.unwrap(), 1);
            assert_eq!(*inbox.recv_async().await.unwrap(), 2);
        });
    });
}

#[test]
fn selector() {
    let (first, ones) = flume::unbounded();
    let (second, twos) = flume::bounded(1);
    thread::scope(|scope| {
        scope.spawn(move || first.send(message(1)));
        scope.spawn(move || second.send(message(2)));
        let got = Selector::new()
            .recv(&ones, |one| one.map_or(0, |one| *one))
            .recv(&twos, |two| two.map_or(0, |two| *two))
            .wait();
        assert!(got <= 2);
    });
}
