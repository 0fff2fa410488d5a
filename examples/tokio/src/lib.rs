//! Four mistakes that only some orders of polls show, each with its correction. With tokio's own order, first in, first
//! out, every one of them passes on the current-thread runtime.

use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore, mpsc, oneshot};
use tokio::task::yield_now;

/// Two messages, one after the other. Whoever drops this in between loses the first one.
async fn pair(inbox: &mut mpsc::Receiver<u32>) -> (Option<u32>, Option<u32>) {
    (inbox.recv().await, inbox.recv().await)
}

/// Takes two messages that two tasks send, while a third one interrupts. `keeps`: whether what was taken so far survives the
/// interruption.
pub async fn two_messages(keeps: bool) -> (Option<u32>, Option<u32>) {
    let (outbox, mut inbox) = mpsc::channel(2);
    let interrupt = Arc::new(Notify::new());
    let receiver = tokio::spawn({
        let interrupt = interrupt.clone();
        async move {
            let mut taking = Box::pin(pair(&mut inbox));
            let taken = tokio::select! {
                biased;
                taken = &mut taking => Some(taken),
                () = interrupt.notified() => None,
            };
            match taken {
                Some(taken) => taken,
                None if keeps => taking.await,
                None => {
                    drop(taking);
                    pair(&mut inbox).await
                }
            }
        }
    });
    for message in [1, 2] {
        let outbox = outbox.clone();
        tokio::spawn(async move { outbox.send(message).await });
    }
    drop(outbox);
    tokio::spawn(async move { interrupt.notify_one() });
    receiver.await.unwrap()
}

/// Adds what a task sends to a total that another task reads. `over_await`: whether the lock is held while waiting.
#[allow(clippy::await_holding_lock)]
pub async fn total(over_await: bool) -> u32 {
    let total = Arc::new(Mutex::new(0));
    let (outbox, inbox) = oneshot::channel();
    let local = tokio::task::LocalSet::new();
    let sender = local.spawn_local(async move { outbox.send(5).unwrap() });
    let shared = total.clone();
    let adder = local.spawn_local(async move {
        if over_await {
            let mut total = shared.lock().unwrap();
            *total += inbox.await.unwrap();
        } else {
            let added = inbox.await.unwrap();
            *shared.lock().unwrap() += added;
        }
    });
    let shared = total.clone();
    let reader = local.spawn_local(async move { *shared.lock().unwrap() });
    local.run_until(async { tokio::try_join!(sender, adder, reader).unwrap() }).await;
    *total.lock().unwrap()
}

/// Waits for a task to say that it has begun. `kept`: whether it says so to those who only ask later, too.
pub async fn begun(kept: bool) {
    let begun = Arc::new(Notify::new());
    let waiter = tokio::spawn({
        let begun = begun.clone();
        async move { begun.notified().await }
    });
    let worker = tokio::spawn(async move { if kept { begun.notify_one() } else { begun.notify_waiters() } });
    worker.await.unwrap();
    waiter.await.unwrap();
}

/// Aborts a task that has one of one permits, and takes the permit then. `guarded`: whether it is given back by its guard.
pub async fn permit_after_abort(guarded: bool) {
    let permits = Arc::new(Semaphore::new(1));
    let (finish, finished) = oneshot::channel::<()>();
    let sender = tokio::spawn(async move { finish.send(()) });
    let worker = tokio::spawn({
        let permits = permits.clone();
        async move {
            let permit = permits.acquire().await.unwrap();
            if guarded {
                let _ = finished.await;
                drop(permit);
            } else {
                permit.forget();
                let _ = finished.await;
                permits.add_permits(1);
            }
        }
    });
    let supervisor = tokio::spawn(async move { worker.abort() });
    let _ = sender.await.unwrap();
    supervisor.await.unwrap();
    let _permit = permits.acquire().await.unwrap();
}

/// Whether the first of two things that are ready is chosen.
pub async fn first_is_chosen() -> bool {
    tokio::select! {
        () = async {} => true,
        () = async {} => false,
    }
}

/// Sleeps in two tasks; how often time went by as it was told to.
pub async fn slept() -> usize {
    let naps = [20, 10].map(|ms| tokio::spawn(tokio::time::sleep(Duration::from_millis(ms))));
    let mut slept = 0;
    for nap in naps {
        nap.await.unwrap();
        yield_now().await;
        slept += 1;
    }
    slept
}
