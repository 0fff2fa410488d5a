//! Stratified sampling (Desai, Qadeer, Seshia, FSE 2015): random executions with a given number of delays of
//! an explorer.
//!
//! A sample with *d* delays begins as the execution without any, of length *l*. The first delay is made at
//! one of its *l* positions, each with the same probability; that gives another execution, and the second
//! delay is made at one of the positions after the first; and so on. So each execution with *d* delays is
//! sampled with probability at least 1/L^d, where L is the largest number of positions in an execution: it
//! depends on the number of delays, not on the length. A position is an actual choice: a state with n
//! possible picks is a position as long as fewer than n - 1 delays were made in it (the paper counts all
//! steps, so L is never larger here).
//!
//! A data choice is 0 unless a delay is made there, which draws one of the other values. With a bound of 2
//! that is the paper's "false before true"; a larger bound divides the probability by the number of values
//! other than 0.
//!
//! Deviations from the paper: the length need not be known before the position is drawn, because the drawn
//! position is replaced by the i-th one after it with probability 1/i (reservoir sampling), and the execution
//! continues from a snapshot taken there: no prefix is executed again. The executions with fewer delays that
//! a sample passes through are executions too, and are counted. There is only one sample without delays, as
//! all of them are equal.
//!
//! Sample *i* depends only on the seed and *i*, so samples can be divided among jobs.

use super::explorers::Explorer;
use super::explorers::walk::{Place, Walk};
use super::ses::Work;
use super::{Advance, Branch, Counts, Item, Prefix, Search};
use crate::Iteration;
use crate::rng::ChoiceRng;
use crate::system::{Decision, Status, System};

/// How many samples are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Samples {
    /// The seed of all random choices.
    pub seed: u64,
    /// `factor * base^d` samples have d delays, for d from 1 (the paper's c1 and c2).
    pub factor: u64,
    /// See `factor`: each further delay has this many times as many samples.
    pub base: u64,
    /// Maximal number of delays; samples with more are not drawn.
    pub delays_max: Option<u32>,
}

impl Samples {
    /// The number of delays of a sample, by its number; `None` after the last sample.
    fn delays(&self, number: u64) -> Option<u32> {
        let (mut delays, mut size, mut first) = (0, 1, 0u64);
        while number >= first.saturating_add(size) && first < u64::MAX {
            first = first.saturating_add(size);
            delays += 1;
            size = self.factor.saturating_mul(self.base.saturating_pow(delays)).max(1);
        }
        self.delays_max.is_none_or(|max| delays <= max).then_some(delays)
    }
}

/// A position at which a delay can be made.
struct Position<T, E> {
    place: Place<T, E>,
    /// How many delays were made in its state so far.
    repeats: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// A sample is about to begin.
    Idle,
    /// The system is in a state that was not examined.
    Running,
    /// An execution has ended, but not the sample.
    Ended,
}

/// See the module's documentation.
pub struct Ss<S: System, E> {
    samples: Samples,
    walk: Walk<E>,
    /// The frontier: states where samples begin, with a first delay made. If empty, they begin at the start.
    origins: Vec<Work<S::Snapshot, E>>,
    /// Number of the present sample.
    sample: u64,
    /// The number of the next sample, and its increment.
    next: u64,
    stride: u64,
    rng: ChoiceRng,
    stage: Stage,
    /// How many delays are left for this sample.
    left: u32,
    /// How many positions there were since the last delay.
    positions: u64,
    /// How many positions the execution without delays has, if known.
    positions_undelayed: Option<u64>,
    /// The position at which the next delay is due, if it was drawn beforehand.
    due: Option<u64>,
    /// The position drawn so far.
    drawn: Option<Position<S::Snapshot, E>>,
    repeats: usize,
    counts: Counts,
    error: Option<String>,
}

impl<S: System, E: Explorer> Ss<S, E> {
    /// Draws samples from the start of the program.
    pub fn new(explorer: E, samples: Samples) -> Ss<S, E> {
        Ss::from_origins(Walk::new(explorer), samples, Vec::new())
    }

    /// Continues with the samples that are left according to [`Search::save`] or [`Search::split`].
    pub fn resume(explorer: E, samples: Samples, items: &[Item]) -> Ss<S, E> {
        let mut search = Ss::new(explorer, samples);
        if let Some(branch) = items.first().and_then(|item| item.branches.first()) {
            (search.next, search.stride) = (branch.spent.into(), branch.depth.max(1).into());
        }
        search
    }

    /// Draws samples that begin in one of these states, each with the same probability.
    pub(super) fn from_origins(
        walk: Walk<E>,
        samples: Samples,
        origins: Vec<Work<S::Snapshot, E>>,
    ) -> Ss<S, E> {
        Ss {
            // A sample without a delay would stay within the executions that are already explored.
            next: u64::from(!origins.is_empty()),
            sample: 0,
            samples,
            walk,
            origins,
            stride: 1,
            rng: ChoiceRng::new(Iteration { seed: samples.seed, index: 0 }),
            stage: Stage::Idle,
            left: 0,
            positions: 0,
            positions_undelayed: None,
            due: None,
            drawn: None,
            repeats: 0,
            counts: Counts::default(),
            error: None,
        }
    }

    /// The number of the present sample, which the execution that has ended last belongs to. A sample's last
    /// execution is the one with all its delays.
    pub fn sample(&self) -> u64 {
        self.sample
    }

    /// Begins the next sample; false if there is none.
    fn begin(&mut self, system: &mut S) -> Result<bool, String> {
        let Some(delays) = self.samples.delays(self.next) else {
            self.counts.cut = true;
            return Ok(false);
        };
        self.sample = self.next;
        self.rng = ChoiceRng::new(Iteration { seed: self.samples.seed, index: self.sample });
        self.left = delays;
        self.repeats = 0;
        self.positions = 0;
        self.due = None;
        if self.origins.is_empty() {
            match self.positions_undelayed {
                // There is only one execution.
                Some(0) => return Ok(false),
                Some(positions) if delays > 0 => self.due = Some(self.rng.below(positions)),
                Some(_) => {}
                None => self.left = 0,
            }
            self.walk.restart(system);
        } else {
            self.go_to_origin(system)?;
            self.left -= 1;
        }
        if self.left == delays || !self.origins.is_empty() {
            self.next += self.stride;
        }
        self.stage = Stage::Running;
        Ok(true)
    }

    /// Goes to a state of the frontier and makes the delay there.
    fn go_to_origin(&mut self, system: &mut S) -> Result<(), String> {
        let index = self.rng.below(self.origins.len() as u64) as usize;
        match &self.origins[index] {
            Work::Known { prefix, place, picks, .. } => {
                self.walk.path = prefix.to_vec();
                self.walk.return_to(system, place);
                self.repeats = system.view().choices() - picks.len();
            }
            Work::Stored(item) => {
                self.walk.follow(system, &item.prefix.to_vec())?;
                let todo = item.branches.last().map_or(&[][..], |b| &b.todo);
                match (todo.first(), system.status()) {
                    (None, _) => {}
                    (Some(Decision::Value(first)), Status::Choosing { bound }) if *first < bound => {
                        let value = first + self.rng.below(bound - first);
                        self.walk.decide(system, Decision::Value(value));
                    }
                    (Some(Decision::Pick(pick)), Status::Ready) => {
                        self.walk.settle(system);
                        self.walk.delay_until(system, *pick)?;
                        let choices = system.view().choices();
                        let repeats = choices.checked_sub(todo.len());
                        self.repeats = repeats.ok_or("a stored item does not fit the program")?;
                    }
                    _ => return Err("a stored item does not fit the program".into()),
                }
            }
        }
        Ok(())
    }

    /// Examines the present state of the system. `Some` if the execution ended there.
    fn look(&mut self, system: &mut S) -> Result<Option<Status>, String> {
        match system.status() {
            Status::Ready => {
                self.walk.settle(system);
                let offers = self.walk.offers(system).map_err(|unsound| unsound.to_string())?;
                let (choices, pick) = (offers.len(), offers[0]);
                if self.repeats + 1 < choices && self.is_due(system) {
                    self.delay(system);
                } else {
                    self.decide(system, Decision::Pick(pick));
                }
                Ok(None)
            }
            Status::Choosing { bound } => {
                if bound > 1 && self.is_due(system) {
                    self.delay(system);
                } else {
                    self.decide(system, Decision::Value(0));
                }
                Ok(None)
            }
            status => {
                self.stage = Stage::Ended;
                self.counts.ended(status);
                Ok(Some(status))
            }
        }
    }

    /// Counts a position, and may draw it. Returns whether the delay is to be made here.
    fn is_due(&mut self, system: &mut S) -> bool {
        self.positions += 1;
        if let Some(due) = self.due {
            return due + 1 == self.positions;
        }
        if self.left > 0 && self.rng.below(self.positions) == 0 {
            self.drawn = Some(Position { place: self.walk.mark(system, true), repeats: self.repeats });
        }
        false
    }

    fn decide(&mut self, system: &mut S, decision: Decision) {
        self.walk.decide(system, decision);
        self.repeats = 0;
    }

    /// Makes a delay in the present state.
    fn delay(&mut self, system: &mut S) {
        self.left -= 1;
        self.positions = 0;
        self.due = None;
        if let Status::Choosing { bound } = system.status() {
            let value = 1 + self.rng.below(bound - 1);
            self.decide(system, Decision::Value(value));
        } else {
            self.walk.explorer.delay(&system.view());
            self.repeats += 1;
        }
    }

    /// After an execution, continues with the one with one more delay, or with the next sample.
    fn go_on(&mut self, system: &mut S) {
        if self.positions_undelayed.is_none() && self.origins.is_empty() {
            // Even if this is not sample 0, the first execution had no delay.
            self.positions_undelayed = Some(self.positions);
        }
        match self.drawn.take() {
            Some(position) => {
                self.walk.return_to(system, &position.place);
                self.repeats = position.repeats;
                self.delay(system);
                self.stage = Stage::Running;
            }
            None => self.stage = Stage::Idle,
        }
    }

    fn fail(&mut self, error: String) -> Advance {
        self.error = Some(error);
        self.counts.cut = true;
        Advance::Exhausted
    }

    /// The remaining samples as an item.
    fn item(next: u64, stride: u64) -> Item {
        let (spent, depth) = (next.try_into().unwrap_or(u32::MAX), stride.try_into().unwrap_or(u32::MAX));
        Item {
            prefix: Prefix::default(),
            branches: vec![Branch { depth, spent, ..Branch::default() }],
            place: None,
        }
    }

    /// The frontier from which samples are drawn.
    pub(super) fn origins(&self) -> &[Work<S::Snapshot, E>] {
        &self.origins
    }
}

impl<S: System, E: Explorer> Search<S> for Ss<S, E> {
    fn name(&self) -> String {
        let max = self.samples.delays_max.map_or(String::new(), |max| format!(":{max}"));
        format!("ss:{}{max}", self.walk.name())
    }

    fn advance(&mut self, system: &mut S, steps: u64) -> Advance {
        let end = self.walk.steps.saturating_add(steps);
        while self.error.is_none() {
            if self.stage == Stage::Ended {
                self.go_on(system);
            }
            if self.stage == Stage::Idle {
                match self.begin(system) {
                    Ok(true) => {}
                    Ok(false) => return Advance::Exhausted,
                    Err(error) => return self.fail(error),
                }
            }
            match self.look(system) {
                Ok(Some(status)) => return Advance::Ended(status),
                Ok(None) if self.walk.steps >= end => return Advance::Working,
                Ok(None) => {}
                Err(error) => return self.fail(error),
            }
        }
        Advance::Exhausted
    }

    fn path(&self) -> &[Decision] {
        &self.walk.path
    }

    fn counts(&self) -> Counts {
        Counts { steps: self.walk.steps, ..self.counts }
    }

    fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Gives away every other remaining sample.
    fn split(&mut self) -> Option<Item> {
        // An item cannot contain a frontier.
        if !self.origins.is_empty() || u32::try_from(self.next + self.stride).is_err() {
            return None;
        }
        let item = Self::item(self.next + self.stride, 2 * self.stride);
        self.stride *= 2;
        Some(item)
    }

    /// The number of the next sample; a sample that has begun is begun again.
    fn save(&self) -> Vec<Item> {
        let next = if self.stage == Stage::Idle { self.next } else { self.sample };
        vec![Self::item(next, self.stride)]
    }
}
