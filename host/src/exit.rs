//! Exit codes of the command line: part of the interface.

use crate::verdict::Verdict;

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
    /// No bug, but some executions did not end, or results are missing: no verdict.
    Inconclusive = 6,
    /// No bug, but the program needs something that this tool does not support: no verdict.
    Limit = 7,
    /// A part of a run was not executed and can be requested again (`EX_TEMPFAIL` of `sysexits.h`).
    Again = 75,
    /// Interrupted by Ctrl-C before a bug was found: 128 + SIGINT, as in shells.
    Interrupted = 130,
}

impl Exit {
    /// Every code with its meaning, as in the tables of the documentation.
    pub const ALL: [(Exit, &str); 10] = [
        (Exit::NoBug, "no bug found"),
        (Exit::BadInput, "bad input or environment"),
        (Exit::BugFound, "bug found"),
        (Exit::InternalError, "internal error: please report it"),
        (Exit::ReplayDiverged, "replay diverged"),
        (Exit::NothingTested, "nothing was tested: no test met any choice"),
        (Exit::Inconclusive, "inconclusive: executions did not come to an end, or results are missing"),
        (Exit::Limit, "limit of this tool: no verdict on the program"),
        (Exit::Again, "a part of a run is not done: again later"),
        (Exit::Interrupted, "interrupted before a bug was found"),
    ];

    /// The exit code of a run whose tests have these verdicts. Single tests that met no choice do not matter if other
    /// tests did meet one.
    pub fn of_run<'a>(verdicts: impl IntoIterator<Item = &'a Verdict>, interrupted: bool) -> Exit {
        let verdicts: Vec<&Verdict> = verdicts.into_iter().collect();
        let any = |is: fn(&Verdict) -> bool| verdicts.iter().any(|verdict| is(verdict));
        match () {
            () if any(|v| *v == Verdict::Bug) => Exit::BugFound,
            () if interrupted => Exit::Interrupted,
            () if any(|v| matches!(v, Verdict::Limit(_))) => Exit::Limit,
            () if any(|v| matches!(v, Verdict::Inconclusive { .. })) => Exit::Inconclusive,
            () if any(|v| *v != Verdict::NothingTested) => Exit::NoBug,
            () => Exit::NothingTested,
        }
    }
}

/// The exit codes as the help text shows them.
pub const HELP: &str = "Exit codes: 0 no bug found, 1 bad input or environment, 2 bug found, \
3 internal error, 4 replay diverged, 5 nothing was tested, 6 inconclusive (executions did not end, or results are missing), \
7 limit of this tool, 75 a part of a run is not done: again later, 130 interrupted.";

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        std::process::ExitCode::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inconclusive() -> Verdict {
        Verdict::Inconclusive { what: String::new(), advice: None }
    }

    #[test]
    fn the_worst_verdict_decides() {
        let limit = || Verdict::Limit(Vec::new());
        let proved = || Verdict::Proved { assumptions: Vec::new() };
        for (verdicts, interrupted, exit) in [
            (vec![], false, Exit::NothingTested),
            (vec![Verdict::NothingTested, Verdict::NothingTested], false, Exit::NothingTested),
            (vec![Verdict::NothingTested, Verdict::NotFound], false, Exit::NoBug),
            (vec![proved(), Verdict::NotFound], false, Exit::NoBug),
            (vec![proved(), inconclusive(), Verdict::NotFound], false, Exit::Inconclusive),
            (vec![limit(), inconclusive()], false, Exit::Limit),
            (vec![limit(), Verdict::NotFound], true, Exit::Interrupted),
            (vec![limit(), Verdict::Bug, inconclusive()], true, Exit::BugFound),
        ] {
            assert_eq!(Exit::of_run(&verdicts, interrupted), exit, "{verdicts:?}");
        }
    }

    /// The tables in the documentation agree with the program.
    #[test]
    fn documents_name_every_code() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a repository");
        let table: String =
            Exit::ALL.iter().map(|(exit, meaning)| format!("| {} | {meaning} |\n", *exit as u8)).collect();
        for document in ["README.md", "docs/cargo.md"] {
            let text = std::fs::read_to_string(root.join(document)).expect("a document");
            assert!(
                text.contains(&format!("| exit code | meaning |\n|---|---|\n{table}")),
                "{document}:\n{table}"
            );
        }
        for (exit, _) in Exit::ALL {
            assert!(HELP.contains(&format!("{} ", exit as u8)), "{exit:?}");
        }
    }
}
