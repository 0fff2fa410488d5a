//! The worker-local word: a word of memory with a separate value for each worker, the errno of a C library
//! without threads.
//!
//! While a worker runs, its value is in memory; before another one does, it moves to the [`Worker`] and memory is 0
//! again. So no worker sees the value of another, and states that differ only in which worker ran last are equal.
//!
//! [`Worker`]: super::worker::Worker

use super::Runtime;
use coyote_strategies::WorkerId;

impl Runtime {
    /// The address of the word, if there is one.
    pub fn worker_local_word(&self) -> Option<u32> {
        self.worker_local_word
    }

    /// Makes the word at `address` worker-local; its value belongs to the running worker.
    pub fn set_worker_local_word(&mut self, address: u32) {
        self.worker_local_word = Some(address);
    }

    /// Whether an access of `bytes` bytes at an address is an access of that word.
    #[inline]
    pub fn is_worker_local(&self, address: u64, bytes: u32) -> bool {
        self.worker_local_word.is_some_and(|own| u64::from(own) == address && bytes <= 4)
    }

    /// Keeps the value that a worker leaves when it is suspended.
    pub fn keep_own_word(&mut self, id: WorkerId, value: u32) {
        self.workers[id.index()].worker_local_word = value;
    }

    /// Takes the value that a worker finds when it goes on.
    pub fn take_own_word(&mut self, id: WorkerId) -> u32 {
        std::mem::take(&mut self.workers[id.index()].worker_local_word)
    }
}
