//! A barrier: how many workers it is for, and who has arrived.

use super::objects::Object;
use coyote_strategies::WorkerId;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Barrier {
    /// 0: it was not initialised.
    pub count: u32,
    /// By worker: the order of arrivals carries no meaning.
    pub arrived: Vec<WorkerId>,
}

impl Object for Barrier {}

/// What an arrival leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Others have to come.
    Waits,
    /// All are there: these others go on. Who came last is the serial one: POSIX does not say who is.
    Completes(Vec<WorkerId>),
    /// It was never said for how many it is.
    Misuse,
}

impl Barrier {
    /// `None` for no worker.
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
