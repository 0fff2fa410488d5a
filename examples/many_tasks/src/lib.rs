//! Ten thousand tasks in one test, which all wait at once. `host/tests/host/tasks.rs` builds and explores it.
//!
//! A crate of its own: what is done with every example would take too long with this one.

use coyote::task::{self, sync::Notify};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

const TASKS: u32 = 10_000;

/// Each is woken by the one before it, and counts.
#[coyote::test]
fn ten_thousand() {
    task::block_on(async {
        let go = Arc::new(Notify::new());
        let count = Arc::new(AtomicU32::new(0));
        let spawn = |_| {
            let (go, count) = (go.clone(), count.clone());
            task::spawn(async move {
                go.notified().await;
                count.fetch_add(1, SeqCst);
                go.notify_one();
            })
        };
        let tasks: Vec<_> = (0..TASKS).map(spawn).collect();
        go.notify_one();
        for task in tasks {
            task.await.expect("nobody aborts it");
        }
        assert_eq!(count.load(SeqCst), TASKS);
    });
}
