//! The fair scheduler of CHESS (Musuvathi and Qadeer, PLDI 2008) around any strategy: `A+chess-fair`.
//!
//! A worker that yields twice while others could run and did not has to wait until they did. The strategy
//! chooses among those that need not wait. A program whose loops do not wait for others runs as under
//! the strategy alone; a loop that does ends, even if the strategy would rather run it for ever.
//!
//! ```text
//! P ⊆ T×T ((t,u): t waits for u); E[u] = ∅, D[u] = S[u] = T
//! loop: C = ES \ {t : ∃u ∈ ES, (t,u) ∈ P}; t = choose(C); execute t -> ES'
//!   P -= T×{t};  ∀u: E[u] ∩= ES';  D[t] ∪= ES \ ES';  ∀u: S[u] ∪= {t}
//!   if that was a yield of t: H = (E[t] ∪ D[t]) \ S[t]; P ∪= {t}×H; E[t] = ES'; D[t] = S[t] = ∅
//! ```
//!
//! Deviations. The paper's yields are those of the program. Here a yield, a sleep or a read counts only
//! if it is a spin (see `spins.rs`): a program that yields between its messages keeps the schedules
//! in which one worker runs ahead. And so that a loop which is no spin to us cannot starve anybody, each
//! worker's every thousandth step counts, too; and once it has done the same few operations for a thousand steps,
//! one of each further round of them (code that is not optimised writes to its frame while it waits). A yield that is
//! noticed at a memory access takes effect after at most 32 steps, where [`View::step`] is a multiple of that, so that what
//! runs on till then is known ahead ([`Strategy::quiet`]). Thus the whole is fair for every strategy, as long as
//! the numbers of workers and timeouts are finite. Sets are kept as times: u is in `E[t]` if it was
//! enabled ever since t's last yield.

use super::sequence::as_one;
use super::spins::{Circles, Spins};
use crate::{Event, Iteration, Operation, Pick, Profile, Strategy, Summary, View, WorkerId, WorkerState};

/// Steps without a yield that count as one.
const PATIENCE: u32 = 1_000;

/// Between memory accesses, yields take effect at steps whose number is a multiple of this.
const BETWEEN_YIELDS: u64 = 32;

/// See the module's documentation.
pub struct ChessFair {
    inner: Box<dyn Strategy>,
    spins: Spins,
    circles: Circles,
    /// Picks made so far.
    now: u64,
    /// Who made the last step.
    last: Option<Step>,
    workers: Vec<Worker>,
    /// [`View::changes`] of the states that `workers` has.
    changes: Option<u64>,
    /// When a step of this worker last disabled that one; rows may be short.
    disabled: Vec<Vec<u64>>,
    /// The first waits until the second has run or cannot.
    waits: Vec<(WorkerId, WorkerId)>,
    /// Those of the enabled workers that need not wait.
    allowed: Vec<WorkerId>,
}

/// A step that was picked.
#[derive(Clone, Copy, Debug)]
struct Step {
    worker: WorkerId,
    yields: bool,
    /// Whether it accesses memory, so that the same worker may go on without a question.
    accesses: bool,
}

/// Times are picks; something happened since a yield if its time is later.
#[derive(Clone, Debug, Default)]
struct Worker {
    enabled: bool,
    /// When it last was not, if it is.
    off_at: u64,
    scheduled_at: u64,
    yielded_at: Option<u64>,
    /// Steps since then.
    steps: u32,
    /// It has yielded, which is yet to take effect.
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
        }
    }

    /// What the last pick changed.
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

    /// Some states have changed since the pick before, by a step of this worker if it was one.
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

    /// `counts`: whether yields take effect now.
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
        // Before its first yield no worker is taken to have waited for it.
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

    /// The worker was picked for this operation.
    fn step(&mut self, worker: WorkerId, operation: &Operation) {
        let spins = self.spins.step(worker, operation);
        let circles = self.circles.step(worker, operation, PATIENCE);
        let accesses = operation.kind.accesses_memory();
        self.last = Some(Step { worker, yields: spins || circles, accesses });
    }

    /// Fills `allowed`. Whether anybody has to wait.
    fn restrict(&mut self, view: &View) -> bool {
        self.allowed.clear();
        let enabled = |w: &WorkerId| self.workers[w.index()].enabled;
        let free = |t: &&WorkerId| !self.waits.iter().any(|(w, u)| w == *t && enabled(u));
        self.allowed.extend(view.enabled.iter().filter(free));
        // Inside of an atomic function the only one that can be picked may be one that should wait.
        !self.allowed.is_empty() && self.allowed.len() < view.enabled.len()
    }
}

impl Strategy for ChessFair {
    fn name(&self) -> String {
        format!("{}+chess-fair", as_one(&self.inner.name()))
    }

    fn member(&self) -> Option<String> {
        self.inner.member().map(|name| format!("{}+chess-fair", as_one(&name)))
    }

    fn fair(&self) -> bool {
        true
    }

    fn independent(&self) -> bool {
        self.inner.independent()
    }

    fn needs_profile(&self) -> bool {
        self.inner.needs_profile()
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
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        self.update(view);
        let pick = if !self.waits.is_empty() && self.restrict(view) {
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
        // Whoever waits for the worker itself need not when its last step is taken into account.
        if !same || self.waits.iter().any(|(_, u)| *u != worker) {
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
        // The same, where no yield takes effect.
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
