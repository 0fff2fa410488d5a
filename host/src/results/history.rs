//! A failing iteration step by step, with happens-before between steps, for pages and timelines.

use crate::symbols::SourceFrame;
use serde::{Deserialize, Serialize};

/// A complete description of a failing iteration. Indices count from 0, and are always valid.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// The workers, in the order of their creation.
    pub workers: Vec<HistoryWorker>,
    /// The objects of steps: sync objects, and memory that several workers access.
    pub things: Vec<Thing>,
    /// Frames without duplicates.
    pub frames: Vec<HistoryFrame>,
    /// Stacks without duplicates: indices of frames, innermost first.
    pub stacks: Vec<Vec<u32>>,
    /// Steps and timeouts, in the order of the schedule.
    pub steps: Vec<HistoryStep>,
    /// Links, in the order of their ends.
    pub links: Vec<Link>,
    /// Spans; those of each worker in the order of their beginnings.
    pub spans: Vec<Span>,
    /// The source files of the frames, as far as they were found.
    pub sources: Vec<SourceText>,
}

/// A worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryWorker {
    /// The worker by the name that reports show.
    pub title: String,
    /// A shorter name: the one that the guest gave it, if no other worker has it.
    pub name: String,
}

/// The object of a step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Thing {
    /// Its kind, such as "mutex" or "memory".
    pub kind: String,
    /// Its name in the program, or its address.
    pub name: String,
}

/// A function that was executing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryFrame {
    /// The function and its line.
    pub frame: SourceFrame,
    /// Whether it belongs to a library and not to the guest's own code.
    pub library: bool,
}

/// A step of a worker, or a timeout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryStep {
    /// Index of the worker.
    pub worker: u32,
    /// The step's number in the log, from 1; `None` for a timeout.
    pub number: Option<u64>,
    /// The operation.
    pub operation: String,
    /// A description as in stories; empty if nothing is known.
    pub text: String,
    /// Whether other workers may notice the step, so that it is relevant to a reader.
    pub shared: bool,
    /// Index of the stack; `None` if it is not known.
    pub stack: Option<u32>,
    /// The index of the guest's own line among the frames of the stack.
    pub own: Option<u32>,
    /// Descriptions of its reads and writes.
    pub accesses: Vec<String>,
    /// Indices of things.
    pub things: Vec<u32>,
}

/// An effect of a step on a later step of another worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Index of the earlier step.
    pub from: u32,
    /// Index of the later step.
    pub to: u32,
    /// The kind of the effect.
    pub kind: LinkKind,
    /// The thing through which it passes, if that has an index.
    pub thing: Option<u32>,
}

/// The kind of an effect of one step on another. All kinds except [`LinkKind::Wakes`] imply that the first happens
/// before the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LinkKind {
    /// The step created the other worker.
    Starts,
    /// The step ended its worker, and the other step waited for this.
    Joins,
    /// The step released a lock, semaphore or barrier that the other one acquired.
    Releases,
    /// The step wrote, with release, the value that the other one read, with acquire.
    Publishes,
    /// The program states the order by an annotation.
    Annotated,
    /// The step ended the other worker's wait, which orders nothing by itself.
    Wakes,
}

impl LinkKind {
    /// Whether everything up to the first step happens before everything from the other step on.
    pub fn orders(self) -> bool {
        self != LinkKind::Wakes
    }

    /// The kind's name in files.
    pub fn name(self) -> &'static str {
        match self {
            LinkKind::Starts => "starts",
            LinkKind::Joins => "joins",
            LinkKind::Releases => "releases",
            LinkKind::Publishes => "publishes",
            LinkKind::Annotated => "annotated",
            LinkKind::Wakes => "wakes",
        }
    }
}

/// A span of time in which a worker holds or waits for something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Index of the worker.
    pub worker: u32,
    /// Whether the worker holds or waits.
    pub kind: SpanKind,
    /// The index of the first step: the one that took the lock, or after which the worker was blocked.
    pub from: u32,
    /// The index of the last step; `None` if the span lasts to the end.
    pub to: Option<u32>,
    /// Index of the thing; `None` if it has none.
    pub thing: Option<u32>,
    /// A description, such as "holds mutex `state`".
    pub text: String,
}

/// The kind of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SpanKind {
    /// The worker holds a mutex or rwlock.
    Holds,
    /// The worker is blocked.
    Waits,
}

/// Lines of a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceText {
    /// The path as in frames.
    pub file: String,
    /// Whether the file was changed after the module was built, so that lines may differ.
    pub changed: bool,
    /// Parts, each with the number of its first line, from 1.
    pub parts: Vec<(u32, Vec<String>)>,
}
