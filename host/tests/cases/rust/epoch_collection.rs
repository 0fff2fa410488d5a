//! The announcement of crossbeam-epoch in small: a thread that pins again hides the release with which it unpinned (C++20
//! ended release sequences at relaxed stores of the same thread). Frees by the crate are a note, others are a bug.
//! run: -i 300 --races bug
//! exit: 0
//! line: race:*crossbeam_epoch::internal::Global::collect* (built in)
//! run: -i 300 --races bug -- mine
//! exit: 2
//! line: data-race: free of 4 bytes at
//! run: -i 300 --races accesses -- mine
//! exit: 0
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*, fence};

static EPOCH: AtomicUsize = AtomicUsize::new(1);
static SHARED: AtomicPtr<u32> = AtomicPtr::new(std::ptr::null_mut());

mod crossbeam_epoch {
    pub mod internal {
        pub struct Global;
        impl Global {
            #[inline(never)]
            pub fn collect(&self, block: *mut u32) {
                drop(unsafe { Box::from_raw(block) });
            }
        }
    }
}

mod mine {
    #[inline(never)]
    pub fn collect(block: *mut u32) {
        // Functions with the same code are made one.
        std::hint::black_box(block);
        drop(unsafe { Box::from_raw(block) });
    }
}

fn main() {
    let block = Box::into_raw(Box::new(5_u32));
    SHARED.store(block, Release);
    let reader = std::thread::spawn(|| {
        fence(SeqCst);
        assert_eq!(unsafe { *SHARED.load(Acquire) }, 5);
        EPOCH.store(0, Release);
        EPOCH.store(3, Relaxed);
        fence(SeqCst);
    });
    fence(SeqCst);
    if EPOCH.load(Relaxed) == 3 {
        fence(Acquire);
        match std::env::args().nth(1) {
            None => crossbeam_epoch::internal::Global.collect(block),
            Some(_) => mine::collect(block),
        }
    }
    reader.join().unwrap();
}
