//! Chooses the worker that runs next: the loop of choices between an announcement and the next step.
//!
//! The guest calls in at every scheduling point. With a strategy in the scheduler, the choice is made
//! on the spot: if the announcing worker is picked, its operation is performed and it goes on without
//! unwinding; else it unwinds and [`Scheduler::next`] puts the picked one in its place. Without a
//! strategy every worker unwinds at once, and the driver of the execution picks from outside.
//! Both ways perform the same steps: a schedule made by one replays under the other.

mod access;
mod circle;
mod context;
mod driven;
mod end;
mod looks;

use crate::observe::{Finding, Interest, MemoryBounds, Step};
use crate::outcome::Outcome;
use crate::runtime::heap::BlockRef;
use crate::runtime::monitors::Heat;
use crate::runtime::{Performed, Request, Runtime};
pub use access::{AccessResult, Asked};
pub use context::{Context, Suspended, number, put};
use coyote_strategies::{Decision, OpKind, Operation, Pick, Strategy, WorkerId};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A choice as it was made. Compact: there are many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The worker executed its pending operation.
    Step {
        /// The worker.
        worker: WorkerId,
        /// The kind of its operation.
        kind: OpKind,
        /// The site at which the operation was announced.
        site: u32,
    },
    /// A timeout fired.
    Timeout {
        /// The worker that waited with this timeout.
        worker: WorkerId,
    },
    /// The worker of the last step was given a value.
    Value {
        /// The value.
        value: u32,
        /// The exclusive upper bound of the value.
        bound: u32,
    },
}

impl From<Choice> for Decision {
    fn from(choice: Choice) -> Decision {
        match choice {
            Choice::Step { worker, .. } => Decision::Pick(Pick::Step(worker)),
            Choice::Timeout { worker } => Decision::Pick(Pick::Timeout(worker)),
            Choice::Value { value, .. } => Decision::Value(value.into()),
        }
    }
}

/// A timeout that fired before its time, while others could run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlyTimeout {
    pub worker: WorkerId,
    /// Number of steps executed before.
    pub step: u64,
    /// Number of workers that could run.
    pub others: usize,
}

/// Bounds of one iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Steps of an iteration under a strategy that is not fair.
    pub unfair_steps_max: u64,
    /// Steps of an iteration under a fair strategy.
    pub fair_steps_max: u64,
    /// Whether reaching the bound is a bug of the guest.
    pub fail_on_steps_max: bool,
}

/// A step that still needs a value from outside: its worker, the bound of the value, and the values so far.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unfinished {
    pub worker: WorkerId,
    pub bound: u64,
    pub values: Vec<u64>,
}

/// Number of accesses that a worker alone in a test harness may execute, for each step of the bound on steps.
const ALONE_ACCESSES: u64 = 1_000;

/// The same for any bound: some seconds.
const ALONE_MAX: u64 = 100_000_000;

/// An announced round of a loop stands for [`COUNTDOWN`](coyote_abi::rt::COUNTDOWN) rounds without an access, and counts
/// as this many accesses.
const ALONE_ROUND: u64 = 100;

/// Number of such accesses between two checks of [`Scheduler::cancel`]: a power of two.
const ALONE_LOOK: u64 = 1 << 12;

/// Number of steps between two checks of [`Scheduler::cancel`].
const LOOK_STEPS: u64 = 64;

/// When an iteration under a strategy is interrupted to be looked at: see `execution::prove_livelock`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Looks {
    #[default]
    Never,
    /// At the bound on steps; and at step 1,024, 2,048 and so on if the last half of all choices did nothing
    /// but look.
    WhenSuspicious,
    /// After this number of choices.
    After(usize),
    /// After this number of choices, for a lasso.
    AfterRound(usize),
}

/// The first step at which an iteration may be suspicious.
const SUSPICIOUS_FROM: u64 = 1_024;

/// What a worker does after it announced an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointResult {
    /// Return this value from its call.
    Return(i64),
    Unwind,
}

pub struct Scheduler {
    pub runtime: Runtime,
    /// Makes the choices; `None` if they come from outside.
    pub strategy: Option<Box<dyn Strategy>>,
    pub limits: Limits,
    /// Whether the bound on steps is that of a fair strategy.
    pub fair: bool,
    /// The step from which on the execution is fair, so that the steps for which monitors are hot count; `None`: they
    /// do not.
    pub fair_from: Option<u64>,
    /// Steps that a monitor may be hot in a fair execution; 0 for any number.
    pub hot_steps_max: u64,
    /// A bound on steps that replaces those of `limits`, for an iteration that is executed again.
    pub bound: Option<u64>,
    /// Whether the iteration continues when workers wait in a circle, and becomes a deadlock at its end. A search that
    /// reverses races needs the steps that follow, to know what it still has to execute. In all other respects nothing
    /// changes, since a circle of waiting workers never dissolves.
    pub defers: bool,
    /// Whether all states that can follow are visited: no bound holds, and every access is a point.
    pub closing: bool,
    pub looks: Looks,
    /// The iteration was interrupted to be looked at.
    pub looking: bool,
    /// The step from which on the iteration is interrupted to look for a lasso; each look sets the next.
    pub lasso_at: Option<u64>,
    /// A monitor has been hot for too long. Observers receive the event once the running worker is suspended.
    overheating: bool,
    /// The outcome, once the iteration has ended.
    pub outcome: Option<Outcome>,
    /// The outcome that a deadlock of workers in a circle replaced: see [`Scheduler::defers`].
    pub masked: Option<Outcome>,
    /// The program has crashed, and is about to start again: see [`Scheduler::take_crashed`].
    crashed: bool,
    /// Whether the guest ended the whole program, whatever other workers were about to do.
    pub exited: bool,
    /// The block that a memory error is about.
    pub blame: Option<BlockRef>,
    /// Workers that were left blocked for ever by a test that passed.
    pub left_blocked: Vec<WorkerId>,
    pub choices: Vec<Choice>,
    /// The last early timeout, if there was one.
    pub early_timeout: Option<EarlyTimeout>,
    /// Choices with more than one possibility.
    pub decisions: u64,
    /// The largest number of workers that were enabled at once.
    pub concurrency: u32,
    pub bounds: MemoryBounds,
    /// The worker that runs now.
    pub running: Option<WorkerId>,
    /// A pick of the strategy that is not yet executed.
    picked: Option<Pick>,
    /// The worker to put in place after its step was executed, and the result of its call.
    planned: Option<(WorkerId, i64)>,
    /// A step that needs a value from outside: the worker and the bound.
    choosing: Option<(WorkerId, u64)>,
    values: Vec<u64>,
    /// Whether only plain accesses happened since the last check that the iteration has not ended: they
    /// change neither which workers are enabled nor whether it has ended.
    end_checked: bool,
    /// Memory that ends a lease: address and bytes. See [`Scheduler::lease`].
    pub watched: Vec<(u64, u32)>,
    /// Number of consecutive times that the strategy promised no steps, and of points at which it is
    /// therefore not asked.
    refusals: u32,
    points_unasked: u32,
    /// Bound on steps of this iteration.
    steps_max: u64,
    /// Set when there is no more time for the iteration.
    pub cancel: Option<Arc<AtomicBool>>,
    /// Whether the iteration was given up because of `cancel`: it says nothing about the test.
    pub cancelled: bool,
    /// The step from which on [`Scheduler::look_up`] checks whether the bound is reached or the state is to be
    /// looked at.
    look_up_at: u64,
    /// The step from which on the iteration may be suspicious: see [`Looks::WhenSuspicious`].
    suspicious_at: u64,
}

/// State that an iteration gets back when it continues after it was looked at.
pub struct Course {
    choices: Vec<Choice>,
    decisions: u64,
    concurrency: u32,
}

impl Scheduler {
    pub fn new(limits: Limits) -> Scheduler {
        Scheduler {
            runtime: Runtime::default(),
            strategy: None,
            limits,
            fair: true,
            fair_from: None,
            hot_steps_max: 0,
            bound: None,
            defers: false,
            closing: false,
            looks: Looks::Never,
            looking: false,
            lasso_at: None,
            overheating: false,
            outcome: None,
            masked: None,
            crashed: false,
            exited: false,
            blame: None,
            left_blocked: Vec::new(),
            choices: Vec::new(),
            early_timeout: None,
            decisions: 0,
            concurrency: 0,
            bounds: MemoryBounds::default(),
            running: None,
            picked: None,
            planned: None,
            choosing: None,
            values: Vec::new(),
            end_checked: false,
            watched: Vec::new(),
            refusals: 0,
            points_unasked: 0,
            steps_max: 0,
            cancel: None,
            cancelled: false,
            look_up_at: 0,
            suspicious_at: 0,
        }
    }

    /// Begins an iteration from a start state.
    pub fn begin(&mut self, start: &Runtime) {
        let Scheduler {
            runtime,
            // Set by the driver of the execution.
            strategy: _,
            limits: _,
            fair: _,
            fair_from: _,
            hot_steps_max: _,
            bound: _,
            defers: _,
            closing: _,
            looks: _,
            looking,
            lasso_at: _,
            overheating,
            outcome,
            masked,
            crashed,
            exited,
            blame,
            left_blocked,
            choices,
            early_timeout,
            decisions,
            concurrency,
            // Set by the machine: see `Machine::resize`.
            bounds: _,
            running,
            picked,
            planned,
            choosing,
            values,
            end_checked,
            // Set whenever a lease is given.
            watched: _,
            refusals,
            points_unasked,
            // Set below.
            steps_max: _,
            look_up_at: _,
            suspicious_at: _,
            // A cancellation holds for all later iterations too.
            cancel: _,
            cancelled,
        } = self;
        runtime.reset_to(start);
        runtime.monitors.judge(self.fair_from, self.hot_steps_max);
        runtime.footprint.clear();
        *outcome = None;
        *masked = None;
        *crashed = false;
        *exited = false;
        *blame = None;
        left_blocked.clear();
        choices.clear();
        *early_timeout = None;
        *decisions = 0;
        *concurrency = 0;
        *running = None;
        *picked = None;
        *planned = None;
        *choosing = None;
        values.clear();
        *end_checked = false;
        *refusals = 0;
        *points_unasked = 0;
        *cancelled = false;
        *looking = false;
        *overheating = false;
        self.set_bounds();
    }

    fn set_bounds(&mut self) {
        let by_fairness = if self.fair { self.limits.fair_steps_max } else { self.limits.unfair_steps_max };
        self.steps_max = self.bound.unwrap_or(by_fairness);
        self.suspicious_at = self.next_look();
        self.look_up_at = if self.closing { u64::MAX } else { 0 };
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    }

    /// The bound on steps of this iteration.
    pub fn steps_max(&self) -> u64 {
        self.steps_max
    }

    /// Whether the last step was a crash: the machine must then reset the program's memory.
    pub fn take_crashed(&mut self) -> bool {
        std::mem::take(&mut self.crashed)
    }

    /// Takes the state that restoring a snapshot would lose.
    pub fn take_course(&mut self) -> Course {
        Course {
            choices: std::mem::take(&mut self.choices),
            decisions: self.decisions,
            concurrency: self.concurrency,
        }
    }

    /// Restores what [`Scheduler::take_course`] took, so that the iteration can continue.
    pub fn give_course(&mut self, course: Course) {
        let Course { choices, decisions, concurrency } = course;
        self.choices = choices;
        self.decisions = decisions;
        self.concurrency = concurrency;
        self.set_bounds();
    }

    /// Ends the iteration with a detector's finding, unless it has already ended.
    pub fn stop_at(&mut self, Finding { bug, block }: Finding) {
        self.end_checked = false;
        if self.outcome.is_none() {
            self.outcome = Some(Outcome::Bug(bug));
            self.blame = block;
        }
    }

    /// Sets the state of a monitor, for the running worker.
    pub fn set_monitor(&mut self, name: String, number: u32, heat: Heat) {
        self.end_checked = false;
        if let Some(worker) = self.running {
            self.runtime.set_monitor(worker, name, number, heat);
        }
    }

    /// Begins or ends a section of the running worker; `None` if no worker runs.
    pub fn within_section<R>(&mut self, change: impl FnOnce(&mut Runtime, WorkerId) -> R) -> Option<R> {
        self.end_checked = false;
        self.running.map(|worker| change(&mut self.runtime, worker))
    }

    /// Announces an operation of the running worker that may block or need a value.
    pub fn announce(&mut self, operation: Operation, request: Request, context: &mut Context) -> PointResult {
        let Some(worker) = self.running else { return PointResult::Return(0) };
        self.end_checked = false;
        self.runtime.announce(worker, operation, request);
        // A detector that is asked about an operation may look at the stacks of all other workers.
        let vetoes = self.runtime.stream.wants(Interest::VETOES);
        if self.strategy.is_none() || vetoes || self.wants_stack(operation.kind, context) {
            return PointResult::Unwind;
        }
        match self.advance(context) {
            Some((next, result)) if next == worker => PointResult::Return(result),
            next => {
                self.planned = next;
                PointResult::Unwind
            }
        }
    }

    /// Records that the running worker's entry function returned.
    pub fn returned(&mut self) {
        if let Some(worker) = self.running.take() {
            self.end_checked = false;
            self.runtime.returned(worker);
        }
    }

    /// Chooses the worker that goes on, while none runs. Returns it with the result of its call; `None`
    /// leaves the guest.
    pub fn next(&mut self, context: &mut Context) -> Option<(WorkerId, i64)> {
        self.deliver(context);
        if self.planned.is_none() {
            self.runtime.compare_predicates(context.memory);
        }
        self.overheating = false;
        let next = match self.planned.take() {
            Some(planned) => Some(planned),
            None if self.crashed => None,
            None if self.strategy.is_some() => self.advance(context),
            None => None,
        };
        self.running = next.map(|n| n.0);
        next
    }

    /// Picks and executes until a worker can go on, or the iteration has ended or is interrupted.
    fn advance(&mut self, context: &mut Context) -> Option<(WorkerId, i64)> {
        loop {
            self.runtime.compare_predicates(context.memory);
            let pick = match self.picked.take() {
                Some(pick) => pick,
                None => self.pick(Some(&mut *context))?,
            };
            let next = self.execute(pick, context);
            if next.is_some() || self.outcome.is_some() || self.crashed {
                return next;
            }
        }
    }

    /// Asks the strategy for a pick. `None`: the iteration has ended or is interrupted. The context can be
    /// left out while a worker runs.
    #[inline]
    fn pick(&mut self, context: Option<&mut Context>) -> Option<Pick> {
        if !self.end_checked || self.runtime.steps() >= self.look_up_at {
            self.check_end(context);
            if self.outcome.is_some() || self.looking || self.overheating {
                return None;
            }
            self.end_checked = true;
        }
        let view = self.runtime.view();
        let choices = view.choices();
        self.decisions += u64::from(choices > 1);
        self.concurrency = self.concurrency.max(view.enabled.len() as u32);
        let strategy = self.strategy.as_mut()?;
        let Some(pick) = strategy.pick(&view) else {
            self.outcome = Some(Outcome::Abandoned);
            return None;
        };
        self.record(pick);
        Some(pick)
    }

    #[inline]
    fn record(&mut self, pick: Pick) {
        let choice = match pick {
            Pick::Step(worker) => {
                let operation = &self.runtime.pending(worker).operation;
                Choice::Step { worker, kind: operation.kind, site: operation.site }
            }
            Pick::Timeout(worker) => self.timeout(worker),
        };
        self.choices.push(choice);
    }

    /// The choice of a timeout. It is rare, so it is kept out of the hot path.
    #[cold]
    fn timeout(&mut self, worker: WorkerId) -> Choice {
        let view = self.runtime.view();
        let (step, others) = (view.step, view.enabled.len());
        if others > 0 && !self.runtime.is_due() {
            self.early_timeout = Some(EarlyTimeout { worker, step, others });
        }
        Choice::Timeout { worker }
    }

    fn tell(&mut self) {
        for event in self.runtime.events.drain(..) {
            if let Some(strategy) = &mut self.strategy {
                strategy.observe(event);
            }
        }
    }

    /// Executes a pick. Returns the worker that can go on, if any, with the result of its call.
    fn execute(&mut self, pick: Pick, context: &mut Context) -> Option<(WorkerId, i64)> {
        self.end_checked = false;
        self.runtime.footprint.begin_step();
        let next = self.execute_pick(pick, context);
        self.find_circle(context);
        if self.outcome.is_some() { None } else { next }
    }

    fn execute_pick(&mut self, pick: Pick, context: &mut Context) -> Option<(WorkerId, i64)> {
        match pick {
            Pick::Timeout(worker) => {
                let (operation, number) = (self.runtime.pending(worker).operation, self.runtime.steps());
                self.values.clear();
                self.runtime.fire(worker);
                self.tell_step(Step { number, pick, operation, values: &[], result: None }, context);
                None
            }
            Pick::Step(worker) => {
                self.values.clear();
                self.perform(worker, context).map(|result| (worker, result))
            }
        }
    }

    fn perform(&mut self, worker: WorkerId, context: &mut Context) -> Option<i64> {
        let operation = self.runtime.pending(worker).operation;
        if let Some(finding) = self.veto(worker, &operation, context) {
            self.stop_at(finding);
            return None;
        }
        let number = self.runtime.steps();
        let memory = &*context.memory;
        let read = &mut |address, bytes| context::number(memory, address, bytes);
        let (mut exited, mut bug) = (false, None);
        let result = loop {
            match self.runtime.perform(worker, &self.values, read) {
                Performed::Continue(result) => break Some(result),
                Performed::Blocked => break None,
                Performed::Ended => {
                    self.runtime.end(worker);
                    break None;
                }
                Performed::Crashed(way) => {
                    self.runtime.crash(worker, way);
                    self.crashed = true;
                    break None;
                }
                Performed::NodeCrashed(way) => {
                    self.runtime.crash_node(worker, way);
                    break None;
                }
                Performed::Exited => {
                    exited = true;
                    break None;
                }
                Performed::Bug(found) => {
                    bug = Some(found);
                    break None;
                }
                Performed::NeedsValue(bound) => {
                    let Some(strategy) = &mut self.strategy else {
                        self.choosing = Some((worker, bound));
                        return None;
                    };
                    let Some(value) = strategy.value(bound, &self.runtime.view()) else {
                        self.outcome = Some(Outcome::Abandoned);
                        return None;
                    };
                    self.value(value, bound);
                }
            }
        };
        if let Some(value) = self.runtime.weak.as_mut().and_then(|weak| weak.take_put()) {
            context::put(context.memory, context.written, value);
        }
        let pick = Pick::Step(worker);
        self.tell_step(Step { number, pick, operation, values: &[], result }, context);
        if self.outcome.is_some() {
            return None;
        }
        if exited {
            self.exited = true;
            self.outcome = Some(Outcome::Passed);
        }
        if let Some(bug) = bug {
            self.outcome = Some(Outcome::Bug(*bug));
        }
        result
    }

    fn value(&mut self, value: u64, bound: u64) {
        assert!(value < bound, "this is a bug in coyote-wasm: the value {value} is not below {bound}");
        self.decisions += 1;
        self.choices.push(Choice::Value { value: value as u32, bound: bound as u32 });
        self.values.push(value);
    }
}
