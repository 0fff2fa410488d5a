//! Locks, semaphores, notifications and barriers of two or three tasks.

use crate::{once, say};
use coyote::task::sync::{Barrier, Mutex, Notify, RwLock, Semaphore};
use coyote::task::{self, block_on, spawn};
use std::pin::pin;
use std::sync::Arc;

/// outcomes: a+ a- b+ b-; b+ b- a+ a-
#[coyote::test]
fn mutex_excludes() {
    let mutex = Arc::new(Mutex::new(()));
    let of = |name: &'static str| {
        let mutex = mutex.clone();
        async move {
            let _guard = mutex.lock().await;
            say(format!("{name}+"));
            task::yield_now().await;
            say(format!("{name}-"));
        }
    };
    drop(spawn(of("a")));
    block_on(of("b"));
}

/// outcomes by stateful: 2
#[coyote::test]
fn mutex_counts() {
    let mutex = Arc::new(Mutex::new(0));
    let add = || {
        let mutex = mutex.clone();
        async move {
            let mut guard = mutex.lock_owned().await;
            let before = *guard;
            task::yield_now().await;
            *guard = before + 1;
        }
    };
    let task = spawn(add());
    block_on(add());
    task.join().unwrap();
    say(*mutex.try_lock().unwrap());
}

/// outcomes by stateful: free; taken
#[coyote::test]
fn mutex_try_lock() {
    let mutex = Arc::new(Mutex::new(()));
    let locks = mutex.clone();
    let task = spawn(async move { drop(locks.lock().await) });
    say(if mutex.try_lock().is_ok() { "free" } else { "taken" });
    task.join().unwrap();
}

/// A lock of threads: an attempt that fails changes nothing.
/// outcomes by stateful: free; taken
#[coyote::test]
fn mutex_of_threads_try_lock() {
    let mutex = Arc::new(coyote::sync::Mutex::new(()));
    let locks = mutex.clone();
    let thread = coyote::thread::spawn(move || drop(locks.lock()));
    say(if mutex.try_lock().is_some() { "free" } else { "taken" });
    thread.join();
    let guard = mutex.try_lock().expect("the thread has ended");
    assert!(mutex.try_lock().is_none());
    drop(guard);
}

/// In opposite order.
/// outcomes by stateful: end; deadlock
#[coyote::test]
fn mutexes_in_opposite_order() {
    let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
    let both = |first: &Arc<Mutex<()>>, second: &Arc<Mutex<()>>| {
        let (first, second) = (first.clone(), second.clone());
        async move {
            let _first = first.lock().await;
            let _second = second.lock().await;
        }
    };
    let task = spawn(both(&a, &b));
    block_on(both(&b, &a));
    task.join().unwrap();
    say("end");
}

/// What an aborted task was given, or waits for, is not lost.
/// outcomes: end
#[coyote::test]
fn mutex_is_given_on_by_aborted_tasks() {
    let mutex = Arc::new(Mutex::new(()));
    let guard = mutex.try_lock().unwrap();
    let locks = mutex.clone();
    let task = spawn(async move { drop(locks.lock().await) });
    let aborts = task.abort_handle();
    drop(guard);
    aborts.abort();
    block_on(async { drop(mutex.lock().await) });
    say("end");
}

/// Two readers meet, with or without the writer before them.
/// outcomes: 0 0; 0 1; 1 1
#[coyote::test]
fn rwlock_readers_and_a_writer() {
    let lock = Arc::new(RwLock::new(0));
    let writes = lock.clone();
    drop(spawn(async move { *writes.write().await = 1 }));
    block_on(async {
        say(*lock.read().await);
        say(*lock.read().await);
    });
}

/// A reader that reads once more behind a waiting writer waits for itself.
/// outcomes by stateful: end; deadlock
#[coyote::test]
fn rwlock_is_fair_to_writers() {
    let lock = Arc::new(RwLock::new(()));
    let writes = lock.clone();
    let writer = spawn(async move { drop(writes.write().await) });
    block_on(async {
        let first = lock.read().await;
        let second = lock.read().await;
        drop((first, second));
    });
    writer.join().unwrap();
    say("end");
}

/// outcomes: end
#[coyote::test]
fn semaphore_hands_permits_on() {
    let permits = Arc::new(Semaphore::new(1));
    let two = permits.clone();
    drop(spawn(async move { drop(two.acquire_many(2).await.unwrap()) }));
    permits.add_permits(1);
    block_on(async { drop(permits.acquire().await.unwrap()) });
    say("end");
}

/// outcomes by stateful: permit; closed
#[coyote::test]
fn semaphore_is_closed() {
    let permits = Arc::new(Semaphore::new(0));
    let waits = permits.clone();
    let task = spawn(async move { waits.acquire().await.is_ok() });
    permits.add_permits(1);
    permits.close();
    say(if task.join().unwrap() { "permit" } else { "closed" });
}

/// A permit that a waiting task is given is lost to it if the semaphore is closed before the task goes on.
/// outcomes by stateful: permit 0; closed 1
#[coyote::test]
fn semaphore_is_closed_after_a_permit() {
    let permits = Arc::new(Semaphore::new(0));
    let closes = permits.clone();
    block_on(async {
        let mut waits = pin!(permits.acquire());
        assert!(once(waits.as_mut()).await.is_none());
        let task = spawn(async move {
            closes.add_permits(1);
            closes.close();
        });
        let permit = waits.await;
        task.await.unwrap();
        say(if permit.is_ok() { "permit" } else { "closed" });
        say(permits.available_permits());
    });
}

/// Two notifications that nobody waits for are one.
/// outcomes by stateful: woken woken; deadlock
#[coyote::test]
fn notify_keeps_one() {
    let notify = Arc::new(Notify::new());
    let twice = notify.clone();
    drop(spawn(async move {
        twice.notify_one();
        twice.notify_one();
    }));
    block_on(async {
        notify.notified().await;
        say("woken");
        notify.notified().await;
        say("woken");
    });
}

/// Not kept for those that come later.
/// outcomes by stateful: woken; deadlock
#[coyote::test]
fn notify_waiters_is_not_kept() {
    let notify = Arc::new(Notify::new());
    let all = notify.clone();
    drop(spawn(async move { all.notify_waiters() }));
    block_on(notify.notified());
    say("woken");
}

/// A notification that a dropped future was given goes to the next one.
/// outcomes by stateful: end
#[coyote::test]
fn notification_is_given_on() {
    let notify = Arc::new(Notify::new());
    let waits = notify.clone();
    let first = spawn(async move { waits.notified().await });
    notify.notify_one();
    first.abort();
    if first.join().is_err() {
        block_on(notify.notified());
    }
    say("end");
}

/// outcomes by stateful: true; false
#[coyote::test]
fn barrier_has_one_leader() {
    let barrier = Arc::new(Barrier::new(2));
    let passes = barrier.clone();
    let task = spawn(async move { passes.wait().await.is_leader() });
    let leads = block_on(barrier.wait()).is_leader();
    assert_eq!(task.join().unwrap(), !leads);
    say(leads);
}

/// outcomes by stateful: deadlock
#[coyote::test]
fn barrier_waits_for_all() {
    block_on(Barrier::new(2).wait());
}
