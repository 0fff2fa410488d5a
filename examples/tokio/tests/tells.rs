//! Mistakes of tasks that share one thread, and tasks that print what becomes of them.

use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::task::{Context, Poll};
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

/// A future that prints what becomes of it.
struct Told<F> {
    name: usize,
    walk: Option<Pin<Box<F>>>,
}

impl<F: Future<Output = ()>> Future for Told<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let name = self.name;
        let Some(walk) = &mut self.walk else { return Poll::Ready(()) };
        let polled = walk.as_mut().poll(context);
        match polled {
            Poll::Pending => println!("told {name} suspends"),
            Poll::Ready(()) => {
                println!("told {name} ends");
                self.walk = None;
            }
        }
        polled
    }
}

impl<F> Drop for Told<F> {
    fn drop(&mut self) {
        if self.walk.is_some() {
            println!("told {} dropped", self.name);
        }
    }
}

/// A walk by coins, which prints each of its stops before it comes there.
async fn walk(coins: u64, name: usize, notify: Arc<Notify>) {
    if coins & 1 != 0 {
        println!("told {name} 1");
        yield_now().await; // stop 1
    }
    for _ in 0..coins >> 1 & 3 {
        println!("told {name} 2");
        yield_now().await; // stop 2
    }
    if coins & 8 != 0 {
        inner(coins, name).await;
    }
    if coins & 48 != 0 {
        println!("told {name} 4");
        notify.notified().await; // stop 4
    }
    notify.notify_one();
}

async fn inner(coins: u64, name: usize) {
    if coins & 64 != 0 {
        println!("told {name} 3");
        yield_now().await; // stop 3
    }
}

/// Tasks with random walks, of which one is aborted.
#[tokio::test]
async fn random_walks() {
    let coins = |of: u64| RandomState::new().hash_one(of);
    let notify = Arc::new(Notify::new());
    let walks = (0..3).map(|name| Some(Box::pin(walk(coins(name as u64), name, notify.clone()))));
    let tasks: Vec<_> = walks.enumerate().map(|(name, walk)| tokio::spawn(Told { name, walk })).collect();
    for _ in 0..=coins(4) & 1 {
        yield_now().await; // first
    }
    tasks[(coins(5) % 3) as usize].abort();
    for _ in 0..8 {
        yield_now().await; // last
    }
    panic!("the end");
}
