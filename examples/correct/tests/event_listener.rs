//! event-listener: notifications, by threads that run futures.

use correct::{Place, block_on};
use event_listener::{Event, Listener, listener};
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::thread;

#[test]
fn a_flag_is_waited_for() {
    let (flag, event, place) = (AtomicBool::new(false), Event::new(), Place::default());
    thread::scope(|scope| {
        scope.spawn(|| {
            place.write(1);
            flag.store(true, Release);
            event.notify(usize::MAX);
        });
        for _ in 0..2 {
            scope.spawn(|| {
                while !flag.load(Acquire) {
                    listener!(event => listener);
                    if flag.load(Acquire) {
                        break;
                    }
                    block_on(listener);
                }
                assert_eq!(place.read(), 1);
            });
        }
    });
}

#[test]
fn a_notification_is_given_on() {
    let event = Event::new();
    let (first, second) = (event.listen(), event.listen());
    thread::scope(|scope| {
        scope.spawn(|| event.notify(1));
        scope.spawn(move || drop(first));
        // Whoever is notified and leaves, gives the notification on.
        block_on(second);
    });
}

#[test]
fn listeners_that_leave() {
    let event = Event::new();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let listener = event.listen();
                let _ = listener.discard();
            });
        }
        event.notify_additional(1);
    });
    assert_eq!(event.total_listeners(), 0);
}
