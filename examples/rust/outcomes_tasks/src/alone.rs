//! What one task sees of queues: fairness, and what becomes of futures that are dropped.

use crate::{once, say};
use coyote::task::block_on;
use coyote::task::sync::{
    Mutex, Notify, RwLock, Semaphore, TryAcquireError, broadcast, mpsc, oneshot, watch,
};
use std::pin::pin;

/// Nobody overtakes, also where there would be enough for who comes later.
/// outcomes: end
#[coyote::test]
fn semaphore_is_fair() {
    block_on(async {
        let permits = Semaphore::new(1);
        let mut many = pin!(permits.acquire_many(2));
        let mut one = pin!(permits.acquire());
        assert!(once(many.as_mut()).await.is_none());
        assert!(once(one.as_mut()).await.is_none());
        assert_eq!(permits.try_acquire().err(), Some(TryAcquireError::NoPermits));
        assert_eq!(permits.available_permits(), 0);
        permits.add_permits(1);
        assert!(once(one.as_mut()).await.is_none());
        let both = once(many.as_mut()).await.expect("there are two").unwrap();
        assert_eq!(both.num_permits(), 2);
        drop(both);
        let _one = once(one.as_mut()).await.expect("there are two").unwrap();
        assert_eq!(permits.available_permits(), 1);
        assert_eq!(permits.forget_permits(5), 1);
        permits.close();
        assert_eq!(permits.try_acquire().err(), Some(TryAcquireError::Closed));
        assert!(permits.acquire().await.is_err());
    });
    say("end");
}

/// What waiters were given when the semaphore is closed comes back once they fail, and nobody waits for nothing.
/// outcomes: end
#[coyote::test]
fn semaphore_takes_back() {
    block_on(async {
        let permits = Semaphore::new(1);
        {
            let mut many = pin!(permits.acquire_many(2));
            let mut one = pin!(permits.acquire());
            assert!(once(many.as_mut()).await.is_none());
            assert!(once(one.as_mut()).await.is_none());
            // The free one is that of who waits.
            assert_eq!(permits.forget_permits(1), 0);
            assert_eq!(once(pin!(permits.acquire_many(0))).await.expect("at once").unwrap().num_permits(), 0);
            permits.add_permits(1);
            permits.close();
            assert_eq!(permits.available_permits(), 0);
            assert!(once(many.as_mut()).await.expect("it is told").is_err());
            assert!(once(one.as_mut()).await.expect("it is told").is_err());
        }
        assert_eq!(permits.available_permits(), 2);
        assert!(permits.acquire_many(0).await.is_err());
        assert_eq!(permits.forget_permits(1), 1);
        assert_eq!(permits.available_permits(), 1);
    });
    say("end");
}

/// outcomes: end
#[coyote::test]
fn dropped_futures_give_back() {
    block_on(async {
        let permits = Semaphore::new(0);
        {
            let mut first = pin!(permits.acquire());
            let mut second = pin!(permits.acquire());
            assert!(once(first.as_mut()).await.is_none());
            assert!(once(second.as_mut()).await.is_none());
            // Given to the first one, which is never polled again.
            permits.add_permits(1);
            first.set(permits.acquire());
            assert!(once(second.as_mut()).await.is_some());
        }
        assert_eq!(permits.available_permits(), 1);
        let mutex = Mutex::new(());
        {
            let guard = mutex.lock().await;
            let mut waits = pin!(mutex.lock());
            assert!(once(waits.as_mut()).await.is_none());
            drop(guard);
            assert!(mutex.try_lock().is_err());
        }
        drop(mutex.try_lock().expect("who waited has gone"));
    });
    say("end");
}

/// outcomes: end
#[coyote::test]
fn rwlock_is_fair() {
    block_on(async {
        let lock = RwLock::new(0);
        let first = lock.read().await;
        drop(lock.try_read().expect("readers come together"));
        let mut writer = pin!(lock.write());
        let mut reader = pin!(lock.read());
        assert!(once(writer.as_mut()).await.is_none());
        assert!(once(reader.as_mut()).await.is_none());
        assert!(lock.try_read().is_err());
        drop(first);
        assert!(once(reader.as_mut()).await.is_none());
        *once(writer.as_mut()).await.expect("it is the writer's turn") = 1;
        assert_eq!(*once(reader.as_mut()).await.expect("it is the reader's turn"), 1);
    });
    say("end");
}

/// outcomes: end
#[coyote::test]
fn notify_counts_from_the_call() {
    block_on(async {
        let notify = Notify::new();
        let made = notify.notified();
        notify.notify_waiters();
        made.await;
        let mut later = pin!(notify.notified());
        assert!(once(later.as_mut()).await.is_none());
        // One that has begun to wait without being polled.
        {
            let mut enabled = pin!(notify.notified());
            assert!(!enabled.as_mut().enable());
            notify.notify_one();
            assert!(once(later.as_mut()).await.is_some());
            notify.notify_one();
        }
        // What the dropped one was given is kept.
        assert!(once(pin!(notify.notified())).await.is_some());
        assert!(once(pin!(notify.notified())).await.is_none());
    });
    say("end");
}

/// outcomes: end
#[coyote::test]
fn channels_are_fair() {
    block_on(async {
        let (sender, mut receiver) = mpsc::channel(1);
        sender.send(0).await.unwrap();
        let mut first = pin!(sender.send(1));
        let mut second = pin!(sender.send(2));
        assert!(once(first.as_mut()).await.is_none());
        assert!(once(second.as_mut()).await.is_none());
        assert_eq!(receiver.recv().await, Some(0));
        // The room is the first one's.
        assert!(once(second.as_mut()).await.is_none());
        assert!(sender.try_send(3).is_err());
        assert!(once(pin!(receiver.recv())).await.is_none());
        assert!(once(first.as_mut()).await.is_some());
        receiver.close();
        assert!(once(second.as_mut()).await.expect("it is told").is_err());
        assert_eq!(receiver.recv().await, Some(1));
        assert_eq!(receiver.recv().await, None);
        assert!(sender.is_closed());
    });
    say("end");
}

/// Room that a sender was given comes back once the sender learns that the channel is closed.
/// outcomes: end
#[coyote::test]
fn mpsc_takes_back() {
    block_on(async {
        let (sender, mut receiver) = mpsc::channel(1);
        sender.send(0).await.unwrap();
        let mut second = pin!(sender.send(1));
        assert!(once(second.as_mut()).await.is_none());
        assert_eq!(receiver.recv().await, Some(0));
        receiver.close();
        // The room may still be used, as far as the receiver knows.
        assert_eq!(receiver.try_recv(), Err(mpsc::TryRecvError::Empty));
        let mut last = pin!(receiver.recv());
        assert!(once(last.as_mut()).await.is_none());
        assert!(once(second.as_mut()).await.expect("it is told").is_err());
        assert_eq!(last.await, None);
    });
    say("end");
}

/// outcomes: end
#[coyote::test]
fn closed_channels() {
    block_on(async {
        let (sender, receiver) = oneshot::channel::<u32>();
        drop(sender);
        assert!(receiver.await.is_err());
        let (sender, mut receiver) = oneshot::channel();
        sender.send(1).unwrap();
        receiver.close();
        assert_eq!(receiver.await, Ok(1));
        let (sender, mut receiver) = broadcast::channel(2);
        for number in 0..3 {
            sender.send(number).unwrap();
        }
        assert_eq!(receiver.try_recv(), Err(broadcast::TryRecvError::Lagged(1)));
        assert_eq!((receiver.try_recv(), sender.len()), (Ok(1), 1));
        drop(sender);
        assert_eq!(receiver.recv().await, Ok(2));
        assert_eq!(receiver.recv().await, Err(broadcast::RecvError::Closed));
        let (sender, mut receiver) = watch::channel(0);
        assert_eq!(receiver.has_changed(), Ok(false));
        sender.send(1).unwrap();
        drop(sender);
        // The value is still there, though this says no more.
        assert!(receiver.has_changed().is_err());
        assert!(receiver.changed().await.is_ok());
        assert_eq!(*receiver.borrow(), 1);
        assert!(receiver.changed().await.is_err());
        let mut asked = 0;
        let is_two = |value: &i32| {
            asked += 1;
            *value == 2
        };
        assert!(receiver.wait_for(is_two).await.is_err());
        assert_eq!(asked, 1);
        let (sender, receiver) = watch::channel(0);
        drop(receiver);
        assert!(sender.send(1).is_err());
        assert_eq!(*sender.borrow(), 0);
    });
    say("end");
}
