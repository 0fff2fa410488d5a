//! A bug for readers: verdict, workers with their stacks, last switches, output, trace and replay command.

use super::style::Styles;
use crate::plural::{amount, counted};
use crate::report::frames;
use crate::report::model::{AccessReport, BugReport, PastEventReport};
use crate::runtime::Stream;
use crate::trace::Decision;
use std::fmt::Write;

/// The maximum number of switches and of lines of output that are shown; the log contains all of them.
const SWITCHES_MAX: usize = 12;
const LINES_MAX: usize = 20;

/// The verdict in one line.
pub fn verdict(test: &str, bug: &BugReport) -> String {
    let by = bug.workers.iter().find(|worker| worker.culprit);
    let by = by.map_or(String::new(), |worker| format!(" ({})", worker.title));
    match bug.is_limit() {
        true => format!("no verdict on test {test}: {}{by}", bug.message),
        false => format!("bug in test {test}: {}: {}{by}", bug.kind.name(), bug.message),
    }
}

/// The verdict for a terminal.
pub fn headline(test: &str, bug: &BugReport, styles: Styles) -> String {
    let line = verdict(test, bug);
    if bug.is_limit() { styles.doubt(&line) } else { styles.bug(&line) }
}

/// Everything about the iteration below the verdict, which a replay shows as well. `width`: the terminal's number of
/// columns, if there is a terminal.
pub fn details(bug: &BugReport, width: Option<usize>, styles: Styles) -> String {
    let mut text = String::new();
    if let Some(story) = &bug.story {
        if let Some(why) = &story.why {
            let _ = writeln!(text, "  {} {why}", styles.strong("why:"));
        }
        if !story.rows.is_empty() {
            let _ = writeln!(text, "\n{}", super::story::story(story, width, styles));
        }
        for line in &story.structure {
            let _ = writeln!(text, "  {line}");
        }
    }
    for worker in &bug.workers {
        let _ = writeln!(text, "  {} {}", worker.title, worker.doing);
        stack(&mut text, &worker.stack);
    }
    if let Some(first) = &bug.first_access {
        call(&mut text, "the first access was made", first);
    }
    round(&mut text, bug);
    race(&mut text, bug);
    block(&mut text, bug);
    if bug.story.as_ref().is_none_or(|story| story.rows.is_empty()) {
        switches(&mut text, bug);
    }
    output(&mut text, bug);
    if bug.lacks_lines {
        text += "  note: the module has no line table: set debug = \"line-tables-only\" in the profile that built it \
                 (C: -g)\n";
    }
    for note in &bug.notes {
        let _ = writeln!(text, "  note: {note}");
    }
    text
}

fn stack(text: &mut String, stack: &[crate::symbols::SourceFrame]) {
    for line in frames::lines(stack) {
        let _ = writeln!(text, "    {line}");
    }
}

/// The maximum number of steps of a round that are printed.
const ROUND_MAX: usize = 24;

/// The steps that can be repeated for ever.
fn round(text: &mut String, bug: &BugReport) {
    if bug.round.is_empty() {
        return;
    }
    let _ = writeln!(text, "  from here on, again and again:");
    for step in bug.round.iter().take(ROUND_MAX) {
        let place = step.place.as_ref().map_or(String::new(), |frame| {
            format!(" {}", frames::lines(std::slice::from_ref(frame)).concat().trim_start())
        });
        let _ = writeln!(text, "    {}: {}{place}", step.worker, step.what);
    }
    if let Some(more) = bug.round.len().checked_sub(ROUND_MAX).filter(|more| *more > 0) {
        let _ = writeln!(text, "    and {} more", counted(more as u64, "step"));
    }
}

/// Details of a data race.
fn race(text: &mut String, bug: &BugReport) {
    let Some(race) = &bug.race else { return };
    for access in [&race.first, &race.second] {
        let AccessReport { worker, how, value, locks, spawned: _ } = access;
        let value = value.map_or(String::new(), |value| format!(" of the value {value}"));
        let locks =
            if locks.is_empty() { String::new() } else { format!(", holding the {}", locks.join(", the ")) };
        let _ = writeln!(text, "  {how}{value} by {worker}{locks}");
    }
    for access in [&race.first, &race.second] {
        if let Some(spawned) = &access.spawned {
            call(text, &format!("{} was created", access.worker), spawned);
        }
    }
    if let Some(edge) = &race.edge {
        let _ = writeln!(text, "  nothing orders the accesses; {edge}");
    }
}

/// Where the block of a memory error was allocated and freed.
fn block(text: &mut String, bug: &BugReport) {
    let Some(block) = &bug.block else { return };
    let name = format!("the block of {} at {:#x}", amount(block.bytes), block.address);
    match &block.allocated {
        Some(allocated) => call(text, &format!("{name} was allocated"), allocated),
        None => {
            let _ = writeln!(text, "  {name} was allocated before the test began");
        }
    }
    if let Some(freed) = &block.freed {
        call(text, "it was freed", freed);
    }
}

fn call(text: &mut String, what: &str, call: &PastEventReport) {
    let _ = writeln!(text, "  {what} by {} in step {}", call.worker, call.step);
    stack(text, &call.stack);
}

/// The last context switches: the worker, its number of steps, and its last operation.
fn switches(text: &mut String, bug: &BugReport) {
    struct Run<'a> {
        worker: String,
        steps: usize,
        last: &'a Decision,
    }
    let mut runs: Vec<Run> = Vec::new();
    for decision in &bug.timeline.decisions {
        let worker = match decision {
            Decision::Step { worker, .. } => worker.to_string(),
            Decision::Timeout { worker } => format!("{worker} (timeout)"),
            Decision::Value { .. } => continue,
        };
        match runs.last_mut() {
            Some(run) if run.worker == worker => {
                run.steps += 1;
                run.last = decision;
            }
            _ => runs.push(Run { worker, steps: 1, last: decision }),
        }
    }
    if runs.len() < 2 {
        return;
    }
    let shown = runs.len().min(SWITCHES_MAX);
    let _ = writeln!(text, "  last {shown} of {} switches:", runs.len());
    for run in &runs[runs.len() - shown..] {
        let what = match run.last {
            Decision::Step { kind, site, .. } => match site.and_then(|site| bug.timeline.places.get(&site)) {
                Some(frames) => format!("{} in {}", kind.name(), frames::one_line(frames)),
                None => kind.name().into(),
            },
            _ => "fires".into(),
        };
        let steps = if run.steps == 1 { "step " } else { "steps" };
        let _ = writeln!(text, "    worker {:<8} {:>5} {steps}, last: {what}", run.worker, run.steps);
    }
}

fn output(text: &mut String, bug: &BugReport) {
    if bug.output.is_empty() {
        return;
    }
    let shown = bug.output.len().min(LINES_MAX);
    let all = bug.output.len();
    let which = if shown < all { format!("last {shown} of {all} lines of ") } else { String::new() };
    let _ = writeln!(text, "  {which}output:");
    for line in &bug.output[all - shown..] {
        let _ = writeln!(text, "    {}: {}{}", line.worker, mark(line.stream), line.text);
    }
}

/// Distinguishes streams without colour.
pub fn mark(stream: Stream) -> &'static str {
    match stream {
        Stream::Stdout => "",
        Stream::Stderr => "! ",
        Stream::Log => "# ",
    }
}
