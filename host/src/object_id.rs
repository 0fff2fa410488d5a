//! What a sync object is called, in the runtime, in evidence and in reports.

use coyote_strategies::Class;
use serde::{Deserialize, Serialize};

/// A sync object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObjectId {
    /// What kind of object it is.
    pub class: Class,
    /// Where it lies in guest memory.
    pub address: u32,
}

impl ObjectId {
    /// As reports name it.
    pub fn title(self) -> String {
        format!("{} at {:#x}", self.noun(), self.address)
    }

    /// What it is.
    pub fn noun(self) -> &'static str {
        self.class.noun()
    }
}
