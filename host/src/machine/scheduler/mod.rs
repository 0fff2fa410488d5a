//! Who runs next: the loop of choices between a worker's announcement and the next step.
//!
//! The guest calls in at every scheduling point. With a strategy in the scheduler, the choice is made
//! on the spot: if the announcing worker is picked, its operation is performed and it goes on without
//! unwinding; else it unwinds and [`Scheduler::next`] puts the picked one in its place. Without a
//! strategy every worker unwinds at once, and whoever drives the execution picks from outside.
//! Both ways perform the same steps: a schedule made by one replays under the other.

mod driven;
mod looks;

use super::memory_errors::Finding;
use crate::evidence::Evidence;
use crate::outcome::{Bug, BugKind, Outcome};
use crate::runtime::heap::BlockRef;
use crate::runtime::{Performed, Progress, Request, Runtime};
use coyote_strategies::{Decision, OpKind, Operation, Pick, Strategy, WorkerId};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A choice as it was made. Compact: there are many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    Step { worker: WorkerId, kind: OpKind, site: u32 },
    Timeout { worker: WorkerId },
    Value { value: u32, bound: u32 },
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
    /// Steps executed before.
    pub step: u64,
    /// How many workers could run.
    pub others: usize,
}

/// Bounds of one iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub unfair_steps_max: u64,
    pub fair_steps_max: u64,
    /// Whether reaching the bound is a bug of the guest.
    pub fail_on_steps_max: bool,
}

/// A step that still needs a value from outside: its worker, the bound, and the values it has so far.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unfinished {
    pub worker: WorkerId,
    pub bound: u64,
    pub values: Vec<u64>,
}

/// Forced points for each step of the bound on steps that a worker alone in a test harness may pass.
const ALONE_TICKS: u64 = 10;

/// Steps between two looks at [`Scheduler::cancel`].
const LOOK_STEPS: u64 = 64;

/// When an iteration under a strategy is left before its end, to be looked at: see [`crate::livelock`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Looks {
    #[default]
    Never,
    /// At the bound on steps; and at step 1,024, 2,048 and so on if the last half of all choices did nothing but
    /// look.
    WhenSuspicious,
    /// After so many choices.
    After(usize),
}

/// The first step at which an iteration may be suspicious.
const SUSPICIOUS_FROM: u64 = 1_024;

/// What a worker that announced an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointResult {
    /// Its call returns this.
    Return(i64),
    Unwind,
}

/// Reads guest memory: see [`Runtime::perform`].
pub type Read<'a> = &'a mut dyn FnMut(u32, u8) -> Option<u64>;

pub struct Scheduler {
    pub runtime: Runtime,
    /// Makes the choices; `None` if they come from outside.
    pub strategy: Option<Box<dyn Strategy>>,
    pub limits: Limits,
    /// Which of the bounds on steps holds.
    pub fair: bool,
    /// Another bound, for an iteration that is executed again: the one that held then.
    pub bound: Option<u64>,
    /// No bound holds and every access is a scheduling point: all states are visited that can follow.
    pub closing: bool,
    pub looks: Looks,
    /// The iteration was left to be looked at.
    pub looking: bool,
    /// How the iteration ended, once it has.
    pub outcome: Option<Outcome>,
    /// Whether the guest ended the whole program, whatever others were about to do.
    pub exited: bool,
    /// The block that a memory error is about.
    pub blame: Option<BlockRef>,
    /// Workers that were left blocked for ever by a test that passed.
    pub left_blocked: Vec<WorkerId>,
    pub choices: Vec<Choice>,
    /// The last one, if there was any.
    pub early_timeout: Option<EarlyTimeout>,
    /// Choices with more than one possibility.
    pub decisions: u64,
    /// Most workers enabled at once.
    pub concurrency: u32,
    /// Size of memory as the guest sees it.
    pub memory_bytes: u64,
    /// Addresses below are null pointers with an offset: see [`super::stack::null_page`].
    pub null_bytes: u64,
    /// Who runs now.
    pub running: Option<WorkerId>,
    /// Picked by the strategy, not yet executed.
    picked: Option<Pick>,
    /// Executed from outside: who goes on and what its call returns.
    planned: Option<(WorkerId, i64)>,
    /// A step that needs a value from outside: the worker and the bound.
    choosing: Option<(WorkerId, u64)>,
    values: Vec<u64>,
    /// Nothing but plain accesses happened since it was last found that the iteration goes on: they
    /// change neither who is enabled nor whether it has ended.
    end_checked: bool,
    /// Bound on steps of this iteration.
    steps_max: u64,
    /// Somebody raises this when there is no more time for the iteration.
    pub cancel: Option<Arc<AtomicBool>>,
    /// Whether the iteration was given up for that: it says nothing about the test.
    pub cancelled: bool,
    /// The step from which on it is asked whether the bound is reached or somebody wants to look.
    look_up_at: u64,
    /// The step from which on the iteration may be suspicious: see [`Looks::WhenSuspicious`].
    suspicious_at: u64,
}

/// What an iteration that is left to be looked at gets back when it goes on.
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
            bound: None,
            closing: false,
            looks: Looks::Never,
            looking: false,
            outcome: None,
            exited: false,
            blame: None,
            left_blocked: Vec::new(),
            choices: Vec::new(),
            early_timeout: None,
            decisions: 0,
            concurrency: 0,
            memory_bytes: 0,
            null_bytes: 0,
            running: None,
            picked: None,
            planned: None,
            choosing: None,
            values: Vec::new(),
            end_checked: false,
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
            // Given by whoever drives the execution.
            strategy: _,
            limits: _,
            fair: _,
            bound: _,
            closing: _,
            looks: _,
            looking,
            outcome,
            exited,
            blame,
            left_blocked,
            choices,
            early_timeout,
            decisions,
            concurrency,
            // The machine's: see `Machine::resize`.
            memory_bytes: _,
            null_bytes: _,
            running,
            picked,
            planned,
            choosing,
            values,
            end_checked,
            // Set below.
            steps_max: _,
            look_up_at: _,
            suspicious_at: _,
            // Whoever raises it did so for all that follows.
            cancel: _,
            cancelled,
        } = self;
        runtime.reset_to(start);
        runtime.footprint.clear();
        *outcome = None;
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
        *cancelled = false;
        *looking = false;
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

    /// Takes what going back to the present state would forget.
    pub fn take_course(&mut self) -> Course {
        Course {
            choices: std::mem::take(&mut self.choices),
            decisions: self.decisions,
            concurrency: self.concurrency,
        }
    }

    /// Gives it back: the iteration is where it was when it was left.
    pub fn give_course(&mut self, course: Course) {
        let Course { choices, decisions, concurrency } = course;
        self.choices = choices;
        self.decisions = decisions;
        self.concurrency = concurrency;
        self.set_bounds();
    }

    /// The running worker is about to access memory or to go round a loop: nothing that blocks.
    #[inline]
    pub fn access(&mut self, operation: Operation) -> PointResult {
        // Before the first worker runs, the module initialises itself: nothing to schedule.
        let Some(worker) = self.running else { return PointResult::Return(0) };
        if self.runtime.is_worker_local(operation.object, operation.size) {
            return PointResult::Return(0);
        }
        if self.runtime.worker(worker).atomic_depth > 0 && !self.atomic_tick(worker, operation) {
            return self.access_atomically(worker, operation);
        }
        if self.runtime.alone_in_harness() && self.passes_alone(worker, &operation) {
            return PointResult::Return(0);
        }
        self.runtime.announce_access(worker, operation);
        if self.strategy.is_none() {
            return PointResult::Unwind;
        }
        self.picked = self.pick();
        if self.picked == Some(Pick::Step(worker)) && self.violation(worker, &operation).is_none() {
            self.picked = None;
            self.runtime.stepped(worker);
            return PointResult::Return(0);
        }
        PointResult::Unwind
    }

    /// Whether the operation of a worker that is alone in a test harness is no scheduling point. Such a
    /// worker has a longer way to go than the steps of a concurrent test, but may not run for ever.
    #[cold]
    fn passes_alone(&mut self, worker: WorkerId, operation: &Operation) -> bool {
        self.runtime.alone_ticks += u64::from(operation.kind == OpKind::Loop);
        if operation.kind == OpKind::Loop && !self.closing && self.is_cancelled() {
            self.look_up_at = 0;
            return false;
        }
        self.violation(worker, operation).is_none()
            && !self.closing
            && self.runtime.alone_ticks < self.steps_max.saturating_mul(ALONE_TICKS)
    }

    /// An access that is no scheduling point.
    fn access_atomically(&mut self, worker: WorkerId, operation: Operation) -> PointResult {
        let Some(violation) = self.violation(worker, &operation) else {
            self.runtime.touch(worker, operation);
            return PointResult::Return(0);
        };
        self.runtime.announce_access(worker, operation);
        self.stop_at(violation);
        PointResult::Unwind
    }

    /// The iteration ends with a memory error, unless it has ended already.
    pub fn stop_at(&mut self, Finding { bug, blame }: Finding) {
        self.end_checked = false;
        if self.outcome.is_none() {
            self.outcome = Some(Outcome::Bug(bug));
            self.blame = blame;
        }
    }

    /// Within an atomic function an access is no scheduling point; a loop becomes one in the end.
    fn atomic_tick(&mut self, worker: WorkerId, operation: Operation) -> bool {
        operation.kind == OpKind::Loop && self.runtime.atomic_tick(worker)
    }

    pub fn atomic_enter(&mut self) {
        self.end_checked = false;
        if let Some(worker) = self.running {
            self.runtime.atomic_enter(worker);
        }
    }

    pub fn atomic_exit(&mut self) {
        if let Some(worker) = self.running {
            self.runtime.atomic_exit(worker);
        }
    }

    /// The running worker is about to do something that may block or need a value.
    pub fn announce(&mut self, operation: Operation, request: Request, read: Read) -> PointResult {
        let Some(worker) = self.running else { return PointResult::Return(0) };
        self.end_checked = false;
        self.runtime.announce(worker, operation, request);
        if self.strategy.is_none() {
            return PointResult::Unwind;
        }
        match self.advance(read) {
            Some((next, result)) if next == worker => PointResult::Return(result),
            next => {
                self.planned = next;
                PointResult::Unwind
            }
        }
    }

    /// The running worker's entry returned.
    pub fn returned(&mut self) {
        if let Some(worker) = self.running.take() {
            self.end_checked = false;
            self.runtime.returned(worker);
        }
    }

    /// Nobody runs: who goes on, and what does its call return? `None` leaves the guest.
    pub fn next(&mut self, read: Read) -> Option<(WorkerId, i64)> {
        let next = match self.planned.take() {
            Some(planned) => Some(planned),
            None if self.strategy.is_some() => self.advance(read),
            None => None,
        };
        self.running = next.map(|n| n.0);
        next
    }

    /// Picks and performs until a worker can go on, or the iteration has ended.
    fn advance(&mut self, read: Read) -> Option<(WorkerId, i64)> {
        loop {
            let pick = match self.picked.take() {
                Some(pick) => pick,
                None => self.pick()?,
            };
            let next = self.execute(pick, read);
            if next.is_some() || self.outcome.is_some() {
                return next;
            }
        }
    }

    /// Asks the strategy. `None`: the iteration has ended.
    #[inline]
    fn pick(&mut self) -> Option<Pick> {
        if !self.end_checked || self.runtime.steps() >= self.look_up_at {
            self.check_end();
            if self.outcome.is_some() || self.looking {
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

    /// The choice of a timeout. Not often made: kept out of what every step executes.
    #[cold]
    fn timeout(&mut self, worker: WorkerId) -> Choice {
        let view = self.runtime.view();
        let (step, others) = (view.step, view.enabled.len());
        if others > 0 && !self.runtime.is_due() {
            self.early_timeout = Some(EarlyTimeout { worker, step, others });
        }
        Choice::Timeout { worker }
    }

    /// Finds out whether the iteration has ended by now.
    pub fn check_end(&mut self) {
        if !self.runtime.events.is_empty() && self.strategy.is_some() {
            self.tell();
        }
        if self.outcome.is_none() && self.runtime.steps() >= self.look_up_at && self.is_cancelled() {
            self.cancelled = true;
            self.outcome = Some(Outcome::Abandoned);
        }
        if self.outcome.is_some() {
            return;
        }
        match self.runtime.progress() {
            Progress::Ready => {}
            Progress::Over { left_blocked } => {
                self.left_blocked = left_blocked;
                self.outcome = Some(Outcome::Passed);
            }
            Progress::AssumedAway => self.outcome = Some(Outcome::Abandoned),
            Progress::Deadlock => self.outcome = Some(Outcome::Bug(self.deadlock())),
        }
        if self.runtime.steps() >= self.look_up_at && self.outcome.is_none() {
            self.look_up();
        }
    }

    fn tell(&mut self) {
        for event in self.runtime.events.drain(..) {
            if let Some(strategy) = &mut self.strategy {
                strategy.observe(event);
            }
        }
    }

    fn deadlock(&self) -> Bug {
        let blocked = self
            .runtime
            .view()
            .workers
            .iter()
            .filter(|p| p.state == coyote_strategies::WorkerState::Blocked)
            .count();
        Bug { kind: BugKind::Deadlock, evidence: Evidence::Deadlock { blocked }, worker: None }
    }

    /// Executes a pick. `Some` if a worker can go on; what its call returns.
    fn execute(&mut self, pick: Pick, read: Read) -> Option<(WorkerId, i64)> {
        self.end_checked = false;
        match pick {
            Pick::Timeout(worker) => {
                self.runtime.fire(worker);
                None
            }
            Pick::Step(worker) => {
                self.values.clear();
                self.perform(worker, read).map(|result| (worker, result))
            }
        }
    }

    fn perform(&mut self, worker: WorkerId, read: Read) -> Option<i64> {
        let operation = self.runtime.pending(worker).operation;
        if let Some(violation) = self.violation(worker, &operation) {
            self.stop_at(violation);
            return None;
        }
        loop {
            match self.runtime.perform(worker, &self.values, read) {
                Performed::Continue(result) => return Some(result),
                Performed::Blocked => return None,
                Performed::Ended => {
                    self.runtime.end(worker);
                    return None;
                }
                Performed::Exited => {
                    self.exited = true;
                    self.outcome = Some(Outcome::Passed);
                    return None;
                }
                Performed::Bug(bug) => {
                    self.outcome = Some(Outcome::Bug(bug));
                    return None;
                }
                Performed::NeedsValue(bound) => {
                    let Some(strategy) = &mut self.strategy else {
                        self.choosing = Some((worker, bound));
                        return None;
                    };
                    match strategy.value(bound, &self.runtime.view()) {
                        Some(value) => self.value(value, bound),
                        None => {
                            self.outcome = Some(Outcome::Abandoned);
                            return None;
                        }
                    }
                }
            }
        }
    }

    fn value(&mut self, value: u64, bound: u64) {
        assert!(value < bound, "this is a bug in coyote-wasm: the value {value} is not below {bound}");
        self.decisions += 1;
        self.choices.push(Choice::Value { value: value as u32, bound: bound as u32 });
        self.values.push(value);
    }
}
