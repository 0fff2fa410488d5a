//! The semantics of operations: what blocks, what wakes, what ends a test.
//!
//! A pure state machine over plain data. It knows no wasm; guest memory reaches it as a function that
//! reads a value. Everything here belongs to the state of the program, except the captured output.
//!
//! An operation is *announced* (which decides whether its worker is enabled) and later *performed*.
//! Blocking operations have two halves: a wait is performed (it releases the mutex and joins a
//! queue), its worker then blocks, and once woken its second half is enabled.
//!
//! - [`worker`]: a worker and its announced operation.
//! - [`perform`]: what each operation does; with [`locks`] for what is taken and given back, [`waits`] for
//!   what ends a wait, and [`faults`] that the user allowed.
//! - [`mutex`], [`rwlock`], [`semaphore`], [`barrier`], [`queue`], [`clock`]: the objects; [`objects`] finds
//!   them by address, and [`lock`] is what locks have in common.
//! - [`idle`]: when nobody has anything to do, so that time may pass.
//! - [`own_word`]: a word of memory that each worker has for itself.
//! - [`files`]: the guest's files.
//! - [`harness`]: where a test begins and ends within a test harness.
//! - [`footprint`]: what a step touches.
//! - `livelock`: whether a state may be part of one.
//! - [`heap`]: the blocks of the guest's allocator.
//! - [`digest`]: the hash of all this.

mod barrier;
mod clock;
mod digest;
mod faults;
pub mod files;
mod footprint;
mod harness;
pub mod heap;
pub mod idle;
mod livelock;
mod lock;
mod locks;
mod mutex;
mod objects;
pub mod own_word;
mod perform;
mod queue;
mod rwlock;
mod semaphore;
mod waits;
mod waits_for;
mod worker;

use crate::outcome::Bug;
use barrier::Barrier;
use clock::Clock;
pub use clock::{REALTIME_NS, Timers};
use coyote_strategies::{
    Class, Effect, Event, OpKind, Operation, Pending, Standing, View, WorkerId, WorkerPath,
};
pub use faults::{Faults, Planted};
use files::{Answer, Call, Files, Served, Session};
pub use footprint::Footprint;
use harness::Harness;
use heap::Heap;
use lock::Look;
pub use lock::{Lock, Place};
use mutex::Mutex;
use objects::Objects;
use queue::Queue;
use rwlock::Rwlock;
use semaphore::Semaphore;
pub use worker::{Request, Start, Wake, Worker};

/// What happened when an operation was performed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Performed {
    /// The worker goes on; the guest's call returns this.
    Continue(i64),
    /// The worker is not done with the operation: somebody must be picked again.
    Blocked,
    /// The operation needs one more data value below this bound. Nothing has changed yet.
    NeedsValue(u64),
    /// The worker has ended.
    Ended,
    /// The whole program has ended by itself.
    Exited,
    Bug(Bug),
}

/// When the test is over after its first worker has ended.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum AtExit {
    /// The other workers run to their ends.
    #[default]
    Wait,
    /// The other workers are gone, as when a process ends.
    Kill,
}

/// Where the test stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Somebody can be picked.
    Ready,
    /// Everybody that matters has ended. Names workers that are blocked for ever, if any.
    Over { left_blocked: Vec<WorkerId> },
    /// Nobody can go on, and somebody should.
    Deadlock,
    /// An assumption failed: there is no verdict.
    AssumedAway,
}

/// One piece of captured output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    pub worker: WorkerId,
    /// Steps executed before it.
    pub step: u64,
    pub stream: Stream,
    pub text: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    Stdout,
    Stderr,
    Log,
}

/// What the guest calls workers that others than the first one created. wasi-threads has numbers up to 2^29.
const HASHED_HANDLES: std::ops::Range<u32> = 1 << 16..1 << 29;

/// Forced points within one call of an atomic function before it has to let others run.
const ATOMIC_TICKS_MAX: u32 = 1_000;

/// See the module's documentation.
#[derive(Clone, Debug, Default)]
pub struct Runtime {
    workers: Vec<Worker>,
    pending: Vec<Pending>,
    /// Workers that are enabled, ascending.
    enabled: Vec<WorkerId>,
    /// How often a standing has changed, of new workers too.
    changes: u64,
    current: Option<WorkerId>,
    steps: u64,
    /// Whether a worker goes no further because of an assumption that did not hold.
    assumed_away: bool,
    /// How many workers are inside of atomic functions.
    atomic_workers: u32,
    mutexes: Objects<Mutex>,
    rwlocks: Objects<Rwlock>,
    semaphores: Objects<Semaphore>,
    barriers: Objects<Barrier>,
    condvars: Objects<Queue>,
    futexes: Objects<Queue>,
    clock: Clock,
    faults: Faults,
    /// When a pending timeout may fire.
    pub timers: Timers,
    /// Whether a normal mutex can be unlocked by who does not hold it: POSIX leaves that open.
    pub foreign_unlocks: bool,
    /// The address of the word that is each worker's own.
    own_word: Option<u32>,
    pub files: Files,
    pub heap: Heap,
    at_exit: AtExit,
    /// Whether the host is told about joins: a worker that is blocked for ever after the first one
    /// ended is then somebody's mistake. With wasi-threads, joins happen inside of the guest.
    knows_joins: bool,
    /// Whether the first worker runs a program: its return ends the process.
    pub program: bool,
    /// Whether the program can know the time: if not, states that differ in it alone are equal.
    pub tells_time: bool,
    /// Whether it has returned.
    over: bool,
    harness: Harness,
    /// Forced points that a worker alone in a test harness has passed.
    pub alone_ticks: u64,
    /// What strategies want to know, until it is drained.
    pub events: Vec<Event>,
    pub output: Vec<Output>,
    /// What the present step touched.
    pub footprint: Footprint,
}

impl Runtime {
    /// A program whose first worker begins with `start`.
    pub fn new(start: Start, at_exit: AtExit, knows_joins: bool, faults: Faults) -> Runtime {
        let mut runtime = Runtime { at_exit, knows_joins, faults, ..Runtime::default() };
        runtime.create(None, start);
        runtime
    }

    /// The program initialised itself before: what that did to files, sync objects and time stays. The heap is the
    /// machine's to keep.
    pub fn continue_from(&mut self, initialised: &Runtime) {
        self.files.clone_from(&initialised.files);
        self.mutexes.clone_from(&initialised.mutexes);
        self.rwlocks.clone_from(&initialised.rwlocks);
        self.semaphores.clone_from(&initialised.semaphores);
        self.barriers.clone_from(&initialised.barriers);
        self.clock.clone_from(&initialised.clock);
        self.own_word = initialised.own_word;
    }

    /// What keeps a test from beginning where this program has ended, if anything does: workers that are gone hold
    /// or await something.
    pub fn left_behind(&self) -> Option<String> {
        let holder = self.ids().skip(1).find(|id| self.holds(*id));
        let waits = |id: &WorkerId| self.pending(*id).standing != Standing::Ended;
        let waiter = || self.ids().find(waits);
        match (holder, waiter()) {
            (Some(holder), _) => Some(format!("{} has ended and still holds a lock", self.title(holder))),
            (None, Some(waiter)) => Some(format!("{} is still blocked at its end", self.title(waiter))),
            (None, None) => None,
        }
    }

    /// Becomes equal to `other`, keeping allocations: an iteration begins with this.
    pub fn reset_to(&mut self, other: &Runtime) {
        let Runtime {
            workers,
            pending,
            enabled,
            changes,
            current,
            steps,
            assumed_away,
            atomic_workers,
            mutexes,
            rwlocks,
            semaphores,
            barriers,
            condvars,
            futexes,
            clock,
            faults,
            timers,
            foreign_unlocks,
            own_word,
            files,
            heap,
            at_exit,
            knows_joins,
            program,
            tells_time,
            over,
            harness,
            alone_ticks,
            events,
            output,
            // Of a step and not of a state: whether it is recorded stays.
            footprint: _,
        } = self;
        workers.clone_from(&other.workers);
        pending.clone_from(&other.pending);
        enabled.clone_from(&other.enabled);
        *changes = other.changes;
        *current = other.current;
        *steps = other.steps;
        *assumed_away = other.assumed_away;
        *atomic_workers = other.atomic_workers;
        mutexes.clone_from(&other.mutexes);
        rwlocks.clone_from(&other.rwlocks);
        semaphores.clone_from(&other.semaphores);
        barriers.clone_from(&other.barriers);
        condvars.clone_from(&other.condvars);
        futexes.clone_from(&other.futexes);
        clock.clone_from(&other.clock);
        *faults = other.faults;
        *timers = other.timers;
        *foreign_unlocks = other.foreign_unlocks;
        *own_word = other.own_word;
        files.clone_from(&other.files);
        heap.clone_from(&other.heap);
        *at_exit = other.at_exit;
        *knows_joins = other.knows_joins;
        *program = other.program;
        *tells_time = other.tells_time;
        *over = other.over;
        *harness = other.harness;
        *alone_ticks = other.alone_ticks;
        events.clear();
        output.clone_from(&other.output);
    }

    /// What can be picked. A worker inside of an atomic function that can go on is the only one that
    /// may, unless it lets the others run itself.
    #[inline]
    pub fn view(&self) -> View<'_> {
        let alone = if self.atomic_workers == 0 { None } else { self.atomic_current() };
        View {
            enabled: alone.as_ref().map_or(&self.enabled[..], |i| &self.enabled[*i..=*i]),
            timeout: if alone.is_some() { None } else { self.timeout() },
            workers: &self.pending,
            current: self.current,
            step: self.steps,
            changes: self.changes,
        }
    }

    /// Where the current worker stands among the enabled ones, if it is in an atomic function.
    fn atomic_current(&self) -> Option<usize> {
        let current = self.current?;
        let yields = matches!(self.pending(current).operation.kind, OpKind::Yield | OpKind::Loop);
        if self.worker(current).atomic_depth == 0 || yields {
            return None;
        }
        self.enabled.iter().position(|w| *w == current)
    }

    pub fn steps(&self) -> u64 {
        self.steps
    }

    pub fn workers(&self) -> &[Worker] {
        &self.workers
    }

    pub fn worker(&self, id: WorkerId) -> &Worker {
        &self.workers[id.index()]
    }

    pub fn pending(&self, id: WorkerId) -> &Pending {
        &self.pending[id.index()]
    }

    fn planted(&self, fault: Planted) -> bool {
        self.faults.planted == Some(fault)
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

    /// The worker that the guest calls so. The first worker is 0 and those that it creates are 1, 2 and so on.
    /// Others are called by a hash of their path: so the order of creations by different workers cannot be told.
    pub fn worker_of(&self, handle: u32) -> Option<WorkerId> {
        // Mostly it is its number, too.
        let is = |id: &WorkerId| self.workers.get(id.index()).is_some_and(|w| w.handle == handle);
        Some(WorkerId(handle)).filter(is).or_else(|| self.ids().find(is))
    }

    /// A name for a new worker, the n-th of its parent.
    fn new_handle(&self, parent: WorkerId, n: u32, key: u64) -> u32 {
        if parent.0 == 0 && n < HASHED_HANDLES.start {
            return n;
        }
        // As of a path of one step in billions, the order decides who has it.
        let mut handle =
            HASHED_HANDLES.start + (key % u64::from(HASHED_HANDLES.end - HASHED_HANDLES.start)) as u32;
        while self.worker_of(handle).is_some() {
            handle = if handle + 1 < HASHED_HANDLES.end { handle + 1 } else { HASHED_HANDLES.start };
        }
        handle
    }

    fn create(&mut self, parent: Option<WorkerId>, start: Start) -> WorkerId {
        let id = WorkerId(self.workers.len() as u32);
        let (path, key, handle, name) = match parent {
            None => (WorkerPath::default(), 0, 0, None),
            Some(creator) => {
                let parent = &mut self.workers[creator.index()];
                let mut path = Vec::with_capacity(parent.path.0.len() + 1);
                path.extend_from_slice(&parent.path.0);
                path.push(parent.children);
                parent.children += 1;
                let (children, name) = (parent.children, parent.next_name.take());
                let key = mix(parent.key.wrapping_add(u64::from(children)));
                (WorkerPath(path), key, self.new_handle(creator, children, key), name)
            }
        };
        self.workers.push(Worker {
            path,
            key,
            handle,
            name,
            next_name: None,
            start,
            request: Request::Step,
            waiting: false,
            wake: None,
            detached: false,
            children: 0,
            atomic_depth: 0,
            atomic_ticks: 0,
            stack_block: start.stack.and_then(|(low, _)| self.block_at(low)),
            own_word: 0,
            idle_steps: 0,
            random: key,
            copy_source: 0,
        });
        self.pending.push(Pending { operation: Operation::START, standing: Standing::Blocked });
        self.stand(id, Standing::Enabled);
        if let Some(parent) = parent {
            self.footprint.touch(Class::Birth, Effect::Enable, key);
            self.events.push(Event::Spawned { parent, child: id });
        }
        id
    }

    /// The worker is about to do this.
    #[inline]
    pub fn announce(&mut self, id: WorkerId, operation: Operation, request: Request) {
        self.pending[id.index()].operation = operation;
        self.workers[id.index()].request = request;
        self.assumed_away |= request == Request::Assume;
        if let Some(place) = request.wants() {
            // Who destroys the object finds somebody there.
            self.touch_own(place);
        }
        self.restand(id);
    }

    /// Whether a worker that has not ended can execute its operation, or the half of it that is left.
    fn can_go_on(&self, id: WorkerId) -> bool {
        let worker = self.worker(id);
        let over = !worker.waiting || worker.wake.is_some();
        match worker.request {
            Request::Step => true,
            Request::Assume => false,
            Request::Join { handle } => {
                self.worker_of(handle).is_none_or(|w| self.pending(w).standing == Standing::Ended)
            }
            Request::Lock { lock, span_ns } => span_ns.is_some() && over || self.look(id, lock) != Look::Busy,
            Request::Relock { mutex, .. } => over && self.look(id, Lock::Mutex(mutex)) != Look::Busy,
            _ => over,
        }
    }

    fn restand(&mut self, id: WorkerId) {
        let standing = if self.can_go_on(id) { Standing::Enabled } else { Standing::Blocked };
        self.stand(id, standing);
    }

    /// The cheap form of [`Runtime::announce`] for what can never block.
    #[inline]
    pub fn announce_access(&mut self, id: WorkerId, operation: Operation) {
        debug_assert_eq!(self.pending[id.index()].standing, Standing::Enabled);
        debug_assert_eq!(self.workers[id.index()].request, Request::Step);
        self.pending[id.index()].operation = operation;
    }

    /// Where the `memory.copy` that the worker is about to announce reads from.
    pub fn set_copy_source(&mut self, id: WorkerId, address: u32) {
        self.workers[id.index()].copy_source = address;
    }

    /// Where the worker's stack turned out to be.
    pub fn set_stack(&mut self, id: WorkerId, bounds: (u32, u32)) {
        let block = self.block_at(bounds.0);
        let worker = &mut self.workers[id.index()];
        worker.start.stack = Some(bounds);
        worker.stack_block = block;
    }

    /// The event that allocated what is now at an address.
    fn block_at(&self, address: u32) -> Option<u32> {
        self.heap.block_around(address).map(|block| block.allocated)
    }

    /// The bounds of a worker's stack, if they are known and the memory was not given to somebody else since.
    pub fn stack_of(&self, id: WorkerId) -> Option<(u32, u32)> {
        let worker = self.worker(id);
        worker.start.stack.filter(|(low, _)| self.block_at(*low) == worker.stack_block)
    }

    #[inline]
    fn stand(&mut self, id: WorkerId, standing: Standing) {
        let old = std::mem::replace(&mut self.pending[id.index()].standing, standing);
        self.changes += u64::from(old != standing);
        match (old == Standing::Enabled, standing == Standing::Enabled) {
            (false, true) => {
                let at = self.enabled.partition_point(|w| *w < id);
                self.enabled.insert(at, id);
            }
            (true, false) => self.enabled.retain(|w| *w != id),
            _ => {}
        }
    }

    /// The pending timeout of this worker fires. It must be the earliest.
    pub fn fire(&mut self, id: WorkerId) {
        self.count_fired(id);
        let fired = self.clock.fire();
        assert_eq!(fired, Some(id), "this is a bug in coyote-wasm: the timeout is not the earliest");
        self.footprint.touch(Class::Clock, Effect::Write, 0);
        if let Some(queue) = self.worker(id).request.queue() {
            self.touch_place(queue, Effect::Write);
            self.leave_queue(id, queue);
        }
        if let Request::Lock { lock, .. } = self.worker(id).request {
            // Others kept it from having the lock in time.
            self.touch_place(lock.place(), Effect::Read);
        }
        self.wake(id, Wake::TimedOut);
    }

    /// Ends a worker's wait. It is enabled unless its second half needs a mutex that is taken.
    fn wake(&mut self, id: WorkerId, how: Wake) {
        self.workers[id.index()].wake = Some(how);
        self.footprint.touch(Class::Wake, Effect::Enable, self.workers[id.index()].key);
        if how == Wake::Notified {
            if self.clock.cancel(id) {
                self.footprint.touch(Class::Clock, Effect::Write, 0);
            }
            if let Some(by) = self.current {
                self.events.push(Event::Woken { by, worker: id });
            }
        }
        self.restand(id);
    }

    /// The worker's entry returned. Where that ends the process, it is nobody's mistake if others wait then.
    pub fn returned(&mut self, id: WorkerId) {
        self.over |= self.program && id.0 == 0;
        self.end(id);
    }

    /// The worker ends: by returning, by `exit`, or because the program is over for it.
    pub fn end(&mut self, id: WorkerId) {
        self.stand(id, Standing::Ended);
        let worker = &mut self.workers[id.index()];
        worker.request = Request::Step;
        self.atomic_workers -= u32::from(std::mem::take(&mut worker.atomic_depth) > 0);
        if self.current == Some(id) {
            self.current = None;
        }
        let (key, handle) = (worker.key, worker.handle);
        self.footprint.touch(Class::End, Effect::Enable, key);
        self.events.push(Event::Ended(id));
        for i in 0..self.workers.len() {
            if self.workers[i].request == (Request::Join { handle })
                && self.pending[i].standing == Standing::Blocked
            {
                let worker = WorkerId(i as u32);
                self.stand(worker, Standing::Enabled);
                self.events.push(Event::Woken { by: id, worker });
            }
        }
    }

    /// The worker executed its pending operation: all of [`Runtime::perform`] for a plain access.
    #[inline]
    pub fn stepped(&mut self, id: WorkerId) {
        self.current = Some(id);
        self.steps += 1;
        let looks = matches!(
            self.pending[id.index()].operation.kind,
            OpKind::Load | OpKind::AtomicLoad | OpKind::Yield | OpKind::Loop | OpKind::Sleep
        );
        if !looks {
            self.clock.progress(id);
        }
        if self.timers == Timers::Ordered {
            self.count_idle(id);
        }
    }

    /// Whether somebody can be picked, and if not, what that means.
    #[inline]
    pub fn progress(&self) -> Progress {
        let main_ended = self.pending[0].standing == Standing::Ended;
        if self.killed() {
            return match self.assumed_away {
                true => Progress::AssumedAway,
                false => Progress::Over { left_blocked: Vec::new() },
            };
        }
        if !self.enabled.is_empty() || self.clock.earliest().is_some() {
            return Progress::Ready;
        }
        self.quiescent(main_ended)
    }

    /// Whether the end of the first worker ends the others as well, and has come.
    pub fn killed(&self) -> bool {
        self.at_exit == AtExit::Kill && self.pending[0].standing == Standing::Ended
    }

    fn quiescent(&self, main_ended: bool) -> Progress {
        if self.assumed_away {
            return Progress::AssumedAway;
        }
        let blocked: Vec<WorkerId> =
            self.ids().filter(|w| self.pending[w.index()].standing == Standing::Blocked).collect();
        let expected =
            |w: &WorkerId| !self.holds(*w) && (self.workers[w.index()].detached || !self.knows_joins);
        if !main_ended || !self.over && !blocked.iter().all(expected) {
            return Progress::Deadlock;
        }
        Progress::Over { left_blocked: blocked }
    }

    pub fn read_clock_ns(&mut self, id: WorkerId) -> u64 {
        self.footprint.touch(Class::Clock, Effect::Write, 0);
        self.clock.read_ns(id)
    }

    /// Time without the reading being an event of the guest.
    pub fn now_ns(&mut self) -> u64 {
        self.footprint.touch(Class::Clock, Effect::Read, 0);
        self.clock.now_ns()
    }

    /// Executes a file call, or says what the host directories have to be asked first.
    pub fn file_call(&mut self, worker: Option<WorkerId>, call: &Call) -> Served {
        let mut session = self.session();
        let served = session.serve(call);
        let printed = session.printed.take();
        if let (Some(worker), Some((stream, text))) = (worker, printed) {
            self.print(worker, stream, text);
        }
        served
    }

    /// Takes over what the host directories answered to a file call.
    pub fn host_answered(&mut self, call: &Call, answer: Answer) -> Answer {
        self.session().host_answered(call, answer)
    }

    fn session(&mut self) -> Session<'_> {
        let Runtime { files, clock, footprint, .. } = self;
        Session { files, clock, footprint, printed: None }
    }

    /// The next number of the worker's random stream: splitmix64 from its key on.
    pub fn random(&mut self, id: WorkerId) -> u64 {
        let state = &mut self.workers[id.index()].random;
        let number = mix(*state);
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        number
    }

    /// The worker calls an atomic function.
    pub fn atomic_enter(&mut self, id: WorkerId) {
        let worker = &mut self.workers[id.index()];
        worker.atomic_depth += 1;
        worker.atomic_ticks = 0;
        self.atomic_workers += u32::from(worker.atomic_depth == 1);
    }

    /// The worker goes round a loop in an atomic function. Whether it must let others run by now: it may wait
    /// for one that blocked inside of such a function.
    pub fn atomic_tick(&mut self, id: WorkerId) -> bool {
        let ticks = &mut self.workers[id.index()].atomic_ticks;
        *ticks = (*ticks + 1).min(ATOMIC_TICKS_MAX + 1);
        *ticks > ATOMIC_TICKS_MAX
    }

    /// The worker returns from an atomic function.
    pub fn atomic_exit(&mut self, id: WorkerId) {
        let depth = &mut self.workers[id.index()].atomic_depth;
        *depth -= 1;
        self.atomic_workers -= u32::from(*depth == 0);
    }

    pub fn detach(&mut self, handle: u32) {
        if let Some(worker) = self.worker_of(handle) {
            self.workers[worker.index()].detached = true;
        }
    }

    pub fn set_name(&mut self, handle: u32, name: String) {
        if let Some(worker) = self.worker_of(handle) {
            self.workers[worker.index()].name = Some(name);
        }
    }

    /// What the worker that this one starts next will be called.
    pub fn set_next_name(&mut self, id: WorkerId, name: Option<String>) {
        self.workers[id.index()].next_name = name;
    }

    pub fn print(&mut self, worker: WorkerId, stream: Stream, text: Vec<u8>) {
        if !self.harness_reports(worker) {
            self.output.push(Output { worker, step: self.steps, stream, text });
        }
    }

    /// All that was written to these streams.
    pub fn printed(&self, streams: &[Stream]) -> String {
        let pieces = self.output.iter().filter(|o| streams.contains(&o.stream));
        let bytes: Vec<u8> = pieces.flat_map(|o| &o.text).copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The finalizer of splitmix64: a bijection whose every output bit depends on every input bit.
fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
