//! Where every worker was when a bug was found.

use super::{History, notes};
use crate::execution::Execution;
use crate::identity::Identity;
use crate::livelock::Livelock;
use crate::outcome::{Bug, BugKind};
use crate::record;
use crate::runtime::{Lock, Place, Request, Runtime, Stream};
use coyote_instrumenter::Location;
use coyote_strategies::{Class, Standing, WorkerId};

/// A worker at the end of an iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerAt {
    pub id: WorkerId,
    pub title: String,
    pub standing: Standing,
    /// What it is about to do or waits for.
    pub doing: String,
    /// Innermost first.
    pub stack: Vec<Location>,
}

/// See the module's documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Findings {
    kind: BugKind,
    /// What makes it the same when it is met again.
    pub identity: Identity,
    /// Who did it, if one did.
    pub culprit: Option<WorkerId>,
    /// Workers that have not ended, in the order of creation.
    pub workers: Vec<WorkerAt>,
    /// What happened to the block that it is about, if it is about one.
    pub history: Option<History>,
    /// What in it may not be the program's fault.
    pub notes: Vec<String>,
    /// What never ends, if it is a livelock.
    pub livelock: Option<Livelock>,
    /// What the guest wrote.
    pub output: Vec<Line>,
}

/// A line of the guest's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub worker: String,
    pub step: u64,
    pub stream: Stream,
    pub text: String,
}

impl Findings {
    /// Collects them from the iteration that the execution has just ended.
    pub fn of(execution: &Execution, bug: &Bug) -> Findings {
        let runtime = execution.runtime();
        let livelock = execution.livelock();
        let workers = (0..runtime.workers().len() as u32).map(WorkerId).filter_map(|id| {
            let standing = runtime.pending(id).standing;
            (standing != Standing::Ended).then(|| WorkerAt {
                id,
                title: runtime.title(id),
                standing,
                doing: match livelock.and_then(|l| l.spinning.iter().find(|s| s.worker == id)) {
                    Some(spin) => spin.doing(),
                    None => doing(runtime, id, bug),
                },
                stack: execution.machine().stack(id),
            })
        });
        Findings {
            kind: bug.kind,
            identity: record::identity(execution, bug),
            culprit: bug.worker,
            workers: workers.collect(),
            history: None,
            notes: notes::of(execution, bug),
            livelock: livelock.cloned(),
            output: lines(runtime),
        }
    }

    pub fn kind(&self) -> BugKind {
        self.kind
    }
}

/// The guest's output in lines. Pieces of a line that one worker wrote one after the other belong
/// together.
fn lines(runtime: &Runtime) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut open: Option<(WorkerId, Stream, u64, Vec<u8>)> = None;
    let mut close = |open: &mut Option<(WorkerId, Stream, u64, Vec<u8>)>| {
        if let Some((worker, stream, step, bytes)) = open.take() {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            lines.push(Line { worker: runtime.title(worker), step, stream, text });
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

/// Who has what a worker waits for.
fn held(runtime: &Runtime, id: WorkerId, place: Place) -> String {
    let holders = runtime.holders(place);
    match holders.as_slice() {
        [] if place.class == Class::Semaphore => ", whose value is 0".into(),
        [] => String::new(),
        [only] if *only == id => ", which it holds itself".into(),
        [only] => format!(", which {} holds", runtime.title(*only)),
        several => format!(", which {} hold", runtime.titles(several)),
    }
}

/// What a worker is about to do, in words.
fn doing(runtime: &Runtime, id: WorkerId, bug: &Bug) -> String {
    if bug.worker == Some(id) {
        return "is where it happened".into();
    }
    let worker = runtime.worker(id);
    let pending = runtime.pending(id);
    let blocked = pending.standing == Standing::Blocked;
    match worker.request {
        Request::Lock { lock, .. } if blocked => {
            let what = match lock {
                Lock::Mutex(_) => "to lock",
                Lock::Read(_) => "to read under",
                Lock::Write(_) => "to write under",
                Lock::Semaphore(_) => "for",
            };
            let place = lock.place();
            format!("waits {what} the {}{}", place.title(), held(runtime, id, place))
        }
        Request::Relock { condvar, .. } if blocked && worker.wake.is_none() => {
            format!("waits for a notification of the condvar at {condvar:#x}")
        }
        Request::Relock { mutex, .. } if blocked => {
            let place = Place { class: Class::Mutex, address: mutex };
            format!("was notified and waits to lock the {}{}", place.title(), held(runtime, id, place))
        }
        Request::BarrierWait { barrier } if blocked => {
            let (arrived, count) = runtime.arrived(barrier);
            format!("waits at the barrier at {barrier:#x}, where {arrived} of {count} have arrived")
        }
        Request::FutexWait { address, .. } if blocked => {
            format!("waits to be woken at the address {address:#x}")
        }
        Request::Join { handle } if blocked => {
            let awaited = runtime.worker_of(handle).expect("it would not wait for one that is not there");
            format!("waits for the end of {}", runtime.title(awaited))
        }
        Request::Sleep { .. } if blocked => "sleeps".into(),
        Request::Assume => "stopped at an assumption that does not hold".into(),
        _ if pending.operation.object != 0 => {
            let operation = &pending.operation;
            format!("could go on with {} at {:#x}", operation.kind.name(), operation.object)
        }
        _ => format!("could go on with {}", pending.operation.kind.name()),
    }
}
