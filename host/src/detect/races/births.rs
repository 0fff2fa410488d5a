//! Which worker allocated each block.
//!
//! Allocating a block counts as a plain write of it (as in ThreadSanitizer and Miri): an access that nothing orders with
//! it has its block by luck. Of this write the shadow knows nothing, because most blocks are large in relation to what is
//! accessed of them. An access is compared with it if no earlier one of the same bytes happened before: that one would
//! have been in the race too.

use crate::detect::clock::Clock;
use coyote_strategies::WorkerId;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The allocation of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Birth {
    pub bytes: u32,
    pub worker: WorkerId,
    /// The worker's epoch.
    pub epoch: u32,
    /// The number of the step that it belongs to, from 1.
    pub step: u32,
}

/// The allocations of the blocks in use, by the blocks' addresses. Copies are shared until one of them changes.
#[derive(Clone, Debug, Default)]
pub struct Births(Arc<BTreeMap<u32, Birth>>);

impl Births {
    /// Records the allocation of a block.
    pub fn add(&mut self, address: u32, birth: Birth) {
        Arc::make_mut(&mut self.0).insert(address, birth);
    }

    /// Forgets the block at this address.
    pub fn remove(&mut self, address: u32) {
        if self.0.contains_key(&address) {
            Arc::make_mut(&mut self.0).remove(&address);
        }
    }

    pub fn clear(&mut self) {
        if !self.0.is_empty() {
            self.0 = Arc::default();
        }
    }

    /// The allocation of a block that holds some of these bytes, with the block's address, if it is in a race with an
    /// access of them before which `now` happened.
    pub fn unordered(&self, now: &Clock, address: u32, bytes: u32) -> Option<(u32, Birth)> {
        let before_end = self.0.range(..address.saturating_add(bytes)).rev();
        let mut blocks = before_end.take_while(|(start, birth)| start.saturating_add(birth.bytes) > address);
        blocks.find(|(_, birth)| birth.epoch > now.of(birth.worker)).map(|(start, birth)| (*start, *birth))
    }
}

/// Hashes what decides with which allocations later accesses are in a race.
impl Hash for Births {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for (address, Birth { bytes, worker, epoch, step: _ }) in &*self.0 {
            (address, bytes, worker, epoch).hash(state);
        }
    }
}
