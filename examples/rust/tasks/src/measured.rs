//! The same work by tasks and by threads, for measurements of what a step of each costs: `cargo xtask bench`.
//! `bench/src/main.rs` has the programs for Shuttle.

use coyote::sync::Semaphore;
use coyote::task::{self, sync};
use coyote::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

const WORKERS: u32 = 4;
const ROUNDS: u32 = 25;

fn add(sum: &AtomicU32) {
    sum.store(sum.load(SeqCst) + 1, SeqCst);
}

/// Tasks that take turns with the only permit of a semaphore.
#[coyote::test]
fn permits_of_tasks() {
    task::block_on(async {
        let shared = Arc::new((sync::Semaphore::new(1), AtomicU32::new(0)));
        let start = |_| {
            let shared = shared.clone();
            task::spawn(async move {
                for _ in 0..ROUNDS {
                    let _permit = shared.0.acquire().await.expect("nobody closes it");
                    add(&shared.1);
                }
            })
        };
        let tasks: Vec<_> = (0..WORKERS).map(start).collect();
        for task in tasks {
            task.await.expect("nobody aborts it");
        }
        assert_eq!(shared.1.load(SeqCst), WORKERS * ROUNDS);
    });
}

/// The same by threads.
#[coyote::test]
fn permits_of_threads() {
    let shared = Arc::new((Semaphore::new(1), AtomicU32::new(0)));
    let start = |_| {
        let shared = shared.clone();
        thread::spawn(move || {
            for _ in 0..ROUNDS {
                shared.0.acquire();
                add(&shared.1);
                shared.0.release();
            }
        })
    };
    let threads: Vec<_> = (0..WORKERS).map(start).collect();
    threads.into_iter().for_each(|thread| thread.join());
    assert_eq!(shared.1.load(SeqCst), WORKERS * ROUNDS);
}

/// Tasks that give way after each addition.
#[coyote::test]
fn yields_of_tasks() {
    task::block_on(async {
        let sum = Arc::new(AtomicU32::new(0));
        let start = |_| {
            let sum = sum.clone();
            task::spawn(async move {
                for _ in 0..ROUNDS {
                    sum.fetch_add(1, SeqCst);
                    task::yield_now().await;
                }
            })
        };
        let tasks: Vec<_> = (0..WORKERS).map(start).collect();
        for task in tasks {
            task.await.expect("nobody aborts it");
        }
        assert_eq!(sum.load(SeqCst), WORKERS * ROUNDS);
    });
}

/// The same by threads.
#[coyote::test]
fn yields_of_threads() {
    let sum = Arc::new(AtomicU32::new(0));
    let start = |_| {
        let sum = sum.clone();
        thread::spawn(move || {
            for _ in 0..ROUNDS {
                sum.fetch_add(1, SeqCst);
                thread::yield_now();
            }
        })
    };
    let threads: Vec<_> = (0..WORKERS).map(start).collect();
    threads.into_iter().for_each(|thread| thread.join());
    assert_eq!(sum.load(SeqCst), WORKERS * ROUNDS);
}
