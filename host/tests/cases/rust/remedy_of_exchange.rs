//! A compare-exchange that writes is a release that a remedy for a race may name, as a swap is.
//! run: -i 300 --races bug
//! exit: 2
//! line: nothing orders the accesses; Acquire at
//! line: would: tried, no race then
//! run: -i 300 --races bug -- swap
//! exit: 2
//! line: nothing orders the accesses; Acquire at
//! line: would: tried, no race then
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::*};

static SHARED: AtomicPtr<u32> = AtomicPtr::new(null_mut());

fn main() {
    let writer = std::thread::spawn(|| {
        let block = Box::into_raw(Box::new(5_u32));
        if std::env::args().nth(1).is_some() {
            SHARED.swap(block, Release);
        } else {
            let _ = SHARED.compare_exchange(null_mut(), block, Release, Relaxed);
        }
    });
    let block = SHARED.load(Relaxed);
    if !block.is_null() {
        assert_eq!(unsafe { *block }, 5);
    }
    writer.join().unwrap();
}
