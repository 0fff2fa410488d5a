//! crossbeam-epoch: values that are replaced while others read them.

use correct::message;
use crossbeam_epoch::{Atomic, Owned, Shared, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering::*;
use std::thread;

#[test]
fn replaces() {
    let current = Arc::new(Atomic::new(message(0)));
    let threads = [1, 2].map(|number| {
        let current = current.clone();
        thread::spawn(move || {
            let guard = pin();
            let old = current.swap(Owned::new(message(number)), AcqRel, &guard);
            // SAFETY: it is reachable no more, and this thread alone has taken it out.
            unsafe {
                assert!(**old.deref() <= 2);
                guard.defer_destroy(old);
            }
            guard.flush();
        })
    });
    {
        let guard = pin();
        // SAFETY: what is read while the guard exists is not destroyed.
        assert!(unsafe { **current.load(Acquire, &guard).deref() } <= 2);
    }
    for thread in threads {
        thread.join().unwrap();
    }
    // SAFETY: nobody else is there.
    unsafe { drop(current.swap(Shared::null(), AcqRel, crossbeam_epoch::unprotected()).into_owned()) }
}
