//! Five mistakes of asynchronous programs, each with its correction. Nothing of them can be seen in one order of polls.
//!
//! - a wake-up between the look at a condition and the promise to wake is lost;
//! - a permit that is given back behind an `await` is lost when the task is aborted there;
//! - a lock is kept over an `await` of what another task can only send under that lock;
//! - a notification comes before anybody waits for it;
//! - a `select` drops a branch that had received something.
//!
//! Expected: `lost_wakeup`, `permit_leaks_on_abort`, `guard_held_over_await` and `forgotten_notify` deadlock,
//! `select_drops_a_message` fails its assertion; those that end with `_fixed` pass.

use coyote::task::{self, Either, sync};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::task::{Poll, Waker};
use std::time::Duration;

/// A flag that one task waits for, made by hand.
#[derive(Default)]
struct Flag {
    set: AtomicBool,
    waiter: coyote::sync::Mutex<Option<Waker>>,
}

impl Flag {
    fn set(&self) {
        self.set.store(true, SeqCst);
        let waiter = self.waiter.lock().take();
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }

    async fn wait(&self) {
        poll_fn(|context| {
            if self.set.load(SeqCst) {
                return Poll::Ready(());
            }
            *self.waiter.lock() = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    async fn wait_fixed(&self) {
        poll_fn(|context| {
            *self.waiter.lock() = Some(context.waker().clone());
            if self.set.load(SeqCst) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

/// Looks at the flag, and promises to wake only then.
#[coyote::test]
fn lost_wakeup() {
    let flag = Arc::new(Flag::default());
    let setter = flag.clone();
    task::block_on(async {
        let task = task::spawn(async move { setter.set() });
        flag.wait().await;
        task.await.expect("nobody aborts it");
    });
}

/// Looks at the flag after it has promised to wake.
#[coyote::test]
fn lost_wakeup_fixed() {
    let flag = Arc::new(Flag::default());
    let setter = flag.clone();
    task::block_on(async {
        let task = task::spawn(async move { setter.set() });
        flag.wait_fixed().await;
        task.await.expect("nobody aborts it");
    });
}

/// A task that is aborted while it works, and another one that needs its permit.
async fn with_permit<F>(work: impl FnOnce(Arc<sync::Semaphore>, Arc<sync::Notify>) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let permits = Arc::new(sync::Semaphore::new(1));
    let done = Arc::new(sync::Notify::new());
    let task = task::Builder::new().name("worker").spawn(work(permits.clone(), done.clone()));
    done.notify_one();
    task.abort();
    let _cancelled_or_not = task.await;
    let _permit = permits.acquire().await.expect("nobody closes it");
}

/// Gives the permit back by hand, after its work.
#[coyote::test]
fn permit_leaks_on_abort() {
    task::block_on(with_permit(|permits, done| async move {
        permits.acquire().await.expect("nobody closes it").forget();
        done.notified().await;
        permits.add_permits(1);
    }));
}

/// Lets the guard give the permit back.
#[coyote::test]
fn permit_leaks_on_abort_fixed() {
    task::block_on(with_permit(|permits, done| async move {
        let _permit = permits.acquire().await.expect("nobody closes it");
        done.notified().await;
    }));
}

/// A server that answers under a lock which its client has while it waits.
async fn ask(keep_the_lock: bool) {
    let requests = Arc::new(sync::Mutex::new(0));
    let (answer, answered) = sync::oneshot::channel();
    let counted = requests.clone();
    let server = task::Builder::new().name("server").spawn(async move {
        let number = *counted.lock().await;
        let _nobody_waits = answer.send(number);
    });
    let mut guard = requests.lock().await;
    *guard += 1;
    if !keep_the_lock {
        drop(guard);
        answered.await.expect("the server answers");
    } else {
        answered.await.expect("the server answers");
        drop(guard);
    }
    server.await.expect("nobody aborts it");
}

/// Keeps the lock while it waits for the answer.
#[coyote::test]
fn guard_held_over_await() {
    task::block_on(ask(true));
}

/// Gives the lock back before.
#[coyote::test]
fn guard_held_over_await_fixed() {
    task::block_on(ask(false));
}

/// Waits for work that another task announces once.
async fn work(begin_to_wait_first: bool) {
    let (jobs, announced) = (Arc::new(AtomicU32::new(0)), Arc::new(sync::Notify::new()));
    let (produced, announce) = (jobs.clone(), announced.clone());
    let producer = task::Builder::new().name("producer").spawn(async move {
        produced.store(1, SeqCst);
        announce.notify_waiters();
    });
    if begin_to_wait_first {
        let notified = announced.notified();
        if jobs.load(SeqCst) == 0 {
            notified.await;
        }
    } else if jobs.load(SeqCst) == 0 {
        announced.notified().await;
    }
    assert_eq!(jobs.load(SeqCst), 1);
    producer.await.expect("nobody aborts it");
}

/// Looks for work, finds none, and begins to wait: the notification may have come in between.
#[coyote::test]
fn forgotten_notify() {
    task::block_on(work(false));
}

/// Begins to wait before it looks.
#[coyote::test]
fn forgotten_notify_fixed() {
    task::block_on(work(true));
}

/// Two messages, which are wanted together, and a deadline after which it tries again.
async fn receive_pair(keep: bool) -> Vec<u32> {
    let (sender, mut receiver) = sync::mpsc::channel(1);
    let sends = task::Builder::new().name("sender").spawn(async move {
        for message in [1, 2] {
            sender.send(message).await.expect("the receiver waits for both");
        }
    });
    let mut kept = Vec::new();
    let pair = loop {
        let pair = async {
            let mut own = Vec::new();
            let pair = if keep { &mut kept } else { &mut own };
            while pair.len() < 2 {
                match receiver.recv().await {
                    Some(message) => pair.push(message),
                    None => break,
                }
            }
            pair.clone()
        };
        match task::select(pair, task::sleep(Duration::from_millis(1))).await {
            Either::Left(pair) => break pair,
            Either::Right(()) => {}
        }
    };
    sends.await.expect("nobody aborts it");
    pair
}

/// What the branch had received goes with it when the deadline comes.
#[coyote::test]
fn select_drops_a_message() {
    assert_eq!(task::block_on(receive_pair(false)), [1, 2], "a message is lost");
}

/// What was received is kept outside of the branch.
#[coyote::test]
fn select_drops_a_message_fixed() {
    assert_eq!(task::block_on(receive_pair(true)), [1, 2], "a message is lost");
}

mod measured;
