//! atomic-waker: one task registers, others wake it.

use atomic_waker::AtomicWaker;
use correct::{Place, block_on};
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use std::task::Poll;
use std::thread;

#[test]
fn a_flag_is_waited_for() {
    let (flag, waker, place) = (AtomicBool::new(false), AtomicWaker::new(), Place::default());
    thread::scope(|scope| {
        scope.spawn(|| {
            place.write(1);
            flag.store(true, Release);
            waker.wake();
        });
        block_on(poll_fn(|context| {
            waker.register(context.waker());
            if flag.load(Acquire) { Poll::Ready(()) } else { Poll::Pending }
        }));
        assert_eq!(place.read(), 1);
    });
}

#[test]
fn two_wake() {
    let (count, waker) = (AtomicU32::new(0), AtomicWaker::new());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                count.fetch_add(1, Release);
                if let Some(waker) = waker.take() {
                    waker.wake();
                }
            });
        }
        block_on(poll_fn(|context| {
            waker.register(context.waker());
            if count.load(Acquire) == 2 { Poll::Ready(()) } else { Poll::Pending }
        }));
    });
}
