//! Tests whose tasks wait in vain. A comment names the test that waits at its line in the end.

use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, Notify, Semaphore, mpsc, oneshot};
use tokio::task::{JoinSet, yield_now};

async fn sum(from: &mut mpsc::Receiver<u32>) -> u32 {
    let mut sum = 0;
    loop {
        let next = from.recv().await; // kept_sender
        let Some(number) = next else { return sum };
        sum += number;
    }
}

#[tokio::test]
async fn kept_sender() {
    let (sender, mut inbox) = mpsc::channel(4);
    let copy = sender.clone();
    let reader = tokio::spawn(async move {
        // Another byte of the task's memory with the value of a state.
        let kind = std::hint::black_box(3_u8);
        let total = sum(&mut inbox).await;
        assert_eq!(kind, 3);
        total
    });
    tokio::spawn(async move { copy.send(1).await.unwrap() });
    assert_eq!(reader.await.unwrap(), 1); // kept_sender
    drop(sender);
}

#[tokio::test]
async fn opposite_orders() {
    let (a, b) = (Arc::new(Mutex::new(1)), Arc::new(Mutex::new(2)));
    let (a2, b2) = (a.clone(), b.clone());
    let one = tokio::spawn(async move {
        let first = a2.lock().await;
        yield_now().await;
        *first + *b2.lock().await // opposite_orders
    });
    let two = tokio::spawn(async move {
        let second = b.lock().await;
        yield_now().await;
        *second + *a.lock().await // opposite_orders
    });
    let both = one.await.unwrap() + two.await.unwrap(); // opposite_orders
    assert_eq!(both, 6);
}

/// What was aborted, dropped or has ended waits nowhere.
#[tokio::test]
async fn only_the_living() {
    let (never, notify) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (_sender, receiver) = oneshot::channel::<u32>();
    let (copy, other) = (never.clone(), notify.clone());
    #[rustfmt::skip]
    let selects = tokio::spawn(async move { tokio::select! { // only_the_living
        _ = copy.notified() => {}
        number = receiver => assert!(number.is_ok()),
    }});
    let copy = never.clone();
    let aborted = tokio::spawn(async move { copy.notified().await });
    let copy = never.clone();
    let late = tokio::time::timeout(Duration::from_millis(1), async move { copy.notified().await });
    let ended = tokio::spawn(async move { other.notified().await });
    assert!(late.await.is_err());
    notify.notify_one();
    aborted.abort();
    yield_now().await;
    let mut dropped = Box::pin(async move { never.notified().await });
    assert!(tokio::time::timeout(Duration::from_millis(1), &mut dropped).await.is_err());
    drop(dropped);
    yield_now().await;
    selects.await.unwrap(); // only_the_living
    assert!(ended.await.is_ok() && aborted.await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_threads() {
    let permits = Arc::new(Semaphore::new(1));
    let mut all = JoinSet::new();
    let first = permits.acquire().await.unwrap();
    for _ in 0..3 {
        let permits = permits.clone();
        all.spawn(async move {
            let _permit = permits.acquire().await.unwrap(); // on_threads
        });
    }
    let ended = all.join_next().await; // on_threads
    assert!(ended.unwrap().is_ok());
    drop(first);
}
