//! Why a trace could not be read or written. None of these is a verdict on the guest.

use super::version::{MAGIC, VERSIONS};
use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("cannot read the trace {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write the trace {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// The file was read and is not a trace that this tool understands. Lines count from 1.
    #[error("line {line} of the trace: {problem}")]
    Format { line: usize, problem: Problem },
}

/// What is wrong with a line of a trace, and what to do about it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("not a trace: it should be `{MAGIC} 1`; give a file that `coyote-wasm test` wrote")]
    Magic,
    #[error(
        "the trace has format version {0}, this tool reads versions {a} to {b}; \
         replay it with the version of coyote-wasm that its `tool` line names",
        a = VERSIONS[0],
        b = VERSIONS[VERSIONS.len() - 1]
    )]
    Version(String),
    #[error("not UTF-8, so the file is damaged; copy it again from where it was written")]
    NotUtf8,
    #[error(
        "unknown header key `{0}`; \
         replay the trace with the version of coyote-wasm that its `tool` line names"
    )]
    UnknownKey(String),
    #[error("the header key `{0}` is given twice; delete one of its lines")]
    RepeatedKey(&'static str),
    #[error("the header ends without its `{0}` line; add it or record the trace again")]
    MissingKey(&'static str),
    #[error("`{found}` is not {expected}; undo the edit or record the trace again")]
    Malformed { expected: &'static str, found: String },
    #[error("unknown operation kind `{0}`; replay the trace with the version of coyote-wasm that wrote it")]
    UnknownKind(String),
    #[error("the value {value} is not below its bound {bound}; undo the edit or record the trace again")]
    ValueOutOfBound { value: u64, bound: u64 },
    #[error(
        "the trace stops without a whole `end` line, so it was cut off; \
         copy it again from where it was written or record it again"
    )]
    CutOff,
    #[error(
        "the trace has {found} decisions and its end line says {stated}: lines were lost or added; \
         copy it again from where it was written or record it again"
    )]
    Count { found: usize, stated: u64 },
    #[error(
        "the checksum does not match, so the trace was damaged or edited; \
         if you edited it, delete the checksum, the last word of this line"
    )]
    Checksum,
    #[error("the trace goes on after its end line; delete what follows it")]
    AfterEnd,
}

impl Problem {
    /// As [`Problem::Malformed`], with the beginning of what was found.
    pub(super) fn malformed(expected: &'static str, found: &str) -> Problem {
        Problem::Malformed { expected, found: found.escape_debug().take(60).collect() }
    }
}
