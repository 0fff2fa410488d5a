//! Tasks: starting, ending, aborting, waiting in vain.

use crate::{once, say};
use coyote::sync::Mutex;
use coyote::task::sync::{Notify, oneshot};
use coyote::task::{self, Either, block_on, spawn};
use std::future::{pending, poll_fn, ready};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::task::{Poll, Waker};
use std::time::Duration;

/// Says so when it is dropped.
struct Dropped;

impl Drop for Dropped {
    fn drop(&mut self) {
        say("dropped");
    }
}

/// Which of two came first.
/// outcomes: 0; 1
#[coyote::test]
fn order_of_two() {
    let turn = Arc::new(AtomicU32::new(0));
    let take = || {
        let turn = turn.clone();
        spawn(async move { turn.fetch_add(1, SeqCst) })
    };
    let (first, second) = (take(), take());
    say(first.join().unwrap());
    second.join().unwrap();
}

/// outcomes by stateful: 7
#[coyote::test]
fn value_of_a_task() {
    say(spawn(async { 7 }).join().unwrap());
}

/// The waker is called before, while or after the task begins to wait.
/// outcomes by stateful: woken
#[coyote::test]
fn wake_is_kept() {
    let notify = Arc::new(Notify::new());
    let waits = notify.clone();
    let task = spawn(async move { waits.notified().await });
    notify.notify_one();
    task.join().unwrap();
    say("woken");
}

/// outcomes by stateful: done; cancelled
#[coyote::test]
fn abort_or_end() {
    let task = spawn(async { task::yield_now().await });
    task.abort();
    say(if task.join().is_ok() { "done" } else { "cancelled" });
}

/// Without an await, a task that has begun ends.
/// outcomes by stateful: ran done; cancelled
#[coyote::test]
fn abort_is_never_in_mid_poll() {
    let task = spawn(async { say("ran") });
    task.abort();
    say(if task.join().is_ok() { "done" } else { "cancelled" });
}

/// A future that was never polled has made nothing that it could drop.
/// outcomes by stateful: dropped cancelled; cancelled
#[coyote::test]
fn abort_drops_where_it_waits() {
    let task = spawn(async {
        let _dropped = Dropped;
        pending::<()>().await;
    });
    task.abort();
    say(if task.join().is_ok() { "done" } else { "cancelled" });
}

/// What a task holds is dropped before anybody is told of its end.
/// outcomes by stateful: dropped joined
#[coyote::test]
fn ends_after_its_future() {
    let dropped = Dropped;
    spawn(async move {
        let _kept = &dropped;
    })
    .join()
    .unwrap();
    say("joined");
}

/// outcomes by stateful: true; false
#[coyote::test]
fn is_finished() {
    let task = spawn(async {});
    say(task.is_finished());
    task.join().unwrap();
}

/// Aborting what has ended changes nothing.
/// outcomes by stateful: 7 true
#[coyote::test]
fn abort_after_the_end() {
    let mut task = spawn(async { 7 });
    say(block_on(&mut task).unwrap());
    task.abort();
    say(task.is_finished());
}

/// outcomes by stateful: deadlock
#[coyote::test]
fn never_woken() {
    block_on(pending::<()>());
}

/// Reports do not say that it awaits the notification, which it got.
/// outcomes by stateful: deadlock
#[coyote::test]
fn never_woken_again() {
    block_on(async {
        let notify = Notify::new();
        let mut notified = pin!(notify.notified());
        assert!(once(notified.as_mut()).await.is_none());
        task::yield_now().await;
        notify.notify_one();
        notified.await;
        pending::<()>().await;
    });
}

/// Nor that it awaits the notification for which it waited long enough.
/// outcomes by stateful: deadlock
#[coyote::test]
fn never_woken_after_a_timeout() {
    block_on(async {
        let notify = Notify::new();
        assert!(task::timeout(Duration::from_secs(1), notify.notified()).await.is_err());
        pending::<()>().await;
    });
}

/// Nor what kept its waker and has called it.
/// outcomes by stateful: deadlock
#[coyote::test]
fn never_woken_again_by_others() {
    let kept = Mutex::new(None);
    block_on(async {
        let keeps = poll_fn(|context| {
            *kept.lock() = Some(context.waker().clone());
            Poll::<()>::Pending
        });
        assert!(once(pin!(keeps)).await.is_none());
        task::yield_now().await;
        kept.lock().take().into_iter().for_each(Waker::wake);
        pending::<()>().await;
    });
}

/// A task that somebody could still wait for must not be blocked at the end.
/// outcomes by stateful: deadlock
#[coyote::test]
fn kept_handle_of_a_blocked_task() {
    std::mem::forget(spawn(pending::<()>()));
}

/// A detached one may.
/// outcomes by stateful: end
#[coyote::test]
fn detached_and_blocked() {
    drop(spawn(pending::<()>()));
    say("end");
}

/// outcomes by stateful: end; ran end; end ran
#[coyote::test]
fn detached_runs_on() {
    let (sender, receiver) = oneshot::channel::<()>();
    drop(spawn(async move {
        if receiver.await.is_ok() {
            say("ran");
        }
    }));
    if coyote::nondet::bool() {
        sender.send(()).unwrap();
    }
    say("end");
}

/// outcomes by stateful: left; right
#[coyote::test]
fn select_of_two_that_are_ready() {
    block_on(async {
        match task::select(ready(()), ready(())).await {
            Either::Left(()) => say("left"),
            Either::Right(()) => say("right"),
        }
    });
}

/// outcomes by stateful: left
#[coyote::test]
fn select_biased() {
    block_on(async {
        match task::select_biased(ready(()), ready(())).await {
            Either::Left(()) => say("left"),
            Either::Right(()) => say("right"),
        }
    });
}

/// outcomes by stateful: second; third
#[coyote::test]
fn select_of_three() {
    block_on(async {
        coyote::select! {
            () = pending::<()>() => say("first"),
            () = ready(()) => say("second"),
            () = ready(()) => say("third"),
        }
    });
}

/// outcomes by stateful: first
#[coyote::test]
fn earlier_timer_is_first() {
    block_on(async {
        let (first, second) = (task::sleep(Duration::from_secs(1)), task::sleep(Duration::from_secs(2)));
        match task::select(second, first).await {
            Either::Left(()) => say("second"),
            Either::Right(()) => say("first"),
        }
    });
}

/// outcomes by stateful: elapsed in-time
#[coyote::test]
fn timeouts() {
    block_on(async {
        let late = task::timeout(Duration::from_secs(1), task::sleep(Duration::from_secs(2))).await;
        say(if late.is_ok() { "in-time" } else { "elapsed" });
        let early = task::timeout(Duration::from_secs(2), task::sleep(Duration::from_secs(1))).await;
        say(if early.is_ok() { "in-time" } else { "elapsed" });
    });
}

/// The time may be up before the other task has done anything.
/// outcomes by stateful: answer; late
#[coyote::test]
fn answer_or_timeout() {
    let (sender, receiver) = oneshot::channel();
    drop(spawn(async move { drop(sender.send(())) }));
    let answer = block_on(task::timeout(Duration::from_secs(1), receiver));
    say(if answer.is_ok() { "answer" } else { "late" });
}

/// outcomes: [1, 2]
#[coyote::test]
fn join_all_keeps_the_order() {
    block_on(async {
        let tasks = [1, 2].map(|number| spawn(async move { number }));
        let values = task::join_all(tasks).await;
        say(format!("{:?}", values.into_iter().map(Result::unwrap).collect::<Vec<u32>>()));
    });
}

/// A future that wakes itself is polled again, after others could run.
/// outcomes by stateful: 3
#[coyote::test]
fn wakes_itself() {
    let mut polls = 0;
    block_on(poll_fn(|context| {
        polls += 1;
        context.waker().wake_by_ref();
        if polls == 3 { Poll::Ready(()) } else { Poll::Pending }
    }));
    say(polls);
}

/// A waker that is called by a worker that runs no task, after the task has ended too.
/// outcomes: end
#[coyote::test]
fn waker_of_an_ended_task() {
    let waker = Arc::new(Mutex::new(None));
    let kept = waker.clone();
    let task = spawn(poll_fn(move |context| {
        *kept.lock() = Some(context.waker().clone());
        Poll::Ready(())
    }));
    let thread = coyote::thread::spawn(move || {
        let taken = waker.lock().take();
        taken.into_iter().for_each(|waker| {
            waker.wake_by_ref();
            waker.wake();
        });
    });
    task.join().unwrap();
    thread.join();
    say("end");
}

/// outcomes: inner outer
#[coyote::test]
fn block_on_within_a_task() {
    spawn(async {
        let (sender, receiver) = oneshot::channel();
        drop(spawn(async move { drop(sender.send("inner")) }));
        say(block_on(receiver).unwrap());
        task::sleep(Duration::from_secs(1)).await;
        say("outer");
    })
    .join()
    .unwrap();
}
