//! The fair scheduler of CHESS (Musuvathi and Qadeer, PLDI 2008) around any strategy: `A+chess-fair`.
//!
//! A worker that yields twice while others could run and did not has to wait until they have run. The
//! strategy chooses among the workers that need not wait. A program whose loops do not wait for other workers
//! runs as under the strategy alone; a loop that does wait ends, even if the strategy would run it for ever.
//!
//! ```text
//! P ⊆ T×T ((t,u): t waits for u); E[u] = ∅, D[u] = S[u] = T
//! loop: C = ES \ {t : ∃u ∈ ES, (t,u) ∈ P}; t = choose(C); execute t -> ES'
//!   P -= T×{t};  ∀u: E[u] ∩= ES';  D[t] ∪= ES \ ES';  ∀u: S[u] ∪= {t}
//!   if that was a yield of t: H = (E[t] ∪ D[t]) \ S[t]; P ∪= {t}×H; E[t] = ES'; D[t] = S[t] = ∅
//! ```
//!
//! Deviations. In the paper, programs yield explicitly. Here a yield, a sleep or a read counts only if it is
//! a spin (see `spins.rs`): a program that yields between its messages keeps the schedules in which one
//! worker runs ahead. So that a loop that is not recognised as a spin cannot starve other workers, each
//! worker's every thousandth step counts too; and once a worker has repeated the same few operations for a
//! thousand steps, one step of each further round of them counts (code that is not optimised writes to its
//! frame while it waits). A yield at a memory access takes effect after at most 32 steps, where
//! [`View::step`] is a multiple of that, so that the steps until then can be predicted ([`Strategy::quiet`]).
//! The result is fair for every strategy, as long as the numbers of workers and timeouts are finite, from
//! the step on from which the strategy lets timeouts fire ([`Strategy::timeouts_from`]). Sets are
//! represented by times: u is in `E[t]` if it has been enabled ever since t's last yield.
//!
//! Fairness alone does not end loops in which workers undo each other's progress in step, such as two threads
//! that each find the other's mark and try again: correct programs rely on threads that drift apart. So, after
//! `LONG` steps, one in 16 windows of 32 steps is a random walk.

use super::sequence::as_one;
use super::spins::{Circles, Spins};
use crate::rng::ChoiceRng;
use crate::{
    Event, Iteration, Operation, Pick, Profile, Strategy, Summary, View, WorkerId, WorkerState, mix,
};

/// Steps without a yield that count as one.
const PATIENCE: u32 = 1_000;

/// Between memory accesses, yields take effect at steps whose number is a multiple of this.
const BETWEEN_YIELDS: u64 = 32;

/// Steps after which some windows of [`BETWEEN_YIELDS`] steps are random walks.
const LONG: u64 = 16_384;

/// One in so many of these windows is a random walk.
const ONE_RANDOM_IN: u64 = 16;

/// Distinguishes the random walk's stream from that of the inner strategy.
const STREAM: u64 = 0x72_616e_646f_6d21;

/// See the module's documentation.
pub struct ChessFair {
    inner: Box<dyn Strategy>,
    spins: Spins,
    circles: Circles,
    /// Picks made so far.
    now: u64,
    /// The last step.
    last: Option<Step>,
    workers: Vec<Worker>,
    /// [`View::changes`] when `workers` was last updated.
    changes: Option<u64>,
    /// When a step of this worker last disabled that one; rows may be short.
    disabled: Vec<Vec<u64>>,
    /// Pairs of workers: the first waits until the second has run or is not enabled.
    waits: Vec<(WorkerId, WorkerId)>,
    /// The enabled workers that need not wait.
    allowed: Vec<WorkerId>,
    /// The seed of the iteration's random windows.
    seed: u64,
    /// Makes the choices in them.
    rng: ChoiceRng,
}

/// A step that was picked.
#[derive(Clone, Copy, Debug)]
struct Step {
    worker: WorkerId,
    yields: bool,
    /// Whether it accesses memory: then [`Strategy::quiet`] may let the same worker continue without a
    /// choice.
    accesses: bool,
}

/// State of a worker. Times are numbers of picks; an event was after a yield if its time is greater.
#[derive(Clone, Debug, Default)]
struct Worker {
    enabled: bool,
    /// When it was last not enabled, if it is enabled.
    off_at: u64,
    scheduled_at: u64,
    yielded_at: Option<u64>,
    /// Steps since the last yield.
    steps: u32,
    /// Whether it has yielded without effect so far.
    yields: bool,
}

impl ChessFair {
    /// Makes the choices of `inner` fair.
    pub fn new(inner: Box<dyn Strategy>) -> ChessFair {
        ChessFair {
            inner,
            spins: Spins::default(),
            circles: Circles::default(),
            now: 0,
            last: None,
            workers: Vec::new(),
            changes: None,
            disabled: Vec::new(),
            waits: Vec::new(),
            allowed: Vec::new(),
            seed: 0,
            rng: ChoiceRng::default(),
        }
    }

    /// Records what the last pick changed.
    fn update(&mut self, view: &View) {
        self.now += 1;
        let last = self.last.take();
        if self.changes.replace(view.changes) != Some(view.changes) {
            self.compare_standings(view, last.map(|step| step.worker));
        }
        if let Some(step) = last {
            let counts = !step.accesses || view.step.is_multiple_of(BETWEEN_YIELDS);
            self.scheduled(step, counts);
        }
    }

    /// Records changed states since the previous pick, and `by`, the worker whose step changed them, if it
    /// was a step.
    fn compare_standings(&mut self, view: &View, by: Option<WorkerId>) {
        for (u, (worker, pending)) in self.workers.iter_mut().zip(view.workers).enumerate() {
            let enabled = pending.state == WorkerState::Enabled;
            if worker.enabled != enabled {
                worker.enabled = enabled;
                worker.off_at = self.now - u64::from(enabled);
                if let Some(by) = by.filter(|_| !enabled) {
                    let row = &mut self.disabled[by.index()];
                    row.resize(row.len().max(u + 1), 0);
                    row[u] = self.now;
                }
            }
        }
        for pending in &view.workers[self.workers.len()..] {
            let enabled = pending.state == WorkerState::Enabled;
            let off_at = self.now - 1;
            self.disabled.push(Vec::new());
            self.workers.push(Worker { enabled, off_at, ..Worker::default() });
        }
    }

    /// Records a step; `counts`: whether yields take effect now.
    fn scheduled(&mut self, Step { worker, yields, .. }: Step, counts: bool) {
        if !self.waits.is_empty() {
            self.waits.retain(|(_, u)| *u != worker);
        }
        let own = &mut self.workers[worker.index()];
        own.scheduled_at = self.now;
        own.steps += 1;
        own.yields |= yields;
        if !counts || !own.yields && own.steps < PATIENCE {
            return;
        }
        own.steps = 0;
        own.yields = false;
        // Before its first yield, no other worker counts as passed over by it.
        let Some(since) = own.yielded_at.replace(self.now) else { return };
        for (u, other) in self.workers.iter().enumerate() {
            let wait = (worker, WorkerId(u as u32));
            let disabled = || self.disabled[worker.index()].get(u).is_some_and(|at| *at > since);
            let could_run = other.enabled && other.off_at <= since;
            if (could_run || disabled()) && other.scheduled_at <= since && !self.waits.contains(&wait) {
                self.waits.push(wait);
            }
        }
    }

    /// Records that the worker was picked for this operation.
    fn step(&mut self, worker: WorkerId, operation: &Operation) {
        let spins = self.spins.step(worker, operation);
        let circles = self.circles.step(worker, operation, PATIENCE);
        let accesses = operation.kind.accesses_memory();
        self.last = Some(Step { worker, yields: spins || circles, accesses });
    }

    /// Fills `allowed`. Returns whether some worker has to wait.
    fn restrict(&mut self, view: &View) -> bool {
        self.allowed.clear();
        let enabled = |w: &WorkerId| self.workers[w.index()].enabled;
        let free = |t: &&WorkerId| !self.waits.iter().any(|(w, u)| w == *t && enabled(u));
        self.allowed.extend(view.enabled.iter().filter(free));
        // Inside an atomic function, the only worker that can be picked may be one that should wait.
        !self.allowed.is_empty() && self.allowed.len() < view.enabled.len()
    }

    /// Whether the next step is one of a random walk.
    fn is_random(&self, view: &View) -> bool {
        view.step >= LONG
            && view.enabled.len() > 1
            && mix(self.seed ^ (view.step / BETWEEN_YIELDS)).is_multiple_of(ONE_RANDOM_IN)
    }
}

impl Strategy for ChessFair {
    fn name(&self) -> String {
        format!("{}+chess-fair", as_one(&self.inner.name()))
    }

    fn within(&self) -> Option<&dyn Strategy> {
        Some(&*self.inner)
    }

    fn member(&self) -> Option<String> {
        self.inner.member().map(|name| format!("{}+chess-fair", as_one(&name)))
    }

    fn fair(&self) -> bool {
        true
    }

    fn fair_from(&self) -> Option<u64> {
        Some(self.timeouts_from())
    }

    fn prepare(&mut self, profile: &Profile) {
        self.inner.prepare(profile);
    }

    fn begin(&mut self, iteration: Iteration) {
        self.inner.begin(iteration);
        self.spins.clear();
        self.circles.clear();
        self.now = 0;
        self.last = None;
        self.workers.clear();
        self.changes = None;
        self.disabled.clear();
        self.waits.clear();
        let own = Iteration { seed: iteration.seed ^ STREAM, ..iteration };
        self.seed = mix(own.seed ^ mix(own.index));
        self.rng = ChoiceRng::new(own);
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        self.update(view);
        let pick = if self.is_random(view) {
            let worker = view.enabled[self.rng.below(view.enabled.len() as u64) as usize];
            self.inner.pick(&View { enabled: &[worker], ..*view })?
        } else if !self.waits.is_empty() && self.restrict(view) {
            self.inner.pick(&View { enabled: &self.allowed, ..*view })?
        } else {
            self.inner.pick(view)?
        };
        match pick {
            Pick::Step(worker) => self.step(worker, &view.workers[worker.index()].operation),
            Pick::Timeout(worker) => self.spins.woken(worker),
        }
        Some(pick)
    }

    fn quiet(&self, worker: WorkerId, view: &View, watched: &mut Vec<(u64, u32)>) -> u64 {
        if view.enabled.len() == 1 {
            return self.inner.quiet(worker, view, watched);
        }
        let same = self.changes == Some(view.changes) && self.last.is_some_and(|last| last.accesses);
        // A worker that waits for `worker` itself stops waiting when the last step of `worker` is taken into
        // account.
        if !same || self.waits.iter().any(|(_, u)| *u != worker) || self.is_random(view) {
            return 0;
        }
        let steps = match view.step % BETWEEN_YIELDS {
            0 => 0,
            passed => BETWEEN_YIELDS - passed,
        };
        if steps == 0 { 0 } else { self.inner.quiet(worker, view, watched).min(steps) }
    }

    fn goes_on(&mut self, worker: WorkerId, operations: &[Operation], view: &View) -> bool {
        if !self.inner.goes_on(worker, operations, view) {
            return false;
        }
        let Some((first, rest)) = operations.split_first() else { return true };
        self.update(view);
        self.step(worker, first);
        let steps = rest.len() as u64;
        if view.step / BETWEEN_YIELDS < (view.step + steps) / BETWEEN_YIELDS {
            for (number, operation) in (1..).zip(rest) {
                self.update(&View { step: view.step + number, ..*view });
                self.step(worker, operation);
            }
            return true;
        }
        // The same for operations between which no yield takes effect.
        let mut yields = false;
        for operation in rest {
            yields |= self.last.take().is_some_and(|step| step.yields);
            self.step(worker, operation);
        }
        self.now += steps;
        let own = &mut self.workers[worker.index()];
        own.yields |= yields;
        own.steps += steps as u32;
        own.scheduled_at = self.now;
        true
    }

    fn value(&mut self, bound: u64, view: &View) -> Option<u64> {
        self.inner.value(bound, view)
    }

    fn observe(&mut self, event: Event) {
        if let Event::Woken { worker, .. } = event {
            self.spins.woken(worker);
        }
        self.inner.observe(event);
    }

    fn end(&mut self, summary: Summary) {
        self.inner.end(summary);
    }
}
