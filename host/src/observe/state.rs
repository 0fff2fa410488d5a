//! The state that observers may read.

use crate::orderings::{Atomicity, OnDemand, Orderings};
use crate::runtime::Runtime;
use coyote_instrumenter::{Location, SiteTable};
use coyote_strategies::{WorkerId, WorkerState};

/// The state of the program at an event. Everything is as at present; at several events of one step, the runtime's
/// state is the one after the step.
pub struct GuestState<'a> {
    /// Workers, sync objects, the heap, files, time.
    pub runtime: &'a Runtime,
    /// Guest memory, as much as the guest sees.
    pub memory: &'a [u8],
    /// Which addresses the guest may access.
    pub bounds: MemoryBounds,
    program: Program<'a>,
    stacks: &'a dyn Stacks,
}

/// The bounds of the addresses that are memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryBounds {
    /// Addresses below are null pointers with an offset.
    pub null_bytes: u64,
    /// Size of memory as the guest sees it.
    pub memory_bytes: u64,
}

/// Data about the guest's code.
#[derive(Clone, Copy)]
pub(crate) struct Program<'a> {
    /// Places of operations, by their numbers.
    pub sites: &'a SiteTable,
    pub orderings: &'a OnDemand,
}

/// The source of workers' stacks.
pub trait Stacks {
    /// The stack of a worker, innermost first. `None` if it runs and its stack cannot be read now.
    fn stack(&self, worker: WorkerId) -> Option<Vec<Location>>;

    /// The bounds of the first worker's stack, if nothing else lies within.
    fn main_stack_alone(&self) -> Option<(u32, u32)>;

    /// What an address in the stack of a worker belongs to, if the worker is suspended. `bounds`: those of the stack.
    fn place(&self, worker: WorkerId, bounds: (u32, u32), address: u32) -> StackPlace;

    /// The frame that contains an address in the stack of a worker, if the worker is suspended. `bounds`: those of the stack.
    fn frame(&self, worker: WorkerId, bounds: (u32, u32), address: u32) -> Option<ShadowFrame>;
}

/// A frame in the stack of a suspended worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShadowFrame {
    /// Where its function is.
    pub location: Location,
    /// The lowest address of the frame.
    pub begin: u32,
}

/// What an address in a worker's stack belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackPlace {
    /// No frame: a frame that was there has ended.
    Ended,
    /// The frame of a function that gives the frame's address to no other code.
    Private,
    /// The frame of a function that may have given its address away; or not known, or not in that stack.
    Other,
}

impl<'a> GuestState<'a> {
    /// `memory`: all of it, of which the guest may see less.
    pub(crate) fn new(
        runtime: &'a Runtime,
        memory: &'a [u8],
        bounds: MemoryBounds,
        program: Program<'a>,
        stacks: &'a dyn Stacks,
    ) -> GuestState<'a> {
        let seen = memory.len().min(bounds.memory_bytes as usize);
        GuestState { runtime, memory: &memory[..seen], bounds, program, stacks }
    }

    /// The stack of a worker, innermost first. The call costs microseconds. `None` if the stack cannot be known at this
    /// event: that of the running worker at its own step, without [`Interest::STACKS`](super::Interest::STACKS).
    pub fn stack(&self, worker: WorkerId) -> Option<Vec<Location>> {
        self.stacks.stack(worker)
    }

    /// The stack of a worker whose call of an allocator has just ended, without the allocator's function. Empty if it
    /// cannot be known.
    pub fn caller_of_allocator(&self, worker: WorkerId) -> Vec<Location> {
        let stack = self.stack(worker).unwrap_or_default();
        stack.into_iter().skip(1).collect()
    }

    /// The bounds of the first worker's stack, if nothing else lies within.
    pub(crate) fn main_stack_alone(&self) -> Option<(u32, u32)> {
        self.stacks.main_stack_alone()
    }

    /// What an address belongs to that is in the stack of this worker, or else of the first one: [`StackPlace::Other`] if
    /// the worker runs, if the bounds of its stack are not known, or if its memory may be used for something else since it
    /// has ended.
    pub fn stack_place(&self, worker: WorkerId, address: u32) -> StackPlace {
        let main = || self.stacks.main_stack_alone().filter(|_| worker == self.runtime.first());
        let bounds = self.runtime.stack_of(worker).or_else(main);
        let Some(bounds) = bounds.filter(|(low, high)| (*low..*high).contains(&address)) else {
            return StackPlace::Other;
        };
        match self.runtime.pending(worker).state {
            WorkerState::Ended if self.runtime.left_stack(worker).is_some() => StackPlace::Ended,
            WorkerState::Ended => StackPlace::Other,
            _ => self.stacks.place(worker, bounds, address),
        }
    }

    /// The frame that contains an address. `None` outside of all frames of suspended workers, and where the bounds of the
    /// stack or the sizes of its frames are not known.
    pub(crate) fn frame_at(&self, address: u32) -> Option<ShadowFrame> {
        let main = || self.stacks.main_stack_alone().filter(|(low, high)| (*low..*high).contains(&address));
        let worker = self.runtime.stack_at(address).or_else(|| main().map(|_| self.runtime.first()))?;
        let bounds = self.runtime.stack_of(worker).or_else(main)?;
        match self.runtime.pending(worker).state {
            WorkerState::Ended => None,
            _ => self.stacks.frame(worker, bounds, address),
        }
    }

    /// The operations that are atomic, by their sites, with their orderings. The first call costs
    /// milliseconds.
    pub fn orderings(&self) -> &'a Orderings {
        self.program.orderings.get()
    }

    /// The site that has the memory order of a worker's operation, if the order is known only at run time;
    /// else the site itself.
    pub(crate) fn ordered_site(&self, worker: WorkerId, site: u32) -> u32 {
        let pending = self.runtime.pending(worker).operation.site;
        if pending == site { self.runtime.ordered_site(worker) } else { site }
    }

    /// The atomicity of the operation of a site. `None` if there is no such site.
    pub(crate) fn atomicity(&self, site: u32) -> Option<Atomicity> {
        let known = (site as usize) < self.program.sites.sites.len();
        known.then(|| self.orderings().of(site))
    }

    /// The functions and files of a place, also of those that are inlined there. The first call costs
    /// milliseconds.
    pub fn names(&self, place: Location) -> Vec<String> {
        self.program.orderings.names(place)
    }

    /// The location of the operation of a site in the guest's code. `None` for a step without a site.
    pub fn location(&self, site: u32) -> Option<Location> {
        self.program.sites.sites.get(site as usize).map(|site| site.location)
    }

    /// A number of up to 8 bytes in memory, little-endian.
    pub fn number(&self, address: u64, bytes: u32) -> Option<u64> {
        let start = usize::try_from(address).ok()?;
        let stored = self.memory.get(start..start.checked_add(bytes as usize)?)?;
        let mut number = [0; 8];
        number.get_mut(..stored.len())?.copy_from_slice(stored);
        Some(u64::from_le_bytes(number))
    }
}
