//! The parts of tokio that work, one test each: all pass under every schedule.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Barrier, Mutex, RwLock, broadcast, mpsc, oneshot, watch};
use tokio::time::{sleep, timeout};
use tokio_stream::StreamExt;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

#[tokio::test(flavor = "multi_thread")]
async fn tasks_on_two_threads() {
    let total = Arc::new(Mutex::new(0));
    let tasks = [1, 2].map(|more| {
        let total = total.clone();
        tokio::spawn(async move { *total.lock().await += more })
    });
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*total.lock().await, 3);
}

#[tokio::test]
async fn a_local_set() {
    let local = tokio::task::LocalSet::new();
    let shared = Rc::new(std::cell::Cell::new(0));
    let task = local.spawn_local({
        let shared = shared.clone();
        async move { shared.set(7) }
    });
    local.run_until(task).await.unwrap();
    assert_eq!(shared.get(), 7);
}

#[tokio::test]
async fn blocking_code() {
    let tasks = [1, 2].map(|number| tokio::task::spawn_blocking(move || number));
    let mut sum = 0;
    for task in tasks {
        sum += task.await.unwrap();
    }
    assert_eq!(sum, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn blocking_in_place() {
    let task = tokio::spawn(async { tokio::task::block_in_place(|| 3) });
    assert_eq!(task.await.unwrap(), 3);
}

#[tokio::test]
async fn time() {
    assert_eq!(tokio_examples::slept().await, 2);
    let late = tokio::time::timeout(Duration::from_millis(5), std::future::pending::<()>());
    assert!(late.await.is_err());
    let mut interval = tokio::time::interval(Duration::from_secs(1));
    for _ in 0..3 {
        interval.tick().await;
    }
}

#[tokio::test]
async fn channels_and_locks() {
    let (outbox, mut inbox) = mpsc::channel(1);
    let (shout, mut heard) = broadcast::channel(2);
    let (tell, mut told) = watch::channel(0);
    let barrier = Arc::new(Barrier::new(2));
    let lock = Arc::new(RwLock::new(0));
    let task = tokio::spawn({
        let (barrier, lock) = (barrier.clone(), lock.clone());
        async move {
            outbox.send(1).await.unwrap();
            shout.send(2).unwrap();
            tell.send(3).unwrap();
            *lock.write().await = 4;
            barrier.wait().await;
        }
    });
    assert_eq!(inbox.recv().await, Some(1));
    assert_eq!(heard.recv().await, Ok(2));
    told.changed().await.unwrap();
    assert_eq!(*told.borrow(), 3);
    barrier.wait().await;
    assert_eq!(*lock.read().await, 4);
    task.await.unwrap();
}

#[tokio::test]
async fn pipes_in_memory() {
    let (mut near, mut far) = tokio::io::duplex(2);
    let task = tokio::spawn(async move { far.write_all(b"hello").await });
    let mut text = String::new();
    near.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "hello");
    task.await.unwrap().unwrap();
}

#[tokio::test]
async fn files() {
    tokio::fs::write("note.txt", "here").await.unwrap();
    assert_eq!(tokio::fs::read_to_string("note.txt").await.unwrap(), "here");
}

#[tokio::test]
async fn streams() {
    let numbers = tokio_stream::iter([1, 2, 3]).map(|number| number * 2);
    assert_eq!(numbers.collect::<Vec<_>>().await, [2, 4, 6]);
}

#[tokio::test]
async fn cancellation_and_tracking() {
    let (token, tracker) = (CancellationToken::new(), TaskTracker::new());
    for _ in 0..2 {
        let token = token.clone();
        tracker.spawn(async move { token.cancelled().await });
    }
    tracker.close();
    token.cancel();
    tracker.wait().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_earlier_timer_of_another_thread() {
    let (sender, receiver) = oneshot::channel();
    let task = tokio::spawn(async move {
        sleep(Duration::from_millis(1)).await;
        sender.send(1)
    });
    let received = timeout(Duration::from_millis(50), receiver).await;
    assert_eq!(task.await.unwrap(), Ok(()));
    assert_eq!(received, Ok(Ok(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_is_aborted() {
    let task = tokio::spawn(std::future::pending::<()>());
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
}
