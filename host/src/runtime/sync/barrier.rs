//! A barrier: its number of workers, and the workers that have arrived.

use super::objects::Object;
use coyote_strategies::WorkerId;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Barrier {
    /// 0 if it was not initialised.
    pub count: u32,
    /// Sorted by worker: the order of arrivals carries no meaning.
    pub arrived: Vec<WorkerId>,
}

impl Object for Barrier {}

/// The result of an arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The worker waits for others to arrive.
    Waits,
    /// All have arrived: these other workers go on. The last one to arrive is the serial worker; POSIX does
    /// not specify which one is.
    Completes(Vec<WorkerId>),
    /// The barrier was not initialised.
    Misuse,
}

impl Barrier {
    /// `None` if `count` is 0.
    pub fn new(count: u32) -> Option<Barrier> {
        (count > 0).then_some(Barrier { count, arrived: Vec::new() })
    }

    pub fn arrive(&mut self, worker: WorkerId) -> Arrival {
        if self.count == 0 {
            return Arrival::Misuse;
        }
        if self.arrived.len() + 1 == self.count as usize {
            return Arrival::Completes(std::mem::take(&mut self.arrived));
        }
        if let Err(at) = self.arrived.binary_search(&worker) {
            self.arrived.insert(at, worker);
        }
        Arrival::Waits
    }
}
