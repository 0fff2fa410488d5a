//! Checks whether stored work is possible: in itself, and in the program.
//!
//! The remaining work of a search is written to files, and files may be damaged or belong to another program.
//! A search never relies on an [`Item`]: code that reads one calls [`check`], and a search that follows its
//! prefix calls [`check_decision`] and [`check_branch`] at every state. A mismatch is an error of the search
//! ([`super::Search::error`]), never a verdict and never a panic.

use super::{Branch, Item};
use crate::Pick;
use crate::system::{Decision, Status, System};

/// Whether the search of this name can have left these items.
///
/// # Errors
/// Says what is wrong with which item.
pub fn check(spec: &str, items: &[Item]) -> Result<(), String> {
    let kind = spec.split([':', '+']).next().unwrap_or_default();
    let form = match kind {
        "ss" => is_range_of_samples,
        "ses" | "ses-ss" => is_one_state,
        "dpor" => is_path_of_dpor,
        _ => is_path,
    };
    for (number, item) in items.iter().enumerate() {
        if *item == Item::default() {
            continue;
        }
        form(item).map_err(|wrong| format!("item {} of {}: {wrong}", number + 1, items.len()))?;
    }
    Ok(())
}

fn need(holds: bool, wrong: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(wrong.into()) }
}

/// Requires ascending states along the prefix, the last one at its end.
fn is_along(item: &Item) -> Result<(), String> {
    let depths = || item.branches.iter().map(|branch| branch.depth as usize);
    need(depths().is_sorted_by(|a, b| a < b), "its states are not in the order of their depths")?;
    need(depths().next_back() == Some(item.prefix.len()), "its last state is not at the end of its prefix")?;
    for branch in &item.branches {
        need(
            branch.values.start <= branch.values.end,
            "it has a range of values that ends before it begins",
        )?;
        let picks = branch.todo.iter().all(|decision| matches!(decision, Decision::Pick(_)));
        need(picks, "it has a value where picks are to be tried")?;
        need(branch.todo.is_empty() || branch.values.is_empty(), "it has picks and values at one state")?;
        let twice = |(i, todo)| branch.todo[..i].contains(todo);
        need(!branch.todo.iter().enumerate().any(twice), "it has a pick twice")?;
    }
    Ok(())
}

fn is_path(item: &Item) -> Result<(), String> {
    is_along(item)?;
    let something = |branch: &Branch| !branch.todo.is_empty() || !branch.values.is_empty();
    need(item.branches.iter().all(something), "it has a state with nothing left")?;
    need(item.branches.iter().all(|branch| branch.tried.is_empty()), "it has steps that were tried")
}

fn is_path_of_dpor(item: &Item) -> Result<(), String> {
    is_along(item)?;
    need(item.branches.iter().all(|branch| branch.spent == 0), "it has a cost")
}

fn is_one_state(item: &Item) -> Result<(), String> {
    need(item.branches.len() == 1, "it is not about one state")?;
    let branch = &item.branches[0];
    need(branch.depth as usize == item.prefix.len(), "its state is not at the end of its prefix")?;
    need(branch.values == (0..0) && branch.tried.is_empty(), "it has what only other searches have")?;
    let values = branch.todo.iter().filter(|decision| matches!(decision, Decision::Value(_))).count();
    need(values == 0 || branch.todo.len() == 1, "it has picks and values at one state")?;
    let twice = |(i, todo)| branch.todo[..i].contains(todo);
    need(!branch.todo.iter().enumerate().any(twice), "it has a pick twice")
}

fn is_range_of_samples(item: &Item) -> Result<(), String> {
    need(item.prefix.is_empty() && item.branches.len() == 1, "it is no range of samples")?;
    let branch = &item.branches[0];
    let rest = Branch { depth: branch.depth, spent: branch.spent, ..Branch::default() };
    need(*branch == rest && branch.depth > 0, "it is no range of samples")
}

/// Whether the program can make this decision now, `made` decisions after its start.
///
/// # Errors
/// Says what is impossible, and where.
pub fn check_decision<S: System>(system: &S, decision: Decision, made: usize) -> Result<(), String> {
    let wrong = match (decision, system.status()) {
        (Decision::Pick(pick), Status::Ready) if system.view().allows(pick) => return Ok(()),
        (Decision::Value(value), Status::Choosing { bound }) if value < bound => return Ok(()),
        (Decision::Pick(Pick::Step(worker)), Status::Ready) => {
            format!("worker {} cannot go on", worker.0)
        }
        (Decision::Pick(Pick::Timeout(worker)), Status::Ready) => {
            format!("no timeout of worker {} can fire", worker.0)
        }
        (Decision::Pick(_), Status::Choosing { .. }) => "a value is asked for, not a pick".into(),
        (Decision::Value(value), Status::Choosing { bound }) => format!("{value} is not below {bound}"),
        (Decision::Value(_), Status::Ready) => "nobody asks for a value".into(),
        _ => "the program has ended".into(),
    };
    Err(misfit(made, &wrong))
}

/// Whether a branch can be true of the present state. `next` is the path's next decision.
///
/// # Errors
/// Says what is impossible, and where.
pub fn check_branch<S: System>(
    system: &S,
    branch: &Branch,
    next: Option<&Decision>,
    made: usize,
) -> Result<(), String> {
    for todo in &branch.todo {
        check_decision(system, *todo, made)?;
        if Some(todo) == next {
            return Err(misfit(made, "what the path goes on with is still to be tried"));
        }
    }
    for tried in &branch.tried {
        let worker = tried.pick.worker();
        if worker.index() >= system.view().workers.len() {
            return Err(misfit(made, &format!("there is no worker {} that was tried", worker.0)));
        }
    }
    match (branch.values.is_empty(), system.status()) {
        (true, Status::Ready) => Ok(()),
        (true, Status::Choosing { .. }) => Err(misfit(made, "a value is asked for, and none is left")),
        (false, Status::Choosing { bound }) if branch.values.end <= bound => match next {
            Some(Decision::Value(value)) if branch.values.contains(value) => {
                Err(misfit(made, "what the path goes on with is still to be tried"))
            }
            _ => Ok(()),
        },
        (false, Status::Choosing { .. }) => Err(misfit(made, "it has values beyond the bound")),
        (false, Status::Ready) => Err(misfit(made, "nobody asks for a value")),
        _ => Err(misfit(made, "the program has ended")),
    }
}

/// The error for stored work that does not fit the program `made` decisions after its start.
pub fn misfit(made: usize, wrong: &str) -> String {
    format!("what is stored does not fit the program: after {made} decisions, {wrong}")
}
