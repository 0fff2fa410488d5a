//! Reasons why a trace could not be read or written. None of these is a verdict on the guest.

use super::version::{MAGIC, VERSIONS};
use std::io;
use std::path::PathBuf;

/// Reasons why a trace could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file does not exist or cannot be read.
    #[error("cannot read the trace {}", path.display())]
    Read {
        /// The trace.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file cannot be written as a whole.
    #[error("cannot write the trace {}", path.display())]
    Write {
        /// The trace.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file was read and is not a trace that this tool understands. Lines count from 1.
    #[error("line {line} of the trace: {problem}")]
    Format {
        /// The number of the line, from 1.
        line: usize,
        /// The problem of the line.
        problem: Problem,
    },
}

/// A problem of a line of a trace, with what to do about it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The first line is that of another kind of file.
    #[error("not a trace: it should begin with `{MAGIC}`; give a file that `coyote-wasm test` wrote")]
    Magic,
    /// The format is of a version that this tool does not know.
    #[error(
        "the trace has format version {0}, this tool reads versions {a} to {b}; \
         replay it with the version of coyote-wasm that its `tool` line names",
        a = VERSIONS[0],
        b = VERSIONS[VERSIONS.len() - 1]
    )]
    Version(String),
    /// Some bytes are not UTF-8.
    #[error("not UTF-8, so the file is damaged; copy it again from where it was written")]
    NotUtf8,
    /// A header line of an unknown key.
    #[error(
        "unknown header key `{0}`; \
         replay the trace with the version of coyote-wasm that its `tool` line names"
    )]
    UnknownKey(String),
    /// A header line is given twice that is only allowed once.
    #[error("the header key `{0}` is given twice; delete one of its lines")]
    RepeatedKey(&'static str),
    /// A header line is missing that every trace has.
    #[error("the header ends without its `{0}` line; add it or record the trace again")]
    MissingKey(&'static str),
    /// A word or a number is not of the expected form.
    #[error("`{found}` is not {expected}; undo the edit or record the trace again")]
    Malformed {
        /// The expected form.
        expected: &'static str,
        /// The beginning of the text that was found.
        found: String,
    },
    /// A decision of a kind of operation that this tool does not know.
    #[error("unknown operation kind `{0}`; replay the trace with the version of coyote-wasm that wrote it")]
    UnknownKind(String),
    /// A chosen value that could not have been chosen.
    #[error("the value {value} is not below its bound {bound}; undo the edit or record the trace again")]
    ValueOutOfBound {
        /// The value.
        value: u64,
        /// The exclusive upper bound.
        bound: u64,
    },
    /// The last line is missing or incomplete.
    #[error(
        "the trace stops without a whole `end` line, so it was cut off; \
         copy it again from where it was written or record it again"
    )]
    CutOff,
    /// There are more or fewer decisions than the end line says.
    #[error(
        "the trace has {found} decisions and its end line says {stated}: lines were lost or added; \
         copy it again from where it was written or record it again"
    )]
    Count {
        /// Number of decisions in the file.
        found: usize,
        /// Number of decisions by the end line.
        stated: u64,
    },
    /// The content is not what was written.
    #[error(
        "the checksum does not match, so the trace was damaged or edited; \
         if you edited it, delete the checksum, the last word of this line"
    )]
    Checksum,
    /// There is text behind the last line.
    #[error("the trace goes on after its end line; delete what follows it")]
    AfterEnd,
}

impl Problem {
    /// [`Problem::Malformed`] with the beginning of the text that was found.
    pub(super) fn malformed(expected: &'static str, found: &str) -> Problem {
        Problem::Malformed { expected, found: found.escape_debug().take(60).collect() }
    }
}
