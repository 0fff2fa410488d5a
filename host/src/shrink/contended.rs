//! Contended objects, which several workers use. As far as the examined executions show, leaving a worker before it
//! uses another object makes no difference.

use super::attempt::{self, Attempt, Attempts};
use super::lock;
use crate::diagnose;
use crate::machine::MachineError;
use crate::observe::{Event, GuestState, Interest, Observer};
use coyote_strategies::{OpKind, Operation, WorkerId};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The size of a piece of memory that counts as one object.
const GRAIN: u64 = 8;

/// See the module's documentation.
#[derive(Clone, Default)]
pub struct Contended(Arc<BTreeMap<(bool, u64), Use>>);

#[derive(Clone, Copy)]
struct Use {
    worker: WorkerId,
    several: bool,
    written: bool,
}

impl Contended {
    /// Whether several workers use the operation's object, and at least one of them writes it. An operation without an
    /// object counts as contended, unless its only purpose is a scheduling point in a loop.
    pub fn contains(&self, operation: &Operation) -> bool {
        let contended = |used: &Use| used.several && used.written;
        match operation.kind {
            OpKind::Loop | OpKind::ChooseInt => false,
            _ if operation.object == 0 => true,
            _ => objects(operation).any(|object| self.0.get(&object).is_some_and(contended)),
        }
    }

    /// Determines the objects that these attempts use, by executing each attempt once more.
    pub fn of(attempts: &mut Attempts, looked_at: &[&Attempt]) -> Result<Contended, MachineError> {
        let uses = Arc::default();
        for attempt in looked_at {
            let observer = Box::new(Uses(Arc::clone(&uses)));
            diagnose::watched(attempts.execution, observer, |execution| {
                attempt::execute(execution, &attempt.preference)
            })?;
        }
        let uses = std::mem::take(&mut *lock(&uses));
        Ok(Contended(Arc::new(uses)))
    }
}

/// Whether the object of an operation is memory. A notification concerns the memory that others wait for.
fn is_memory(kind: OpKind) -> bool {
    kind.accesses_memory() || kind == OpKind::FutexNotify
}

fn objects(operation: &Operation) -> impl Iterator<Item = (bool, u64)> {
    let memory = is_memory(operation.kind);
    let grain = if memory { GRAIN } else { 1 };
    let last =
        if memory { operation.object + u64::from(operation.size.max(1)) - 1 } else { operation.object };
    (operation.object / grain..=last / grain).map(move |object| (memory, object))
}

struct Uses(Arc<Mutex<BTreeMap<(bool, u64), Use>>>);

impl Observer for Uses {
    fn interest(&self) -> Interest {
        Interest::STEPS
    }

    fn event(&mut self, _: &GuestState<'_>, event: &Event<'_>) {
        let Event::Step(step) = event else { return };
        let (worker, operation) = (step.pick.worker(), &step.operation);
        // Waiting and being notified count as writes.
        let writes = !operation.kind.accesses_memory() || operation.kind.writes();
        let mut uses = lock(&self.0);
        for object in objects(operation) {
            let used = uses.entry(object).or_insert(Use { worker, several: false, written: false });
            used.several |= used.worker != worker;
            used.written |= writes;
        }
    }
}
