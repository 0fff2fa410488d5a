//! Mistakes of tasks that share one thread. A comment names the column of the story that has a row for its line.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;
use tokio::sync::{Mutex, Notify, Semaphore, mpsc};
use tokio::task::{LocalSet, spawn_local, yield_now};

/// Each task reads, waits, and writes.
#[tokio::test]
async fn lost_update() {
    let balance = Arc::new(AtomicU32::new(0));
    let add = |balance: Arc<AtomicU32>| async move {
        let before = balance.load(SeqCst);
        yield_now().await;
        balance.store(before + 10, SeqCst);
    };
    let tasks = [tokio::spawn(add(balance.clone())), tokio::spawn(add(balance.clone()))];
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(balance.load(SeqCst), 20);
}

/// Two locks in opposite orders.
#[tokio::test]
async fn opposite_orders() {
    let (a, b) = (Arc::new(Mutex::new(1)), Arc::new(Mutex::new(2)));
    let (a2, b2) = (a.clone(), b.clone());
    let one = tokio::spawn(async move {
        let first = a2.lock().await;
        yield_now().await;
        *first + *b2.lock().await
    });
    let two = tokio::spawn(async move {
        let second = b.lock().await;
        yield_now().await;
        *second + *a.lock().await
    });
    assert_eq!(one.await.unwrap() + two.await.unwrap(), 6);
}

async fn pair(inbox: &mut mpsc::Receiver<u32>) -> (u32, u32) {
    let first = inbox.recv().await.unwrap();
    let second = inbox.recv().await.unwrap();
    (first, second)
}

/// A branch that has received the first of two messages is dropped.
#[tokio::test]
async fn cancelled() {
    let (outbox, mut inbox) = mpsc::channel(4);
    let sender = tokio::spawn(async move {
        outbox.send(1).await.unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
        outbox.send(2).await.unwrap();
    });
    let both = tokio::select! {
        both = pair(&mut inbox) => Some(both),
        () = tokio::time::sleep(Duration::from_millis(5)) => None,
    };
    sender.await.unwrap();
    let both = both.or(inbox.try_recv().ok().zip(inbox.try_recv().ok()));
    assert_eq!(both, Some((1, 2)));
}

/// A permit that is returned only if the task goes on.
#[tokio::test]
async fn aborted() {
    let permits = Arc::new(Semaphore::new(1));
    let copy = permits.clone();
    let holder = tokio::spawn(async move {
        copy.acquire().await.unwrap().forget();
        yield_now().await;
        copy.add_permits(1);
    });
    yield_now().await;
    holder.abort();
    assert!(holder.await.is_err());
    assert_eq!(permits.available_permits(), 1);
}

/// A notification between a look at a flag and the wait for it; in a set of tasks that one task polls.
#[tokio::test]
async fn lost_notification() {
    let (ready, notify) = (Rc::new(Cell::new(false)), Arc::new(Notify::new()));
    let (ready2, notify2) = (ready.clone(), notify.clone());
    let tasks = async move {
        let waiter = spawn_local(async move {
            if !ready2.get() {
                yield_now().await;
                notify2.notified().await;
            }
        });
        let setter = spawn_local(async move {
            ready.set(true);
            notify.notify_waiters();
        });
        setter.await.unwrap();
        waiter.await.unwrap();
    };
    LocalSet::new().run_until(tasks).await;
}
