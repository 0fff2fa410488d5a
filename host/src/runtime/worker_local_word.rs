//! A word of memory in which each worker has a value of its own: errno of a C library that knows no threads.
//!
//! While a worker runs, its value is in memory; before another one does, it moves to the [`Worker`] and memory
//! is 0 again. So no worker sees another's, and states that differ in who ran last are equal.
//!
//! [`Worker`]: super::worker::Worker

use super::Runtime;
use coyote_strategies::WorkerId;

impl Runtime {
    /// The address, if there is such a word.
    pub fn worker_local_word(&self) -> Option<u32> {
        self.worker_local_word
    }

    /// From now on it is the word at this address. What stands there is the running worker's.
    pub fn set_worker_local_word(&mut self, address: u32) {
        self.worker_local_word = Some(address);
    }

    /// Whether an access of `bytes` bytes at an address is one of that word.
    #[inline]
    pub fn is_worker_local(&self, address: u64, bytes: u32) -> bool {
        self.worker_local_word.is_some_and(|own| u64::from(own) == address && bytes <= 4)
    }

    /// The worker is suspended and has left this.
    pub fn keep_own_word(&mut self, id: WorkerId, value: u32) {
        self.workers[id.index()].worker_local_word = value;
    }

    /// The worker goes on and finds this.
    pub fn take_own_word(&mut self, id: WorkerId) -> u32 {
        std::mem::take(&mut self.workers[id.index()].worker_local_word)
    }
}
