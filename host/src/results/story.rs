//! What happened in a failing iteration, in few rows.

use crate::symbols::SourceFrame;
use serde::{Deserialize, Serialize};

/// The failing iteration as its reader needs it: what workers do to memory and objects that they share, in lines of
/// the guest's own source. Neither addresses nor the number of the iteration are in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Story {
    /// Why it went wrong, in nouns of the program, if something certain can be said.
    pub why: Option<String>,
    /// Who waits for what that whom has, of a deadlock; and what may be wrong with that, a sentence each.
    pub structure: Vec<String>,
    /// Workers that are in a row.
    pub workers: Vec<StoryWorker>,
    /// What happened, in order.
    pub rows: Vec<StoryRow>,
    /// Rows that were left out, since there are too many.
    pub left_out: usize,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoryWorker {
    /// As reports name it.
    pub title: String,
    /// Shorter: the name that the guest gave it, if that is the only one of the name.
    pub name: String,
}

/// What one worker does in one line of its source, without another row in between.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoryRow {
    /// The first and the last step, from 1. `None`: it is about to do so, and never does.
    pub steps: Option<(u64, u64)>,
    /// Index into [`Story::workers`].
    pub worker: usize,
    /// What the worker does, as a clause without its subject.
    pub text: String,
    /// The line, if it is known.
    pub place: Option<SourceFrame>,
    /// Its text, if the file is there.
    pub source: Option<String>,
    /// How often this row and, if it is the last of several, those before it come one after the other: (how many
    /// rows, how many times).
    pub repeats: Option<(usize, u32)>,
    /// Workers that it wakes, as indices into [`Story::workers`].
    pub wakes: Vec<usize>,
    /// From here on the bug was likely or certain.
    pub decisive: bool,
    /// Rows were left out before it.
    pub gap: bool,
}
