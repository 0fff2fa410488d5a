//! Decides when faults strike: a separate rule for values that are faults, around any strategy for schedules.
//!
//! A fault is a value other than 0 that is requested at an *opportunity* ([`View::fault`]). An opportunity
//! has a *kind*: a class of faults or a fault point of the guest. A strategy that drew such values like any
//! other would strike at one of the first opportunities in nearly every execution: late opportunities would
//! hardly ever be struck, and no execution would be without faults. So an iteration is drawn in two stages,
//! as in FoundationDB's BUGGIFY:
//!
//! 1. *Whether and which.* One iteration in three has no fault, and neither has the one that stands for the
//!    profiling run. Otherwise one of the c kinds of the profile, each with the same probability, is *active*,
//!    and each other one is active with probability 1/4. A kind that is not in the profile is active in one of
//!    two of these iterations.
//! 2. *Where.* An active kind with n opportunities in the profile strikes at one of the first n or *later*, each
//!    of these n + 1 with the same probability. Later means: at the j-th opportunity after them with probability
//!    1 / (j + 1), for j = 1, 2, .., until it has struck. If the largest budget allows more than one fault, a
//!    kind strikes a second time in one of two iterations, a third time in one of two of these, and so on up to
//!    the budget, each time drawn in the same way; equal places count once.
//!
//! Which of the possible values it is, is uniform. BUGGIFY draws each place with 25 %, so the probability of
//! a place depends on the number of places before it; with the profile, late ones are as likely as early
//! ones. A class whose budget is smaller than the largest one strikes at the first of the places drawn.
//!
//! Random numbers come from separate streams for the iteration and for each kind: so the strategy's choices
//! are the same with and without faults.

use crate::rng::ChoiceRng;
use crate::{Event, Iteration, Operation, Pick, Profile, Strategy, Summary, View, WorkerId};
use std::collections::{BTreeMap, BTreeSet};

/// One iteration in this many has no fault.
const FAULTLESS: u64 = 3;
/// A kind of the profile other than the first one drawn is active in one iteration of this many.
const ALSO: u64 = 4;
/// A kind that is not in the profile is active in one iteration of this many.
const UNKNOWN: u64 = 2;
/// Separates the streams of faults from those of strategies.
const STREAM: u64 = 0x6661_756c_7473_0000;

/// See the module's documentation.
pub struct Faults {
    schedules: Box<dyn Strategy>,
    /// The largest budget.
    budget: u32,
    /// Opportunities of the profiling run, by kind.
    known: BTreeMap<u64, u64>,
    iteration: Iteration,
    faultless: bool,
    /// Active kinds of the profile.
    active: BTreeSet<u64>,
    kinds: BTreeMap<u64, Kind>,
}

/// A kind in an iteration.
struct Kind {
    rng: ChoiceRng,
    /// Opportunities so far.
    met: u64,
    /// Opportunities in the profile.
    known: u64,
    /// Numbers of opportunities at which it strikes, from 0 on.
    places: BTreeSet<u64>,
    /// Whether it strikes after the opportunities of the profile, and has not done so.
    later: bool,
}

impl Kind {
    /// Whether it strikes at the present opportunity.
    fn strikes(&mut self) -> bool {
        let number = self.met;
        self.met += 1;
        if number < self.known {
            return self.places.contains(&number);
        }
        let strikes = self.later && self.rng.one_in(number - self.known + 2);
        self.later &= !strikes;
        strikes
    }
}

impl Faults {
    /// Lets a strategy choose schedules. `budget`: the maximal number of faults of any class in an execution.
    pub fn new(schedules: Box<dyn Strategy>, budget: u32) -> Faults {
        Faults {
            schedules,
            budget,
            known: BTreeMap::new(),
            iteration: Iteration { seed: 0, index: 0 },
            faultless: true,
            active: BTreeSet::new(),
            kinds: BTreeMap::new(),
        }
    }

    fn stream(&self, kind: u64) -> ChoiceRng {
        let Iteration { seed, index } = self.iteration;
        ChoiceRng::new(Iteration { seed: seed ^ STREAM ^ kind.wrapping_mul(0x9e37_79b9_7f4a_7c15), index })
    }

    fn draw(&self, kind: u64) -> Kind {
        let mut rng = self.stream(kind + 1);
        let known = self.known.get(&kind).copied().unwrap_or(0);
        let active = match known {
            0 => rng.one_in(UNKNOWN),
            _ => self.active.contains(&kind),
        };
        let (mut places, mut later) = (BTreeSet::new(), false);
        if active && !self.faultless {
            let mut strikes = 1;
            while strikes < self.budget && rng.one_in(2) {
                strikes += 1;
            }
            for _ in 0..strikes {
                match rng.below(known + 1) {
                    place if place < known => _ = places.insert(place),
                    _ => later = true,
                }
            }
        }
        Kind { rng, met: 0, known, places, later }
    }
}

impl Strategy for Faults {
    fn name(&self) -> String {
        self.schedules.name()
    }

    fn within(&self) -> Option<&dyn Strategy> {
        Some(&*self.schedules)
    }

    fn fair(&self) -> bool {
        self.schedules.fair()
    }

    fn needs_profile(&self) -> bool {
        true
    }

    fn begins_with_profiling_run(&self) -> bool {
        self.schedules.begins_with_profiling_run()
    }

    fn prepare(&mut self, profile: &Profile) {
        self.known = profile.opportunities.clone();
        if self.schedules.needs_profile() {
            self.schedules.prepare(profile);
        }
    }

    fn begin(&mut self, iteration: Iteration) {
        self.schedules.begin(iteration);
        self.iteration = iteration;
        self.kinds.clear();
        self.active.clear();
        let mut rng = self.stream(0);
        let is_profile = iteration.index == 0 && self.schedules.begins_with_profiling_run();
        self.faultless = rng.one_in(FAULTLESS) || is_profile;
        let leader = rng.below(self.known.len().max(1) as u64) as usize;
        for (number, kind) in self.known.keys().enumerate() {
            let also = rng.one_in(ALSO);
            if number == leader || also {
                self.active.insert(*kind);
            }
        }
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        self.schedules.pick(view)
    }

    fn quiet(&self, worker: WorkerId, view: &View, watched: &mut Vec<(u64, u32)>) -> u64 {
        self.schedules.quiet(worker, view, watched)
    }

    fn goes_on(&mut self, worker: WorkerId, operations: &[Operation], view: &View) -> bool {
        self.schedules.goes_on(worker, operations, view)
    }

    fn value(&mut self, bound: u64, view: &View) -> Option<u64> {
        let Some(kind) = view.fault else { return self.schedules.value(bound, view) };
        let drawn = self.kinds.remove(&kind);
        let mut drawn = drawn.unwrap_or_else(|| self.draw(kind));
        let value = if drawn.strikes() { 1 + drawn.rng.below(bound - 1) } else { 0 };
        self.kinds.insert(kind, drawn);
        Some(value)
    }

    fn observe(&mut self, event: Event) {
        self.schedules.observe(event);
    }

    fn end(&mut self, summary: Summary) {
        self.schedules.end(summary);
    }
}
