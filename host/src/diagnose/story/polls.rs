//! Polls of the state machines that rustc makes of async functions, followed while a schedule is executed once more: which
//! task a worker executes, and where a task suspends, ends or is dropped.
//!
//! What shows a poll is the code of the machine itself ([`Coroutines`]): the first that a poll does is to read the machine's
//! state, and the last is to store it. A machine that has not begun is met when its code reads a state that is zero. The
//! future that a runtime polls for itself is the root of a *task*; what it awaits, also in boxes, belongs to the same
//! task. The future of a `block_on` belongs to no task, but to its worker.
//!
//! Unknown are futures that are no such machines, and machines that an optimised build has no types for.

use crate::observe::{GuestState, MemoryAccess};
use crate::symbols::{Coroutine, Coroutines, Suspension, UNRESUMED, without_generics};
use coyote_instrumenter::Location;
use coyote_strategies::WorkerId;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// The state of a machine that has returned, and that of one that has panicked.
const RETURNED: u64 = 1;
const PANICKED: u64 = 2;

/// The size of the largest state.
const STATE_BYTES: u32 = 2;

/// The maximum number of machines that are followed at once. With more, nothing is said of tasks.
const MACHINES_MAX: usize = 1 << 20;

/// Functions that poll a task, by the beginnings of their paths.
const RUNNERS: [&str; 3] =
    ["tokio::runtime::task::", "async_task::", "futures_util::stream::futures_unordered::"];

/// A task, by its place in [`Polls::tasks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskId(pub usize);

/// Who executes code: a column of the story.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    Worker(WorkerId),
    Task(TaskId),
}

impl Lane {
    pub fn of(worker: WorkerId, task: Option<TaskId>) -> Lane {
        task.map_or(Lane::Worker(worker), Lane::Task)
    }
}

/// Where machines that await each other are suspended, innermost first, each with the place of its store if it was just made.
pub type Chain = Vec<(Suspension, Option<Location>)>;

/// A task that was polled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolledTask {
    /// Where its function or block begins.
    pub begins: Suspension,
    /// Its machine.
    pub range: Range<u64>,
}

/// What becomes of a task or of a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Suspends,
    Ends,
    /// A suspended machine is dropped, so that it never goes on.
    Dropped,
}

/// A [`Turn`], and who takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PollEvent {
    pub task: Option<TaskId>,
    pub turn: Turn,
    /// Empty at an end.
    pub chain: Chain,
}

/// A machine that has begun.
#[derive(Clone, Debug)]
pub struct Machine {
    pub coroutine: Arc<Coroutine>,
    pub range: Range<u64>,
    /// The state that it stored last, and where it did.
    state: u64,
    pub stored: Option<Location>,
    pub task: Option<TaskId>,
    /// Whether it is the root of its task.
    is_root: bool,
    /// Whether it may have returned since then: optimisers leave out stores that nobody needs.
    is_unsure: bool,
}

/// Who polls a machine.
enum Caller {
    /// A function of a known runtime that polls tasks.
    Runner,
    /// A function that waits for a future of its caller.
    BlockOn,
    Unknown,
}

/// A poll that has not ended.
#[derive(Clone, Debug)]
struct Poll {
    /// The address of the state of its machine.
    state: u64,
    /// What was suspended within it.
    inner: Vec<Chain>,
}

/// See the module's documentation.
#[derive(Clone, Debug, Default)]
pub struct Polls {
    coroutines: Option<Arc<Coroutines>>,
    /// The machines to whose code instructions belong, by their offsets.
    code: BTreeMap<u32, Option<Arc<Coroutine>>>,
    /// The machines that have begun and neither ended nor were dropped, by the addresses of their states.
    machines: BTreeMap<u64, Machine>,
    /// The polls of each worker that have not ended, the innermost last.
    running: BTreeMap<WorkerId, Vec<Poll>>,
    /// The instructions with which polls begin, by their offsets.
    begins: BTreeSet<u32>,
    /// A store over the state of the machine at this address, the outcome of which is not known yet.
    open: Option<(WorkerId, u64, Location)>,
    /// The size of the largest machine so far.
    widest: u64,
    tasks: Vec<PolledTask>,
    /// Whether a known runtime polled some of them.
    are_run: bool,
    /// Those for whom each worker polled, apart from itself.
    polled: BTreeMap<WorkerId, BTreeSet<Option<TaskId>>>,
    too_many: bool,
}

impl Polls {
    /// Follows machines of these kinds; none if there are none.
    pub fn of(coroutines: Option<Arc<Coroutines>>) -> Polls {
        Polls { coroutines: coroutines.filter(|all| !all.is_empty()), ..Polls::default() }
    }

    /// The tasks, in the order of their first polls.
    pub fn tasks(&self) -> &[PolledTask] {
        &self.tasks
    }

    /// Whether workers do not tell who did what: a known runtime executes tasks, or some worker executed several, or one
    /// beside its own future.
    pub fn share_workers(&self) -> bool {
        self.are_run || self.polled.values().any(|tasks| tasks.len() > 1)
    }

    /// Whether a worker polls a machine now.
    pub fn is_polling(&self, worker: WorkerId) -> bool {
        self.running.get(&worker).is_some_and(|polls| !polls.is_empty())
    }

    /// The task that a worker executes now.
    pub fn task(&self, worker: WorkerId) -> Option<TaskId> {
        self.machines.get(&self.running.get(&worker)?.last()?.state)?.task
    }

    /// Whether an address belongs to a machine that has begun.
    pub fn is_in_machine(&self, address: u64) -> bool {
        let near = address.saturating_sub(self.widest)..address + self.widest;
        self.machines.range(near).any(|(_, machine)| machine.range.contains(&address))
    }

    /// The suspended machines, by their addresses. Empty if there were too many.
    pub fn suspended(&self) -> impl Iterator<Item = &Machine> {
        let running: BTreeSet<u64> = self.running.values().flatten().map(|poll| poll.state).collect();
        let all = self.machines.iter().filter(move |(at, _)| !running.contains(at) && !self.too_many);
        all.map(|(_, machine)| machine).filter(|machine| machine.stored.is_some())
    }

    /// Adds an access by the guest, before it is executed.
    pub fn access(
        &mut self,
        state: &GuestState<'_>,
        access: &MemoryAccess,
        location: Option<Location>,
    ) -> Vec<PollEvent> {
        if self.coroutines.is_none() {
            return Vec::new();
        }
        let code = location.and_then(|at| Some((at, self.code_at(at.offset)?)));
        let range = access.address..access.address + u64::from(access.bytes);
        if access.writes {
            return self.write(access.worker, range, code, location);
        }
        let value = state.number(access.address, access.bytes).filter(|_| access.bytes <= STATE_BYTES);
        let Some(value) = value else { return Vec::new() };
        if let Some((at, coroutine)) = &code
            && let Some((address, replaced)) = self.read_own(state, access, value, at.offset, coroutine)
        {
            self.begin(access.worker, address);
            return replaced;
        }
        // Its own code may read it again.
        let Some(machine) = self.machines.get_mut(&access.address) else { return Vec::new() };
        if code.is_some_and(|(_, coroutine)| coroutine == machine.coroutine) {
            return Vec::new();
        }
        let drops =
            location.is_some_and(|at| state.names(at).iter().any(|name| name.contains("drop_in_place")));
        if !drops {
            machine.is_unsure = true;
            return Vec::new();
        }
        machine.is_unsure = false;
        let range = machine.range.clone();
        self.forget(range)
    }

    /// The outcome of the last store, which memory now holds.
    pub fn settle(&mut self, state: &GuestState<'_>) -> Option<PollEvent> {
        let (worker, address, location) = self.open.take()?;
        let machine = self.machines.get_mut(&address)?;
        let value = state.number(address, machine.coroutine.state.1)?;
        (machine.state, machine.stored, machine.is_unsure) = (value, Some(location), false);
        let (coroutine, base) = (machine.coroutine.clone(), machine.range.start);
        let (task, is_root) = (machine.task, machine.is_root);
        let polls = self.running.entry(worker).or_default();
        let begun = polls.iter().rposition(|poll| poll.state == address);
        let ended = begun.map_or(Vec::new(), |at| polls.split_off(at));
        for poll in ended.iter().skip(1) {
            self.machines.entry(poll.state).and_modify(|machine| machine.is_unsure = true);
        }
        if matches!(value, RETURNED | PANICKED) {
            self.machines.remove(&address);
            let ends = is_root && value == RETURNED;
            return ends.then(|| PollEvent { task, turn: Turn::Ends, chain: Vec::new() });
        }
        let own = coroutine.suspended_in(value).filter(|_| !ended.is_empty())?;
        let mut inner: Vec<Chain> = ended.into_iter().flat_map(|poll| poll.inner).collect();
        // Which of several it is that it awaits cannot be said.
        let mut chain = if inner.len() == 1 { inner.remove(0) } else { Vec::new() };
        // What optimisers know of a state, such as that a machine has not begun, is not read.
        let number = |address: u64, bytes: u32| state.number(address, bytes);
        let coroutines = self.coroutines.as_ref()?;
        let within = coroutines.suspensions(&coroutine, base, &number).into_iter().skip(1).rev();
        if within.len() > chain.len() {
            chain = within.map(|place| (place, None)).collect();
        }
        chain.push((own, Some(location)));
        let outer = self.running.get_mut(&worker).and_then(|polls| polls.last_mut());
        match outer {
            Some(outer) if self.machines.get(&outer.state).is_some_and(|outer| outer.task == task) => {
                outer.inner.push(chain);
                None
            }
            _ => Some(PollEvent { task, turn: Turn::Suspends, chain }),
        }
    }

    /// Forgets the machines whose states are in a part of memory that becomes something else: the suspended ones among them
    /// are dropped, if nobody has seen that.
    pub fn forget(&mut self, range: Range<u64>) -> Vec<PollEvent> {
        let gone: Vec<(u64, Machine)> =
            self.machines.range(range).map(|(at, machine)| (*at, machine.clone())).collect();
        let is_running = |at: u64| self.running.values().flatten().any(|poll| poll.state == at);
        let is_outermost = |own: &Range<u64>| {
            let contains = |of: &Range<u64>| of != own && of.start <= own.start && own.end <= of.end;
            !gone.iter().any(|(_, machine)| contains(&machine.range))
        };
        let mut events = Vec::new();
        for (at, machine) in &gone {
            if is_outermost(&machine.range) && !is_running(*at) && !machine.is_unsure {
                let chain = self.chain(machine);
                let event = PollEvent { task: machine.task, turn: Turn::Dropped, chain };
                events.extend(Some(event).filter(|event| !event.chain.is_empty()));
            }
        }
        for (at, _) in gone {
            self.machines.remove(&at);
        }
        events
    }

    /// Where a machine is suspended by the states that were stored, innermost first.
    fn chain(&self, machine: &Machine) -> Chain {
        let stored = |address: u64, _| self.machines.get(&address).map(|machine| machine.state);
        let places = self
            .coroutines
            .iter()
            .flat_map(|coroutines| coroutines.suspensions(&machine.coroutine, machine.range.start, &stored));
        let mut chain: Chain = places.map(|place| (place, None)).collect();
        chain.reverse();
        chain
    }

    fn code_at(&mut self, offset: u32) -> Option<Arc<Coroutine>> {
        let coroutines = self.coroutines.as_ref()?;
        self.code.entry(offset).or_insert_with(|| coroutines.of_code(offset).cloned()).clone()
    }

    fn write(
        &mut self,
        worker: WorkerId,
        range: Range<u64>,
        code: Option<(Location, Arc<Coroutine>)>,
        location: Option<Location>,
    ) -> Vec<PollEvent> {
        let own = code.as_ref().and_then(|(_, coroutine)| {
            let states = self.machines.range(range.start.saturating_sub(1)..range.end);
            let overlaps =
                |at: u64, machine: &Machine| at + u64::from(machine.coroutine.state.1) > range.start;
            states.rev().find(|(at, machine)| overlaps(**at, machine) && machine.coroutine == *coroutine)
        });
        match (own.map(|(at, _)| *at), location) {
            (Some(at), Some(location)) => {
                self.open = Some((worker, at, location));
                Vec::new()
            }
            _ => self.forget(range),
        }
    }

    /// The machine whose own code reads its state at an access, if that is what it reads.
    fn read_own(
        &mut self,
        state: &GuestState<'_>,
        access: &MemoryAccess,
        value: u64,
        offset: u32,
        coroutine: &Arc<Coroutine>,
    ) -> Option<(u64, Vec<PollEvent>)> {
        let known = self.machines.get(&access.address).filter(|machine| machine.coroutine == *coroutine);
        // Where a frame has ended, another one may have a machine.
        if known.is_some_and(|machine| value != UNRESUMED || machine.state == UNRESUMED) {
            return Some((access.address, Vec::new()));
        }
        if value != UNRESUMED || access.bytes != coroutine.state.1 {
            return None;
        }
        let running = self.running.get(&access.worker).into_iter().flatten();
        let of_kind = |poll: &Poll| {
            self.machines.get(&poll.state).is_some_and(|machine| machine.coroutine == *coroutine)
        };
        if !self.begins.contains(&offset) && running.into_iter().any(of_kind) {
            return None;
        }
        let base = access.address.checked_sub(coroutine.state.0)?;
        let range = base..base + coroutine.bytes;
        let overlaps = |(at, machine): (&u64, &Machine)| {
            *at != access.address
                && machine.coroutine == *coroutine
                && machine.range.start < range.end
                && range.start < machine.range.end
        };
        let near = access.address.saturating_sub(coroutine.bytes)..access.address + coroutine.bytes;
        if self.machines.range(near).any(overlaps) {
            return None;
        }
        self.too_many |= self.machines.len() >= MACHINES_MAX;
        if self.too_many {
            return None;
        }
        self.begins.insert(offset);
        let (task, is_root) = self.owner(state, access.worker, &range, coroutine);
        let coroutine = coroutine.clone();
        let (state, stored, is_unsure) = (UNRESUMED, None, false);
        self.widest = self.widest.max(coroutine.bytes);
        let machine = Machine { coroutine, range, state, stored, task, is_root, is_unsure };
        let replaced = self.forget(access.address..access.address + 1);
        self.machines.insert(access.address, machine);
        Some((access.address, replaced))
    }

    /// The task to which a new machine belongs, and whether it is its root.
    fn owner(
        &mut self,
        state: &GuestState<'_>,
        worker: WorkerId,
        range: &Range<u64>,
        coroutine: &Arc<Coroutine>,
    ) -> (Option<TaskId>, bool) {
        let polls = self.running.get(&worker).into_iter().flatten();
        let machines: Vec<&Machine> = polls.filter_map(|poll| self.machines.get(&poll.state)).collect();
        let contains =
            |machine: &&&Machine| machine.range.start <= range.start && range.end <= machine.range.end;
        if let Some(outer) = machines.iter().rev().find(contains) {
            return (outer.task, false);
        }
        let outer = machines.last().map(|machine| (machine.coroutine.clone(), machine.task));
        let is_task = match self.caller(state, worker, coroutine, outer.as_ref().map(|(code, _)| code)) {
            Caller::Runner => {
                self.are_run = true;
                true
            }
            Caller::BlockOn => false,
            // Executors keep the futures of their tasks in blocks of their own.
            Caller::Unknown => {
                outer.is_none() && state.runtime.heap.block_around(range.start as u32).is_some()
            }
        };
        if !is_task {
            return (outer.and_then(|(_, task)| task), false);
        }
        self.tasks.push(PolledTask { begins: coroutine.begins(), range: range.clone() });
        (Some(TaskId(self.tasks.len() - 1)), true)
    }

    /// Who polls a machine: the frames between its code and that of the next machine around it tell.
    fn caller(
        &mut self,
        state: &GuestState<'_>,
        worker: WorkerId,
        coroutine: &Arc<Coroutine>,
        outer: Option<&Arc<Coroutine>>,
    ) -> Caller {
        let mut has_left = false;
        for place in state.stack(worker).unwrap_or_default() {
            let code = self.code_at(place.offset);
            if has_left && code.is_some() && code.as_ref() == outer {
                break;
            }
            has_left |= code.as_ref() != Some(coroutine);
            for name in state.names(place) {
                let path = name.trim_start_matches('<');
                if RUNNERS.iter().any(|runner| path.starts_with(runner)) {
                    return Caller::Runner;
                }
                if without_generics(path).ends_with("::block_on") {
                    return Caller::BlockOn;
                }
            }
        }
        Caller::Unknown
    }

    fn begin(&mut self, worker: WorkerId, state: u64) {
        let polls = self.running.entry(worker).or_default();
        match polls.iter().rposition(|poll| poll.state == state) {
            // What it polled has not stored its state.
            Some(at) => polls.truncate(at + 1),
            None => polls.push(Poll { state, inner: Vec::new() }),
        }
        let task = self.machines.get(&state).and_then(|machine| machine.task);
        self.polled.entry(worker).or_default().insert(task);
    }
}
