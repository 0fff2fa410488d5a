//! The story of a failing iteration, in a few rows.

use crate::symbols::SourceFrame;
use serde::{Deserialize, Serialize};

/// A failing iteration in a form for readers: the workers' actions on memory and objects that they share, in lines of
/// the guest's own source. It contains neither addresses nor the number of the iteration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Story {
    /// The cause, in terms of the program, if something certain can be said.
    pub why: Option<String>,
    /// For a deadlock: what each worker waits for and which worker holds it; and hints on possible causes, one sentence
    /// each.
    pub structure: Vec<String>,
    /// Workers that have rows.
    pub workers: Vec<StoryWorker>,
    /// What happened, in order.
    pub rows: Vec<StoryRow>,
    /// The number of rows that were left out, since there are too many.
    pub left_out: usize,
}

/// A worker, which is a column of the story.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoryWorker {
    /// The worker by the name that reports show.
    pub title: String,
    /// A shorter name: the one that the guest gave it, if no other worker has it.
    pub name: String,
}

/// The actions of one worker in one line of its source, without another row in between.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoryRow {
    /// The numbers of the first and the last step, from 1. `None`: the worker is about to execute the action, and never
    /// does.
    pub steps: Option<(u64, u64)>,
    /// Index into [`Story::workers`].
    pub worker: usize,
    /// What the worker does, as a clause without its subject.
    pub text: String,
    /// The line, if it is known.
    pub place: Option<SourceFrame>,
    /// The text of the line, if the file exists.
    pub source: Option<String>,
    /// If this is the last row of a loop: the number of rows of its body, including this one, and the number of rounds.
    pub repeats: Option<(usize, u32)>,
    /// Workers that it wakes, as indices into [`Story::workers`].
    pub wakes: Vec<usize>,
    /// Whether the bug became likely or certain with this row.
    pub decisive: bool,
    /// Whether rows before it were left out.
    pub gap: bool,
    /// How many.
    #[serde(default)]
    pub skipped: usize,
}
