//! The evidence of data races.

use crate::object_id::{ObjectId, UseKind};
use crate::plural::amount;
use coyote_instrumenter::Location;
use coyote_strategies::WorkerId;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// An access that takes part in a data race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RacingAccess {
    /// What it is.
    pub act: RacingAct,
    /// The first byte accessed.
    pub address: u32,
    /// The number of bytes.
    pub bytes: u32,
    /// The worker that made the access.
    pub worker: WorkerId,
    /// That worker, by the name that reports show.
    pub title: String,
    /// The number of its step, from 1.
    pub step: u64,
    /// The place in the code; `None` for an access that the host made on the worker's behalf.
    pub location: Option<Location>,
}

impl RacingAccess {
    /// The sync object that is accessed, if the access is an operation on one.
    pub fn object(&self) -> Option<ObjectId> {
        match self.act {
            RacingAct::Use(object, _) => Some(object),
            _ => None,
        }
    }

    /// The memory or the object that is accessed.
    pub fn accessed(&self) -> String {
        self.object().map_or_else(|| amount(self.bytes), |object| format!("the {}", object.noun()))
    }
}

/// What a worker does in a data race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RacingAct {
    /// It accesses memory.
    Access {
        /// Whether it writes.
        writes: bool,
        /// Whether the access is known to be atomic.
        atomic: bool,
        /// The ordering of an atomic access, if it is known.
        ordering: Option<Cow<'static, str>>,
    },
    /// It performs an operation on a sync object.
    Use(ObjectId, UseKind),
    /// It allocates a block.
    Allocation,
    /// It frees a block.
    Free,
}

impl RacingAct {
    /// The noun for it in reports, such as `atomic write (Relaxed)`.
    pub fn noun(&self) -> String {
        match self {
            RacingAct::Access { writes, atomic, ordering } => {
                let noun = if *writes { "write" } else { "read" };
                let atomic = if *atomic { "atomic " } else { "" };
                format!("{atomic}{noun}{}", in_brackets(ordering.as_deref()))
            }
            RacingAct::Use(_, kind) => kind.name().into(),
            RacingAct::Allocation => "allocation".into(),
            RacingAct::Free => "free".into(),
        }
    }

    /// The verb for it in reports, such as `atomically writes (Relaxed)`.
    pub fn verb(&self) -> String {
        match self {
            RacingAct::Access { writes, atomic, ordering } => {
                let verb = if *writes { "writes" } else { "reads" };
                let atomically = if *atomic { "atomically " } else { "" };
                format!("{atomically}{verb}{}", in_brackets(ordering.as_deref()))
            }
            RacingAct::Use(_, UseKind::Begins) => "initialises".into(),
            RacingAct::Use(_, UseKind::Uses) => "uses".into(),
            RacingAct::Use(_, UseKind::Ends) => "destroys".into(),
            RacingAct::Allocation => "allocates".into(),
            RacingAct::Free => "frees".into(),
        }
    }
}

fn in_brackets(ordering: Option<&str>) -> String {
    ordering.map_or(String::new(), |ordering| format!(" ({ordering})"))
}

/// A data race that is no bug.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RaceRemark {
    /// The access that was executed first.
    pub first: RacingAccess,
    /// The access that nothing orders with the first one.
    pub second: RacingAccess,
    /// The suppression that matches this race; `None` if races are only noted.
    pub suppressed_by: Option<String>,
}

impl RaceRemark {
    /// The key that two equal races share: the places of both accesses, in any order.
    pub fn key(accesses: [&RacingAccess; 2]) -> [Option<Location>; 2] {
        let mut places = accesses.map(|access| access.location);
        places.sort();
        places
    }
}
