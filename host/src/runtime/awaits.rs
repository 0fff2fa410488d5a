//! Objects that asynchronous tasks await, as the guest reports them. A worker that runs a task blocks at a semaphore,
//! in the loop that polls the task; only the guest knows where in the task's code that is, and for which object.
//!
//! This is for reports alone: the execution does not depend on it. A report by the guest holds until the next one, and
//! counts while the worker waits at the semaphore that it names. Where nobody may ask, only the fact that there was a
//! report is kept.

use super::{ObjectId, Runtime};
use crate::symbols::library_file;
use coyote_instrumenter::Location;
use coyote_strategies::{Class, WorkerId, WorkerState};
use std::sync::Arc;

/// Maximum number of awaited objects that are kept for a worker: a report does not show more.
const OBJECTS_MAX: usize = 8;

/// An object that a worker awaits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Awaited {
    /// A description, such as `mutex made at src/lib.rs:7`; empty if unknown.
    pub what: Box<str>,
    /// Its address in guest memory.
    pub object: u32,
    /// The stack with which the worker reported it, innermost first.
    pub stack: Box<[Location]>,
}

/// All objects that a worker reported as awaited.
#[derive(Clone, Debug, Default)]
pub struct Awaits {
    /// The semaphore at which it waits for any of them.
    semaphore: u32,
    /// `None` if nothing was reported, as for all workers that run no tasks.
    all: Option<Arc<Vec<Awaited>>>,
    /// Number of objects that were left out.
    left_out: u32,
    /// Something was reported and not kept.
    untold: bool,
}

impl Runtime {
    /// Records what the worker awaits at a semaphore: with `more`, in addition to what it reported before,
    /// else instead of it.
    pub fn awaits(&mut self, id: WorkerId, semaphore: u32, awaited: Awaited, more: bool) {
        let awaits = &mut self.workers[id.index()].awaits;
        if !more || awaits.semaphore != semaphore {
            *awaits = Awaits { semaphore, ..Awaits::default() };
        }
        let all = awaits.all.get_or_insert_default();
        match all.len() {
            OBJECTS_MAX.. => awaits.left_out = awaits.left_out.saturating_add(1),
            _ => Arc::make_mut(all).push(awaited),
        }
    }

    /// As [`Runtime::awaits`], without recording what it is.
    pub fn awaits_untold(&mut self, id: WorkerId, semaphore: u32) {
        self.workers[id.index()].awaits = Awaits { semaphore, untold: true, ..Awaits::default() };
    }

    /// Whether a worker awaits something that was not recorded.
    pub fn misses_awaits(&self) -> bool {
        let mut ids = (0..self.workers.len() as u32).map(WorkerId);
        ids.any(|id| self.worker(id).awaits.untold && self.awaits_reported(id))
    }

    /// Whether a worker waits for what it reported last.
    fn awaits_reported(&self, id: WorkerId) -> bool {
        let worker = self.worker(id);
        let place = ObjectId { class: Class::Semaphore, address: worker.awaits.semaphore };
        worker.request.wants() == Some(place) && self.pending(id).state == WorkerState::Blocked
    }

    /// The reported objects that a blocked worker awaits.
    pub fn awaited(&self, id: WorkerId) -> &[Awaited] {
        let waits = self.awaits_reported(id);
        self.worker(id).awaits.all.as_ref().filter(|_| waits).map_or(&[], |all| all)
    }

    /// [`Runtime::awaited`] in words.
    pub fn awaited_text(&self, id: WorkerId) -> String {
        let known = || self.awaited(id).iter().filter(|awaited| !awaited.what.is_empty());
        let mut texts: Vec<String> = Vec::new();
        for awaited in known() {
            let (what, place) = match awaited.what.split_once(" made at ") {
                // A place within the SDK tells a reader nothing.
                Some((what, place)) => (what, Some(place).filter(|place| library_file(place).is_none())),
                None => (&*awaited.what, None),
            };
            let is_only =
                || known().all(|other| (other.object == awaited.object) == (other.what == awaited.what));
            let text = match place {
                Some(place) if is_only() => format!("the {what} made at {place}"),
                Some(place) => format!("the {what} at {:#x} made at {place}", awaited.object),
                None => format!("the {what} at {:#x}", awaited.object),
            };
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        match (texts.len(), self.worker(id).awaits.left_out) {
            (0, _) => "something that was not made by this SDK".into(),
            (1, 0) => texts.remove(0),
            (_, 0) => format!("any of {}", texts.join(", ")),
            (_, more) => format!("any of {}, and {more} more", texts.join(", ")),
        }
    }
}
