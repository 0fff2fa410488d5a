//! A ticket office whose database is asked twice: is there a seat left, and take one.

use coyote::task;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

struct Office {
    seats: AtomicU32,
}

impl Office {
    async fn sell(&self) -> bool {
        task::yield_now().await;
        if self.seats.load(SeqCst) == 0 {
            return false;
        }
        task::yield_now().await;
        self.seats.fetch_sub(1, SeqCst);
        true
    }
}

/// Both requests see the last seat.
#[coyote::test]
fn from_coyote() {
    task::block_on(async {
        let office = Arc::new(Office { seats: AtomicU32::new(1) });
        let (first, second) = (office.clone(), office.clone());
        let first = task::spawn(async move { first.sell().await });
        let second = task::spawn(async move { second.sell().await });
        let first = first.await.expect("nobody aborts it");
        let second = second.await.expect("nobody aborts it");
        assert!(first ^ second, "one seat is sold twice");
    });
}
