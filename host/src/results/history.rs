//! A failing iteration step by step, with what happened before what: what a page or a timeline shows of it.

use crate::symbols::SourceFrame;
use serde::{Deserialize, Serialize};

/// All that is known of a failing iteration. Indices count from 0, and all that are named here exist.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// In the order of their creation.
    pub workers: Vec<HistoryWorker>,
    /// What steps are about: sync objects, and memory that several workers access.
    pub things: Vec<Thing>,
    /// Each frame once.
    pub frames: Vec<HistoryFrame>,
    /// Each stack once: indices of frames, innermost first.
    pub stacks: Vec<Vec<u32>>,
    /// Steps and timeouts, in the order of the schedule.
    pub steps: Vec<HistoryStep>,
    /// In the order of their ends.
    pub links: Vec<Link>,
    /// Of each worker in the order of their beginnings.
    pub spans: Vec<Span>,
    /// Source files of the frames, as far as they were found.
    pub sources: Vec<SourceText>,
}

/// A worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryWorker {
    /// As reports name it.
    pub title: String,
    /// Shorter: the name that the guest gave it, if that is the only one of the name.
    pub name: String,
}

/// What a step is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Thing {
    /// As "mutex" or "memory".
    pub kind: String,
    /// As the program calls it, or where it is.
    pub name: String,
}

/// A function that was executing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryFrame {
    /// The function and its line.
    pub frame: SourceFrame,
    /// Whether it is of a library and not of the guest's own.
    pub library: bool,
}

/// A step of a worker, or a timeout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryStep {
    /// Index of the worker.
    pub worker: u32,
    /// As in the log, from 1; of a timeout `None`.
    pub number: Option<u64>,
    /// The operation.
    pub operation: String,
    /// What is done, in a story's words; empty if nothing is known.
    pub text: String,
    /// Whether other workers may notice it, so that a reader may want to know of it.
    pub shared: bool,
    /// Index of the stack; `None` if it is not known.
    pub stack: Option<u32>,
    /// The index of the guest's own line among the frames of the stack.
    pub own: Option<u32>,
    /// What it reads and writes, in words.
    pub accesses: Vec<String>,
    /// Indices of things.
    pub things: Vec<u32>,
}

/// Something that one step did to a later one of another worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Index of the earlier step.
    pub from: u32,
    /// Index of the later step.
    pub to: u32,
    /// What the earlier one did.
    pub kind: LinkKind,
    /// Through what, if that has an index.
    pub thing: Option<u32>,
}

/// What one step did to another one. All but [`LinkKind::Wakes`] say that it happens before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LinkKind {
    /// It created the worker.
    Starts,
    /// It ended, and was waited for.
    Joins,
    /// It gave a lock, semaphore or barrier back that the other one took.
    Releases,
    /// It wrote, with release, the value that the other one read, with acquire.
    Publishes,
    /// The program says so.
    Annotated,
    /// It ended the wait, which orders nothing by itself.
    Wakes,
}

impl LinkKind {
    /// Whether everything up to the one step happens before everything from the other one on.
    pub fn orders(self) -> bool {
        self != LinkKind::Wakes
    }

    /// The word for it in files.
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

/// A time in which a worker holds or waits for something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Index of the worker.
    pub worker: u32,
    /// Whether it holds or waits.
    pub kind: SpanKind,
    /// The index of the step with which it begins: with which it was taken, or after which the worker could not go on.
    pub from: u32,
    /// The index of the step with which it ends; `None`: it lasts to the end.
    pub to: Option<u32>,
    /// Index of the thing; `None` if it has none.
    pub thing: Option<u32>,
    /// In words: "holds mutex `state`".
    pub text: String,
}

/// What a worker does over a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SpanKind {
    /// It has a mutex or rwlock.
    Holds,
    /// It cannot go on.
    Waits,
}

/// Lines of a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceText {
    /// As frames name it.
    pub file: String,
    /// The file was changed after the module was built, so that its lines may be others.
    pub changed: bool,
    /// Parts, each with the number of its first line, from 1.
    pub parts: Vec<(u32, Vec<String>)>,
}
