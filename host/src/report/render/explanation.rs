//! The results of experiments on a bug, one line each.

use crate::plural::counted;
use crate::report::build::shell;
use crate::report::frames;
use crate::report::model::{BugReport, PassingReport};
use crate::results::{Decisive, Instead, Meaning, Rate, Shrinking};
use crate::runtime::{FaultClass, other_order};
use crate::symbols::SourceFrame;
use crate::trace::Decision;
use coyote_strategies::WorkerPath;
use std::fmt::Write;
use std::path::Path;

/// All results, one line each.
pub fn lines(bug: &BugReport) -> String {
    let mut text = String::new();
    for (name, fact) in facts(bug) {
        let _ = writeln!(text, "  {:<9} {}", format!("{name}:"), fact.replace('\n', "\n            "));
    }
    text
}

/// What is said of a bug that no schedule avoids. The target is what most often makes it differ from a native test.
const UNAVOIDABLE: &str = "every execution ends with it: no choice comes before it. Natively it may not: pointers have \
                           64 bits there";

/// All results, each with its name.
pub fn facts(bug: &BugReport) -> Vec<(&'static str, String)> {
    let explanation = &bug.explanation;
    let mut facts = Vec::new();
    if explanation.unavoidable {
        facts.push(("always", UNAVOIDABLE.into()));
    }
    if let Some(decisive) = &explanation.decisive {
        facts.push(("decisive", self::decisive(bug, decisive)));
    }
    if explanation.out_of_time {
        facts.push((
            "decisive",
            "unknown: executions take long, and experiments had no more time (--shrink-time)".into(),
        ));
    }
    if let Some(passing) = &explanation.passing {
        facts.push(("instead", instead(bug, passing)));
    }
    if let Some(shrinking) = &explanation.shrinking {
        facts.push(("smallest", smallest(shrinking)));
    }
    if let Some(findability) = explanation.findability.as_ref().filter(|_| !explanation.unavoidable) {
        let (Rate { bugs, of }, n) = (findability.measured.rate, findability.iterations);
        let show = if bugs == 1 { "shows" } else { "show" };
        let sample = if findability.measured.fresh { "" } else { " with those of the exploration" };
        let iterations = counted(of, "iteration");
        let means = if n == 1 { "means" } else { "mean" };
        let rate = if bugs == of {
            format!("all of {iterations}{sample} show it, so the schedule seems not to matter")
        } else {
            format!("{bugs} of {iterations}{sample} {show} it")
        };
        let trace = shell(Path::new(&bug.trace));
        facts.push((
            "a fix",
            format!("{rate}: {n} without it {means} that it is gone (95 %): --confirm {trace}"),
        ));
    }
    facts
}

/// The decisive choice, and its effect on the likelihood of the bug.
fn decisive(bug: &BugReport, decisive: &Decisive) -> String {
    let what = match bug.timeline.decisions.get(decisive.decision) {
        Some(Decision::Step { worker, kind, site }) => {
            let worker = title(bug, worker);
            let frames = site.and_then(|site| bug.timeline.places.get(&site));
            match (frames, &bug.explanation.decisive_place) {
                // What a library does there says less than where it was called.
                (Some(frames), Some(place)) if frames::own(frames).next().is_none() => {
                    format!("{worker} in {}", frames::one_line(std::slice::from_ref(place)))
                }
                (Some(frames), _) => {
                    format!("{worker}, {} in {}", kind.name(), frames::one_line(frames))
                }
                (None, _) => format!("{worker}, {}", kind.name()),
            }
        }
        Some(Decision::Timeout { worker }) => format!("the timeout of {}", title(bug, worker)),
        Some(Decision::Value { value, bound }) => chosen(decisive.meaning.as_ref(), *value, *bound),
        None => String::new(),
    };
    let of = |rate: Rate| match rate {
        Rate { bugs, of } if bugs == of => "all".into(),
        Rate { bugs: 0, .. } => "none".into(),
        Rate { bugs, of } => format!("{bugs} of {of}"),
    };
    format!(
        "step {}: {what}\nof random continuations from before it {} end like this, from after it {}",
        decisive.step,
        of(decisive.before),
        of(decisive.after)
    )
}

/// A worker as the story calls it, with its name.
fn title(bug: &BugReport, worker: &WorkerPath) -> String {
    let path = format!("worker {worker}");
    let is = |title: &&String| {
        title.strip_prefix(&path).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let mut titles = bug.story.iter().flat_map(|story| &story.workers).map(|worker| &worker.title);
    titles.find(is).cloned().unwrap_or(path)
}

/// The other choice with which the schedule passes.
fn instead(bug: &BugReport, passing: &PassingReport) -> String {
    let meaning = bug.explanation.decisive.as_ref().and_then(|decisive| decisive.meaning.as_ref());
    let passes = if passing.certain { "the same schedule passes" } else { "the same schedule can pass" };
    // The line of the decisive step is above, if there is one; otherwise the step is named here.
    let at = passing
        .place
        .as_ref()
        .and_then(SourceFrame::file_and_line)
        .map_or(String::new(), |place| format!(" ({place})"));
    let unnamed = bug.explanation.decisive.is_none().then(|| format!("step {}{at}", passing.step));
    let (it, first) = (unnamed.as_deref().unwrap_or("it"), if unnamed.is_none() { " first" } else { "" });
    let place = |word: &str| unnamed.as_ref().map_or(String::new(), |step| format!(" {word} {step}"));
    let how = match &passing.instead {
        Instead::Step { title, .. } => format!("with a step of {title} before {it}"),
        Instead::RunsOn { title, .. } => {
            format!("if {title}{first} goes on as far as it can{}", place("before"))
        }
        Instead::Timeout { title, .. } => {
            format!("if the timeout of {title} fires{first}{}", place("before"))
        }
        Instead::Value { value, was, .. } => with_another(meaning, *value, *was) + &place("in"),
    };
    let read = passing.read.as_ref().map_or(String::new(), |read| format!(": {read}"));
    format!("{passes} {how}{read}")
}

/// What a chosen value decided.
fn chosen(meaning: Option<&Meaning>, value: u64, bound: u64) -> String {
    match meaning {
        Some(Meaning::Wakes { titles }) if let Some(title) = titles.get(value as usize) => {
            format!("{title} is woken, 1 of {} that wait", titles.len())
        }
        Some(Meaning::Fault { name }) if let Some([happens, does_not]) = other_order(name) => {
            if value == 0 {
                does_not.into()
            } else {
                happens.into()
            }
        }
        Some(Meaning::Fault { name }) if value == 0 => {
            format!("fault `{name}` does not happen, though it could")
        }
        Some(Meaning::Fault { name }) if is_stale(name) => {
            "what is read or stored is not the newest (`--memory weak`)".into()
        }
        Some(Meaning::Fault { name }) => format!("fault `{name}` happens"),
        None | Some(Meaning::Wakes { .. }) => format!("{value} chosen of 0..{bound}"),
    }
}

/// With what else a schedule passes, if another value `was` chosen in the trace.
fn with_another(meaning: Option<&Meaning>, value: u64, was: u64) -> String {
    match meaning {
        Some(Meaning::Wakes { titles }) if let Some(title) = titles.get(value as usize) => {
            format!("if {title} is woken there")
        }
        Some(Meaning::Fault { name }) if value == 0 && is_stale(name) => {
            "if the newest is read or stored there".into()
        }
        Some(Meaning::Fault { name }) if let Some([happens, does_not]) = other_order(name) => {
            format!("if {}", if value == 0 { does_not } else { happens })
        }
        Some(Meaning::Fault { name }) if value == 0 => format!("without fault `{name}`"),
        Some(Meaning::Fault { name }) if was == 0 => format!("with fault `{name}` there"),
        Some(Meaning::Fault { name }) => format!("if fault `{name}` happens in another way"),
        None | Some(Meaning::Wakes { .. }) => format!("with {value} chosen there, not {was}"),
    }
}

/// Whether a fault is one of weak memory, which no user would call so.
fn is_stale(name: &str) -> bool {
    name == FaultClass::Stale.row().name
}

/// The size of the schedule, and what is known about smaller ones.
pub fn smallest(shrinking: &Shrinking) -> String {
    let Shrinking { before, after, fewer_preemptions_tried, cheaper_tried, stopped, .. } = shrinking;
    let preemptions = match after.preemptions {
        0 => "no preemption".into(),
        n => counted(n, "preemption"),
    };
    let known = match (cheaper_tried, fewer_preemptions_tried) {
        (Some(0), _) => "; there is none with fewer".into(),
        (Some(tried), _) => format!("; nothing with fewer shows it (all {tried} tried)"),
        (None, Some(tried)) if after.preemptions > 0 => {
            format!("; nothing with fewer preemptions shows it (all {tried} tried)")
        }
        _ => String::new(),
    };
    let stopped = if *stopped { "; stopped early: --shrink-time gives it more time" } else { "" };
    let switches = switches(after.switches);
    format!("{switches}, {preemptions}{known}; found with {}{stopped}", before.switches)
}

fn switches(count: u64) -> String {
    format!("{count} switch{}", if count == 1 { "" } else { "es" })
}
