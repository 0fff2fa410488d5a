//! Diagnosis of a found bug while its execution still exists: where every worker was, what happened to the heap block
//! that the bug is about, and the bug's identity.
//!
//! - `block_history`: where the block was allocated and freed.
//! - [`race`]: details of a data race.
//! - `notes`: circumstances that may not be the program's fault.
//! - [`story`]: what happened, in a few rows.
//! - [`source_lines`]: places as source lines, by which bugs are compared.

mod block_history;
mod notes;
pub mod race;
pub mod source_lines;
pub mod story;

pub use source_lines::SourceLines;
pub use story::Teller;

use crate::evidence::{Evidence, Naming};
use crate::execution::Execution;
use crate::machine::MachineError;
use crate::observe::Observer;
use crate::outcome::{Bug, Outcome};
use crate::record::{self, Origin};
use crate::results::{BugIdentity, Explanation, FoundBug, OutputLine, PostMortem, WorkerAt};
use crate::runtime::{ObjectId, Request, Runtime, Stream};
use crate::trace::Trace;
use coyote_strategies::{Class, OpKind, Operation, WorkerId, WorkerState};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// What is known about a found bug in addition to its execution.
pub struct Discovery {
    /// The iteration as a trace, and the path of the trace on disk.
    pub trace: Trace,
    pub path: PathBuf,
    /// See [`FoundBug::first`].
    pub index: Option<u64>,
    /// See [`FoundBug::by`].
    pub by: Option<String>,
}

/// Diagnoses the bug with which the execution has just ended. Executes it again to show where a block was allocated and
/// freed, and which calls made what a crash lost.
///
/// # Errors
/// The machine's: internal errors, or errors of the environment.
pub fn found_bug(
    execution: &mut Execution,
    bug: &Bug,
    discovery: Discovery,
    lines: &Mutex<SourceLines>,
) -> Result<FoundBug, MachineError> {
    let Discovery { trace, path, index, by } = discovery;
    let mut post_mortem = post_mortem(execution, bug);
    post_mortem.notes.splice(0..0, notes::crashes(execution, &trace)?);
    post_mortem.block = block_history::of(execution, &trace)?;
    if let Some((first, race)) = race::history(execution, bug, &trace)? {
        (post_mortem.first_access, post_mortem.race) = (Some(first), Some(race));
    }
    let places = trace.header.identity.as_ref().expect("the trace of a bug");
    let identity = {
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        match &bug.evidence {
            Evidence::Race { first, second } => lines.race([first, second]),
            _ => lines.identity(bug.kind, places, post_mortem.block.as_ref()),
        }
    };
    let iteration = trace.header.iteration;
    Ok(FoundBug {
        bug: bug.clone(),
        identity,
        iteration,
        trace,
        path,
        post_mortem,
        named_message: None,
        story: None,
        history: None,
        count: 1,
        first: index,
        by,
        explanation: Explanation::default(),
    })
}

/// The identity of the bug with which the execution has just ended. If the bug is about a heap block, it is executed
/// once more.
///
/// # Errors
/// The machine's: internal errors, or errors of the environment.
pub fn identity(
    execution: &mut Execution,
    bug: &Bug,
    lines: &Mutex<SourceLines>,
) -> Result<BugIdentity, MachineError> {
    let places = record::identity(execution, bug);
    let block = match execution.machine().scheduler().blame {
        None => None,
        Some(_) => {
            let options = record::bounds(execution);
            let origin = Origin { strategy: String::new(), seed: 0, iteration: 0, options };
            let trace = record::trace(execution, &Outcome::Bug(bug.clone()), origin);
            block_history::of(execution, &trace)?
        }
    };
    let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(lines.identity(bug.kind, &places, block.as_ref()))
}

/// Calls a function while only this observer receives events.
pub fn watched<R>(
    execution: &mut Execution,
    observer: Box<dyn Observer>,
    function: impl FnOnce(&mut Execution) -> R,
) -> R {
    unwatched(execution, |execution| {
        execution.observe(observer);
        function(execution)
    })
}

/// Calls a function while no observer receives events but those that it adds.
fn unwatched<R>(execution: &mut Execution, function: impl FnOnce(&mut Execution) -> R) -> R {
    let others = execution.take_observers();
    let result = function(execution);
    execution.take_observers();
    others.into_iter().for_each(|other| execution.observe(other));
    result
}

/// The state of every worker at the end of the iteration that the execution has just ended.
fn post_mortem(execution: &Execution, bug: &Bug) -> PostMortem {
    let runtime = execution.runtime();
    let livelock = execution.livelock();
    let workers = (0..runtime.workers().len() as u32).map(WorkerId);
    // A worker that watches an invariant only waits for it to break.
    let matters = |id: &WorkerId| match runtime.pending(*id).state {
        WorkerState::Ended => false,
        WorkerState::Blocked => !runtime.worker(*id).watches,
        WorkerState::Enabled => true,
    };
    let workers = workers.filter(matters).map(|id| WorkerAt {
        id,
        title: runtime.title(id),
        doing: match livelock.and_then(|l| l.spinning.iter().find(|s| s.worker == id)) {
            Some(spin) => spin.doing(),
            None => doing(runtime, id, bug.worker, &Naming::BY_ADDRESS),
        },
        stack: execution.machine().stack(id),
    });
    PostMortem {
        culprit: bug.worker,
        workers: workers.collect(),
        waited_for: Vec::new(),
        block: None,
        first_access: None,
        race: None,
        notes: notes::of(execution, bug),
        livelock: livelock.cloned(),
        round: execution.lasso().map_or(Vec::new(), |lasso| lasso.round.clone()),
        output: lines(runtime),
    }
}

/// The guest's output in lines. Consecutive pieces of a line by one worker are joined.
fn lines(runtime: &Runtime) -> Vec<OutputLine> {
    let mut lines: Vec<OutputLine> = Vec::new();
    let mut open: Option<(WorkerId, Stream, u64, Vec<u8>)> = None;
    let mut close = |open: &mut Option<(WorkerId, Stream, u64, Vec<u8>)>| {
        if let Some((worker, stream, step, bytes)) = open.take() {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            lines.push(OutputLine { worker: runtime.title(worker), step, stream, text });
        }
    };
    for piece in &runtime.output {
        if open.as_ref().is_some_and(|o| (o.0, o.1) != (piece.worker, piece.stream)) {
            close(&mut open);
        }
        for part in piece.text.split_inclusive(|b| *b == b'\n') {
            let line = open.get_or_insert((piece.worker, piece.stream, piece.step, Vec::new()));
            line.3.extend_from_slice(part.strip_suffix(b"\n").unwrap_or(part));
            if part.ends_with(b"\n") || piece.stream == Stream::Log {
                close(&mut open);
            }
        }
    }
    close(&mut open);
    lines
}

/// The workers that hold the object that a worker waits for, as a clause.
fn held(runtime: &Runtime, id: WorkerId, place: ObjectId) -> String {
    let holders = runtime.holders(place);
    match holders.as_slice() {
        [] if place.class == Class::Semaphore => ", whose value is 0".into(),
        [] => String::new(),
        [only] if *only == id => ", which it holds itself".into(),
        [only] => format!(", which {} holds", runtime.title(*only)),
        several => format!(", which {} hold", runtime.titles(several)),
    }
}

/// Describes the operation that a worker which has not ended is about to execute. `culprit`: the worker that caused the
/// bug which ended the execution.
pub(crate) fn doing(
    runtime: &Runtime,
    id: WorkerId,
    culprit: Option<WorkerId>,
    naming: &Naming<'_>,
) -> String {
    let name = naming.object;
    if culprit == Some(id) {
        return "is where it happened".into();
    }
    let worker = runtime.worker(id);
    let pending = runtime.pending(id);
    let blocked = pending.state == WorkerState::Blocked;
    match worker.request {
        _ if !runtime.awaited(id).is_empty() => format!("awaits {}", runtime.awaited_text(id)),
        Request::Lock { lock, .. } if blocked => {
            let place = lock.place();
            format!("waits {} the {}{}", lock.purpose(), name(place), held(runtime, id, place))
        }
        Request::Relock { condvar, .. } if blocked && worker.wake.is_none() => {
            format!(
                "waits for a notification of the {}",
                name(ObjectId { class: Class::Condvar, address: condvar })
            )
        }
        Request::Relock { mutex, .. } if blocked => {
            let place = ObjectId { class: Class::Mutex, address: mutex };
            format!("was notified and waits to lock the {}{}", name(place), held(runtime, id, place))
        }
        Request::BarrierWait { barrier } if blocked => {
            let (arrived, count) = runtime.arrived(barrier);
            let place = name(ObjectId { class: Class::Barrier, address: barrier });
            format!("waits at the {place}, where {arrived} of {count} have arrived")
        }
        Request::FutexWait { address, .. }
            if blocked && let Some(thread) = runtime.joined_at(id, address) =>
        {
            format!("waits for the end of {}", runtime.title(thread))
        }
        Request::FutexWait { address, .. } if let Some(thread) = runtime.joined_at(id, address) => {
            format!("could go on after the end of {}", runtime.title(thread))
        }
        Request::FutexWait { address, .. } if blocked => {
            format!("waits to be woken at the {}", name(ObjectId { class: Class::Futex, address }))
        }
        Request::Join { handle } if blocked => {
            let awaited = runtime.worker_of(handle).expect("it would not wait for one that is not there");
            format!("waits for the end of {}", runtime.title(awaited))
        }
        Request::Sleep { .. } if blocked => "sleeps".into(),
        Request::Socket { .. } | Request::Poll { .. } if blocked => match runtime.awaited_sockets(id) {
            Some(awaited) if !awaited.is_empty() => format!("waits for {awaited}"),
            _ => "sleeps".into(),
        },
        Request::WaitUntil if blocked => "waits until its predicate holds".into(),
        Request::Assume => "stopped at an assumption that does not hold".into(),
        Request::Join { handle } if let Some(ended) = runtime.worker_of(handle) => {
            format!("could go on after the end of {}", runtime.title(ended))
        }
        _ => could(pending.operation, naming),
    }
}

/// Describes an operation that can be executed.
fn could(operation: Operation, naming: &Naming<'_>) -> String {
    let Operation { kind, object, size, .. } = operation;
    match (kind, Class::of_sync_object(kind), u32::try_from(object)) {
        (OpKind::Start, ..) => "has not begun".into(),
        (_, Some(class), Ok(address)) => {
            format!(
                "could go on with {} of the {}",
                kind.name(),
                (naming.object)(ObjectId { class, address })
            )
        }
        (_, None, Ok(address))
            if kind.accesses_memory()
                && let Some(name) = (naming.memory)(address, size) =>
        {
            format!("could go on with {} of `{name}`", kind.name())
        }
        _ if kind.accesses_memory() => format!("could go on with {} at {object:#x}", kind.name()),
        _ => format!("could go on with {}", kind.name()),
    }
}
