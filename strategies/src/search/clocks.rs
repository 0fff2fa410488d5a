//! Happens-before of the current path, by vector clocks.
//!
//! A worker's steps are a process, and the firings of its timeouts are another. An event's clock says for
//! every process how many of its events happen before or are the event itself.

use crate::Pick;
use std::ops::Range;

/// An executed step.
#[derive(Clone, Debug)]
pub struct Event {
    /// Whose step or timeout it is: see [`process`].
    pub process: usize,
    /// How many events of its process there are up to it.
    pub index: u32,
    /// The event of its process before it.
    pub previous: Option<u32>,
    /// Where its clock is.
    row: Range<usize>,
    /// Where its footprint is kept.
    pub footprint: Range<usize>,
    /// [`super::dependence::signature`] of its footprint.
    pub signature: u64,
    /// Where its decisions are on the path: its pick, and the values chosen in it.
    pub decisions: Range<usize>,
}

/// The events of a path and their clocks. Grows and shrinks at its end.
#[derive(Debug, Default)]
pub struct Clocks {
    events: Vec<Event>,
    rows: Vec<u32>,
    /// The last event of each process.
    last: Vec<Option<u32>>,
}

/// A clock. Processes beyond its end have no event in it.
#[derive(Clone, Debug, Default)]
pub struct Clock(Vec<u32>);

impl Clock {
    /// How many events of a process it has.
    pub fn get(&self, process: usize) -> u32 {
        self.0.get(process).copied().unwrap_or(0)
    }

    /// Its entries, by process.
    pub fn row(&self) -> &[u32] {
        &self.0
    }

    /// Becomes a copy of the clock with these entries.
    pub fn set(&mut self, row: &[u32]) {
        self.0.clear();
        self.0.extend_from_slice(row);
    }

    /// Becomes the later of the two for each process.
    pub fn join(&mut self, row: &[u32]) {
        if self.0.len() < row.len() {
            self.0.resize(row.len(), 0);
        }
        self.0.iter_mut().zip(row).for_each(|(a, b)| *a = (*a).max(*b));
    }
}

/// The number of a pick's process.
pub fn process(pick: Pick) -> usize {
    pick.worker().index() * 2 + usize::from(matches!(pick, Pick::Timeout(_)))
}

impl Clocks {
    /// The events of the path, in the order of execution.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Forgets the path.
    pub fn clear(&mut self) {
        self.events.clear();
        self.rows.clear();
        self.last.clear();
    }

    /// The clock of an event.
    pub fn row(&self, event: usize) -> &[u32] {
        &self.rows[self.events[event].row.clone()]
    }

    /// The clock of the last event of a process.
    pub fn latest(&self, process: usize) -> &[u32] {
        match self.last.get(process).copied().flatten() {
            Some(event) => self.row(event as usize),
            None => &[],
        }
    }

    /// The last event of a process.
    pub fn last(&self, process: usize) -> Option<usize> {
        self.last.get(process).copied().flatten().map(|event| event as usize)
    }

    /// The last events of all processes.
    pub fn lasts(&self) -> impl Iterator<Item = u32> {
        self.last.iter().copied().flatten()
    }

    /// Whether one event happens before another or is it.
    pub fn before(&self, first: usize, second: usize) -> bool {
        let first = &self.events[first];
        self.row(second).get(first.process).is_some_and(|&count| count >= first.index)
    }

    /// Adds an event, after all that `clock` has.
    pub fn push(
        &mut self,
        process: usize,
        clock: &Clock,
        footprint: Range<usize>,
        signature: u64,
        decisions: Range<usize>,
    ) {
        if self.last.len() <= process {
            self.last.resize(process + 1, None);
        }
        let previous = self.last[process];
        let index = previous.map_or(0, |event| self.events[event as usize].index) + 1;
        let start = self.rows.len();
        self.rows.extend_from_slice(&clock.0);
        if self.rows.len() <= start + process {
            self.rows.resize(start + process + 1, 0);
        }
        self.rows[start + process] = index;
        self.last[process] = Some(self.events.len() as u32);
        let row = start..self.rows.len();
        self.events.push(Event { process, index, previous, row, footprint, signature, decisions });
    }

    /// Takes the last event back.
    pub fn pop(&mut self) -> Option<Event> {
        let event = self.events.pop()?;
        self.rows.truncate(event.row.start);
        self.last[event.process] = event.previous;
        Some(event)
    }
}
