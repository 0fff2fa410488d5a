//! Traces: stored schedules, which users keep, send and replay.
//!
//! In the order of the data:
//! - [`mod@format`]: writes a trace as text; the specification of the format.
//! - `version`: the versions of the format. `numbers`: reads numbers.
//! - `read`: reads a trace from text, and finds every way in which a file can be wrong.
//! - `answers`: answers of directories of the host, as lines.
//! - `escape`: escapes any text to one line, and back.
//! - [`file`]: traces on disk, whole or not at all.
//! - [`error`]: reasons why a trace could not be read or written.

mod answers;
pub mod error;
mod escape;
mod file;
pub mod format;
mod numbers;
mod read;
#[cfg(test)]
mod tests;
mod version;

pub use coyote_strategies::WorkerPath;
pub use error::{Problem, TraceError};
pub(crate) use file::replace_file;
pub(crate) use read::read_worker;

use crate::granules::{Granules, Sharing};
use crate::identity::Identity;
pub use crate::machine::directories::HostAnswer;
use coyote_abi::OpKind;
use coyote_instrumenter::Location;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One schedule of one test. [`Trace::to_text`] and [`Trace::parse`] are inverses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The test and the run that the schedule belongs to.
    pub header: Header,
    /// The choices, in the order of the execution.
    pub decisions: Vec<Decision>,
    /// The answers of directories of the host, in order.
    pub answers: Vec<HostAnswer>,
}

/// The test and the run that a schedule belongs to, and its outcome. All texts may contain any characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Version of the tool that wrote the trace.
    pub tool: String,
    /// blake3 of the original module without its custom sections, in hex: adding or stripping debug
    /// information keeps it.
    pub module: String,
    /// The test, as the user names it.
    pub test: String,
    /// The strategy's name with its parameters.
    pub strategy: String,
    /// Seed of the run; together with `iteration`, it gives the same schedule without the decisions.
    pub seed: u64,
    /// The number of the iteration, from 0.
    pub iteration: u64,
    /// Instrumentation and execution options that change what the decisions mean, in order.
    pub options: Vec<(String, String)>,
    /// Memory that was known to be shared when the iteration began: only accesses of it, and of what
    /// turned out to be shared later, are scheduling points. `None`: all accesses are.
    pub shared: Option<Granules>,
    /// The outcome's kind in one word, such as `deadlock`.
    pub outcome: String,
    /// The verdict that a report showed: for reading, never compared.
    pub message: String,
    /// Names of the functions of places, by index: a lenient replay finds them by name in another module.
    /// Empty in traces of older versions.
    pub functions: BTreeMap<u32, String>,
    /// The identity of the bug, by which it is recognised when it is found again. `None` if the execution
    /// ended without a bug, and in traces of older versions.
    pub identity: Option<Identity>,
    /// The fingerprint of the final state. `None` if it cannot be taken.
    pub fingerprint: Option<u128>,
}

impl Header {
    /// Which accesses are scheduling points when the iteration begins.
    pub(crate) fn sharing(&self) -> Sharing {
        match &self.shared {
            None => Sharing::All,
            Some(granules) => Sharing::Only(Arc::new(granules.clone())),
        }
    }
}

impl Trace {
    /// Number of times that another worker went on, or a timeout fired: a measure of how hard a schedule is
    /// to read.
    pub fn switches(&self) -> usize {
        let who = self
            .decisions
            .iter()
            .filter_map(|decision| Some((decision.worker()?, matches!(decision, Decision::Timeout { .. }))));
        let mut last = None;
        who.filter(|next| last.replace(*next) != Some(*next)).count()
    }
}

/// Serialised as its own text, which names its version.
impl Serialize for Trace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_text())
    }
}

impl<'de> Deserialize<'de> for Trace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Trace, D::Error> {
        let text = String::deserialize(deserializer)?;
        Trace::parse(text.as_bytes()).map_err(serde::de::Error::custom)
    }
}

/// One choice of the schedule.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Decision {
    /// The worker executes its pending operation. Kind and site are redundant: with them, a replay notices
    /// where the program is another one.
    Step {
        /// The worker.
        worker: WorkerPath,
        /// The kind of the operation.
        kind: OpKind,
        /// The place where the operation was announced; `None` for one without a place, such as `start`.
        site: Option<Location>,
    },
    /// The worker's pending timeout fires.
    Timeout {
        /// The worker that waited with this timeout.
        worker: WorkerPath,
    },
    /// The data value that the last step asked for; `value` is below `bound`.
    Value {
        /// The chosen value.
        value: u64,
        /// The exclusive upper bound of the value.
        bound: u64,
    },
}

impl Decision {
    /// The worker of the decision; `None` for a value, which the step before it asked for.
    pub fn worker(&self) -> Option<&WorkerPath> {
        match self {
            Decision::Step { worker, .. } | Decision::Timeout { worker } => Some(worker),
            Decision::Value { .. } => None,
        }
    }
}
