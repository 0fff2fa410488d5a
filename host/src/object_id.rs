//! The name of a sync object in the runtime, in evidence and in reports, and what operations do to one.

use coyote_strategies::Class;
use serde::{Deserialize, Serialize};

/// A sync object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObjectId {
    /// The kind of object.
    pub class: Class,
    /// Its address in guest memory.
    pub address: u32,
}

impl ObjectId {
    /// The object's name in reports.
    pub fn title(self) -> String {
        format!("{} at {:#x}", self.noun(), self.address)
    }

    /// The noun for objects of its class.
    pub fn noun(self) -> &'static str {
        self.class.noun()
    }
}

/// What an operation does to a sync object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum UseKind {
    /// Initialises it.
    Begins,
    /// Uses it while it exists: no other worker may initialise or destroy it at the same time.
    Uses,
    /// Destroys it.
    Ends,
}

impl UseKind {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            UseKind::Begins => "initialisation",
            UseKind::Uses => "use",
            UseKind::Ends => "destruction",
        }
    }
}
