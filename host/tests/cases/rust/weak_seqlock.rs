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
//! run: --races bug -i 100 --suppress race:weak_seqlock*::mine::SeqLock::write* -- mine
//! exit: 0
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering::*, fence};
use std::thread;

// The words are at different places, since functions with the same code are made one, of either name.
macro_rules! seq_lock {
    ($at:literal) => {
        #[derive(Default)]
        pub struct SeqLock([AtomicUsize; $at + 1]);
        impl SeqLock {
            pub fn optimistic_read(&self) -> Option<usize> {
                let word = self.0[$at].load(Acquire);
                (word != 1).then_some(word)
            }
            pub fn validate_read(&self, word: usize) -> bool {
                fence(Acquire);
                self.0[$at].load(Relaxed) == word
            }
            pub fn write(&self, write: impl FnOnce()) {
                let before = self.0[$at].swap(1, Acquire);
                fence(Release);
                write();
                self.0[$at].store(before + 2, Release);
            }
        }
    };
}

mod crossbeam_utils {
    pub mod atomic {
        pub mod seq_lock {
            use super::super::super::*;
            seq_lock!(0);
        }
    }
}

mod mine {
    use super::*;
    seq_lock!(1);
}

struct Pair(UnsafeCell<[u32; 2]>);
// SAFETY: there is a data race, as in the crate.
unsafe impl Sync for Pair {}

static PAIR: Pair = Pair(UnsafeCell::new([0; 2]));
static MINE: Pair = Pair(UnsafeCell::new([0; 2]));

macro_rules! race {
    ($lock:ty, $pair:ident) => {{
        let lock = <$lock>::default();
        thread::scope(|scope| {
            scope.spawn(|| lock.write(|| unsafe { $pair.0.get().write_volatile([7; 2]) }));
            if let Some(word) = lock.optimistic_read() {
                let pair = unsafe { $pair.0.get().read_volatile() };
                assert!(!lock.validate_read(word) || pair[0] == pair[1]);
            }
        });
    }};
}

pub fn main() {
    match std::env::args().nth(1) {
        None => race!(crossbeam_utils::atomic::seq_lock::SeqLock, PAIR),
        Some(_) => race!(mine::SeqLock, MINE),
    }
}
