//! Memory accesses and rounds of loops: operations that never block. Most of them are executed on the spot, without
//! asking detectors: [`Scheduler::access`] is the hot path.

use super::{ALONE_ACCESSES, ALONE_LOOK, ALONE_MAX, ALONE_ROUND, Choice, Context, Scheduler};
use crate::observe::{Attempt, Finding, Interest, Step, is_plain, plainly_allowed};
use coyote_strategies::{Access, OpKind, Operation, Pick, WorkerId};

/// What a worker does after it announced an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessResult {
    /// Execute the access.
    Execute,
    Unwind,
    /// Ask detectors first: see [`Scheduler::access_asked`].
    Ask(Asked),
}

/// How an access is executed that detectors or observers must see first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Its worker was picked.
    Picked,
    /// It is no scheduling point: the worker is in an atomic function.
    Atomic,
    /// It is no scheduling point: the worker is alone in a test harness.
    Alone,
}

/// Maximum of the counter of consecutive refusals.
const REFUSALS_MAX: u32 = 64;

impl Scheduler {
    /// Handles an access of memory, or a round of a loop, that the running worker is about to execute: an
    /// operation that does not block.
    #[inline]
    pub fn access(&mut self, operation: Operation) -> AccessResult {
        // Before the first worker runs, the module initialises itself, and there is nothing to schedule.
        let Some(worker) = self.running else { return AccessResult::Execute };
        if self.runtime.is_worker_local(operation.object, operation.size) {
            return AccessResult::Execute;
        }
        if self.runtime.worker(worker).atomic_depth > 0 && !self.atomic_tick(worker, operation) {
            return self.access_atomically(worker, operation);
        }
        if self.runtime.alone_in_harness() && self.may_pass_alone(&operation) {
            return match self.needs_question(worker, &operation) {
                true => AccessResult::Ask(Asked::Alone),
                false => AccessResult::Execute,
            };
        }
        self.runtime.announce_access(worker, operation);
        // What predicates accessed is compared with memory when the worker has unwound.
        if self.strategy.is_none() || self.runtime.has_predicates() {
            return AccessResult::Unwind;
        }
        self.picked = self.pick(None);
        if self.picked != Some(Pick::Step(worker)) {
            return AccessResult::Unwind;
        }
        if self.needs_question(worker, &operation) {
            return AccessResult::Ask(Asked::Picked);
        }
        self.picked = None;
        self.runtime.stepped(worker);
        AccessResult::Execute
    }

    /// The number of steps, at most `most`, for which the running worker, which has just executed an access, is certain
    /// to be picked again. Memory that it must not access meanwhile is put into [`Scheduler::watched`].
    #[inline]
    pub fn lease(&mut self, most: u32) -> Option<u32> {
        // A strategy that hardly ever promises steps is not asked at every point.
        if self.points_unasked > 0 {
            self.points_unasked -= 1;
            return None;
        }
        let worker = self.running?;
        let strategy = self.strategy.as_ref()?;
        let quiet = self.end_checked
            && self.picked.is_none()
            && self.outcome.is_none()
            && self.runtime.worker(worker).atomic_depth == 0
            && !self.runtime.alone_in_harness()
            && !self.runtime.has_predicates()
            && !self.runtime.footprint.recording
            && !self.runtime.stream.wants(Interest::ASKS);
        if !quiet {
            return None;
        }
        let view = self.runtime.view();
        // Whether a timeout fires is drawn at every choice.
        if !view.timeouts.is_empty() {
            return None;
        }
        self.watched.clear();
        let before_look = self.look_up_at.saturating_sub(view.step);
        let before_timeout = self.runtime.accesses_before_timeout(worker);
        let steps = strategy.quiet(worker, &view, &mut self.watched).min(before_look).min(before_timeout);
        if steps == 0 {
            self.refusals = (self.refusals + 1).min(REFUSALS_MAX);
            self.points_unasked = self.refusals / 2;
            return None;
        }
        self.refusals = 0;
        Some(steps.min(most.into()) as u32)
    }

    /// Turns accesses that the running worker has executed under a lease into steps.
    pub fn leased_steps(&mut self, operations: &[Operation]) {
        let worker = self.running.expect("it had the lease");
        let view = self.runtime.view();
        let choices = view.choices();
        let strategy = self.strategy.as_mut().expect("it promised them");
        if !strategy.goes_on(worker, operations, &view) {
            operations.iter().for_each(|operation| self.leased_step(worker, *operation));
            return;
        }
        self.concurrency = self.concurrency.max(view.enabled.len() as u32);
        self.decisions += if choices > 1 { operations.len() as u64 } else { 0 };
        self.choices.extend(operations.iter().map(|o| Choice::Step { worker, kind: o.kind, site: o.site }));
        self.runtime.stepped_often(worker, operations);
    }

    fn leased_step(&mut self, worker: WorkerId, operation: Operation) {
        self.runtime.announce_access(worker, operation);
        let pick = self.pick(None);
        assert_eq!(
            pick,
            Some(Pick::Step(worker)),
            "this is a bug in coyote-wasm: the strategy {} promised to pick the running worker",
            self.strategy.as_ref().map_or(String::new(), |strategy| strategy.name()),
        );
        self.runtime.stepped(worker);
    }

    /// Whether a detector must be asked before an operation is executed, or an observer wants its event.
    #[inline]
    fn needs_question(&self, worker: WorkerId, operation: &Operation) -> bool {
        !plainly_allowed(&self.runtime, self.bounds, worker, operation)
            || self.runtime.stream.wants(Interest::ASKS)
    }

    /// Whether the operation of a worker that is alone in a test harness is no scheduling point. Such a
    /// worker may need more steps than a concurrent test, but must not run for ever.
    #[cold]
    fn may_pass_alone(&mut self, operation: &Operation) -> bool {
        let round = operation.kind == OpKind::Loop;
        let most = self.steps_max.saturating_mul(ALONE_ACCESSES).min(ALONE_MAX);
        let accesses = &mut self.runtime.alone_accesses;
        *accesses += if round { ALONE_ROUND } else { 1 };
        let (few, looks) = (*accesses < most, round || accesses.is_multiple_of(ALONE_LOOK));
        if looks && !self.closing && self.is_cancelled() {
            self.look_up_at = 0;
            return false;
        }
        few && !self.closing
    }

    /// Handles an access within an atomic function, which is no scheduling point.
    fn access_atomically(&mut self, worker: WorkerId, operation: Operation) -> AccessResult {
        if self.needs_question(worker, &operation) {
            return AccessResult::Ask(Asked::Atomic);
        }
        self.runtime.touch(worker, operation);
        AccessResult::Execute
    }

    /// Whether an operation within an atomic function is a scheduling point: never an access, but a loop that
    /// has run for too long.
    fn atomic_tick(&mut self, worker: WorkerId, operation: Operation) -> bool {
        operation.kind == OpKind::Loop && self.runtime.atomic_tick(worker)
    }

    /// Executes an access for which [`Scheduler::access`] returned [`AccessResult::Ask`]. Events of an access that is a
    /// scheduling point are delivered here; the caller delivers those of others.
    #[cold]
    pub fn access_asked(
        &mut self,
        operation: Operation,
        asked: Asked,
        context: &mut Context,
    ) -> AccessResult {
        let worker = self.running.expect("it announced the access");
        let finding = self.veto(worker, &operation, context);
        match (asked, finding) {
            // After the worker has unwound, [`Scheduler::next`] executes the pick and asks detectors again.
            (Asked::Picked, Some(_)) => return AccessResult::Unwind,
            (Asked::Picked, None) if self.wants_stack(operation.kind, context) => {
                return AccessResult::Unwind;
            }
            (Asked::Picked, None) => {
                self.picked = None;
                let number = self.runtime.steps();
                self.values.clear();
                self.runtime.footprint.begin_step();
                self.runtime.step_plainly(worker);
                let pick = Pick::Step(worker);
                self.tell_step(Step { number, pick, operation, values: &[], result: Some(0) }, context);
            }
            (Asked::Alone, Some(_)) => {
                self.runtime.announce_access(worker, operation);
                self.picked = if self.strategy.is_some() { self.pick(None) } else { None };
                return AccessResult::Unwind;
            }
            (Asked::Atomic, Some(finding)) => {
                self.runtime.announce_access(worker, operation);
                self.stop_at(finding);
            }
            (Asked::Alone | Asked::Atomic, None) => {
                if asked == Asked::Atomic {
                    self.runtime.touch(worker, operation);
                } else {
                    self.runtime.observe_operation(worker, operation);
                }
            }
        }
        match self.outcome {
            None => AccessResult::Execute,
            Some(_) => AccessResult::Unwind,
        }
    }

    /// Whether detectors must be asked about accesses that the host makes.
    pub fn asks_about(&self, accesses: &[Access]) -> bool {
        let allowed = |access: &Access| is_plain(&self.runtime.heap, self.bounds, access.object, access.size);
        !accesses.iter().all(allowed) || self.runtime.stream.wants(Interest::VETOES)
    }

    /// Whether an observer wants the stack of the running worker at its next step.
    pub(super) fn wants_stack(&self, operation: OpKind, context: &Context) -> bool {
        self.runtime.stream.wants(Interest::STACKS)
            && context.observers.want_stack(self.runtime.steps() + 1, operation)
    }

    /// Asks detectors about the announced operation: the finding if the worker must not execute it.
    #[inline]
    pub(super) fn veto(
        &self,
        worker: WorkerId,
        operation: &Operation,
        context: &mut Context,
    ) -> Option<Finding> {
        let plain = plainly_allowed(&self.runtime, self.bounds, worker, operation);
        if plain && !self.runtime.stream.wants(Interest::VETOES) {
            return None;
        }
        let (observers, state) = context.state(&self.runtime, self.bounds);
        observers.veto(&state, worker, &Attempt::Operation(operation))
    }
}
