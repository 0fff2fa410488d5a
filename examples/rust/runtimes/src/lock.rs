//! A lock of one atomic flag.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

#[derive(Default)]
struct Lock(AtomicBool);

impl Lock {
    /// The wait and the acquisition are one step.
    fn lock(&self) {
        coyote::wait_until(|| !self.0.swap(true, Ordering::Acquire));
    }

    /// Mistake: another worker may take the lock between the wait and the store.
    fn lock_in_two_steps(&self) {
        coyote::wait_until(|| !self.0.load(Ordering::Acquire));
        self.0.store(true, Ordering::Relaxed);
    }

    fn unlock(&self) {
        self.0.store(false, Ordering::Release);
    }
}

fn count(lock: fn(&Lock)) {
    let (of_both, sum) = (Lock::default(), AtomicU32::new(0));
    coyote::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                lock(&of_both);
                let before = sum.load(Ordering::Relaxed);
                sum.store(before + 1, Ordering::Relaxed);
                of_both.unlock();
            });
        }
    });
    assert_eq!(sum.into_inner(), 2, "both workers were in the lock");
}

#[coyote::test]
fn torn_lock() {
    count(Lock::lock_in_two_steps);
}

#[coyote::test]
fn torn_lock_fixed() {
    count(Lock::lock);
}
