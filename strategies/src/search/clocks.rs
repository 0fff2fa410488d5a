//! Happens-before of the current path, by vector clocks.
//!
//! The steps of a worker form a process, and the firings of its timeouts form another one. An event's clock
//! contains, for every process, how many of its events happen before the event or are the event itself.

use crate::Pick;
use std::ops::Range;

/// An executed step.
#[derive(Clone, Debug)]
pub struct Event {
    /// The process of the step or timeout: see [`process`].
    pub process: usize,
    /// The number of events of its process up to and including it.
    pub index: u32,
    /// The previous event of its process.
    pub previous: Option<u32>,
    /// The range of its clock.
    row: Range<usize>,
    /// The range of its footprint.
    pub footprint: Range<usize>,
    /// [`super::dependence::signature`] of its footprint.
    pub signature: u64,
    /// The range of its decisions on the path: its pick, and the values chosen in it.
    pub decisions: Range<usize>,
}

/// The events of a path and their clocks. Events are added and removed at the end.
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
    /// How many events of a process it contains.
    pub fn get(&self, process: usize) -> u32 {
        self.0.get(process).copied().unwrap_or(0)
    }

    /// Its entries, by process.
    pub fn row(&self) -> &[u32] {
        &self.0
    }

    /// Makes it a copy of the clock with these entries.
    pub fn set(&mut self, row: &[u32]) {
        self.0.clear();
        self.0.extend_from_slice(row);
    }

    /// Makes each entry the greater of the two.
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

    /// Removes all events.
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

    /// Whether one event happens before another or is the same.
    pub fn before(&self, first: usize, second: usize) -> bool {
        let first = &self.events[first];
        self.row(second).get(first.process).is_some_and(|&count| count >= first.index)
    }

    /// Adds an event that happens after all events in `clock`.
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

    /// Removes the last event and returns it.
    pub fn pop(&mut self) -> Option<Event> {
        let event = self.events.pop()?;
        self.rows.truncate(event.row.start);
        self.last[event.process] = event.previous;
        Some(event)
    }
}
