//! The naive model: sets of waiters, lists of holders, and the rule that any of them may be next.

use super::objects::{Call, ETIMEDOUT, Objects};
use super::program::{Action, Program, SERIAL};
use coyote_wasm::execution::Settings;
use coyote_wasm::runtime::{AtExit, FaultClass, Timers};
use std::collections::{BTreeMap, BTreeSet};

use Action::*;

/// How a program ended, and the results of each worker's calls in order; `None` for calls that were not made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    pub outcome: String,
    pub results: Vec<Vec<Option<u8>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// Not created yet.
    Absent,
    /// Created, before its first step.
    Created,
    /// At its next action.
    Running,
    /// In a queue, asleep, or waiting for a lock until its timeout.
    Waiting,
    /// Its wait has ended: the result of the call, if the worker gets the lock that it needs.
    Woken(u8),
    Ended,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Worker {
    stage: Stage,
    at: usize,
    detached: bool,
    results: Vec<Option<u8>>,
}

/// A state of a program. Workers are identified by their place in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Model {
    workers: Vec<Worker>,
    objects: Objects,
    /// Waiters by condvar, and by cell.
    condvars: BTreeMap<u32, BTreeSet<usize>>,
    futexes: BTreeMap<u32, BTreeSet<usize>>,
    cells: BTreeMap<u32, u32>,
    /// Deadline and worker.
    timers: BTreeSet<(u64, usize)>,
    now: u64,
    /// Whether the end of the first worker is that of all.
    kills: bool,
    /// Spurious wake-ups and failing try-locks that may still happen.
    faults: (u32, u32),
}

/// The successor of a step: another state, or an outcome in this one.
type Next = (Model, Option<&'static str>);

const MISUSE: Option<&str> = Some("misuse");

impl Model {
    fn new(program: &Program, settings: &Settings) -> Model {
        let worker = Worker { stage: Stage::Absent, at: 0, detached: false, results: Vec::new() };
        let mut workers = vec![worker; program.len()];
        workers[0].stage = Stage::Created;
        Model {
            workers,
            objects: Objects::new(settings.foreign_unlocks),
            condvars: BTreeMap::new(),
            futexes: BTreeMap::new(),
            cells: BTreeMap::new(),
            timers: BTreeSet::new(),
            now: 0,
            kills: settings.at_exit == AtExit::Kill,
            faults: (
                settings.faults.budget(FaultClass::Spurious),
                settings.faults.budget(FaultClass::TryLock),
            ),
        }
    }

    fn action(&self, program: &Program, w: usize) -> Option<Action> {
        program[w].get(self.workers[w].at).copied()
    }

    fn cell(&self, a: u32) -> u32 {
        self.cells.get(&a).copied().unwrap_or(0)
    }

    /// Whether a call that waits for a lock would block.
    fn blocks(&self, w: usize, call: Action) -> bool {
        self.objects.call(w, call) == Some(Call::Blocks)
    }

    fn can_step(&self, program: &Program, w: usize) -> bool {
        let action = self.action(program, w);
        match (self.workers[w].stage, action) {
            (Stage::Waiting, Some(action)) => {
                Objects::timed(action).is_some_and(|(call, _)| !self.blocks(w, call))
            }
            (Stage::Absent | Stage::Waiting | Stage::Ended, _) => false,
            (Stage::Running, Some(Join(other))) => self.workers[other].stage == Stage::Ended,
            (Stage::Running, Some(Until(a, v))) => self.cell(a) == v,
            (Stage::Running, Some(UntilBoth(a, b))) => self.cell(a) != 0 && self.cell(b) != 0,
            (Stage::Running, Some(Take(a))) => self.cell(a) == 0,
            (Stage::Running, Some(call)) => !self.blocks(w, call),
            (Stage::Woken(_), Some(Wait(_, m) | WaitFor(_, m, _))) => !self.blocks(w, Lock(m)),
            _ => true,
        }
    }

    /// Whether another worker waits for an object that a call initialises or destroys.
    fn waited_for(&self, program: &Program, w: usize, call: Action) -> bool {
        (0..self.workers.len()).filter(|other| *other != w).any(|other| {
            let Some(action) = self.action(program, other) else { return false };
            let stage = self.workers[other].stage;
            match (action, stage) {
                (_, Stage::Absent | Stage::Created | Stage::Ended) => false,
                (Wait(c, m) | WaitFor(c, m, _), Stage::Waiting) => {
                    Objects::same(call, Lock(m)) || call == CondvarDestroy(c)
                }
                (Wait(_, m) | WaitFor(_, m, _), Stage::Woken(_)) => Objects::same(call, Lock(m)),
                (action, Stage::Waiting) => {
                    Objects::timed(action).is_some_and(|(wanted, _)| Objects::same(call, wanted))
                }
                (_, Stage::Woken(_)) => false,
                (action, _) => Objects::same(call, action) && self.blocks(other, action),
            }
        })
    }

    /// Whether some worker waits for a condvar with another mutex than this one.
    fn waits_with_another(&self, program: &Program, condvar: u32, mutex: u32) -> bool {
        self.condvars.get(&condvar).into_iter().flatten().any(|w| {
            let action = self.action(program, *w);
            !matches!(action, Some(Wait(_, m) | WaitFor(_, m, _)) if m == mutex)
        })
    }

    /// Ends the call with a result.
    fn done(mut self, program: &Program, w: usize, result: u8) -> Model {
        let action = self.action(program, w).expect("a call was made");
        let worker = &mut self.workers[w];
        worker.stage = Stage::Running;
        worker.at += 1;
        if action.has_result() {
            worker.results.push(Some(result));
        }
        self.timers.retain(|t| t.1 != w);
        self.ended_by_return(program, w)
    }

    /// A worker without a next action ends together with its last step, unless that ends the others too.
    fn ended_by_return(mut self, program: &Program, w: usize) -> Model {
        if self.action(program, w).is_none() && !(self.kills && w == 0) {
            self.workers[w].stage = Stage::Ended;
        }
        self
    }

    fn wait(&mut self, w: usize, span: Option<u64>) {
        self.workers[w].stage = Stage::Waiting;
        if let Some(span) = span {
            self.timers.insert((self.now + span, w));
        }
    }

    fn wake(&mut self, w: usize) {
        self.timers.retain(|t| t.1 != w);
        self.workers[w].stage = Stage::Woken(0);
    }

    /// All states after waking `count` of these waiters.
    fn wake_some(&self, waiters: &BTreeSet<usize>, count: usize) -> Vec<(Model, BTreeSet<usize>)> {
        let waiters: Vec<usize> = waiters.iter().copied().collect();
        let count = count.min(waiters.len());
        let subsets = (0u32..1 << waiters.len()).filter(|s| s.count_ones() as usize == count);
        subsets
            .map(|subset| {
                let mut model = self.clone();
                let chosen: BTreeSet<usize> = waiters
                    .iter()
                    .enumerate()
                    .filter(|(i, _)| subset & (1 << i) != 0)
                    .map(|(_, w)| *w)
                    .collect();
                chosen.iter().for_each(|w| model.wake(*w));
                (model, chosen)
            })
            .collect()
    }

    fn notify(&self, program: &Program, w: usize, condvar: u32, count: usize) -> Vec<Next> {
        let none = BTreeSet::new();
        let waiters = self.condvars.get(&condvar).unwrap_or(&none);
        let woken = self.wake_some(waiters, count).into_iter().map(|(mut model, chosen)| {
            if let Some(queue) = model.condvars.get_mut(&condvar) {
                queue.retain(|w| !chosen.contains(w));
            }
            (model.done(program, w, 0), None)
        });
        woken.collect()
    }

    /// Begins a wait for a notification, which may return at once if the budget of such faults is not used
    /// up.
    fn begin_wait(
        self,
        w: usize,
        queue: fn(&mut Model) -> &mut BTreeMap<u32, BTreeSet<usize>>,
        at: u32,
        span: Option<u64>,
    ) -> Vec<Next> {
        let mut waits = self.clone();
        queue(&mut waits).entry(at).or_default().insert(w);
        waits.wait(w, span);
        let mut next = vec![(waits, None)];
        if self.faults.0 > 0 {
            let mut wakes = self;
            wakes.faults.0 -= 1;
            wakes.workers[w].stage = Stage::Woken(0);
            next.push((wakes, None));
        }
        next
    }

    /// All possible successors of this worker's next step.
    fn step(&self, program: &Program, w: usize) -> Vec<Next> {
        let mut model = self.clone();
        let Some(action) = self.action(program, w) else {
            let begins = self.kills && w == 0 && self.workers[w].stage == Stage::Created;
            model.workers[w].stage = if begins { Stage::Running } else { Stage::Ended };
            return vec![(model, None)];
        };
        match self.workers[w].stage {
            Stage::Created => {
                model.workers[w].stage = Stage::Running;
                return vec![(model, None)];
            }
            Stage::Woken(result) => {
                if let Wait(_, m) | WaitFor(_, m, _) = action {
                    let Some(Call::Returns(0, objects)) = self.objects.call(w, Lock(m)) else {
                        unreachable!("it can be locked");
                    };
                    model.objects = objects;
                }
                return vec![(model.done(program, w, result), None)];
            }
            _ => {}
        }
        if let Some((call, error)) = Objects::attempted(action) {
            let free = self.objects.call(w, call);
            let fails = (model.clone().done(program, w, error), None);
            let Some(Call::Returns(0, objects)) = free else { return vec![fails] };
            let again = self.objects.holds_for(w, call);
            model.objects = objects;
            let mut next = vec![(model.done(program, w, 0), None)];
            if self.faults.1 > 0 && !again {
                let mut fails = fails;
                fails.0.faults.1 -= 1;
                next.push(fails);
            }
            return next;
        }
        let (call, span) = match Objects::timed(action) {
            Some((call, span)) => (call, Some(span)),
            None => (action, None),
        };
        if self.objects.disturbs(call) || self.waited_for(program, w, call) {
            return vec![(model, MISUSE)];
        }
        match self.objects.call(w, call) {
            Some(Call::Returns(result, objects)) => {
                model.objects = objects;
                return vec![(model.done(program, w, result), None)];
            }
            Some(Call::Blocks) => {
                model.wait(w, span);
                return vec![(model, None)];
            }
            Some(Call::Undefined) => return vec![(model, MISUSE)],
            None => {}
        }
        let result = match action {
            Wait(c, m) | WaitFor(c, m, _) => {
                let holds = self.objects.holders(m).contains(&w);
                if holds && self.waits_with_another(program, c, m) {
                    return vec![(model, MISUSE)];
                }
                let span = if let WaitFor(_, _, span) = action { Some(span) } else { None };
                match self.objects.call(w, Unlock(m)) {
                    Some(Call::Returns(0, objects)) => model.objects = objects,
                    Some(Call::Returns(error, _)) => return vec![(model.done(program, w, error), None)],
                    _ => return vec![(model, MISUSE)],
                }
                return model.begin_wait(w, |m| &mut m.condvars, c, span);
            }
            Signal(c) => return self.notify(program, w, c, 1),
            Broadcast(c) => return self.notify(program, w, c, usize::MAX),
            Arrive(b) => {
                let Some((count, arrived)) = model.objects.barriers.get_mut(&b) else {
                    return vec![(model, MISUSE)];
                };
                if arrived.len() + 1 < *count as usize {
                    arrived.insert(w);
                    model.wait(w, None);
                    return vec![(model, None)];
                }
                std::mem::take(arrived).into_iter().for_each(|other| model.wake(other));
                SERIAL
            }
            FutexWait(a, v) | FutexWaitFor(a, v, _) => {
                if self.cell(a) == v {
                    let span = if let FutexWaitFor(_, _, span) = action { Some(span) } else { None };
                    return model.begin_wait(w, |m| &mut m.futexes, a, span);
                }
                1
            }
            FutexNotify(a, count) => {
                let none = BTreeSet::new();
                let waiters = self.futexes.get(&a).unwrap_or(&none);
                let woken = self.wake_some(waiters, count as usize).into_iter().map(|(mut model, chosen)| {
                    if let Some(queue) = model.futexes.get_mut(&a) {
                        queue.retain(|w| !chosen.contains(w));
                    }
                    (model.done(program, w, chosen.len() as u8), None)
                });
                return woken.collect();
            }
            Take(a) => {
                model.cells.insert(a, 1);
                0
            }
            Store(a, v) => {
                model.cells.insert(a, v);
                0
            }
            Load(a) => self.cell(a) as u8,
            Sleep(span) => {
                model.wait(w, Some(span));
                return vec![(model, None)];
            }
            ChooseInt(n) => return (0..n).map(|v| (self.clone().done(program, w, v as u8), None)).collect(),
            Exit => {
                model.workers[w].stage = Stage::Ended;
                return vec![(model, None)];
            }
            Spawn(child) | SpawnDetached(child) => {
                model.workers[child].stage = Stage::Created;
                model.workers[child].detached = matches!(action, SpawnDetached(_));
                0
            }
            _ => 0,
        };
        vec![(model.done(program, w, result), None)]
    }

    /// One of the earliest timeouts fires.
    fn fire(&self, program: &Program) -> Vec<Model> {
        let earliest = self.timers.first().map(|timer| timer.0);
        let tied = self.timers.iter().filter(|timer| Some(timer.0) == earliest);
        tied.map(|(deadline, w)| self.fire_of(program, *deadline, *w)).collect()
    }

    fn fire_of(&self, program: &Program, deadline: u64, w: usize) -> Model {
        let mut model = self.clone();
        model.timers.remove(&(deadline, w));
        model.now = model.now.max(deadline);
        model.condvars.values_mut().chain(model.futexes.values_mut()).for_each(|q| q.retain(|x| *x != w));
        let result = match self.action(program, w) {
            Some(FutexWaitFor(..)) => 2,
            Some(Sleep(_)) => 0,
            _ => ETIMEDOUT,
        };
        model.workers[w].stage = Stage::Woken(result);
        model
    }

    /// The outcome, if no more steps are possible.
    fn over(&self, program: &Program) -> Option<&'static str> {
        let main_ended = self.workers[0].stage == Stage::Ended;
        if main_ended && self.kills {
            return Some("passed");
        }
        if !self.timers.is_empty() || (0..self.workers.len()).any(|w| self.can_step(program, w)) {
            return None;
        }
        let left = |w: usize| !matches!(self.workers[w].stage, Stage::Absent | Stage::Ended);
        let excused = |w: usize| self.workers[w].detached && !self.objects.holds(w);
        let fine = main_ended && (0..self.workers.len()).all(|w| !left(w) || excused(w));
        Some(if fine { "passed" } else { "deadlock" })
    }

    /// Workers that can never continue, whatever others do: each waits for another one of them.
    fn doomed(&self, program: &Program) -> BTreeSet<usize> {
        let mut doomed: BTreeSet<usize> = (0..self.workers.len()).collect();
        loop {
            let others = doomed.clone();
            doomed.retain(|w| self.waits_for(program, *w).iter().any(|other| others.contains(other)));
            if doomed == others {
                return doomed;
            }
        }
    }

    /// The workers that a worker waits for, if no others can enable it.
    fn waits_for(&self, program: &Program, w: usize) -> Vec<usize> {
        let Some(action) = self.action(program, w) else { return Vec::new() };
        let wanted = match (self.workers[w].stage, action) {
            (Stage::Running, Join(other)) if self.workers[other].stage != Stage::Ended => return vec![other],
            (Stage::Running, Lock(_) | Read(_) | Write(_)) => action,
            (Stage::Woken(_), Wait(_, m) | WaitFor(_, m, _)) => Lock(m),
            _ => return Vec::new(),
        };
        if self.blocks(w, wanted) { self.objects.who_can_free(wanted) } else { Vec::new() }
    }

    /// The outcome, or a deadlock if some workers can never continue.
    fn end(&self, program: &Program, outcome: &str) -> End {
        let outcome = if self.doomed(program).is_empty() { outcome } else { "deadlock" };
        let results = self.workers.iter().zip(program).map(|(worker, actions)| {
            let mut results = worker.results.clone();
            results.resize(actions.iter().filter(|a| a.has_result()).count(), None);
            results
        });
        End { outcome: outcome.into(), results: results.collect() }
    }
}

/// All ends of the model under these settings, by a search of its states.
pub fn modelled(program: &Program, settings: &Settings) -> BTreeSet<End> {
    let mut ends = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut left = vec![Model::new(program, settings)];
    while let Some(model) = left.pop() {
        if !seen.insert(model.clone()) {
            continue;
        }
        if let Some(outcome) = model.over(program) {
            ends.insert(model.end(program, outcome));
            continue;
        }
        let doomed = model.doomed(program);
        let able: Vec<usize> = (0..program.len()).filter(|w| model.can_step(program, *w)).collect();
        for next in able.iter().flat_map(|w| model.step(program, *w)) {
            match next {
                (next, None) => {
                    assert!(doomed.is_subset(&next.doomed(program)), "{program:?}: somebody went on");
                    left.push(next);
                }
                (end, Some(outcome)) => {
                    ends.insert(end.end(program, outcome));
                }
            }
        }
        let due = model.timers.first().is_some_and(|timer| timer.0 <= model.now);
        if settings.timers == Timers::Any || able.is_empty() || due {
            left.extend(model.fire(program));
        }
    }
    ends
}
