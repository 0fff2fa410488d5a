//! The report of a bug for a terminal: verdict, parties with their stacks, last switches, output,
//! trace and how to replay it.

use super::frames::{one_line, stack};
use crate::outcome::BugKind;
use crate::results::{BlockEvent, FoundBug, PostMortem};
use crate::runtime::Stream;
use crate::symbols::Symbols;
use crate::trace::{Decision, Trace};
use crate::words::amount;
use std::fmt::Write;

/// How much of the switches and of the output is shown; the log has all of it.
const SWITCHES_MAX: usize = 12;
const LINES_MAX: usize = 20;

/// The verdict in one line.
pub fn verdict(test: &str, found: &FoundBug) -> String {
    let by = match found.post_mortem.culprit {
        Some(id) => match found.post_mortem.workers.iter().find(|w| w.id == id) {
            Some(worker) => format!(" ({})", worker.title),
            None => String::new(),
        },
        None => String::new(),
    };
    match found.bug.kind {
        BugKind::Limit => format!("no verdict on test {test}: {}{by}", found.bug.message()),
        kind => format!("bug in test {test}: {}: {}{by}", kind.name(), found.bug.message()),
    }
}

/// Everything below the verdict.
pub fn details(found: &FoundBug, symbols: &Symbols) -> String {
    let mut text = String::new();
    workers(&mut text, &found.post_mortem, symbols);
    history(&mut text, &found.post_mortem, symbols);
    switches(&mut text, &found.trace, symbols);
    output(&mut text, &found.post_mortem);
    if symbols.lacks_lines() {
        text += "  note: the module has no line table: set debug = \"line-tables-only\" in the profile that built it \
                 (C: -g)\n";
    }
    for note in &found.post_mortem.notes {
        let _ = writeln!(text, "  note: {note}");
    }
    text
}

fn workers(text: &mut String, post_mortem: &PostMortem, symbols: &Symbols) {
    for worker in &post_mortem.workers {
        let _ = writeln!(text, "  {} {}", worker.title, worker.doing);
        for line in stack(&worker.stack, symbols) {
            let _ = writeln!(text, "    {line}");
        }
    }
}

/// Where the block was allocated and freed that a memory error is about.
fn history(text: &mut String, post_mortem: &PostMortem, symbols: &Symbols) {
    let Some(history) = &post_mortem.block else { return };
    let block = format!("the block of {} at {:#x}", amount(history.bytes), history.address);
    match &history.allocated {
        Some(allocated) => event(text, &format!("{block} was allocated"), allocated, symbols),
        None => {
            let _ = writeln!(text, "  {block} was allocated before the test began");
        }
    }
    if let Some(freed) = &history.freed {
        event(text, "it was freed", freed, symbols);
    }
}

fn event(text: &mut String, what: &str, event: &BlockEvent, symbols: &Symbols) {
    let _ = writeln!(text, "  {what} by {} in step {}", event.title, event.step);
    for line in stack(&event.stack, symbols) {
        let _ = writeln!(text, "    {line}");
    }
}

/// The last context switches: who ran, for how many steps, and what it executed last.
fn switches(text: &mut String, trace: &Trace, symbols: &Symbols) {
    struct Run<'a> {
        worker: String,
        steps: usize,
        last: &'a Decision,
    }
    let mut runs: Vec<Run> = Vec::new();
    for decision in &trace.decisions {
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
    let shown = runs.len().min(SWITCHES_MAX);
    let _ = writeln!(text, "  last {shown} of {} switches:", runs.len());
    for run in &runs[runs.len() - shown..] {
        let what = match run.last {
            Decision::Step { kind, site: Some(site), .. } => {
                format!("{} in {}", kind.name(), one_line(*site, symbols))
            }
            Decision::Step { kind, site: None, .. } => kind.name().into(),
            _ => "fires".into(),
        };
        let steps = if run.steps == 1 { "step " } else { "steps" };
        let _ = writeln!(text, "    worker {:<8} {:>5} {steps}, last: {what}", run.worker, run.steps);
    }
}

fn output(text: &mut String, post_mortem: &PostMortem) {
    if post_mortem.output.is_empty() {
        return;
    }
    let shown = post_mortem.output.len().min(LINES_MAX);
    let all = post_mortem.output.len();
    let which = if shown < all { format!("last {shown} of {all} lines of ") } else { String::new() };
    let _ = writeln!(text, "  {which}output:");
    for line in &post_mortem.output[all - shown..] {
        let _ = writeln!(text, "    {}: {}{}", line.worker, mark(line.stream), line.text);
    }
}

/// Tells streams apart without colour.
pub fn mark(stream: Stream) -> &'static str {
    match stream {
        Stream::Stdout => "",
        Stream::Stderr => "! ",
        Stream::Log => "# ",
    }
}
