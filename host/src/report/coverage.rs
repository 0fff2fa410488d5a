//! The coverage of a search: what it visited, and what it left out.

use crate::plural::counted;
use crate::results::{FoundBug, Resumed, SearchSummary, Stop, TestResult};
use crate::verdict::END_UNCHECKED;
use std::fmt;
use std::path::PathBuf;

/// See the module's documentation.
#[derive(Clone, Debug, PartialEq)]
pub struct Coverage {
    /// Why not everything was visited, as clauses; empty if everything was.
    pub gaps: Vec<String>,
    /// What was visited, if it was everything.
    all: String,
    /// The bugs that were found in this case.
    bugs: &'static str,
    assumptions: Vec<String>,
    /// The file with the remaining work.
    frontier: Option<PathBuf>,
    resumed: Option<Resumed>,
}

impl Coverage {
    /// `search`: the summary in the result.
    pub fn of(result: &TestResult, search: &SearchSummary) -> Coverage {
        let counts = &search.counts;
        Coverage {
            gaps: gaps(result, search),
            // A search that compares states visits each state once, but not every path to it.
            all: match counts.states {
                0 => counted(counts.executions, "execution"),
                states => counted(states, "state"),
            },
            bugs: bugs(result, search),
            assumptions: search.assumptions.clone(),
            frontier: search.frontier.clone(),
            resumed: search.resumed.clone(),
        }
    }
}

impl Coverage {
    /// Whether everything was visited, in this run.
    pub fn is_plain(&self) -> bool {
        self.gaps.is_empty() && self.resumed.is_none()
    }
}

fn bugs(result: &TestResult, search: &SearchSummary) -> &'static str {
    match result.bugs.as_slice() {
        [] if result.is_buggy() => "with bugs that were found before",
        [] if search.bugs_before().next().is_some() => "with no verdict on some",
        [] => "no bug",
        bugs if bugs.iter().all(FoundBug::is_limit) => match result.is_buggy() {
            true => "with bugs that were found before, and no verdict on those above",
            false => "with no verdict on those above",
        },
        _ if result.other_bugs_before().next().is_some() => {
            "with the bugs above and others that were found before"
        }
        _ => "with the bugs above",
    }
}

fn gaps(result: &TestResult, search: &SearchSummary) -> Vec<String> {
    let counts = &search.counts;
    let mut gaps = Vec::new();
    match result.stop {
        Stop::Timeout => gaps.push("the time is up".to_string()),
        Stop::Memory => gaps.push("the search reached its memory bound (--search-memory)".into()),
        Stop::Interrupted => gaps.push("it was interrupted".into()),
        Stop::Bug if result.bugs.iter().all(FoundBug::is_limit) => {
            gaps.push("it stopped where there is no verdict".into());
        }
        Stop::Bug => gaps.push("it stopped at a bug".into()),
        Stop::Iterations if search.open_units > 0 => {
            gaps.push("units of the campaign are left, which `coyote-wasm campaign work` executes".into());
        }
        Stop::Iterations if !search.exhausted => gaps.push(
            "the number of executions is used up (--iterations, which counts those of all runs)".into(),
        ),
        _ => {}
    }
    if counts.cut {
        gaps.push("the search's own bound left something out".into());
    }
    if search.leaves_locks_out() {
        gaps.push("--points sync leaves out the program's locks, which are atomics".into());
    }
    if counts.unfinished > 0 {
        gaps.push("some executions hit the bound on steps".into());
    }
    if search.exhausted && counts.cyclic {
        gaps.push(END_UNCHECKED.into());
    }
    gaps.extend(result.incidents.limits.iter().cloned());
    if counts.executions == 0 {
        gaps.push("no execution came to its end".into());
    }
    gaps
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.gaps.is_empty() {
            write!(f, "All {} explored, {} ({}).", self.all, self.bugs, self.assumptions.join(", "))?;
        } else {
            write!(f, "Not everything was explored: {}.", self.gaps.join("; "))?;
            if let Some(frontier) = &self.frontier {
                write!(f, " Go on with --resume {}.", frontier.display())?;
            }
        }
        self.resumed.as_ref().map_or(Ok(()), |resumed| before(f, resumed))
    }
}

/// What earlier runs did, and how reliable that is.
fn before(f: &mut fmt::Formatter, resumed: &Resumed) -> fmt::Result {
    let (from, done) = (resumed.from.display(), &resumed.done);
    write!(
        f,
        " This speaks of all runs together: {} {} explored before {from} was written.",
        counted(done.counts.executions, "execution"),
        if done.counts.executions == 1 { "was" } else { "were" }
    )?;
    let of = |limits: bool| {
        let these = done.bugs.iter().filter(|bug| bug.is_limit() == limits);
        let traces: Vec<String> =
            these.map(|bug| format!("{} ({})", bug.trace.display(), bug.kind)).collect();
        if traces.is_empty() { String::new() } else { format!(": {}", traces.join(", ")) }
    };
    if done.buggy() > 0 {
        write!(f, " A bug was found in {} of these{}.", counted(done.buggy(), "execution"), of(false))?;
    }
    if done.at_limits() > 0 {
        write!(
            f,
            " There is no verdict on {} of these{}.",
            counted(done.at_limits(), "execution"),
            of(true)
        )?;
    }
    if done.unprotected {
        f.write_str(" A frontier of version 1 has no checksum: damage to it would not have been noticed.")?;
    }
    Ok(())
}
