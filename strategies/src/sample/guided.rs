//! A schedule as a preference: which worker should run until where, followed as far as the program allows.
//!
//! Every edit of such a schedule is again a schedule, whatever the program then does: a worker that is not
//! enabled is skipped, a timeout that cannot fire is left out, a value that is too large becomes 0. After the
//! last segment, a default decides: the running worker continues, otherwise the first enabled one by creation
//! path, and timeouts fire when no worker is enabled. For this reason, schedules are minimised in this form.

use crate::paths::{Paths, WorkerPath};
use crate::sample::replay::Recorded;
use crate::search::bounding::{Cost, Last};
use crate::{Decision, Event, Iteration, Operation, Pick, RandomWalk, Strategy, Summary, View, WorkerId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A part of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// The worker continues until it has executed `until` steps in all, or is not enabled.
    Run {
        /// The worker that runs.
        worker: WorkerPath,
        /// Steps that it has executed since the start of the execution.
        until: u64,
    },
    /// The worker's timeout fires, unless `until` of them have fired in all.
    Timeout {
        /// The worker whose timeout fires.
        worker: WorkerPath,
        /// Timeouts of the worker that have fired since the start of the execution.
        until: u64,
    },
}

impl Segment {
    /// The worker of the segment.
    pub fn worker(&self) -> &WorkerPath {
        match self {
            Segment::Run { worker, .. } | Segment::Timeout { worker, .. } => worker,
        }
    }
}

/// A preference: see the module's documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Preference {
    /// The segments in their order.
    pub segments: Vec<Segment>,
    /// The values that each worker chooses, in its order; 0 after the end of the list.
    pub values: BTreeMap<WorkerPath, Vec<u64>>,
}

impl Preference {
    /// The preference that leads to exactly this schedule, wherever the schedule is possible. Its segments
    /// are as long as possible.
    pub fn of(schedule: &[Recorded]) -> Preference {
        let (mut steps, mut timeouts) = (BTreeMap::<&WorkerPath, u64>::new(), BTreeMap::new());
        let mut preference = Preference::default();
        let mut running = None;
        for recorded in schedule {
            match recorded {
                Recorded::Step { worker, .. } => {
                    running = Some(worker);
                    let executed = steps.entry(worker).or_default();
                    *executed += 1;
                    match preference.segments.last_mut() {
                        Some(Segment::Run { worker: last, until }) if last == worker => *until = *executed,
                        _ => {
                            let (worker, until) = (worker.clone(), *executed);
                            preference.segments.push(Segment::Run { worker, until });
                        }
                    }
                }
                Recorded::Timeout { worker } => {
                    let fired = timeouts.entry(worker).or_default();
                    *fired += 1;
                    preference.segments.push(Segment::Timeout { worker: worker.clone(), until: *fired });
                }
                Recorded::Value { value, .. } => {
                    let worker = running.cloned().unwrap_or_default();
                    preference.values.entry(worker).or_default().push(*value);
                }
            }
        }
        preference
    }
}

/// The properties that make a schedule hard to read, the worst first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Weight {
    /// How often the running worker was left although it was enabled.
    pub preemptions: u64,
    /// How often another worker continued or a timeout fired, including preemptions.
    pub switches: u64,
    /// The sum of the values chosen.
    pub values: u64,
    /// Steps executed; a timeout that fires does not count.
    pub steps: u64,
}

impl Weight {
    /// Counts a pick in this state.
    fn add(&mut self, pick: Pick, last: Last, view: &View) {
        self.preemptions += u64::from(Cost::Preemptions.of(pick, last.running, view));
        self.switches += u64::from(last.switches_to(pick));
        self.steps += u64::from(matches!(pick, Pick::Step(_)));
    }
}

/// Chooses after the end of the preference.
#[derive(Clone, Debug, Default)]
enum Tail {
    #[default]
    Default,
    Random(RandomWalk),
}

/// Follows a preference, after a path of decisions that are made exactly.
pub struct Guided {
    path: Vec<Decision>,
    made: usize,
    preference: Arc<Preference>,
    at: usize,
    /// The worker of the segment at `at`, once it is known.
    worker: Option<WorkerId>,
    tail: Tail,
    paths: Paths,
    /// Steps executed, timeouts fired and values chosen, by worker.
    steps: Vec<u64>,
    timeouts: Vec<u64>,
    values: Vec<u64>,
    last: Last,
    weight: Weight,
    /// The iteration is abandoned as soon as it weighs more.
    weight_max: Option<Weight>,
    result: Arc<Mutex<Weight>>,
}

impl Guided {
    /// Follows the preference from the start; after its end, the default of the module's documentation
    /// chooses.
    pub fn new(preference: Arc<Preference>) -> Guided {
        Guided {
            path: Vec::new(),
            made: 0,
            preference,
            at: 0,
            worker: None,
            tail: Tail::Default,
            paths: Paths::default(),
            steps: Vec::new(),
            timeouts: Vec::new(),
            values: Vec::new(),
            last: Last::default(),
            weight: Weight::default(),
            weight_max: None,
            result: Arc::default(),
        }
    }

    /// Makes these decisions first. They count for the preference, which begins at the start of the program.
    pub fn after(self, path: Vec<Decision>) -> Guided {
        Guided { path, ..self }
    }

    /// Chooses at random after the end of the preference, including values.
    pub fn then_random(self) -> Guided {
        Guided { tail: Tail::Random(RandomWalk::default()), ..self }
    }

    /// Abandons the iteration as soon as it weighs more than this. Since weights only grow, a schedule that weighs at
    /// most as much is not affected.
    pub fn up_to(self, weight: Weight) -> Guided {
        Guided { weight_max: Some(weight), ..self }
    }

    /// The weight of the schedule, once the execution has ended.
    pub fn weight(&self) -> Arc<Mutex<Weight>> {
        self.result.clone()
    }

    /// The worker of the present segment, also if no worker created it.
    fn worker(&mut self, view: &View) -> Option<WorkerId> {
        if self.worker.is_none() {
            let path = self.preference.segments.get(self.at)?.worker();
            let mut all = (0..view.workers.len() as u32).map(WorkerId);
            let not_created = || all.find(|worker| self.paths.path(*worker) == *path);
            self.worker = self.paths.find(path).or_else(not_created);
        }
        self.worker
    }

    fn is_too_heavy(&self) -> bool {
        self.weight_max.is_some_and(|max| self.weight > max)
    }

    fn preferred(&mut self, view: &View) -> Option<Pick> {
        while self.at < self.preference.segments.len() {
            let worker = self.worker(view);
            match (&self.preference.segments[self.at], worker) {
                (Segment::Run { until, .. }, Some(worker))
                    if executed(&self.steps, worker) < *until && view.can_step(worker) =>
                {
                    return Some(Pick::Step(worker));
                }
                (Segment::Timeout { until, .. }, Some(worker))
                    if executed(&self.timeouts, worker) < *until && view.timeouts.contains(&worker) =>
                {
                    return Some(Pick::Timeout(worker));
                }
                _ => (self.at, self.worker) = (self.at + 1, None),
            }
        }
        None
    }

    /// The pick if no segment applies.
    fn by_default(&mut self, view: &View) -> Option<Pick> {
        if let Tail::Random(walk) = &mut self.tail {
            return walk.pick(view);
        }
        let running = self.last.running.filter(|worker| view.can_step(*worker));
        let lowest = || view.enabled.iter().copied().min_by_key(|worker| self.paths.path(*worker));
        running.or_else(lowest).map(Pick::Step).or_else(|| Some(Pick::Timeout(*view.timeouts.first()?)))
    }

    /// For how many choices the running worker continues, if it stays enabled.
    fn goes_on_for(&self, running: WorkerId) -> u64 {
        if self.made < self.path.len() {
            let same = |decision: &&Decision| **decision == Decision::Pick(Pick::Step(running));
            return self.path[self.made..].iter().take_while(same).count() as u64;
        }
        match self.preference.segments.get(self.at) {
            Some(Segment::Run { until, .. }) if self.worker == Some(running) => {
                until.saturating_sub(executed(&self.steps, running))
            }
            None if matches!(self.tail, Tail::Default) => u64::MAX,
            _ => 0,
        }
    }

    /// The number of steps without a switch until the iteration weighs too much.
    fn steps_allowed(&self) -> u64 {
        let but_steps = |weight: Weight| Weight { steps: 0, ..weight };
        match self.weight_max {
            Some(max) if but_steps(self.weight) == but_steps(max) => {
                max.steps.saturating_sub(self.weight.steps)
            }
            _ => u64::MAX,
        }
    }
}

/// The count of a worker.
fn executed(steps: &[u64], worker: WorkerId) -> u64 {
    steps.get(worker.index()).copied().unwrap_or(0)
}

/// Adds to the count of a worker, and returns its previous value.
fn count(counts: &mut Vec<u64>, worker: WorkerId, more: u64) -> u64 {
    if counts.len() <= worker.index() {
        counts.resize(worker.index() + 1, 0);
    }
    counts[worker.index()] += more;
    counts[worker.index()] - more
}

impl Strategy for Guided {
    fn name(&self) -> String {
        "guided".into()
    }

    /// The caller gives the bound on steps.
    fn fair(&self) -> bool {
        true
    }

    fn fair_from(&self) -> Option<u64> {
        None
    }

    fn begin(&mut self, iteration: Iteration) {
        self.made = 0;
        (self.at, self.worker) = (0, None);
        self.paths.reset();
        self.steps.clear();
        self.timeouts.clear();
        self.values.clear();
        self.last = Last::default();
        self.weight = Weight::default();
        if let Tail::Random(walk) = &mut self.tail {
            walk.begin(iteration);
        }
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        let pick = match self.path.get(self.made) {
            Some(Decision::Pick(pick)) => view.allows(*pick).then_some(*pick)?,
            Some(Decision::Value(_)) => return None,
            None => match self.preferred(view) {
                Some(pick) => pick,
                None => self.by_default(view)?,
            },
        };
        self.made += 1;
        self.weight.add(pick, self.last, view);
        match pick {
            Pick::Step(worker) => count(&mut self.steps, worker, 1),
            Pick::Timeout(worker) => count(&mut self.timeouts, worker, 1),
        };
        self.last = self.last.then(pick);
        (!self.is_too_heavy()).then_some(pick)
    }

    fn quiet(&self, worker: WorkerId, _view: &View, _watched: &mut Vec<(u64, u32)>) -> u64 {
        if self.last.pick != Some(Pick::Step(worker)) {
            return 0;
        }
        self.goes_on_for(worker).min(self.steps_allowed())
    }

    fn goes_on(&mut self, worker: WorkerId, operations: &[Operation], _view: &View) -> bool {
        let steps = operations.len() as u64;
        self.made += operations.len();
        count(&mut self.steps, worker, steps);
        self.weight.steps += steps;
        true
    }

    fn value(&mut self, bound: u64, view: &View) -> Option<u64> {
        let worker = self.last.running.unwrap_or(WorkerId(0));
        let nth = count(&mut self.values, worker, 1);
        let value = match self.path.get(self.made) {
            Some(Decision::Value(value)) => (*value < bound).then_some(*value)?,
            Some(Decision::Pick(_)) => return None,
            None => match &mut self.tail {
                Tail::Random(walk) if self.at >= self.preference.segments.len() => walk.value(bound, view)?,
                _ => {
                    let values = self.preference.values.get(&self.paths.path(worker));
                    values.and_then(|v| v.get(nth as usize)).copied().filter(|v| *v < bound).unwrap_or(0)
                }
            },
        };
        self.made += 1;
        self.weight.values += value;
        (!self.is_too_heavy()).then_some(value)
    }

    fn observe(&mut self, event: Event) {
        self.paths.observe(event);
    }

    fn end(&mut self, _: Summary) {
        *self.result.lock().unwrap_or_else(PoisonError::into_inner) = self.weight;
    }
}
