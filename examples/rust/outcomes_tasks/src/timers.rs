//! Timers of tasks that end, are aborted, or poll what another task began to wait for.

use crate::{once, say};
use coyote::task::{Either, block_on, select, select_biased, sleep, spawn, timeout, yield_now};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

/// A timer of a task that has ended is not taken for that of the task that takes its place in memory.
/// outcomes: end
#[coyote::test]
fn old_timer_is_of_no_later_task() {
    let mut old = Box::pin(sleep(Duration::from_millis(1)));
    block_on(old.as_mut());
    let task = spawn(async move {
        let (mut new, mut old) = (pin!(sleep(Duration::from_millis(1))), Some(old));
        poll_fn(|context| {
            let polled = new.as_mut().poll(context);
            drop(old.take());
            polled
        })
        .await;
    });
    task.join().unwrap();
    say("end");
}

/// A timer that no task waits for any more, as its first task has ended, is set anew by the task that waits next.
/// outcomes: end
#[coyote::test]
fn timer_goes_to_another_task() {
    let mut moves = Box::pin(sleep(Duration::from_millis(1)));
    assert!(block_on(once(moves.as_mut())).is_none());
    spawn(async move { moves.await }).join().unwrap();
    say("end");
}

/// Whatever is left of a timer when its task is aborted is freed (with `--detect leaks`).
/// outcomes: ended; aborted
#[coyote::test]
fn aborted_timer_is_freed() {
    let task = spawn(sleep(Duration::from_millis(1)));
    task.abort();
    say(if task.join().is_ok() { "ended" } else { "aborted" });
}

/// The same for one that is dropped outside of its task, which had time to wait for something else.
/// outcomes: end
#[coyote::test]
fn timer_is_dropped_elsewhere() {
    let mut moves = Box::pin(sleep(Duration::from_millis(1)));
    block_on(async {
        assert!(once(moves.as_mut()).await.is_none());
        coyote::thread::spawn(move || drop(moves)).join();
        sleep(Duration::from_millis(2)).await;
    });
    say("end");
}

/// Time passes although the task can always go on.
/// outcomes by stateful: slept
#[coyote::test]
fn time_passes_while_a_task_yields() {
    let yields = async {
        loop {
            yield_now().await;
        }
    };
    match block_on(select(sleep(Duration::from_secs(1)), yields)) {
        Either::Left(()) => say("slept"),
        Either::Right(()) => say("never"),
    }
}

/// A task may be late at each yield, as at any other await.
/// outcomes by stateful: slept; yielded
#[coyote::test]
fn sleep_or_yield() {
    match block_on(select_biased(sleep(Duration::from_secs(1)), yield_now())) {
        Either::Left(()) => say("slept"),
        Either::Right(()) => say("yielded"),
    }
}

/// A task that polls a flag may be late, or in time.
/// outcomes by stateful: in-time; late
#[coyote::test]
fn flag_is_polled_for_a_while() {
    let flag = Arc::new(AtomicBool::new(false));
    let sets = flag.clone();
    let task = spawn(async move { sets.store(true, SeqCst) });
    let polls = async {
        while !flag.load(SeqCst) {
            yield_now().await;
        }
    };
    let polled = block_on(timeout(Duration::from_secs(1), polls));
    task.join().unwrap();
    say(if polled.is_ok() { "in-time" } else { "late" });
}

/// A task that has something to do between its yields is in time if timers are ordered (with `--timers ordered`).
/// outcomes by stateful: in-time; assertion
#[coyote::test]
fn work_between_yields() {
    let work = async {
        for _ in 0..3 {
            yield_now().await;
        }
    };
    assert!(block_on(timeout(Duration::from_secs(1), work)).is_ok(), "late");
    say("in-time");
}
