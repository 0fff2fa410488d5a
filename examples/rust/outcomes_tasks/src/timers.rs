//! Timers of tasks that end, are aborted, or poll what another task began to wait for.

use crate::{once, say};
use coyote::task::{block_on, sleep, spawn};
use std::future::poll_fn;
use std::pin::pin;
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
