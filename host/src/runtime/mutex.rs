//! A mutex: who holds it. A release hands it to nobody: any waiter or newcomer may take it.

use super::objects::Object;
use coyote_strategies::WorkerId;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mutex {
    pub owner: Option<WorkerId>,
}

impl Object for Mutex {}

impl Mutex {
    /// Takes the mutex if it is free.
    pub fn try_lock(&mut self, worker: WorkerId) -> bool {
        let free = self.owner.is_none();
        if free {
            self.owner = Some(worker);
        }
        free
    }

    /// Fails, and changes nothing, if the worker does not hold it.
    pub fn unlock(&mut self, worker: WorkerId) -> Result<(), NotOwner> {
        if self.owner != Some(worker) {
            return Err(NotOwner(self.owner));
        }
        self.owner = None;
        Ok(())
    }
}

/// The worker that holds the mutex instead, if any.
#[derive(Debug, PartialEq, Eq)]
pub struct NotOwner(pub Option<WorkerId>);
