//! A sequence lock around plain memory, with weak memory: what an optimistic read has seen is validated by the newest
//! word, by the names of a crate's functions. Elsewhere, the data race must be found before weak memory says anything.
//! run: --memory weak -s surw -i 2000
//! exit: 0
//! run: --memory weak -s surw -i 2000 -- mine
//! exit: 2
//! line: reads the value of the beginning, though step
//! run: --races bug -i 100 -- mine
//! exit: 2
//! line: bug in test main: data-race
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering::*, fence};
use std::thread;

macro_rules! seq_lock {
    () => {
        pub struct SeqLock(pub AtomicUsize);
        impl SeqLock {
            pub fn optimistic_read(&self) -> Option<usize> {
                let word = self.0.load(Acquire);
                (word != 1).then_some(word)
            }
            pub fn validate_read(&self, word: usize) -> bool {
                fence(Acquire);
                self.0.load(Relaxed) == word
            }
            pub fn write(&self, write: impl FnOnce()) {
                let before = self.0.swap(1, Acquire);
                fence(Release);
                write();
                self.0.store(before + 2, Release);
            }
        }
    };
}

mod crossbeam_utils {
    pub mod atomic {
        pub mod seq_lock {
            use super::super::super::*;
            seq_lock!();
        }
    }
}

mod mine {
    use super::*;
    seq_lock!();
}

struct Pair(UnsafeCell<[u32; 2]>);
// SAFETY: there is a data race, as in the crate.
unsafe impl Sync for Pair {}

static PAIR: Pair = Pair(UnsafeCell::new([0; 2]));
// Of its own, since functions with the same code are made one.
static MINE: Pair = Pair(UnsafeCell::new([0; 2]));

macro_rules! race {
    ($lock:expr, $pair:ident) => {{
        let lock = $lock(AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| lock.write(|| unsafe { $pair.0.get().write_volatile([7; 2]) }));
            if let Some(word) = lock.optimistic_read() {
                let pair = unsafe { $pair.0.get().read_volatile() };
                assert!(!lock.validate_read(word) || pair[0] == pair[1]);
            }
        });
    }};
}

fn main() {
    match std::env::args().nth(1) {
        None => race!(crossbeam_utils::atomic::seq_lock::SeqLock, PAIR),
        Some(_) => race!(mine::SeqLock, MINE),
    }
}
