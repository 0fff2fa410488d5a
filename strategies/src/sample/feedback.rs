//! Mutates schedules that showed something new.
//!
//! New means a pair of sites that made dependent accesses of one object, one directly after the other, by
//! different workers, according to announcements: the edges of the happens-before relation, without their
//! workers. A schedule with a new pair is kept and mutated several times: an iteration follows it up to a
//! random place and continues as `pos`. Every other iteration starts without a schedule. Similar to RFF
//! (Wolff et al., ASPLOS 2024), P and Fray, whose strategies of this kind mutate constraints or priorities
//! instead of prefixes.
//!
//! Not fair, and not independent: an iteration depends on all before it.

use super::pos::Pos;
use crate::{Class, Event, Iteration, Pick, Strategy, Summary, View, WorkerId};
use crate::{Decision, rng::ChoiceRng};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Maximal number of schedules kept; a new one replaces the oldest.
const KEPT_MAX: usize = 64;

/// How often a schedule is mutated.
const MUTATIONS: u32 = 8;

/// Maximal number of decisions kept of a schedule.
const LENGTH_MAX: usize = 20_000;

#[derive(Clone, Debug)]
struct Kept {
    schedule: Vec<Decision>,
    mutations_left: u32,
}

/// See the module's documentation.
#[derive(Clone, Debug)]
pub struct Feedback {
    base: Pos,
    kept: VecDeque<Kept>,
    /// Pairs of sites seen in any iteration.
    pairs: BTreeSet<(u32, u32)>,
    /// The schedule of this iteration.
    schedule: Vec<Decision>,
    /// The decisions of another schedule that are still to be followed, the next one last.
    follow: Vec<Decision>,
    /// The worker and site of the last access of each object, and whether it was a write.
    last: BTreeMap<(Class, u64), (WorkerId, u32, bool)>,
    /// Whether this iteration showed a new pair.
    new: bool,
}

impl Feedback {
    /// A strategy that has kept no schedule yet.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Feedback {
        Feedback {
            base: Pos::new(),
            kept: VecDeque::new(),
            pairs: BTreeSet::new(),
            schedule: Vec::new(),
            follow: Vec::new(),
            last: BTreeMap::new(),
            new: false,
        }
    }

    fn record(&mut self, decision: Decision) {
        if self.schedule.len() < LENGTH_MAX {
            self.schedule.push(decision);
        }
    }

    fn cover(&mut self, worker: WorkerId, view: &View) {
        let operation = &view.workers[worker.index()].operation;
        let Some(target) = operation.target() else { return };
        let changes = target.0 != Class::Memory || operation.kind.writes();
        let last = self.last.insert(target, (worker, operation.site, changes));
        if let Some((by, site, changed)) = last
            && by != worker
            && (changes || changed)
        {
            self.new |= self.pairs.insert((site, operation.site));
        }
    }

    /// The next decision of the followed schedule, if `possible`; otherwise the schedule is not followed any
    /// further.
    fn next(&mut self, possible: impl Fn(&Decision) -> bool) -> Option<Decision> {
        let next = self.follow.pop().filter(possible);
        if next.is_none() {
            self.follow.clear();
        }
        next
    }
}

impl Strategy for Feedback {
    fn name(&self) -> String {
        "feedback".into()
    }

    fn fair(&self) -> bool {
        false
    }

    fn independent(&self) -> bool {
        false
    }

    fn begin(&mut self, iteration: Iteration) {
        self.base.begin(iteration);
        self.schedule.clear();
        self.follow.clear();
        self.last.clear();
        self.new = false;
        if iteration.index % 2 == 1
            && let Some(mut kept) = self.kept.pop_front()
        {
            // Another stream than that of `base`, whose choices after the prefix must not depend on the
            // length.
            let seed = !iteration.seed;
            let length = ChoiceRng::new(Iteration { seed, ..iteration }).below(kept.schedule.len() as u64);
            self.follow.extend(kept.schedule[..length as usize].iter().rev());
            kept.mutations_left -= 1;
            if kept.mutations_left > 0 {
                self.kept.push_back(kept);
            }
        }
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        let possible = |decision: &Decision| match decision {
            Decision::Pick(pick) => view.allows(*pick),
            Decision::Value(_) => false,
        };
        let pick = match self.next(possible) {
            Some(Decision::Pick(pick)) => pick,
            _ => self.base.pick(view)?,
        };
        if let Pick::Step(worker) = pick {
            self.cover(worker, view);
        }
        self.record(Decision::Pick(pick));
        Some(pick)
    }

    fn value(&mut self, bound: u64, view: &View) -> Option<u64> {
        let value = match self.next(|d| matches!(d, Decision::Value(value) if *value < bound)) {
            Some(Decision::Value(value)) => value,
            _ => self.base.value(bound, view)?,
        };
        self.record(Decision::Value(value));
        Some(value)
    }

    fn observe(&mut self, event: Event) {
        self.base.observe(event);
    }

    fn end(&mut self, _summary: Summary) {
        if self.new {
            if self.kept.len() == KEPT_MAX {
                self.kept.pop_front();
            }
            let schedule = std::mem::take(&mut self.schedule);
            self.kept.push_back(Kept { schedule, mutations_left: MUTATIONS });
        }
    }
}
