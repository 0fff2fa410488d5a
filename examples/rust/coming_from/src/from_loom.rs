//! A flag that says that a value is there, stored without an ordering.

use coyote::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// The flag is seen before the value: needs `--memory weak`.
#[coyote::test]
fn from_loom() {
    let shared = Arc::new((AtomicU32::new(0), AtomicBool::new(false)));
    let writer = shared.clone();
    let writer = thread::spawn(move || {
        writer.0.store(42, Relaxed);
        writer.1.store(true, Relaxed);
    });
    if shared.1.load(Relaxed) {
        assert_eq!(shared.0.load(Relaxed), 42, "the flag is set, and the value is not there");
    }
    writer.join();
}
