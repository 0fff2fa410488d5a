//! The parts of the guest that the scheduler needs while it executes picks, and the delivery of events to
//! observers.

use super::super::stack::{self, Layout, SavedWorker};
use super::Scheduler;
use crate::observe::{
    Event, GuestState, Interest, MemoryBounds, Observers, Program, ShadowFrame, StackPlace, Stacks, Step,
};
use crate::orderings::OnDemand;
use crate::runtime::Runtime;
use coyote_abi::rt::CHUNK;
use coyote_instrumenter::{Location, SiteTable};
use coyote_strategies::WorkerId;

/// The parts of the guest that the scheduler needs.
pub struct Context<'a> {
    /// All of guest memory; the guest may see less.
    pub memory: &'a mut [u8],
    /// Chunks of memory that the host wrote.
    pub written: &'a mut Vec<u32>,
    pub observers: &'a mut Observers,
    pub orderings: &'a OnDemand,
    pub suspended: Suspended<'a>,
}

/// Stacks of suspended workers.
pub struct Suspended<'a> {
    pub table: &'a SiteTable,
    pub saved_workers: &'a [SavedWorker],
    /// The worker that is not suspended now.
    pub running: Option<WorkerId>,
    /// The bounds of the first worker's stack: see [`stack::main_stack_alone`].
    pub main_stack_alone: Option<(u32, u32)>,
}

impl Stacks for Suspended<'_> {
    fn stack(&self, worker: WorkerId) -> Option<Vec<Location>> {
        let saved = self.saved_workers.get(worker.index()).filter(|_| self.running != Some(worker))?;
        Some(stack::frames(self.table, &saved.bytes))
    }

    fn main_stack_alone(&self) -> Option<(u32, u32)> {
        self.main_stack_alone
    }

    fn place(&self, worker: WorkerId, bounds: (u32, u32), address: u32) -> StackPlace {
        let saved = self.saved_workers.get(worker.index()).filter(|_| self.running != Some(worker));
        let mut layout = Layout::default();
        if let Some(saved) = saved {
            layout.read(self.table, saved, bounds);
        }
        layout.place(address)
    }

    fn frame(&self, worker: WorkerId, bounds: (u32, u32), address: u32) -> Option<ShadowFrame> {
        let saved = self.saved_workers.get(worker.index()).filter(|_| self.running != Some(worker))?;
        stack::frame_around(self.table, saved, bounds, address)
    }
}

impl Context<'_> {
    /// The observers, and what they may read.
    pub fn state<'b>(
        &'b mut self,
        runtime: &'b Runtime,
        bounds: MemoryBounds,
    ) -> (&'b mut Observers, GuestState<'b>) {
        let Context { memory, written: _, observers, orderings, suspended } = self;
        let program = Program { sites: suspended.table, orderings };
        (observers, GuestState::new(runtime, memory, bounds, program, suspended))
    }
}

/// Sets a number in guest memory, if the range lies within it. This makes memory hold the value that the runtime wants
/// there, and is no access.
pub fn put(memory: &mut [u8], written: &mut Vec<u32>, (address, bytes, value): (u32, u32, u64)) {
    let (start, bytes) = (address as usize, bytes as usize);
    if let Some(place) = memory.get_mut(start..start + bytes) {
        place.copy_from_slice(&value.to_le_bytes()[..bytes]);
        written.extend((start / CHUNK) as u32..=((start + bytes - 1) / CHUNK) as u32);
    }
}

/// A number of up to 8 bytes in guest memory, little-endian: as [`Runtime::perform`] reads it.
pub fn number(memory: &[u8], address: u32, bytes: u8) -> Option<u64> {
    let start = address as usize;
    let mut number = [0; 8];
    number[..bytes as usize].copy_from_slice(memory.get(start..start + bytes as usize)?);
    Some(u64::from_le_bytes(number))
}

impl Scheduler {
    /// Sends observers an executed step, whose values the scheduler holds, and all events since the last delivery.
    #[inline]
    pub(super) fn tell_step(&mut self, step: Step<'_>, context: &mut Context) {
        if self.runtime.stream.wants(Interest::STEPS) {
            self.tell_executed(step, context);
        }
        self.deliver(context);
    }

    /// Sends observers the step, with the values that the scheduler holds.
    #[cold]
    fn tell_executed(&mut self, step: Step<'_>, context: &mut Context) {
        let (observers, state) = context.state(&self.runtime, self.bounds);
        let step = Step { values: &self.values, ..step };
        if let Some(finding) = observers.event(&state, &Event::Step(step)) {
            self.stop_at(finding);
        }
    }

    /// Sends observers all events since the last delivery.
    #[inline]
    pub fn deliver(&mut self, context: &mut Context) {
        if !self.runtime.stream.is_empty() {
            self.deliver_events(context);
        }
    }

    #[cold]
    fn deliver_events(&mut self, context: &mut Context) {
        let events = self.runtime.stream.take();
        let (observers, state) = context.state(&self.runtime, self.bounds);
        let finding = observers.events(&state, &events);
        self.runtime.stream.recycle(events);
        if let Some(finding) = finding {
            self.stop_at(finding);
        }
    }
}
