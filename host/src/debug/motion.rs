//! Motions from one position to another.

use super::Debugger;
use super::schedule::Step;
use super::stops::own_place;
use crate::machine::MachineError;
use crate::symbols::slice;
use coyote_strategies::{OpKind, WorkerId};

/// Why the execution stopped at its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The motion reached its destination.
    There,
    /// At the breakpoint with this number.
    Breakpoint(u32),
    /// Watched memory was written or changed.
    Changed(Change),
    /// At the beginning.
    Beginning,
    /// At the end.
    End,
}

/// A write or a change of memory that a watchpoint saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The number of the watchpoint.
    pub number: u32,
    /// The position of the step that made it.
    pub position: usize,
    /// The content before and after the step; `None` if the place was not in memory.
    pub before: Option<Vec<u8>>,
    /// See [`Change::before`].
    pub after: Option<Vec<u8>>,
}

/// The direction of a motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// In the order of execution.
    Forward,
    /// Towards the beginning of the execution.
    Back,
}

impl Debugger {
    /// Moves by `count` entries of the schedule.
    ///
    /// # Errors
    /// As [`Debugger::go_to`].
    pub fn step(&mut self, direction: Direction, count: usize) -> Result<Stop, MachineError> {
        let from = self.position();
        let to = match direction {
            Direction::Forward => from.saturating_add(count).min(self.end()),
            Direction::Back => from.saturating_sub(count),
        };
        self.arrive(direction, Some(to).filter(|to| *to != from))
    }

    /// Moves to the next position at which another worker continues or a timeout fires.
    ///
    /// # Errors
    /// As [`Debugger::go_to`].
    pub fn to_switch(&mut self, direction: Direction) -> Result<Stop, MachineError> {
        let from = self.position();
        let to = match direction {
            Direction::Forward => (from + 1..self.end()).find(|at| self.schedule.switches(*at)),
            Direction::Back => (0..from).rev().find(|at| self.schedule.switches(*at)),
        };
        self.arrive(direction, to)
    }

    /// Moves to the next position at which a worker is on another line of its present function, or in one of the
    /// functions that called it; `out`: only the latter. Steps of other workers in between are executed as well.
    /// Breakpoints and watchpoints stop the motion.
    ///
    /// # Errors
    /// As [`Debugger::go_to`].
    pub fn to_line(
        &mut self,
        worker: WorkerId,
        out: bool,
        direction: Direction,
    ) -> Result<Stop, MachineError> {
        let from = self.position();
        let steps = &self.schedule.steps;
        let at = |position: usize| own_place(self.schedule.frames(position));
        let its = |position: &usize| steps[*position].worker == worker && !steps[*position].timeout;
        let here = (from..self.end()).find(its).or_else(|| (0..from).rev().find(its)).and_then(at);
        let is_beyond = |position: &usize| {
            let (Some((depth, here)), Some((new_depth, new))) = (here, at(*position)) else { return true };
            let moved = (&here.source.function, here.source.line) != (&new.source.function, new.source.line);
            new_depth < depth || (!out && new_depth == depth && moved)
        };
        let to = match direction {
            Direction::Forward => {
                (from + 1..self.end()).find(|p| its(p) && is_beyond(p)).unwrap_or(self.end())
            }
            Direction::Back => (0..from).rev().find(|p| its(p) && is_beyond(p)).unwrap_or(0),
        };
        self.run_to(direction, to)
    }

    /// Moves to a breakpoint or to a change of watched memory; otherwise to the end, or back to the beginning.
    ///
    /// The motion forwards stops behind the step that changed memory; the motion backwards stops before it, so that
    /// this step comes next.
    ///
    /// # Errors
    /// As [`Debugger::go_to`].
    pub fn run(&mut self, direction: Direction) -> Result<Stop, MachineError> {
        let to = match direction {
            Direction::Forward => self.end(),
            Direction::Back => 0,
        };
        self.run_to(direction, to)
    }

    fn run_to(&mut self, direction: Direction, to: usize) -> Result<Stop, MachineError> {
        let found = match direction {
            Direction::Forward => self.first_stop(to)?,
            Direction::Back => self.last_stop(to)?,
        };
        match found {
            Some((position, stop)) => {
                self.go_to(position)?;
                Ok(stop)
            }
            None => self.arrive(direction, Some(to).filter(|to| *to != self.position())),
        }
    }

    fn arrive(&mut self, direction: Direction, to: Option<usize>) -> Result<Stop, MachineError> {
        let limit = match direction {
            Direction::Forward => (self.end(), Stop::End),
            Direction::Back => (0, Stop::Beginning),
        };
        let to = to.unwrap_or(limit.0);
        self.go_to(to)?;
        Ok(if to == limit.0 { limit.1 } else { Stop::There })
    }

    /// The breakpoint at a position.
    fn breakpoint_at(&self, position: usize) -> Option<u32> {
        let stops = self.stops.breakpoints.iter().find(|b| b.positions.binary_search(&position).is_ok());
        stops.map(|breakpoint| breakpoint.number)
    }

    /// Executes up to the first stop behind the present position, at most up to `to`, and returns that stop.
    fn first_stop(&mut self, to: usize) -> Result<Option<(usize, Stop)>, MachineError> {
        while self.position() < to {
            if self.stops.watchpoints.is_empty() {
                let next = (self.position() + 1..=to).find(|at| self.breakpoint_at(*at).is_some());
                let stop = next.and_then(|at| Some((at, Stop::Breakpoint(self.breakpoint_at(at)?))));
                return Ok(stop);
            }
            if let Some(change) = self.execute_watched()? {
                return Ok(Some((self.position(), Stop::Changed(change))));
            }
            if let Some(number) = self.breakpoint_at(self.position()) {
                return Ok(Some((self.position(), Stop::Breakpoint(number))));
            }
        }
        Ok(None)
    }

    /// The last stop before the present position, not before `to`. Executes forwards from each snapshot to the next
    /// one, beginning with the last snapshot.
    fn last_stop(&mut self, to: usize) -> Result<Option<(usize, Stop)>, MachineError> {
        let from = self.position();
        let breakpoint =
            (to..from).rev().find_map(|at| Some((at, Stop::Breakpoint(self.breakpoint_at(at)?))));
        if self.stops.watchpoints.is_empty() {
            return Ok(breakpoint);
        }
        let lowest = breakpoint.as_ref().map_or(to, |(at, _)| *at);
        let mut high = from;
        while high > lowest {
            let kept = self.states.before(high - 1).map_or(0, |(at, _)| at);
            let low = kept.max(lowest);
            self.go_to(low)?;
            let mut last = None;
            while self.position() < high {
                last = self.execute_watched()?.or(last);
            }
            if let Some(change) = last {
                return Ok(Some((change.position, Stop::Changed(change))));
            }
            high = low;
        }
        // The caller moves to the stop.
        self.go_to(from)?;
        Ok(breakpoint)
    }

    /// Executes the next entry and returns the change of watched memory; if several watchpoints saw one, that of the
    /// first watchpoint.
    fn execute_watched(&mut self) -> Result<Option<Change>, MachineError> {
        let position = self.position();
        let before = self.watched();
        self.execute()?;
        let after = self.watched();
        let step = &self.schedule.steps[position];
        let values = before.into_iter().zip(after);
        let mut changes =
            self.stops.watchpoints.iter().zip(values).filter(|(watchpoint, (before, after))| {
                before != after || step.writes(watchpoint.place.address, watchpoint.place.bytes)
            });
        Ok(changes.next().map(|(watchpoint, (before, after))| Change {
            number: watchpoint.number,
            position,
            before,
            after,
        }))
    }

    fn watched(&self) -> Vec<Option<Vec<u8>>> {
        let memory = self.memory();
        let bytes = |address, bytes| slice(memory, address, bytes).map(<[u8]>::to_vec);
        let places = self.stops.watchpoints.iter().map(|watchpoint| &watchpoint.place);
        places.map(|place| bytes(place.address, place.bytes)).collect()
    }
}

impl Step {
    /// Whether the operation of the step is a write of this memory. A compare-exchange that changes nothing does not
    /// count.
    pub fn writes(&self, address: u64, bytes: u64) -> bool {
        let operation = &self.operation;
        let end = operation.object.saturating_add(u64::from(operation.size.max(1)));
        !self.timeout
            && operation.kind.writes()
            && (operation.kind != OpKind::CompareExchange || self.number_at.is_none_or(|(a, b)| a != b))
            && operation.object < address.saturating_add(bytes)
            && address < end
    }
}
