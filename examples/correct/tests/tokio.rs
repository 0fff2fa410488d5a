//! tokio: everything of `tokio::sync`, by tasks on two threads, and by threads that block.

use correct::{Place, message};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::sync::{
    Barrier, Mutex, Notify, OnceCell, RwLock, Semaphore, SetOnce, broadcast, mpsc, oneshot, watch,
};

#[tokio::test(flavor = "multi_thread")]
async fn mutex() {
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

#[test]
fn mutex_by_threads() {
    let total = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| *total.blocking_lock() += 1);
        }
        if let Ok(mut total) = total.try_lock() {
            *total += 1;
        }
    });
    assert!((2..4).contains(&total.into_inner()));
}

#[tokio::test(flavor = "multi_thread")]
async fn rwlock() {
    let pair = Arc::new(RwLock::new((0, 0)));
    let writer = tokio::spawn({
        let pair = pair.clone();
        async move {
            let mut pair = pair.write().await;
            pair.0 += 1;
            pair.1 += 1;
            let pair = pair.downgrade();
            assert_eq!(*pair, (1, 1));
        }
    });
    let reader = tokio::spawn({
        let pair = pair.clone();
        async move {
            let pair = pair.read().await;
            assert_eq!(pair.0, pair.1);
        }
    });
    writer.await.unwrap();
    reader.await.unwrap();
}

#[test]
fn rwlock_by_threads() {
    let pair = RwLock::new((0, 0));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut pair = pair.blocking_write();
            pair.0 += 1;
            pair.1 += 1;
        });
        scope.spawn(|| {
            let pair = pair.blocking_read();
            assert_eq!(pair.0, pair.1);
        });
        if let Ok(pair) = pair.try_read() {
            assert_eq!(pair.0, pair.1);
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn semaphore_of_one() {
    let (permits, place) = (Arc::new(Semaphore::new(1)), Arc::new(Place::default()));
    let tasks = [(); 2].map(|()| {
        let (permits, place) = (permits.clone(), place.clone());
        tokio::spawn(async move {
            let _permit = permits.acquire().await.unwrap();
            place.add(1);
        })
    });
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(place.read(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn semaphore_that_gives_up_and_closes() {
    let permits = Arc::new(Semaphore::new(0));
    let two = tokio::spawn({
        let permits = permits.clone();
        async move { permits.acquire_many_owned(2).await.map(|permit| permit.forget()).is_ok() }
    });
    let late = tokio::spawn({
        let permits = permits.clone();
        async move { tokio::time::timeout(Duration::from_millis(1), permits.acquire()).await.is_ok() }
    });
    permits.add_permits(1);
    permits.add_permits(1);
    late.await.unwrap();
    permits.close();
    let taken = if two.await.unwrap() { 2 } else { 0 };
    assert_eq!(permits.available_permits(), 2 - taken);
}

#[tokio::test(flavor = "multi_thread")]
async fn notify_one() {
    let shared = Arc::new((Notify::new(), Place::default()));
    let task = tokio::spawn({
        let shared = shared.clone();
        async move {
            shared.0.notified().await;
            assert_eq!(shared.1.read(), 1);
        }
    });
    shared.1.write(1);
    shared.0.notify_one();
    task.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn notify_waiters() {
    let shared = Arc::new((Notify::new(), Place::default()));
    let tasks = [(); 2].map(|()| {
        let notified = shared.clone();
        let (tell, told) = oneshot::channel();
        let task = tokio::spawn(async move {
            let waiting = notified.0.notified();
            tell.send(()).unwrap();
            waiting.await;
            assert_eq!(notified.1.read(), 1);
        });
        (task, told)
    });
    let [(first, one), (second, two)] = tasks;
    one.await.unwrap();
    two.await.unwrap();
    shared.1.write(1);
    shared.0.notify_waiters();
    first.await.unwrap();
    second.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn notified_task_that_gives_up() {
    let shared = Arc::new(Notify::new());
    let tasks = [(); 2].map(|()| {
        let shared = shared.clone();
        tokio::spawn(async move {
            let _ = tokio::time::timeout(Duration::from_millis(1), shared.notified()).await;
        })
    });
    shared.notify_one();
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn oneshot_sent() {
    let (tell, told) = oneshot::channel();
    let task = tokio::spawn(async move { tell.send(message(1)).unwrap() });
    assert_eq!(*told.await.unwrap(), 1);
    task.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn oneshot_that_is_dropped_or_closed() {
    let (tell, told) = oneshot::channel::<Box<u32>>();
    let (mut call, called) = oneshot::channel::<Box<u32>>();
    let task = tokio::spawn(async move {
        drop(tell);
        call.closed().await;
        assert_eq!(*call.send(message(2)).unwrap_err(), 2);
    });
    assert!(told.await.is_err());
    drop(called);
    task.await.unwrap();
}

#[test]
fn oneshot_by_threads() {
    let (tell, told) = oneshot::channel();
    thread::scope(|scope| {
        scope.spawn(move || tell.send(message(1)).unwrap());
        assert_eq!(*told.blocking_recv().unwrap(), 1);
    });
}

#[test]
fn oneshot_tried_and_closed() {
    let (tell, mut told) = oneshot::channel();
    thread::scope(|scope| {
        let sent = scope.spawn(move || tell.send(message(1)).is_ok());
        let mut got = told.try_recv().is_ok();
        told.close();
        got |= told.try_recv().is_ok();
        assert_eq!(sent.join().unwrap(), got);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn mpsc_of_one() {
    let (outbox, mut inbox) = mpsc::channel(1);
    let tasks = [1, 2].map(|number| {
        let outbox = outbox.clone();
        tokio::spawn(async move { outbox.send(message(number)).await.unwrap() })
    });
    drop(outbox);
    let mut sum = 0;
    while let Some(number) = inbox.recv().await {
        sum += *number;
    }
    assert_eq!(sum, 3);
    for task in tasks {
        task.await.unwrap();
    }
}

#[test]
fn mpsc_by_threads() {
    let (outbox, mut inbox) = mpsc::channel(1);
    thread::scope(|scope| {
        for number in [1, 2] {
            let outbox = outbox.clone();
            scope.spawn(move || outbox.blocking_send(message(number)).unwrap());
        }
        drop(outbox);
        let mut sum = 0;
        while let Some(number) = inbox.blocking_recv() {
            sum += *number;
        }
        assert_eq!(sum, 3);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn mpsc_permits_and_closing() {
    let (outbox, mut inbox) = mpsc::channel(2);
    let task = tokio::spawn(async move {
        let mut sent = 0;
        if let Ok(permit) = outbox.reserve().await {
            permit.send(message(1));
            sent += 1;
        }
        if outbox.try_send(message(1)).is_ok() {
            sent += 1;
        }
        sent
    });
    let mut got = 0;
    if inbox.recv().await.is_some() {
        got += 1;
    }
    inbox.close();
    while let Some(number) = inbox.recv().await {
        got += *number;
    }
    assert_eq!(task.await.unwrap(), got);
}

#[test]
fn mpsc_unbounded_across_blocks() {
    let (outbox, mut inbox) = mpsc::unbounded_channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0..33 {
                outbox.send(message(number)).unwrap();
            }
        });
        let mut next = 0;
        while let Some(number) = inbox.blocking_recv() {
            assert_eq!(*number, next);
            next += 1;
        }
        assert_eq!(next, 33);
    });
}

#[test]
fn mpsc_whose_receiver_leaves() {
    let (outbox, mut inbox) = mpsc::unbounded_channel();
    thread::scope(|scope| {
        for _ in 0..2 {
            let outbox = outbox.clone();
            scope.spawn(move || while outbox.send(message(1)).is_ok() {});
        }
        drop(outbox);
        assert_eq!(*inbox.blocking_recv().unwrap(), 1);
        drop(inbox);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn broadcast_to_two() {
    let (shout, mut first) = broadcast::channel::<Box<u32>>(2);
    let mut second = shout.subscribe();
    let task = tokio::spawn(async move {
        assert_eq!(*second.recv().await.unwrap(), 1);
        assert_eq!(*second.recv().await.unwrap(), 2);
    });
    let shouting = tokio::spawn(async move {
        shout.send(message(1)).unwrap();
        shout.send(message(2)).unwrap();
    });
    assert_eq!(*first.recv().await.unwrap(), 1);
    assert_eq!(*first.recv().await.unwrap(), 2);
    assert!(first.recv().await.is_err());
    shouting.await.unwrap();
    task.await.unwrap();
}

#[test]
fn broadcast_that_is_missed() {
    let (shout, mut heard) = broadcast::channel::<Box<u32>>(1);
    thread::scope(|scope| {
        scope.spawn(move || {
            for number in 1..4 {
                shout.send(message(number)).unwrap();
            }
        });
        let mut seen = 0;
        loop {
            match heard.blocking_recv() {
                Ok(_) => seen += 1,
                Err(broadcast::error::RecvError::Lagged(missed)) => seen += missed,
                Err(broadcast::error::RecvError::Closed) => break,
            }
        }
        assert_eq!(seen, 3);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn watch_changes() {
    let (tell, mut told) = watch::channel(message(0));
    let task = tokio::spawn(async move {
        tell.send(message(1)).unwrap();
        tell.send_modify(|number| **number += 1);
        tell.closed().await;
    });
    let mut last = 0;
    while last < 2 {
        told.changed().await.unwrap();
        let now = **told.borrow_and_update();
        assert!(now > last);
        last = now;
    }
    drop(told);
    task.await.unwrap();
}

#[test]
fn watch_by_threads() {
    let (tell, told) = watch::channel(message(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            let told = told.clone();
            scope.spawn(move || assert!(**told.borrow() <= 2));
        }
        tell.send_replace(message(1));
        tell.send_if_modified(|number| {
            **number += 1;
            true
        });
    });
    assert!(told.has_changed().is_ok_and(|changed| changed));
}

#[tokio::test(flavor = "multi_thread")]
async fn barrier() {
    let shared = Arc::new((Barrier::new(2), Place::default()));
    let task = tokio::spawn({
        let shared = shared.clone();
        async move {
            shared.1.write(1);
            shared.0.wait().await.is_leader()
        }
    });
    let here = shared.0.wait().await.is_leader();
    assert_eq!(shared.1.read(), 1);
    assert!(here != task.await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn once_cell() {
    static CELL: OnceCell<Box<u32>> = OnceCell::const_new();
    let tasks = [1, 2].map(|number| {
        tokio::spawn(async move {
            let value = CELL.get_or_init(async || message(number)).await;
            **value
        })
    });
    let [first, second] = tasks;
    assert_eq!(first.await.unwrap(), second.await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn set_once() {
    let cell = Arc::new(SetOnce::new());
    let task = tokio::spawn({
        let cell = cell.clone();
        async move { cell.set(message(1)).unwrap() }
    });
    assert_eq!(**cell.wait().await, 1);
    task.await.unwrap();
}
