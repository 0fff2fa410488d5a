//! Suspended tasks of Rust's async functions at the end of an execution: where each of them waits.
//!
//! No stack has a suspended task. What shows it is its state machine: the last store to the machine's state, which the
//! machine's own code made, and the state that memory still holds ([`Coroutines`]). Left out are machines in freed blocks
//! and in ended frames, those whose state was read since, as it is when they are polled again or dropped, and those that
//! another machine contains: only that one knows whether it still awaits them.

use super::moment::Places;
use super::states::{States, Store};
use crate::execution::Execution;
use crate::symbols::{Coroutine, Coroutines, SourceFrame, Suspension, is_library};
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

/// What is a state machine in memory, if a store was to its state and not to another field.
struct Candidate<'a> {
    range: Range<u64>,
    coroutine: &'a Coroutine,
    store: Store,
}

impl Candidate<'_> {
    /// Whether the other one shows that this one is no machine, or only a part of one. When a machine is suspended, the
    /// last store of its code is to its state.
    fn is_refuted_by(&self, other: &Candidate<'_>) -> bool {
        let (own, its) = (&self.range, &other.range);
        let contains = own != its && its.start <= own.start && own.end <= its.end;
        let overlaps = own.start < its.end && its.start < own.end;
        let is_later = other.store.number > self.store.number;
        contains || overlaps && is_later && self.coroutine.function == other.coroutine.function
    }
}

/// The suspended tasks, ordered by their places.
pub fn suspended(
    execution: &Execution,
    states: &States,
    coroutines: &Coroutines,
    places: &mut Places<'_>,
) -> Vec<Task> {
    let candidates = states.iter().filter_map(|(address, store)| {
        let coroutine = coroutines.of_code(store.location.offset)?;
        let base = address.checked_sub(coroutine.state.0)?;
        let range = base..base + coroutine.bytes;
        is_alive(execution, &range).then_some(Candidate { range, coroutine, store })
    });
    let candidates: Vec<Candidate<'_>> = candidates.collect();
    let number = |address: u64, bytes: u32| {
        let end = address.checked_add(bytes.into())?;
        let bytes = execution.machine().memory().get(address as usize..end as usize)?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    let mut tasks: Vec<Task> = Vec::new();
    for candidate in &candidates {
        let Candidate { range, coroutine, store } = candidate;
        if store.was_read || candidates.iter().any(|other| candidate.is_refuted_by(other)) {
            continue;
        }
        let suspensions = coroutines.suspensions(coroutine, range.start, &number);
        if suspensions.is_empty() {
            continue;
        }
        let innermost = suspensions.iter().map(|at| frame(at, places)).rfind(|frame| !is_library(frame));
        let begins = frame(&coroutine.begins(), places);
        // An `await` within a macro has its line there; code has the line where the macro is called, if it has any.
        let at = innermost.or_else(|| places.own(&[store.location]).map(|(_, frame)| frame));
        let at = at.or_else(|| Some(begins.clone()).filter(|begins| !is_library(begins)));
        tasks.extend(at.map(|at| Task { begins, at, source: None }));
    }
    let key = |frame: &SourceFrame| (frame.file.clone(), frame.line, frame.function.clone());
    tasks.sort_by_cached_key(|task| (key(&task.at), key(&task.begins)));
    tasks
}

fn frame(place: &Suspension, places: &Places<'_>) -> SourceFrame {
    let file = place.file.as_deref().map(|file| places.shown(file));
    SourceFrame { function: place.function.clone(), file, line: place.line, column: None }
}

/// Whether memory belongs to a frame that has not ended, or to one block that is in use.
fn is_alive(execution: &Execution, range: &Range<u64>) -> bool {
    let (Ok(begin), Ok(end)) = (u32::try_from(range.start), u32::try_from(range.end)) else { return false };
    execution.machine().is_in_frame(begin).unwrap_or_else(|| {
        let block = execution.runtime().heap.block_around(begin);
        block.is_some_and(|block| end - block.address <= block.bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use coyote_instrumenter::Location;

    /// Of two machines of one kind that overlap, the one whose state was stored last is one.
    #[test]
    fn parts_and_other_fields_are_no_machines() {
        let (machine, other) = (Coroutine::empty("a::b", 40), Coroutine::empty("a::c", 40));
        let candidate = |begin: u64, bytes: u64, number, coroutine| Candidate {
            range: begin..begin + bytes,
            coroutine,
            store: Store { location: Location { function: 0, offset: 0 }, number, was_read: false },
        };
        let whole = candidate(100, 40, 5, &machine);
        for (one, refuted) in [
            (candidate(108, 40, 4, &machine), true),
            (candidate(108, 40, 6, &machine), false),
            (candidate(108, 40, 4, &other), false),
            (candidate(140, 40, 4, &machine), false),
            (candidate(108, 8, 9, &other), true),
        ] {
            assert_eq!(one.is_refuted_by(&whole), refuted, "{:?}", one.range);
        }
        assert!(!whole.is_refuted_by(&whole));
    }
}
