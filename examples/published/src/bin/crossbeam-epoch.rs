//! A pointer is replaced while another thread reads through it. Broken: the old value is freed at once.

use crossbeam_epoch::{self as epoch, Atomic, Owned};
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::thread;

fn main() {
    let value = Atomic::new(7);
    thread::scope(|scope| {
        scope.spawn(|| {
            let guard = epoch::pin();
            let old = value.swap(Owned::new(8), AcqRel, &guard);
            // SAFETY: nobody else frees it. If it is freed at once, somebody may still read it.
            unsafe {
                match published::broken() {
                    false => guard.defer_destroy(old),
                    true => {
                        let mut old = old.into_owned();
                        *old = 0;
                    }
                }
            }
        });
        let guard = epoch::pin();
        // SAFETY: it was allocated and, unless the program is broken, outlives the guard.
        let seen = unsafe { *value.load(Acquire, &guard).deref() };
        assert!(seen == 7 || seen == 8, "read after it was freed: {seen}");
    });
    // SAFETY: all threads have ended.
    drop(unsafe { value.into_owned() });
}
