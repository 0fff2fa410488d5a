//! The semantics of operations: what blocks, what wakes, what ends a test.
//!
//! A pure state machine over plain data. It knows no wasm; guest memory reaches it as a function that
//! reads a value. Everything here belongs to the state of the program, except the captured output.
//!
//! An operation is *announced* (which decides whether its worker is enabled) and later *performed*.
//! Blocking operations have two halves: a wait is performed (it releases the mutex and joins a
//! queue), its worker then blocks, and once woken its second half is enabled.
//!
//! - `worker`: a worker and its announced operation; `lifecycle`: its creation and its end; `enabled`: which workers
//!   can be picked.
//! - `perform`: what each operation does; with `locks` for acquire and release, `waits` for the end of waits, `atomics`
//!   for atomic accesses with weak memory, `faults` that the user allowed, and `opportunities` where they may happen.
//! - `predicates`: waits until a predicate of the guest holds.
//! - [`awaits`]: objects that tasks report to await.
//! - `crash`: crashes of the program, which starts again with its files; [`nodes`]: crashes of groups of workers.
//! - `sync`: the sync objects; `clock`: virtual time.
//! - [`idle`]: when no worker has anything to do, so that time may pass.
//! - [`worker_local_word`]: a word of memory with a separate value for each worker.
//! - [`files`]: the guest's files and sockets; [`sockets`]: waits for sockets, `polled` of which.
//! - `output`: what the guest prints.
//! - `harness`: where a test begins and ends within a test harness. `by_name`: counts of faults, and of conditions that
//!   hold `sometimes`.
//! - `footprint`: what a step touches, of it what is `internal` to the runtime; [`stream`]: events for observers; [`released`]: knowledge that sync objects pass
//!   on.
//! - `livelock`: whether a state may be part of one; `monitors`: what must eventually happen, as the guest
//!   states.
//! - [`heap`]: the blocks of the guest's allocator. [`weak`]: what atomic accesses may read.
//! - `digest`: the hash of all this, of which `term` makes the parts.

mod atomics;
pub mod awaits;
mod by_name;
mod clock;
mod crash;
mod digest;
mod drivers;
mod enabled;
mod faults;
pub mod files;
mod footprint;
mod harness;
pub mod heap;
pub mod idle;
mod idling;
mod internal;
mod lifecycle;
mod livelock;
mod locks;
pub mod monitors;
pub mod nodes;
mod opportunities;
mod output;
pub mod panic;
mod perform;
pub mod polled;
mod predicate;
mod predicates;
pub mod released;
pub mod reuse;
pub mod sockets;
mod sometimes;
mod stacks;
pub mod stream;
mod sync;
mod term;
mod waits;
mod waits_for;
pub mod weak;
mod worker;
pub mod worker_local_word;

pub use crate::object_id::ObjectId;
use crate::outcome::Bug;
use clock::Clock;
pub use clock::{Jumps, REALTIME_NS, Timers};
use coyote_instrumenter::Location;
use coyote_strategies::{Class, Effect, Event, OpKind, Pending, WorkerId, WorkerState, mix};
pub use faults::{
    BudgetId, FAULTS, FaultClass, FaultCount, FaultCounts, FaultError, FaultRow, Faults, Mutant, POINT,
    hash as fault_hash, of_site, other_order,
};
use files::disk::{Crash, Origin};
use files::{Answer, Call, Files, Served, Session};
pub use footprint::Footprint;
use harness::Harness;
use heap::Heap;
pub use lifecycle::{AtExit, Progress};
use monitors::Monitors;
pub use output::{Output, Stream};
pub use polled::Driver;
pub use sometimes::Sometimes;
use std::sync::Arc;
use stream::EventStream;
pub use sync::Lock;
use sync::{Availability, SyncObjects};
use weak::Weak;
pub use worker::{Request, Start, Wake, Worker};

/// The result of performing an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Performed {
    /// The worker goes on; the guest's call returns this value.
    Continue(i64),
    /// The worker is not done with the operation: a worker must be picked again.
    Blocked,
    /// The operation needs one more data value below this bound. Nothing has changed yet.
    NeedsValue(u64),
    /// The worker has ended.
    Ended,
    /// The whole program has ended by itself.
    Exited,
    /// The program crashes, and its files are left in this way.
    Crashed(u32),
    /// The worker's node crashes, and its files are left in this way.
    NodeCrashed(u32),
    /// A bug of the guest. Boxed, since it is rare and large.
    Bug(Box<Bug>),
}

/// See the module's documentation.
#[derive(Clone, Debug, Default)]
pub struct Runtime {
    workers: Vec<Worker>,
    stacks: stacks::Stacks,
    pending: Vec<Pending>,
    /// Workers that are enabled, ascending.
    enabled: Vec<WorkerId>,
    /// Number of changes of the state of a worker, including those of new workers.
    changes: u64,
    current: Option<WorkerId>,
    steps: u64,
    /// Whether a worker goes no further because of an assumption that did not hold.
    assumed_away: bool,
    /// Number of workers inside of atomic functions.
    atomic_workers: u32,
    /// Number of workers that evaluate a predicate, or wait until one holds.
    predicates: u32,
    /// See [`Runtime::may_circle`].
    may_circle: bool,
    sync: SyncObjects,
    clock: Clock,
    faults: Faults,
    /// The kind of fault on which the missing value decides: see [`coyote_strategies::View::fault`].
    fault_asked: Option<u64>,
    /// The guest's statements about what must eventually happen.
    pub monitors: Monitors,
    /// Opportunities and faults so far, for reports.
    pub fault_counts: FaultCounts,
    /// Conditions that the test expects to hold sometimes.
    pub sometimes: Sometimes,
    /// Whether a worker waited that could not wake up without a notification, because there is no budget for it: for
    /// reports.
    pub spurious_left_out: bool,
    /// Whether one of several workers looked at the clock in a step that also does something else: for reports.
    pub clock_looked_at: bool,
    /// Whether a worker turned a driver whose wakes are not all told: for reports.
    pub wakes_unknown: bool,
    /// What became of calls by faults so far, for reports: the number of the fault's step, and a clause.
    pub failed_calls: Vec<(u64, String)>,
    /// When a pending timeout may fire.
    pub timers: Timers,
    waited: idle::Waited,
    /// Whether a normal mutex can be unlocked by a worker that does not hold it: POSIX leaves that open.
    pub foreign_unlocks: bool,
    /// Whether the program asked for more memory than the user lets it have.
    pub memory_refused: bool,
    /// The address of the worker-local word.
    worker_local_word: Option<u32>,
    /// The guest's files and descriptors.
    pub files: Files,
    /// The blocks of the guest's allocator.
    pub heap: Heap,
    /// The stores that atomic accesses may read; `None` unless memory is weak.
    pub weak: Option<Box<Weak>>,
    at_exit: AtExit,
    /// Whether the host sees joins: a worker that is blocked for ever after the first one ended is then a
    /// mistake of the program. With wasi-threads, joins happen inside of the guest.
    joins_visible: bool,
    /// The seed of the random bytes, which also depend on their worker.
    random_seed: u64,
    /// Whether the first worker runs a program: its return ends the process.
    pub program: bool,
    /// Whether the program can know the time: if not, states that differ in it alone are equal.
    pub tells_time: bool,
    /// Whether the first worker of a program has returned.
    over: bool,
    harness: Harness,
    /// What the harness has said of the test.
    harness_report: Vec<u8>,
    /// The number of the worker that began the program: another one after a crash.
    first: u32,
    /// The crashes so far, with their losses.
    pub crashes: Vec<Crash>,
    /// The start of the program after a crash, if it can crash.
    pub recovery: Option<Start>,
    /// The stack of the running worker at its next call of a file function, if anybody asks for it.
    pub call_stack: Option<Arc<[Location]>>,
    /// Number of accesses, and announced rounds of loops, that a worker alone in a test harness has executed.
    pub alone_accesses: u64,
    /// Events for strategies, until they are drained.
    pub events: Vec<Event>,
    /// The output of the guest in this iteration.
    pub output: Vec<Output>,
    /// Events for observers, until they are taken.
    pub stream: EventStream,
    /// The accesses of the present step.
    pub footprint: Footprint,
}

impl Runtime {
    /// A program whose first worker begins with `start`.
    pub fn new(start: Start, at_exit: AtExit, joins_visible: bool, faults: Faults) -> Runtime {
        let weak = faults.has(FaultClass::Stale).then(Box::default);
        let mut runtime = Runtime { at_exit, joins_visible, faults, weak, ..Runtime::default() };
        runtime.create(None, start);
        runtime.look_for_quiet();
        runtime
    }

    /// Becomes equal to `other`, keeping allocations: an iteration begins with this.
    pub fn reset_to(&mut self, other: &Runtime) {
        let Runtime {
            workers,
            stacks,
            pending,
            enabled,
            changes,
            current,
            steps,
            assumed_away,
            atomic_workers,
            predicates,
            may_circle,
            sync,
            clock,
            faults,
            fault_asked,
            monitors,
            fault_counts,
            sometimes,
            spurious_left_out,
            clock_looked_at,
            wakes_unknown,
            failed_calls,
            timers,
            waited,
            foreign_unlocks,
            memory_refused,
            worker_local_word,
            files,
            heap,
            weak,
            at_exit,
            joins_visible,
            random_seed,
            program,
            tells_time,
            over,
            harness,
            harness_report,
            first,
            crashes,
            recovery,
            call_stack,
            alone_accesses,
            events,
            output,
            // These belong to a step and not to a state. The interest of observers stays.
            stream,
            footprint: _,
        } = self;
        workers.clone_from(&other.workers);
        stacks.reset_to(&other.stacks);
        pending.clone_from(&other.pending);
        enabled.clone_from(&other.enabled);
        *changes = other.changes;
        *current = other.current;
        *steps = other.steps;
        *assumed_away = other.assumed_away;
        *atomic_workers = other.atomic_workers;
        *predicates = other.predicates;
        *may_circle = other.may_circle;
        sync.clone_from(&other.sync);
        clock.clone_from(&other.clock);
        faults.clone_from(&other.faults);
        *fault_asked = other.fault_asked;
        monitors.clone_from(&other.monitors);
        fault_counts.clone_from(&other.fault_counts);
        sometimes.clone_from(&other.sometimes);
        *spurious_left_out = other.spurious_left_out;
        *clock_looked_at = other.clock_looked_at;
        *wakes_unknown = other.wakes_unknown;
        failed_calls.clone_from(&other.failed_calls);
        *timers = other.timers;
        *waited = other.waited;
        *foreign_unlocks = other.foreign_unlocks;
        *memory_refused = other.memory_refused;
        *worker_local_word = other.worker_local_word;
        files.clone_from(&other.files);
        heap.clone_from(&other.heap);
        weak.clone_from(&other.weak);
        *at_exit = other.at_exit;
        *joins_visible = other.joins_visible;
        *random_seed = other.random_seed;
        *program = other.program;
        *tells_time = other.tells_time;
        *over = other.over;
        *harness = other.harness;
        harness_report.clone_from(&other.harness_report);
        *first = other.first;
        crashes.clone_from(&other.crashes);
        *recovery = other.recovery;
        *call_stack = None;
        *alone_accesses = other.alone_accesses;
        events.clear();
        stream.clear();
        output.clone_from(&other.output);
    }

    /// Number of steps executed in this iteration.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// All workers, also those that have ended, in the order of their creation.
    pub fn workers(&self) -> &[Worker] {
        &self.workers
    }

    /// The worker with this number.
    pub fn worker(&self, id: WorkerId) -> &Worker {
        &self.workers[id.index()]
    }

    /// The operation that a worker is about to execute, and whether it can.
    pub fn pending(&self, id: WorkerId) -> &Pending {
        &self.pending[id.index()]
    }

    fn mutant(&self, mutant: Mutant) -> bool {
        self.faults.mutant == Some(mutant)
    }

    fn ids(&self) -> impl Iterator<Item = WorkerId> + use<> {
        (0..self.workers.len() as u32).map(WorkerId)
    }

    /// A worker's name in reports: its path, and the name the guest gave it.
    pub fn title(&self, id: WorkerId) -> String {
        let worker = self.worker(id);
        match &worker.name {
            Some(name) => format!("worker {} ({name})", worker.path),
            None => format!("worker {}", worker.path),
        }
    }

    /// The worker with this handle. The first worker is 0 and those that it creates are 1, 2 and so on. Others have a
    /// hash of their path, so handles do not show the order of creations by different workers.
    pub fn worker_of(&self, handle: u32) -> Option<WorkerId> {
        // The handle is mostly the worker's number.
        let lives = |id: &WorkerId| id.0 >= self.first;
        let is =
            |id: &WorkerId| self.workers.get(id.index()).is_some_and(|w| w.handle == handle) && lives(id);
        Some(WorkerId(handle)).filter(is).or_else(|| self.ids().find(is))
    }

    /// Sets the address from which the `memory.copy` reads that the worker is about to announce.
    pub fn set_copy_source(&mut self, id: WorkerId, address: u32) {
        self.workers[id.index()].copy_source = address;
    }

    /// Sets the site of the instruction that the worker is about to announce, if it has a site for each memory order:
    /// its operation has the first one, and `site` has the order.
    pub fn set_ordered_site(&mut self, id: WorkerId, first: u32, site: u32) {
        self.workers[id.index()].ordered_site = (first, site);
    }

    /// The site that has the memory order of the worker's operation: its own, unless the order is known at run time
    /// only.
    pub fn ordered_site(&self, id: WorkerId) -> u32 {
        let own = self.pending[id.index()].operation.site;
        let (first, site) = self.workers[id.index()].ordered_site;
        if first == own { site } else { own }
    }

    /// Sets the bounds of the worker's stack, which became known later.
    pub fn set_stack(&mut self, id: WorkerId, bounds: (u32, u32)) {
        let block = self.block_at(bounds.0);
        let worker = &mut self.workers[id.index()];
        (worker.start.stack, worker.stack_block) = (Some(bounds), block);
        self.stacks.add(bounds.1, id);
    }

    /// The event that allocated the block that is now at an address.
    fn block_at(&self, address: u32) -> Option<u32> {
        self.heap.block_around(address).map(|block| block.allocated)
    }

    /// The bounds of a worker's stack, if they are known and the memory was not given to another one since.
    pub fn stack_of(&self, id: WorkerId) -> Option<(u32, u32)> {
        let worker = self.worker(id);
        worker.start.stack.filter(|(low, _)| self.block_at(*low) == worker.stack_block)
    }

    /// Virtual time since the start of the test in ns, as a worker reads it.
    pub fn read_clock_ns(&mut self, id: WorkerId) -> u64 {
        self.footprint.touch(Class::Clock, Effect::Write, 0);
        let is_point = matches!(self.pending(id).operation.kind, OpKind::Clock | OpKind::Fault);
        self.clock_looked_at |= !is_point && self.workers.len() > 1;
        self.clock.read_ns(id, self.timers)
    }

    /// The jumps of clocks. They need no footprint of their own, since reading a clock, or waiting for a
    /// point in time, touches the clock.
    pub fn clock_jumps(&mut self) -> &mut Jumps {
        &mut self.clock.jumps
    }

    /// Virtual time, read without advancing the clock.
    pub fn now_ns(&mut self) -> u64 {
        self.footprint.touch(Class::Clock, Effect::Read, 0);
        self.clock.now_ns()
    }

    /// Executes a file call, or returns the call with which the host directories must be asked first.
    pub fn file_call(&mut self, worker: Option<WorkerId>, call: &Call) -> Served {
        let mut session = self.session(worker);
        let served = session.serve(call);
        let printed = session.printed.take();
        self.follow_sockets();
        if let (Some(worker), Some((stream, text))) = (worker, printed) {
            self.print(worker, stream, text);
        }
        served
    }

    /// How many bytes a call would read from a file; `None` if that is a file of the host.
    pub fn would_read(&self, call: &Call) -> Option<usize> {
        let (mut files, mut clock) = (self.files.clone(), self.clock.clone());
        let mut footprint = Footprint::default();
        let origin = Origin { worker: None, step: self.steps, stack: Default::default() };
        let (files, clock, footprint) = (&mut files, &mut clock, &mut footprint);
        let mut session = Session { files, clock, footprint, origin, socket_fault: None, printed: None };
        match session.serve(call) {
            Served::Here(answer) => Some(answer.data.len()),
            Served::ByHost(_) => None,
        }
    }

    /// Takes over the answer of the host directories to a file call.
    pub fn host_answered(&mut self, call: &Call, answer: Answer) -> Answer {
        self.session(None).host_answered(call, answer)
    }

    fn session(&mut self, worker: Option<WorkerId>) -> Session<'_> {
        let caller = worker.and_then(|worker| self.workers.get_mut(worker.index()));
        let socket_fault = caller.and_then(|worker| worker.socket_fault.take());
        let Runtime { files, clock, footprint, steps, call_stack, .. } = self;
        let origin = Origin { worker, step: *steps, stack: call_stack.take().unwrap_or_default() };
        Session { files, clock, footprint, origin, socket_fault, printed: None }
    }

    /// The next number of the worker's random stream: splitmix64 from its key on.
    pub fn random(&mut self, id: WorkerId) -> u64 {
        let state = &mut self.workers[id.index()].random;
        let number = mix(*state);
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        number
    }

    /// Switches a worker to another stream of random numbers, by its number.
    pub(super) fn change_stream(&mut self, id: WorkerId, number: u64) {
        self.workers[id.index()].random ^= mix(number);
    }

    /// Sets the seed of the workers' streams of random numbers. Must be called before any worker asks for one.
    pub fn set_random_seed(&mut self, seed: u64) {
        self.random_seed = seed;
        for index in 0..self.workers.len() {
            self.workers[index].random = self.first_random(self.workers[index].key);
        }
    }

    /// The initial state of the random stream of the worker with this key.
    fn first_random(&self, key: u64) -> u64 {
        if self.random_seed == 0 { key } else { key ^ mix(self.random_seed) }
    }

    /// Whether a worker asked for random bytes since the state `start`.
    pub fn asked_random(&self, start: &Runtime) -> bool {
        self.workers.iter().enumerate().any(|(index, worker)| {
            let begun = start.workers.get(index).map(|worker| worker.random);
            worker.random != begun.unwrap_or_else(|| self.first_random(worker.key))
        })
    }

    pub fn detach(&mut self, handle: u32) {
        if let Some(worker) = self.worker_of(handle) {
            self.workers[worker.index()].detached = true;
            self.touch_abandoned_stack();
        }
    }

    pub fn set_name(&mut self, handle: u32, name: String) {
        if let Some(worker) = self.worker_of(handle) {
            self.workers[worker.index()].name = Some(name);
        }
    }

    /// Sets the name of the worker that this one starts next.
    pub fn set_next_name(&mut self, id: WorkerId, name: Option<String>) {
        self.workers[id.index()].next_name = name;
    }
}
