//! What a search says of itself, in words.

use crate::results::{FoundBug, Resumed, SearchSummary, Stop, TestResult};
use crate::words::counted;
use std::fmt::Write;

/// Lines that end in a line feed each; no times.
pub fn statistics(exploration: &TestResult, searched: &SearchSummary) -> String {
    let counts = &searched.counts;
    let mut text = String::from("... Exploration statistics:\n");
    let mut line = |args: std::fmt::Arguments| writeln!(text, "..... {args}").expect("a String takes all");
    match searched.estimate {
        Some(estimate) if estimate > counts.executions as f64 => line(format_args!(
            "Explored {}; there may be about {} in all.",
            counted(counts.executions, "execution"),
            rounded(estimate)
        )),
        _ => line(format_args!("Explored {}.", counted(counts.executions, "execution"))),
    }
    if exploration.statistics.buggy > 0 {
        line(format_args!("Found {} with a bug.", counted(exploration.statistics.buggy, "execution")));
    }
    if counts.abandoned > 0 {
        line(format_args!(
            "Beside these, {} ended at an assumption that does not hold.",
            counted(counts.abandoned, "execution")
        ));
    }
    if counts.unfinished > 0 {
        line(format_args!(
            "Beside these, {} hit the max-steps bound of {}: if they should end, try {}.",
            counted(counts.unfinished, "execution"),
            exploration.statistics.steps_max.unfair,
            exploration.statistics.raised(false, counts.unfinished, counts.executions)
        ));
    }
    if counts.redundant > 0 {
        line(format_args!("Cut off {} that were explored elsewhere.", counts.redundant));
    }
    if counts.states > 0 {
        line(format_args!("Saw {} different states.", counts.states));
    }
    let ends = counts.executions + counts.abandoned + counts.unfinished + counts.redundant;
    let per_execution = counts.steps as f64 / ends.max(1) as f64;
    line(format_args!("Executed {} steps, {per_execution:.1} an execution.", counts.steps));
    text
}

/// What was shown, and what not.
pub fn verdict(exploration: &TestResult, searched: &SearchSummary) -> String {
    let counts = &searched.counts;
    let mut reasons = Vec::new();
    match exploration.stop {
        Stop::Timeout => reasons.push("the time is up".to_string()),
        Stop::Memory => reasons.push("what is left has used up the memory that it may have".into()),
        Stop::Interrupted => reasons.push("it was interrupted".into()),
        Stop::Bug if exploration.bugs.iter().all(FoundBug::is_limit) => {
            reasons.push("it stopped where there is no verdict".into());
        }
        Stop::Bug => reasons.push("it stopped at a bug".into()),
        Stop::Iterations if !searched.exhausted => reasons.push("the number of executions is used up".into()),
        _ => {}
    }
    if counts.cut {
        reasons.push("the search's own bound left something out".into());
    }
    if counts.unfinished > 0 {
        reasons.push("some executions hit the bound on steps".into());
    }
    if searched.exhausted && counts.cyclic {
        reasons.push("whether each state that was reached again can come to an end was not asked".into());
    }
    reasons.extend(exploration.limits.iter().cloned());
    if counts.executions == 0 {
        reasons.push("no execution came to its end".into());
    }
    if reasons.is_empty() {
        let bugs = match exploration.bugs.as_slice() {
            [] if exploration.is_buggy() => "with bugs that were found before",
            [] => "no bug",
            found if found.iter().all(FoundBug::is_limit) => "with no verdict on those above",
            _ => "with the bugs above",
        };
        // Who compares states visits each once, and not every way to get there.
        let all = match counts.states {
            0 => counted(counts.executions, "execution"),
            states => counted(states, "state"),
        };
        let before = searched.resumed.as_ref().map(before).unwrap_or_default();
        return format!("All {all} explored, {bugs} ({}).{before}", searched.assumptions.join(", "));
    }
    let mut text = format!("Not everything was explored: {}.", reasons.join("; "));
    if let Some(frontier) = &searched.frontier {
        write!(text, " Go on with --resume {}.", frontier.display()).expect("a String takes all");
    }
    text + &searched.resumed.as_ref().map(before).unwrap_or_default()
}

/// What the runs before did, and how far that is to be relied on.
fn before(resumed: &Resumed) -> String {
    let (from, done) = (resumed.from.display(), &resumed.done);
    let mut text = format!(
        " This speaks of all runs together: {} were explored before {from} was written.",
        counted(done.counts.executions, "execution")
    );
    if done.counts.bugs > 0 {
        let bugs = counted(done.counts.bugs, "execution");
        write!(text, " A bug was found in {bugs} of these").expect("a String takes all");
        let traces: Vec<String> =
            done.bugs.iter().map(|bug| format!("{} ({})", bug.trace.display(), bug.kind)).collect();
        let traces = if traces.is_empty() { String::new() } else { format!(": {}", traces.join(", ")) };
        write!(text, "{traces}.").expect("a String takes all");
    }
    if done.unprotected {
        text += " A frontier of version 1 has no checksum: had it been damaged, nobody would have noticed.";
    }
    text
}

/// With two digits that mean something.
fn rounded(estimate: f64) -> String {
    if estimate < 1e6 { format!("{estimate:.0}") } else { format!("{estimate:.1e}") }
}
