//! Suspended tasks of Rust's async functions at the end of an execution: where each of them waits.
//!
//! No stack has a suspended task. What shows it is its state machine, which [`Polls`] has met, and the states that memory
//! still holds. Left out are machines in freed blocks and in ended frames, and those that another machine contains: only
//! that one knows whether it still awaits them.

use super::places::Places;
use super::polls::{Machine, PolledTask, Polls, TaskId};
use super::words;
use crate::execution::Execution;
use crate::symbols::{Coroutines, SourceFrame, is_library};
use std::ops::Range;

/// A suspended task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The function or block that it executes, and where that begins.
    pub begins: SourceFrame,
    /// The innermost place of the guest's own source where it waits; `begins` if that is not known.
    pub at: SourceFrame,
    /// The text of that line, if it is known.
    pub source: Option<String>,
}

/// The suspended tasks, ordered by their places.
pub fn suspended(
    execution: &Execution,
    polls: &Polls,
    coroutines: &Coroutines,
    places: &mut Places<'_>,
) -> Vec<Task> {
    let machines: Vec<&Machine> = polls.suspended().filter(|at| is_alive(execution, &at.range)).collect();
    let number = |address: u64, bytes: u32| {
        let end = address.checked_add(bytes.into())?;
        let bytes = execution.machine().memory().get(address as usize..end as usize)?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    let mut tasks: Vec<Task> = Vec::new();
    for machine in &machines {
        let (own, coroutine) = (&machine.range, &machine.coroutine);
        let contains = |other: &Range<u64>| own != other && other.start <= own.start && own.end <= other.end;
        if machines.iter().any(|other| contains(&other.range)) {
            continue;
        }
        let suspensions = coroutines.suspensions(coroutine, own.start, &number);
        if suspensions.is_empty() {
            continue;
        }
        let innermost = suspensions.iter().map(|at| places.suspension(at)).rfind(|frame| !is_library(frame));
        let begins = places.suspension(&coroutine.begins());
        // An `await` within a macro has its line there; code has the line where the macro is called, if it has any.
        let at = innermost.or_else(|| places.own(machine.stored.as_slice()).map(|(_, frame)| frame));
        let at = at.or_else(|| Some(begins.clone()).filter(|begins| !is_library(begins)));
        tasks.extend(at.map(|at| Task { begins, at, source: None }));
    }
    let key = |frame: &SourceFrame| (frame.file.clone(), frame.line, frame.function.clone());
    tasks.sort_by_cached_key(|task| (key(&task.at), key(&task.begins)));
    tasks
}

/// A task's name: the line where its function or block begins, and a number if others have that line.
pub fn name(polls: &Polls, id: TaskId) -> String {
    let tasks = polls.tasks();
    let line = tasks[id.0].begins.line;
    let number = match line {
        None => format!(" {}", id.0 + 1),
        Some(line) => format!(" :{line}"),
    };
    let like = |of: &[PolledTask]| of.iter().filter(|task| task.begins.line == line).count();
    let several = line.is_some() && like(tasks) > 1;
    let which = if several { format!(" #{}", like(&tasks[..=id.0])) } else { String::new() };
    format!("task{number}{which}")
}

/// What a task is.
pub fn title(polls: &Polls, id: TaskId, places: &Places<'_>) -> String {
    let begins = places.suspension(&polls.tasks()[id.0].begins);
    let of = super::short_name(&begins.function);
    format!("{} of `{of}`{}", name(polls, id), words::in_brackets(Some(&begins)))
}

/// Whether memory belongs to a frame that has not ended, or to one block that is in use.
fn is_alive(execution: &Execution, range: &Range<u64>) -> bool {
    let (Ok(begin), Ok(end)) = (u32::try_from(range.start), u32::try_from(range.end)) else { return false };
    execution.machine().is_in_frame(begin).unwrap_or_else(|| {
        let block = execution.runtime().heap.block_around(begin);
        block.is_some_and(|block| end - block.address <= block.bytes)
    })
}
