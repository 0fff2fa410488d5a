//! The whole schedule of an execution: which worker executes what, where, in which order.

use crate::execution::Execution;
use crate::machine::stack::SHOWN_MAX;
use crate::symbols::{SourceFrame, Symbols, is_library, slice};
use coyote_instrumenter::Location;
use coyote_strategies::{Decision, Operation, Pick, WorkerId};
use std::collections::BTreeMap;
use std::ops::Range;

/// See the module's documentation.
#[derive(Default)]
pub struct Schedule {
    /// The entries, in the order of execution.
    pub steps: Vec<Step>,
    stacks: Stacks,
}

/// An entry of the schedule: a step, or a timeout that fires, with the values that are chosen in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The worker that executes it.
    pub worker: WorkerId,
    /// Whether the worker's timeout fires instead of its operation being executed.
    pub timeout: bool,
    /// The step's number in reports, from 1; for a timeout the number of the step before it.
    pub number: u64,
    /// The executed operation.
    pub operation: Operation,
    /// The values that were chosen in it.
    pub values: Vec<u64>,
    /// The number at the operation's address before and after the step, where it accesses up to 8 bytes of memory.
    pub number_at: Option<(u64, u64)>,
    stack: usize,
    /// Number of frames on its worker's stack outside of those that are kept.
    pub(super) outer: usize,
    /// The indices of its choices in the path.
    pub(super) decisions: Range<usize>,
}

/// A function on the stack of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its place in the source.
    pub source: SourceFrame,
    /// Whether the function belongs to std, the SDK or a C library.
    pub is_library: bool,
}

/// Stacks without duplicates.
#[derive(Default)]
struct Stacks {
    numbers: BTreeMap<Vec<Location>, usize>,
    frames: Vec<Vec<Frame>>,
    known: BTreeMap<Location, Vec<Frame>>,
}

impl Stacks {
    /// The number of a stack's innermost part, and the number of frames outside of it.
    fn number(&mut self, mut stack: Vec<Location>, symbols: &Symbols) -> (usize, usize) {
        let outer = stack.iter().skip(SHOWN_MAX).map(|place| self.at(*place, symbols).len()).sum();
        stack.truncate(SHOWN_MAX);
        if let Some(number) = self.numbers.get(&stack) {
            return (*number, outer);
        }
        let frames = stack.iter().flat_map(|place| self.at(*place, symbols).to_vec()).collect();
        self.frames.push(frames);
        self.numbers.insert(stack, self.frames.len() - 1);
        (self.frames.len() - 1, outer)
    }

    fn at(&mut self, place: Location, symbols: &Symbols) -> &[Frame] {
        self.known.entry(place).or_insert_with(|| frames_at(place, symbols))
    }
}

/// The frames at a place, innermost first.
pub(super) fn frames_at(location: Location, symbols: &Symbols) -> Vec<Frame> {
    let frame = |source: SourceFrame| Frame { is_library: is_library(&source), source };
    symbols.frames(location).into_iter().map(frame).collect()
}

impl Schedule {
    /// The innermost frames of an entry's worker before the entry is executed, innermost first.
    pub fn frames(&self, position: usize) -> &[Frame] {
        self.steps.get(position).map_or(&[], |step| &self.stacks.frames[step.stack])
    }

    /// All frames in which a worker is at any step.
    pub fn all_frames(&self) -> impl Iterator<Item = &Frame> {
        self.stacks.known.values().flatten()
    }

    /// The previous entry of the same worker.
    pub fn previous(&self, position: usize) -> Option<usize> {
        let worker = self.steps.get(position)?.worker;
        self.steps[..position].iter().rposition(|step| step.worker == worker)
    }

    /// Whether the worker at a position differs from the one before it, or a timeout fires.
    pub fn switches(&self, position: usize) -> bool {
        let who = |position: usize| self.steps.get(position).map(|step| (step.worker, step.timeout));
        position > 0 && position < self.steps.len() && who(position) != who(position - 1)
    }

    /// The position before the step with this number.
    pub fn position_of(&self, number: u64) -> Option<usize> {
        self.steps.iter().position(|step| step.number == number && !step.timeout)
    }
}

/// The frame that is relevant to the program's author: the innermost one that does not belong to a library.
pub fn own(frames: &[Frame]) -> Option<&Frame> {
    frames.iter().find(|frame| !frame.is_library).or(frames.first())
}

/// A schedule during its recording.
pub(super) struct Recording {
    path: Vec<Decision>,
    schedule: Schedule,
    next: usize,
    number: u64,
}

impl Recording {
    pub fn new(path: Vec<Decision>) -> Recording {
        Recording { path, schedule: Schedule::default(), next: 0, number: 0 }
    }

    /// The choices of the next entry.
    pub fn next(&mut self) -> Option<Range<usize>> {
        let first = self.next;
        if first == self.path.len() {
            return None;
        }
        let values = self.path[first + 1..].iter().take_while(|d| matches!(d, Decision::Value(_))).count();
        self.next = first + 1 + values;
        Some(first..self.next)
    }

    /// Records the entry before its choices are executed.
    pub fn before(&mut self, execution: &Execution, symbols: &Symbols) {
        let first = self.schedule.steps.last().map_or(0, |step| step.decisions.end);
        let decisions = first..self.next;
        let (worker, timeout) = match self.path[first] {
            Decision::Pick(Pick::Step(worker)) => (worker, false),
            Decision::Pick(Pick::Timeout(worker)) => (worker, true),
            // A value belongs to a step, so an entry does not begin with one in a recorded path.
            Decision::Value(_) => (WorkerId(0), true),
        };
        self.number += u64::from(!timeout);
        let operation = execution.runtime().pending(worker).operation;
        let values = self.path[decisions.clone()].iter().filter_map(|decision| match decision {
            Decision::Value(value) => Some(*value),
            Decision::Pick(_) => None,
        });
        let (stack, outer) = self.schedule.stacks.number(execution.machine().stack(worker), symbols);
        let step = Step {
            worker,
            timeout,
            number: self.number,
            operation,
            values: values.collect(),
            number_at: number_at(execution, &operation).map(|number| (number, number)),
            stack,
            outer,
            decisions,
        };
        self.schedule.steps.push(step);
    }

    /// Completes the entry after its choices were executed.
    pub fn after(&mut self, execution: &Execution) {
        let step = self.schedule.steps.last_mut().expect("one was begun");
        if let (Some((_, after)), Some(now)) = (&mut step.number_at, number_at(execution, &step.operation)) {
            *after = now;
        }
    }

    pub fn finish(self) -> Schedule {
        self.schedule
    }
}

/// The number that an operation accesses, if it accesses up to 8 bytes.
fn number_at(execution: &Execution, operation: &Operation) -> Option<u64> {
    if !operation.kind.accesses_memory() || !(1..=8).contains(&operation.size) {
        return None;
    }
    let machine = execution.machine();
    let memory = &machine.memory()[..machine.memory_bytes().min(machine.memory().len())];
    number(memory, operation.object, operation.size)
}

/// A little-endian number in memory.
fn number(memory: &[u8], address: u64, bytes: u32) -> Option<u64> {
    let stored = slice(memory, address, bytes.into())?;
    let mut number = [0; 8];
    number.get_mut(..stored.len())?.copy_from_slice(stored);
    Some(u64::from_le_bytes(number))
}
