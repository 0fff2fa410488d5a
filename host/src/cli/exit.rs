//! Exit codes: part of the interface.

use crate::explore::Exploration;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    NoBug = 0,
    BadInput = 1,
    BugFound = 2,
    InternalError = 3,
    ReplayDiverged = 4,
    NothingTested = 5,
    /// No bug, but executions that never came to an end: no verdict.
    Inconclusive = 6,
    /// No bug, but the program needs what this tool does not have: no verdict.
    Limit = 7,
    /// By Ctrl-C, before a bug was found: what shells say of it.
    Interrupted = 130,
}

impl Exit {
    /// What an exploration alone would end with, and what several end with together: a bug counts more than that
    /// something has no verdict.
    pub fn with(self, exploration: &Exploration) -> Exit {
        let bug = exploration.is_buggy();
        match self {
            Exit::BugFound => self,
            _ if bug => Exit::BugFound,
            _ if !exploration.found.is_empty() => Exit::Limit,
            _ => self,
        }
    }
}

/// For the help text.
pub const HELP: &str = "Exit codes: 0 no bug found, 1 bad input or environment, 2 bug found, \
3 internal error, 4 replay diverged, 5 nothing was tested, 6 inconclusive (executions did not end), \
7 limit of this tool, 130 interrupted.";

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        std::process::ExitCode::from(exit as u8)
    }
}
