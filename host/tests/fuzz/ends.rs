//! How an execution of a program ends, and all ends that a search or sampler comes to.

use coyote_wasm::execution::Execution;
use coyote_wasm::outcome::{BugKind, Outcome};
use coyote_wasm::strategies::search::{Advance, Shared, by_name};
use coyote_wasm::strategies::system::decide;
use coyote_wasm::strategies::{Context, Decision, Iteration, System, WorkerState, catalog};
use std::collections::BTreeSet;
use std::fmt;

/// As `fuzz.h` has them.
pub const THREADS: usize = 4;
pub const KEPT: usize = 10;
/// Workers wait for each other.
pub const CIRCLE: &str = "deadlock in a circle";
const NAME: &[u8] = b"coyote-fuzz-ends";
/// Where `buffer` begins: aligned to 64, behind the name and the rest.
const BUFFER: usize = 256;

/// What one execution came to: equal for executions that no program could tell apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    /// `passed`, or the kind of the bug, and whose it is or who is blocked where.
    pub how: String,
    /// `o`, but for its name; empty if a bug ended the execution before all others had.
    pub bytes: Vec<u8>,
}

impl End {
    /// What a thread kept at a place.
    pub fn kept(&self, thread: usize, place: usize) -> i32 {
        self.word(thread * KEPT + place)
    }

    /// `x`, `y`, `flag`, `a`, `b`, `futex`, by number.
    pub fn variable(&self, number: usize) -> i32 {
        self.word(THREADS * KEPT + number)
    }

    fn word(&self, at: usize) -> i32 {
        i32::from_le_bytes(self.bytes[4 * at..4 * at + 4].try_into().unwrap())
    }

    /// As a condition in C that holds at this end and at no other, if its test reaches its last line.
    pub fn condition(&self) -> Option<String> {
        if self.how != "passed" {
            return None;
        }
        let kept = (0..THREADS * KEPT).filter(|at| self.word(*at) != -77);
        let kept = kept.map(|at| format!("o.kept[{}][{}] == {}", at / KEPT, at % KEPT, self.word(at)));
        let mut all: Vec<String> = kept.collect();
        for (number, name) in VARIABLES.iter().enumerate().filter(|(n, _)| self.variable(*n) != 0) {
            all.push(format!("o.{name} == {}", self.variable(number)));
        }
        let bytes = self.mixed().iter().enumerate().map(|(at, byte)| (format!("o.mixed.bytes[{at}]"), byte));
        let buffer = self.buffer().iter().enumerate().map(|(at, byte)| (format!("o.buffer[{at}]"), byte));
        let set = bytes.chain(buffer).filter(|(_, byte)| **byte != 0);
        all.extend(set.map(|(place, byte)| format!("{place} == {byte}")));
        Some(if all.is_empty() { "1".into() } else { all.join(" && ") })
    }

    fn mixed(&self) -> &[u8] {
        // Aligned to 8 with the name.
        let at = 4 * (THREADS * KEPT + VARIABLES.len());
        &self.bytes[at..at + 8]
    }

    fn buffer(&self) -> &[u8] {
        &self.bytes[BUFFER - NAME.len()..BUFFER - NAME.len() + 96]
    }
}

const VARIABLES: [&str; 6] = ["x", "y", "flag", "a", "b", "futex"];

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.how)?;
        if self.bytes.is_empty() {
            return Ok(());
        }
        for thread in 0..THREADS {
            for place in (0..KEPT).filter(|place| self.kept(thread, *place) != -77) {
                write!(f, " {thread}.{place}={}", self.kept(thread, place))?;
            }
        }
        for (number, name) in VARIABLES.iter().enumerate().filter(|(n, _)| self.variable(*n) != 0) {
            write!(f, " {name}={}", self.variable(number))?;
        }
        for (name, bytes) in [("mixed", self.mixed()), ("buffer", self.buffer())] {
            for (at, byte) in bytes.iter().enumerate().filter(|(_, byte)| **byte != 0) {
                write!(f, " {name}[{at}]={byte}")?;
            }
        }
        Ok(())
    }
}

/// Where `o` lies behind its name, at the start of an execution.
pub fn place(execution: &Execution) -> usize {
    let memory = execution.machine().memory();
    let name = memory.windows(NAME.len()).position(|bytes| bytes == NAME);
    name.expect("it is in a segment") + NAME.len()
}

/// The end of an execution that has a verdict.
pub fn end(execution: &Execution, place: usize) -> Option<End> {
    let runtime = execution.runtime();
    let path = |worker: usize| runtime.workers()[worker].path.to_string();
    let bytes = || execution.machine().memory()[place..place + BUFFER - NAME.len() + 96].to_vec();
    match execution.machine().scheduler().outcome.as_ref().expect("it has ended") {
        Outcome::Passed => Some(End { how: "passed".into(), bytes: bytes() }),
        // Samplers end as soon as the circle closes, searches let the others run on.
        Outcome::Bug(bug) if bug.kind == BugKind::Deadlock && !runtime.circle().is_empty() => {
            Some(End { how: CIRCLE.into(), bytes: Vec::new() })
        }
        Outcome::Bug(bug) if bug.kind == BugKind::Deadlock => {
            let pending = runtime.view().workers.iter().enumerate();
            let blocked = pending.filter(|(_, pending)| pending.state != WorkerState::Ended);
            let mut blocked: Vec<String> = blocked
                .map(|(n, pending)| format!("{} in {}", path(n), pending.operation.kind.name()))
                .collect();
            blocked.sort();
            Some(End { how: format!("deadlock of {}", blocked.join(", ")), bytes: bytes() })
        }
        Outcome::Bug(bug) => {
            let who = bug.worker.map_or("nobody".into(), |worker| path(worker.index()));
            // What is said of errors of memory names addresses, which are none of the program's business.
            let told = matches!(bug.kind, BugKind::Assertion | BugKind::ExitCode | BugKind::MaxSteps);
            let what = if told { format!(" ({})", bug.message()) } else { String::new() };
            Some(End { how: format!("{} by {who}{what}", bug.kind.name()), bytes: Vec::new() })
        }
        Outcome::Bound(_) | Outcome::Abandoned => None,
    }
}

/// What a search or sampler came to.
#[derive(Clone, Debug)]
pub struct Found {
    pub name: String,
    pub ends: BTreeSet<End>,
    /// Whether it says that there are no others.
    pub complete: bool,
    pub executions: u64,
}

/// How much a search may do before it counts as one that does not come to its end.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub executions_max: u64,
    pub steps_max: u64,
}

/// Drives a search. With `pieces`, the work is given away whenever that is possible, as jobs do.
pub fn search(execution: &mut Execution, place: usize, name: &str, pieces: bool, limits: Limits) -> Found {
    let mut found = Found { name: name.into(), ends: BTreeSet::new(), complete: true, executions: 0 };
    if pieces {
        found.name += " in pieces";
    }
    let mut items = vec![None];
    let mut steps = 0;
    let shared = Shared::default();
    while let Some(item) = items.pop() {
        let mut search = by_name::<Execution>(name, 0, item).unwrap();
        search.share(&shared);
        loop {
            let advance = search.advance(execution, 10_000);
            if let Some(error) = execution.take_error() {
                panic!("{name}: {error}");
            }
            match advance {
                Advance::Exhausted => break,
                Advance::Working | Advance::Round => {}
                Advance::Ended(_) => found.ends.extend(end(execution, place)),
                Advance::Livelock => {
                    let circle = has_circle(execution, search.path());
                    let how = if circle { CIRCLE } else { "livelock" };
                    found.ends.insert(End { how: how.into(), bytes: Vec::new() });
                }
            }
            let counts = search.counts();
            if found.executions + counts.executions > limits.executions_max
                || steps + counts.steps > limits.steps_max
            {
                found.complete = false;
                return found;
            }
            if pieces && let Some(item) = search.split() {
                items.push(Some(vec![item]));
            }
        }
        let counts = search.counts();
        found.complete &= !counts.cut && counts.unfinished == 0 && !counts.cyclic;
        found.executions += counts.executions;
        steps += counts.steps;
    }
    found
}

/// Whether workers wait for each other where a path ends. The execution stays as it is, but for programs that cannot be
/// snapshotted.
fn has_circle(execution: &mut Execution, path: &[Decision]) -> bool {
    let here = execution.can_snapshot().then(|| execution.snapshot());
    execution.restart();
    path.iter().for_each(|made| decide(execution, *made));
    let circle = !execution.runtime().circle().is_empty();
    if let Some(here) = here {
        execution.restore(&here);
    }
    circle
}

/// So many iterations of a sampler.
pub fn sample(execution: &mut Execution, place: usize, name: &str, iterations: u64) -> Found {
    let mut found =
        Found { name: name.into(), ends: BTreeSet::new(), complete: false, executions: iterations };
    let context = Context { unfair_steps_max: 10_000 };
    let mut strategy = catalog::by_name(name, &context).unwrap();
    for index in 0..iterations {
        (_, strategy) =
            execution.run(strategy, Iteration { seed: 1, index }).unwrap_or_else(|e| panic!("{e}"));
        found.ends.extend(end(execution, place));
    }
    found
}
