//! crossbeam-channel: all flavors, `select!`, timeouts, ends.

use correct::message;
use crossbeam_channel::{
    RecvTimeoutError, Select, SendTimeoutError, TryRecvError, TrySendError, after, bounded, never, select,
    tick, unbounded,
};
use std::thread;
use std::time::Duration;

#[test]
fn unbounded_two_senders() {
    let (outbox, inbox) = unbounded();
    thread::scope(|scope| {
        for number in [1, 2] {
            let outbox = outbox.clone();
            scope.spawn(move || outbox.send(message(number)).unwrap());
        }
        drop(outbox);
        let sum: u32 = inbox.iter().map(|number| *number).sum();
        assert_eq!(sum, 3);
    });
}

#[test]
fn unbounded_across_blocks() {
    let (outbox, inbox) = unbounded();
    thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0..33 {
                outbox.send(message(number)).unwrap();
            }
        });
        for number in 0..33 {
            assert_eq!(*inbox.recv().unwrap(), number);
        }
        assert!(inbox.recv().is_err());
    });
}

#[test]
fn unbounded_two_receivers() {
    let (outbox, inbox) = unbounded();
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
fn unbounded_dropped_when_full() {
    let (outbox, inbox) = unbounded();
    thread::scope(|scope| {
        scope.spawn(move || while outbox.send(message(1)).is_ok() {});
        assert_eq!(*inbox.recv().unwrap(), 1);
        drop(inbox);
    });
}

#[test]
fn bounded_of_one() {
    let (outbox, inbox) = bounded(1);
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
fn bounded_many_to_many() {
    let (outbox, inbox) = bounded(2);
    thread::scope(|scope| {
        for number in [1, 2] {
            let outbox = outbox.clone();
            scope.spawn(move || outbox.send(message(number)).unwrap());
        }
        drop(outbox);
        let other = scope.spawn({
            let inbox = inbox.clone();
            move || inbox.iter().map(|number| *number).sum::<u32>()
        });
        let here: u32 = inbox.iter().map(|number| *number).sum();
        assert_eq!(here + other.join().unwrap(), 3);
    });
}

#[test]
fn bounded_tries() {
    let (outbox, inbox) = bounded(1);
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut refused = 0;
            for number in [1, 2] {
                match outbox.try_send(message(number)) {
                    Ok(()) => {}
                    Err(TrySendError::Full(back)) => refused += *back,
                    Err(TrySendError::Disconnected(_)) => unreachable!(),
                }
            }
            assert!(refused == 0 || refused == 2);
            drop(outbox);
        });
        let mut tries = 0;
        loop {
            match inbox.try_recv() {
                Ok(number) => assert!(*number == 1 || *number == 2),
                Err(TryRecvError::Empty) if tries < 3 => tries += 1,
                Err(TryRecvError::Empty) => {
                    let _ = inbox.recv();
                    tries = 0;
                }
                Err(TryRecvError::Disconnected) => break,
            }
        }
    });
}

#[test]
fn bounded_receiver_leaves() {
    let (outbox, inbox) = bounded(1);
    thread::scope(|scope| {
        scope.spawn(move || while outbox.send(message(1)).is_ok() {});
        assert_eq!(*inbox.recv().unwrap(), 1);
        drop(inbox);
    });
}

#[test]
fn rendezvous() {
    let (outbox, inbox) = bounded(0);
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
fn rendezvous_that_gives_up() {
    let (outbox, inbox) = bounded(0);
    thread::scope(|scope| {
        scope.spawn(move || match outbox.send_timeout(message(1), Duration::from_millis(10)) {
            Ok(()) => {}
            Err(SendTimeoutError::Timeout(back)) => assert_eq!(*back, 1),
            Err(SendTimeoutError::Disconnected(back)) => assert_eq!(*back, 1),
        });
        match inbox.recv_timeout(Duration::from_millis(10)) {
            Ok(number) => assert_eq!(*number, 1),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
    });
}

#[test]
fn select_of_two() {
    let (first, ones) = unbounded();
    let (second, twos) = bounded(1);
    thread::scope(|scope| {
        scope.spawn(move || first.send(message(1)).unwrap());
        scope.spawn(move || second.send(message(2)).unwrap());
        let mut sum = 0;
        for _ in 0..2 {
            select! {
                recv(ones) -> one => sum += one.map_or(2, |one| *one),
                recv(twos) -> two => sum += two.map_or(1, |two| *two),
            }
        }
        assert!((2..=4).contains(&sum));
    });
}

#[test]
fn select_sends_or_receives() {
    let (outbox, inbox) = bounded(0);
    thread::scope(|scope| {
        let talk = |outbox: crossbeam_channel::Sender<Box<u32>>,
                    inbox: crossbeam_channel::Receiver<Box<u32>>| {
            select! {
                send(outbox, message(7)) -> sent => { sent.unwrap(); 0 }
                recv(inbox) -> number => *number.unwrap(),
            }
        };
        let other = scope.spawn({
            let (outbox, inbox) = (outbox.clone(), inbox.clone());
            move || talk(outbox, inbox)
        });
        let here = talk(outbox.clone(), inbox.clone());
        assert_eq!(here + other.join().unwrap(), 7);
    });
}

#[test]
fn select_by_hand() {
    let (outbox, inbox) = bounded(1);
    let (ended, end) = bounded::<()>(0);
    thread::scope(|scope| {
        scope.spawn(move || {
            outbox.send(message(1)).unwrap();
            drop(ended);
        });
        let mut select = Select::new();
        let numbers = select.recv(&inbox);
        let ends = select.recv(&end);
        loop {
            let ready = select.select();
            match ready.index() {
                index if index == numbers => {
                    if let Ok(number) = ready.recv(&inbox) {
                        assert_eq!(*number, 1);
                    }
                }
                index => {
                    assert_eq!(index, ends);
                    assert!(ready.recv(&end).is_err());
                    break;
                }
            }
        }
    });
}

#[test]
fn time() {
    let (outbox, inbox) = bounded(0);
    thread::scope(|scope| {
        scope.spawn(move || {
            thread::sleep(Duration::from_millis(5));
            let _ = outbox.send(message(1));
        });
        let (late, beats, nothing) =
            (after(Duration::from_millis(20)), tick(Duration::from_millis(2)), never::<()>());
        loop {
            select! {
                recv(inbox) -> number => { assert!(number.is_err() || *number.unwrap() == 1); break }
                recv(beats) -> _ => {}
                recv(nothing) -> _ => unreachable!(),
                recv(late) -> _ => break,
            }
        }
    });
}
