//! Suspended tasks of Rust's async functions at the end of an execution: where each of them waits.
//!
//! No stack has a suspended task. What shows it is its state machine: the last store to the machine's state, which the
//! machine's own code made, and the state that memory still holds ([`Coroutines`]). Left out are machines in freed blocks
//! and in ended frames, those whose state was read since, as it is when they are polled again or dropped, and those that
//! another machine contains: only that one knows whether it still awaits them.

use super::moment::Places;
use super::why::place;
use crate::execution::Execution;
use crate::symbols::{Coroutine, Coroutines, SourceFrame, Suspension, is_library};
use coyote_instrumenter::Location;
use std::collections::BTreeMap;
use std::ops::Range;

/// The size of the largest state.
const STATE_BYTES: u32 = 2;

/// A store that may be of a state.
#[derive(Clone, Copy, Debug)]
struct Store {
    location: Location,
    /// Whether the address was read since then.
    was_read: bool,
}

/// The last stores that may be of states, by address.
#[derive(Clone, Debug, Default)]
pub struct States(BTreeMap<u64, Store>);

impl States {
    /// Adds an access by the guest. What it overwrites is no state any more.
    pub fn access(&mut self, address: u64, bytes: u32, writes: bool, location: Option<Location>) {
        if !writes {
            self.0.entry(address).and_modify(|store| store.was_read = true);
            return;
        }
        self.clear(address..address + u64::from(bytes));
        if let Some(location) = location.filter(|_| bytes <= STATE_BYTES) {
            self.0.insert(address, Store { location, was_read: false });
        }
    }

    /// Forgets the states in a part of memory.
    pub fn clear(&mut self, range: Range<u64>) {
        while let Some((address, _)) = self.0.range(range.clone()).next() {
            let address = *address;
            self.0.remove(&address);
        }
    }
}

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

impl Task {
    /// Where it waits, for sentences.
    pub fn place(&self) -> String {
        place(&self.at)
    }
}

/// A state machine in memory.
struct Machine<'a> {
    range: Range<u64>,
    coroutine: &'a Coroutine,
    store: Store,
}

/// The suspended tasks, ordered by their places.
pub fn suspended(execution: &Execution, states: &States, places: &mut Places<'_>) -> Vec<Task> {
    let coroutines = Coroutines::read(&execution.machine().artifact().original);
    let machines = states.0.iter().filter_map(|(address, store)| {
        let coroutine = coroutines.of_code(store.location.offset)?;
        let base = address.checked_sub(coroutine.state.0)?;
        let range = base..base + coroutine.bytes;
        is_alive(execution, &range).then_some(Machine { range, coroutine, store: *store })
    });
    let machines: Vec<Machine<'_>> = machines.collect();
    let number = |address: u64, bytes: u32| {
        let end = address.checked_add(bytes.into())?;
        let bytes = execution.machine().memory().get(address as usize..end as usize)?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    let mut tasks: Vec<Task> = Vec::new();
    for Machine { range, coroutine, store } in &machines {
        let contains =
            |other: &Range<u64>| other != range && other.start <= range.start && range.end <= other.end;
        if store.was_read || machines.iter().any(|other| contains(&other.range)) {
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
