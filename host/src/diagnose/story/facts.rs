//! The facts from which sentences on a bug are made.

use super::looks::Look;
use super::moment::Moment;
use super::polls::Lane;
use super::recorder::{RawAccess, RawStep};
use super::tasks::Task;
use super::within::Within;
use super::words::{self, Names};
use crate::runtime::{ObjectId, Request, Runtime};
use crate::symbols::SourceFrame;
use coyote_instrumenter::Location;
use coyote_strategies::{Class, WorkerId};
use std::collections::BTreeMap;

/// The facts from which sentences are made.
pub struct Facts<'a> {
    pub runtime: &'a Runtime,
    pub moments: &'a [Moment],
    pub steps: &'a [RawStep],
    pub names: &'a Names<'a>,
    /// The worker, or the task that it executes at the end.
    pub lane: &'a dyn Fn(WorkerId) -> Lane,
    /// For each worker that has not ended: the guest's own frames on its stack, innermost first.
    pub stacks: &'a dyn Fn(WorkerId) -> Vec<SourceFrame>,
    /// All frames of a stack, innermost first.
    pub frames: &'a dyn Fn(&[Location]) -> Vec<SourceFrame>,
    /// The guest's own line of the code at a location, if that code is inlined there.
    pub line_of: &'a dyn Fn(Location) -> Option<SourceFrame>,
    /// For such a worker: its innermost functions, including those of libraries, that do more than wait for a futex and
    /// belong to the same part of the library.
    pub innermost: &'a dyn Fn(WorkerId) -> Vec<String>,
    /// The workers that wait within libraries.
    pub within: &'a BTreeMap<WorkerId, Within>,
    /// The tasks that are suspended, if all workers wait.
    pub tasks: &'a [Task],
    /// What workers that wait for ever saw before others changed it.
    pub looks: &'a [Look],
    /// What is known of the value that the failing worker read.
    pub read: Option<Cause>,
    /// The first read of the failing worker that has another value in the nearest passing schedule: its step, and what it
    /// accesses.
    pub differs: Option<(u64, RawAccess)>,
}

/// A sentence on the cause of a bug.
#[derive(Clone, Debug)]
pub struct Cause {
    pub sentence: String,
    /// The numbers of the steps that it names: the story is about these.
    pub steps: Vec<u64>,
}

impl From<String> for Cause {
    fn from(sentence: String) -> Cause {
        Cause { sentence, steps: Vec::new() }
    }
}

impl Facts<'_> {
    /// All frames of the stack in which a moment happened, innermost first.
    pub fn frames_of(&self, moment: &Moment) -> Vec<SourceFrame> {
        (self.frames)(&self.steps[moment.at].stack)
    }

    pub fn name(&self, id: WorkerId) -> String {
        (self.names.workers)(id)
    }

    /// The guest's own line in which a worker is, in brackets; or nothing.
    pub fn place_of(&self, id: WorkerId) -> String {
        let own = (self.stacks)(id);
        words::in_brackets(own.iter().find(|frame| frame.line.is_some()))
    }

    /// The lock that a worker waits for.
    pub fn awaited(&self, id: WorkerId) -> Option<String> {
        match self.queue(id) {
            Some(futex) => Some(self.lock_of(futex)),
            None => Some(self.object(self.runtime.worker(id).request.wants()?)),
        }
    }

    /// The name of the lock that is implemented with a futex.
    pub fn lock_of(&self, futex: ObjectId) -> String {
        self.names.lock(futex.address.into())
    }

    pub fn object(&self, place: ObjectId) -> String {
        match self.names.objects.get(&place.address.into()) {
            Some(name) => format!("`{name}`"),
            None => format!("a {}", place.noun()),
        }
    }

    /// The condvar, futex or barrier at which a worker waits to be woken.
    pub fn queue(&self, id: WorkerId) -> Option<ObjectId> {
        let worker = self.runtime.worker(id);
        worker.request.queue().filter(|_| worker.wake.is_none())
    }

    /// The worker whose end a worker waits for.
    pub fn joined(&self, id: WorkerId) -> Option<WorkerId> {
        match self.runtime.worker(id).request {
            Request::Join { handle } => self.runtime.worker_of(handle),
            _ => self.queue(id).and_then(|place| match place.class {
                Class::Futex => self.runtime.joined_at(id, place.address),
                _ => None,
            }),
        }
    }
}
