//! One test of a guest, ready to be executed again and again.
//!
//! [`Execution::run`] executes an iteration under a strategy. As a [`System`] the same execution is
//! driven step by step, with snapshots and fingerprints, by searches and by the determinism check: `system`.
//!
//! - `test`: the tests that can be executed. `looks`: iterations that seem not to end, with the proofs in
//!   `prove_livelock` and `prove_lasso`. `awaits`: when stacks of awaits are taken. `incidents`: what
//!   happened, also in executions that were cut off.

mod awaits;
mod incidents;
mod looks;
mod prove_lasso;
mod prove_livelock;
mod system;
mod test;

use crate::artifact::Artifact;
use crate::detect::Detectors;
use crate::detect::rounds::Wanted;
use crate::granules::{Granules, Sharing};
use crate::lasso::{Given, Lasso};
use crate::livelock::{self, Livelock};
pub use crate::machine::MachineError;
pub use crate::machine::scheduler::{Choice, Limits};
use crate::machine::scheduler::{Looks, Scheduler};
use crate::machine::{Machine, Snapshot};
use crate::observe::{Detector, Observer, Observers};
use crate::outcome::{Bound, BugKind, Outcome};
use crate::results::{ExecutionCounts, Incidents};
pub use crate::runtime::{AtExit, Faults, Timers};
use crate::runtime::{Runtime, Start};
pub use crate::settings::Settings;
use crate::statistics::IterationRecord;
use crate::toolchain::TARGET;
use coyote_strategies::{
    Decision, Iteration, RandomWalk, Recorded, Status, Strategy, Summary, System, WorkerId,
};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
pub use test::Test;

/// See the module's documentation.
pub struct Execution {
    machine: Machine,
    test: Test,
    /// Whether a harness called its test function.
    entered: bool,
    /// Set once an iteration cannot go on because of this tool or its environment.
    error: Option<MachineError>,
    /// When [`Execution::run`] looks at an iteration for a livelock.
    looks: Looks,
    /// Maximum number of states that may follow a livelock for it to be proved.
    pub livelock_states_max: usize,
    livelock: Option<Livelock>,
    /// The kinds of lassos that are bugs.
    lassos: Wanted,
    lasso: Option<Lasso>,
    /// The round that the iteration is to be confirmed to lead to.
    given: Option<Given>,
    /// The steps at which the iteration is interrupted to search for a lasso.
    lasso_looks: Vec<u64>,
    /// See [`Execution::set_fair_from`].
    fair_from: Option<u64>,
    /// Whether iterations under a strategy record what their steps touch, for an observer that reads it.
    #[doc(hidden)]
    pub records_footprints: bool,
    /// Whether an execution that is driven as a [`System`] ends as soon as workers wait in a circle. A search that
    /// leaves orders of steps out because of races that it saw (`dpor`) must not set this: it needs to see what
    /// follows.
    pub ends_at_once: bool,
    /// What happened in executions that a search cut off, if that is noted.
    cut: Option<Incidents>,
}

impl Execution {
    /// Instantiates the module, runs its initialisation and setup, and takes the start snapshot.
    ///
    /// # Errors
    /// The module cannot be instantiated, its initialisation fails, it needs more memory than it may have, or it does
    /// not show what a detector must see.
    pub fn new(
        artifact: &Arc<Artifact>,
        test: &Test,
        settings: &Settings,
    ) -> Result<Execution, MachineError> {
        settings.detectors.check(artifact).map_err(MachineError::Detectors)?;
        settings.check_memory(artifact).map_err(MachineError::WeakMemory)?;
        let mut scheduler = Scheduler::new(settings.limits);
        let half = settings.limits.fair_steps_max / 2;
        scheduler.hot_steps_max = settings.detectors.hot_steps_max.unwrap_or(half);
        let world = test.world(&settings.world);
        let observers = Detectors::none().observers();
        let mut machine =
            Machine::new(artifact.clone(), scheduler, world, settings.memory_bytes_max, observers)?;
        let joins_visible = !artifact.table.wasi_threads;
        let begin = |machine: &Machine, entry, faults| {
            let start = Start { entry, a: 0, b: 0, stack: None };
            let mut runtime = Runtime::new(start, settings.at_exit, joins_visible, faults);
            runtime.continue_from(&machine.scheduler().runtime);
            runtime.timers = settings.timers;
            runtime.set_random_seed(settings.random);
            runtime.foreign_unlocks = settings.foreign_unlocks;
            runtime.program = test.export == "_start";
            runtime.tells_time = artifact.tells_time();
            runtime
        };
        for export in test.initialisers(artifact).map_err(MachineError::Initialise)? {
            let Some(entry) = artifact.entry(export) else { continue };
            let runtime = begin(&machine, entry, Faults::default());
            machine.set_start(runtime);
            let mut execution = Execution::of(machine, test);
            let walk = Box::new(RandomWalk::default());
            let (outcome, _) = execution.run(walk, Iteration { seed: 0, index: 0 })?;
            if outcome != Outcome::Passed {
                let (kind, message) = outcome.describe();
                return Err(MachineError::Initialise(format!("{export}: {kind}: {message}")));
            }
            let alone = execution.runtime().workers().len() == 1;
            if let Some(why) = execution.runtime().left_behind() {
                return Err(MachineError::Initialise(format!("{export}: {why}")));
            }
            machine = execution.machine;
            if machine.tables_changed() {
                // A fresh instance, which later iterations may need, would not have these changes.
                let why = format!("{export} changes a table, which is only supported within tests");
                return Err(MachineError::Initialise(why));
            }
            if alone {
                machine.keep_main_globals();
            }
        }
        let Some(entry) = artifact.entry(&test.export) else {
            let export = &test.export;
            let why =
                format!("it does not export {export}: build it for a target with WASI, such as {TARGET}");
            return Err(MachineError::Instantiate(why));
        };
        if !machine.directories().answers().is_empty() {
            let why = "a directory given with --dir is used before the test begins, so that iterations would \
                       not start alike: use it within the test, or --preload it";
            return Err(MachineError::Initialise(why.into()));
        }
        let mut start = begin(&machine, entry, settings.faults.clone());
        if test.nodes_crash(artifact, settings).map_err(MachineError::Crashes)? {
            start.files.follow_disk(settings.crash_model);
            start.files.follow_workers();
        }
        if let Some(restart) = test.restart(artifact, settings).map_err(MachineError::Crashes)? {
            start.recovery = Some(restart);
            start.files.follow_disk(settings.crash_model);
        }
        if test.harness.is_some() {
            start.follow_harness();
        }
        machine.set_start(start);
        machine.set_observers(|all| *all = settings.detectors.observers());
        machine.set_exact_addresses(settings.exact_addresses);
        let mut execution = Execution::of(machine, test);
        execution.lassos = settings.detectors.lassos();
        if test.harness.is_some() {
            execution.follow_harness()?;
        }
        Ok(execution)
    }

    fn of(machine: Machine, test: &Test) -> Execution {
        Execution {
            machine,
            test: test.clone(),
            entered: false,
            error: None,
            looks: Looks::WhenSuspicious,
            livelock_states_max: livelock::STATES_MAX,
            livelock: None,
            lassos: Wanted::default(),
            lasso: None,
            given: None,
            lasso_looks: Vec::new(),
            fair_from: None,
            records_footprints: false,
            ends_at_once: false,
            cut: None,
        }
    }

    /// Runs a test harness until it calls the test function, and makes iterations start there. If it calls
    /// none, or cannot be suspended there, iterations start where the harness starts.
    fn follow_harness(&mut self) -> Result<(), MachineError> {
        self.machine.scheduler_mut().fair = true;
        self.begin()?;
        while self.status() == Status::Ready && !self.runtime().in_test() {
            let view = self.view();
            let Some(pick) = view.picks().next() else { break };
            self.step(pick);
        }
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        self.entered = self.runtime().in_test();
        if self.entered && !self.machine.tables_changed() {
            self.machine.scheduler_mut().runtime.begin_test();
            self.machine.set_start_here();
        }
        self.machine.take_counts();
        Ok(())
    }

    /// Whether a test harness called its test function: if not, it ignored the test, was only asked for a
    /// list, or failed. The scheduler holds the outcome until the next beginning.
    pub(crate) fn entered_test(&self) -> bool {
        self.entered
    }

    /// The guest, to be driven by hand.
    #[doc(hidden)]
    pub fn machine_mut(&mut self) -> &mut Machine {
        &mut self.machine
    }

    /// The guest, for inspection.
    #[doc(hidden)]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Sets which memory accesses are scheduling points from the next beginning on; at first all are.
    /// [`Execution::take_grown`] returns the granules that became shared in an iteration that began with
    /// fewer points: a search that gets any has missed schedules, and must begin again with these added.
    pub fn share(&mut self, sharing: Sharing) {
        self.machine.share(sharing);
    }

    /// Takes the granules that became shared since the iteration began, or since the last call. Restoring a
    /// snapshot does not remove them.
    pub fn take_grown(&mut self) -> Granules {
        self.machine.take_grown()
    }

    /// Adds an observer, from the next beginning on. It receives no events of the program's initialisation.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.machine.set_observers(|all| all.add_observer(observer));
    }

    /// Takes out all observers that [`Execution::observe`] has added.
    pub fn take_observers(&mut self) -> Vec<Box<dyn Observer>> {
        self.machine.set_observers(Observers::take_observers)
    }

    /// Adds a detector, from the next beginning on. Earlier snapshots must not be restored any more.
    pub fn detect(&mut self, detector: Box<dyn Detector>) {
        self.machine.set_observers(|all| all.add_detector(detector));
    }

    /// Takes out the last detectors, as many as [`Execution::detect`] added. Earlier snapshots must not be restored
    /// any more.
    pub fn stop_detecting(&mut self, added: usize) -> Vec<Box<dyn Detector>> {
        self.machine.set_observers(|all| all.take_last_detectors(added))
    }

    /// The test that is executed.
    pub fn test(&self) -> &Test {
        &self.test
    }

    /// The state of workers, sync objects and time.
    pub fn runtime(&self) -> &Runtime {
        &self.machine.scheduler().runtime
    }

    /// The choices of the present iteration.
    pub fn choices(&self) -> &[Choice] {
        &self.machine.scheduler().choices
    }

    /// The choices of the present iteration, by the paths of workers: as the schedule of a trace has them.
    pub fn recorded(&self) -> Vec<Recorded> {
        let path = |worker: WorkerId| self.runtime().worker(worker).path.clone();
        let choices = self.choices().iter().map(|choice| match *choice {
            Choice::Step { worker, kind, site } => Recorded::Step { worker: path(worker), kind, site },
            Choice::Timeout { worker } => Recorded::Timeout { worker: path(worker) },
            Choice::Value { value, bound } => Recorded::Value { value: value.into(), bound: bound.into() },
        });
        choices.collect()
    }

    /// The choices of the present iteration as decisions, which another execution can follow.
    pub(crate) fn decisions(&self) -> Vec<Decision> {
        self.choices().iter().map(|choice| Decision::from(*choice)).collect()
    }

    /// Executes one iteration from the start snapshot. Returns the strategy with its state.
    ///
    /// # Errors
    /// A fresh instance was needed and could not be made, or there is a bug in this tool. A bug of the guest is an
    /// outcome.
    pub fn run(
        &mut self,
        mut strategy: Box<dyn Strategy>,
        iteration: Iteration,
    ) -> Result<(Outcome, Box<dyn Strategy>), MachineError> {
        strategy.begin(iteration);
        self.machine.scheduler_mut().fair = strategy.fair();
        self.machine.scheduler_mut().fair_from = strategy.fair_from().or(self.fair_from);
        self.machine.scheduler_mut().looks = self.looks;
        self.lasso_looks = if self.lassos.any() { prove_lasso::looks(iteration) } else { Vec::new() };
        self.machine.scheduler_mut().lasso_at = self.lasso_looks.first().copied();
        self.machine.scheduler_mut().defers = false;
        self.machine.scheduler_mut().runtime.footprint.recording = self.records_footprints;
        (self.livelock, self.lasso) = (None, None);
        self.machine.begin()?;
        // Drops the counts, also those of an earlier attempt that is repeated now.
        self.machine.take_counts();
        self.machine.scheduler_mut().strategy = Some(strategy);
        let result = self.run_and_look();
        let scheduler = self.machine.scheduler_mut();
        let mut strategy = scheduler.strategy.take().expect("nobody else takes it");
        result?;
        let outcome = self.ended()?;
        if self.machine.overflowed_in_parts() {
            return self.run(strategy, iteration);
        }
        if outcome.is_bug() {
            self.take_missing_awaits(&outcome, strategy.fair())?;
        }
        strategy.end(Summary { steps: self.runtime().steps(), buggy: outcome.is_bug() });
        Ok((outcome, strategy))
    }

    /// Continues from a saved state under a strategy, to the end of the iteration. The strategy only sees the rest, and
    /// receives the creations of the present workers.
    ///
    /// # Errors
    /// As [`Execution::run`].
    pub(crate) fn run_from(
        &mut self,
        state: &Snapshot,
        mut strategy: Box<dyn Strategy>,
        iteration: Iteration,
    ) -> Result<Outcome, MachineError> {
        strategy.begin(iteration);
        let fair_from = strategy.fair_from();
        self.machine.scheduler_mut().fair = strategy.fair();
        self.machine.scheduler_mut().looks = Looks::Never;
        self.machine.scheduler_mut().defers = false;
        (self.livelock, self.lasso) = (None, None);
        self.machine.restore(state)?;
        let scheduler = self.machine.scheduler_mut();
        let from = scheduler.runtime.steps();
        scheduler.runtime.monitors.judge(fair_from.map(|step| step.max(from)), scheduler.hot_steps_max);
        scheduler.runtime.footprint.recording = false;
        scheduler.runtime.spawnings().for_each(|event| strategy.observe(event));
        scheduler.strategy = Some(strategy);
        let result = match scheduler.outcome {
            None => self.machine.run(),
            Some(_) => Ok(()),
        };
        let scheduler = self.machine.scheduler_mut();
        scheduler.strategy = None;
        result?;
        self.ended()
    }

    /// The outcome of the iteration, which has ended.
    fn ended(&self) -> Result<Outcome, MachineError> {
        let outcome = self.machine.scheduler().outcome.clone();
        outcome.ok_or_else(|| MachineError::Internal("the guest left without an outcome".into()))
    }

    /// Gives up iterations of [`Execution::run`] that begin after this call soon after the flag is raised.
    pub(crate) fn cancel_by(&mut self, flag: Option<Arc<AtomicBool>>) {
        self.machine.scheduler_mut().cancel = flag;
    }

    /// Whether the last iteration was given up because of that flag: it says nothing about the test.
    pub(crate) fn cancelled(&self) -> bool {
        self.machine.scheduler().cancelled
    }

    /// Calls `function` with other times of looking at iterations.
    #[doc(hidden)]
    pub fn looking<R>(&mut self, looks: Looks, function: impl FnOnce(&mut Execution) -> R) -> R {
        let usual = std::mem::replace(&mut self.looks, looks);
        let result = function(self);
        self.looks = usual;
        result
    }

    /// Sets the bound on steps of all later iterations, instead of that of their fairness.
    pub(crate) fn set_bound(&mut self, bound: Option<u64>) {
        self.machine.scheduler_mut().bound = bound;
    }

    /// Removes the bound on how long monitors may be hot, for an iteration that measures the length of executions.
    pub(crate) fn set_any_heat(&mut self) {
        self.machine.scheduler_mut().hot_steps_max = 0;
    }

    /// Counts for how long monitors are hot from this step on, also in iterations that only follow a schedule; `None`:
    /// as their strategies say.
    pub(crate) fn set_fair_from(&mut self, step: Option<u64>) {
        self.fair_from = step;
    }

    /// The step that [`Execution::set_fair_from`] has set.
    pub(crate) fn fair_from(&self) -> Option<u64> {
        self.fair_from
    }

    /// The bound that [`Execution::set_bound`] has set.
    pub(crate) fn bound(&self) -> Option<u64> {
        self.machine.scheduler().bound
    }

    /// The livelock with which the iteration has just ended, if that is the bug.
    pub(crate) fn livelock(&self) -> Option<&Livelock> {
        self.livelock.as_ref()
    }

    /// The round with which the iteration has just ended, if that is the bug.
    pub(crate) fn lasso(&self) -> Option<&Lasso> {
        self.lasso.as_ref()
    }

    /// Takes the execution counts of the iteration that has just ended, including what comes before all iterations;
    /// `None` if the module counts nothing. Must be called only once.
    pub(crate) fn executed(&mut self) -> Option<ExecutionCounts> {
        let mut executed = self.machine.take_counts()?;
        executed.merge(self.machine.counts_before()?);
        Some(executed)
    }

    /// The data about the iteration that just ended, for statistics.
    pub fn record(&self, fair: bool) -> IterationRecord {
        let scheduler = self.machine.scheduler();
        let hit_max_steps = match &scheduler.outcome {
            Some(Outcome::Bound(Bound::Steps(_))) => true,
            Some(Outcome::Bug(bug)) => bug.kind == BugKind::MaxSteps,
            _ => false,
        };
        IterationRecord {
            fair,
            steps: scheduler.runtime.steps(),
            decisions: scheduler.decisions,
            concurrency: scheduler.concurrency,
            workers: scheduler.runtime.workers().iter().filter(|worker| !worker.watches).count() as u32,
            hit_max_steps,
            hit_after_main: hit_max_steps && scheduler.runtime.main_has_ended(),
            livelock: match &scheduler.outcome {
                Some(Outcome::Bug(bug)) => bug.kind == BugKind::Livelock || bug.evidence.is_of_many_steps(),
                _ => false,
            },
            buggy: scheduler.outcome.as_ref().is_some_and(Outcome::is_bug),
            abandoned: matches!(scheduler.outcome, Some(Outcome::Abandoned)),
        }
    }

    /// Restores the start snapshot, from which the execution is driven as a [`System`]. Workers that wait in a circle
    /// become a deadlock only at its end, unless [`Execution::ends_at_once`] is set.
    ///
    /// # Errors
    /// As [`Execution::run`].
    pub fn begin(&mut self) -> Result<(), MachineError> {
        self.begin_driven(None)
    }

    /// As [`Execution::begin`]; the time for which monitors are hot counts from the step `fair_from` on.
    fn begin_driven(&mut self, fair_from: Option<u64>) -> Result<(), MachineError> {
        self.machine.scheduler_mut().fair_from = fair_from;
        self.machine.scheduler_mut().looks = Looks::Never;
        self.machine.scheduler_mut().defers = !self.ends_at_once;
        self.machine.begin()?;
        let scheduler = self.machine.scheduler_mut();
        scheduler.strategy = None;
        scheduler.runtime.footprint.recording = true;
        self.machine.check_end();
        Ok(())
    }

    /// Takes an error of this tool or of the environment, after which the execution cannot go on.
    pub fn take_error(&mut self) -> Option<MachineError> {
        self.error.take()
    }

    /// Drives an iteration step by step under a strategy: the same schedule as [`Execution::run`], but
    /// every worker unwinds at every scheduling point. `each` sees every state.
    ///
    /// # Errors
    /// As [`Execution::run`].
    #[doc(hidden)]
    pub fn run_stepwise(
        &mut self,
        strategy: &mut dyn Strategy,
        iteration: Iteration,
        each: &mut dyn FnMut(&mut Execution),
    ) -> Result<Outcome, MachineError> {
        strategy.begin(iteration);
        self.machine.scheduler_mut().fair = strategy.fair();
        let usual = std::mem::replace(&mut self.ends_at_once, true);
        let begun = self.begin_driven(strategy.fair_from().or(self.fair_from));
        self.ends_at_once = usual;
        begun?;
        loop {
            for event in std::mem::take(&mut self.machine.scheduler_mut().runtime.events) {
                strategy.observe(event);
            }
            let status = self.status();
            let answered = match status {
                Status::Ready => strategy.pick(&self.view()).map(|pick| self.step(pick)),
                Status::Choosing { bound } => {
                    strategy.value(bound, &self.view()).map(|value| self.choose(value))
                }
                _ => Some(()),
            };
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            if answered.is_none() {
                self.machine.scheduler_mut().outcome = Some(Outcome::Abandoned);
                self.machine.end_iteration();
            }
            each(self);
            if status.is_final() || answered.is_none() {
                return self.ended();
            }
        }
    }
}
