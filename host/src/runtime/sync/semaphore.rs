//! A counter that never falls below zero.

use super::lock::{Availability, Released};
use super::objects::Object;
use coyote_abi::errno;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Semaphore {
    value: u32,
}

impl Object for Semaphore {}

/// The maximum value, SEM_VALUE_MAX in POSIX.
const VALUE_MAX: u32 = i32::MAX as u32;

impl Semaphore {
    /// `None` for a value that is too large.
    pub fn new(value: u32) -> Option<Semaphore> {
        (value <= VALUE_MAX).then_some(Semaphore { value })
    }

    pub fn value(&self) -> u32 {
        self.value
    }

    pub fn availability(&self) -> Availability {
        if self.value > 0 { Availability::Free } else { Availability::Busy }
    }

    /// Its availability must have allowed it.
    pub fn take(&mut self) {
        self.value -= 1;
    }

    pub fn release(&mut self) -> Released {
        if self.value == VALUE_MAX {
            return Released::Refused(errno::EOVERFLOW);
        }
        self.value += 1;
        Released::Free
    }
}
