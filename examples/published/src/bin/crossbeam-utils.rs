//! Scoped threads and a wait group. Broken: the group is waited for before a thread has joined it.

use crossbeam_utils::sync::WaitGroup;
use crossbeam_utils::thread;
use std::sync::atomic::{AtomicU32, Ordering};

fn main() {
    let done = AtomicU32::new(0);
    thread::scope(|scope| {
        let group = WaitGroup::new();
        for _ in 0..2 {
            let member = (!published::broken()).then(|| group.clone());
            let done = &done;
            scope.spawn(move |_| {
                done.fetch_add(1, Ordering::SeqCst);
                drop(member);
            });
        }
        group.wait();
        assert_eq!(done.load(Ordering::SeqCst), 2, "the group did not wait");
    })
    .unwrap();
}
