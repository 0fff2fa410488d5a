//! A sweep of faults: one iteration for each fault that the default schedule has an opportunity for.
//!
//! The *default schedule* is the same in every iteration: the running worker continues as long as it is
//! enabled, then the enabled worker that was created first; a timeout fires when no worker is enabled, or has been
//! pending for [`PATIENCE`] steps, since workers may wait by spinning for one that sleeps; and values are 0. [`ChessFair`] around it makes a worker that spins yield to others. Its opportunities for
//! faults ([`View::fault`]) are numbered. An [`Attempt`] follows it up to one of them and strikes there with
//! one value: once, or from there on at every opportunity of the same kind. After that the default schedule
//! continues, or another strategy chooses.
//!
//! Iteration 0 is the default schedule without faults, iteration n + 1 is attempt n.
//!
//! A sweep does not try faults in other schedules before the fault, nor two faults of different kinds.

use crate::{ChessFair, Event, Iteration, Pick, Profile, Strategy, Summary, View, WorkerId};
use std::sync::{Arc, Mutex, PoisonError};

/// A fault that is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The number of the opportunity in the default schedule, from 0.
    pub opportunity: u64,
    /// The value of the fault, at least 1.
    pub value: u64,
    /// Whether it also strikes at all later opportunities of the same kind: with the same value, or with the
    /// largest one that is possible there.
    pub lasting: bool,
    /// Whether the given strategy chooses after the fault; otherwise the default schedule continues.
    pub sampled: bool,
}

/// An opportunity that occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Met {
    /// See [`View::fault`].
    pub kind: u64,
    /// The bound of the values; 0 means no fault.
    pub bound: u64,
    /// The worker whose opportunity it was.
    pub worker: WorkerId,
}

/// The opportunities of the present iteration so far.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// The worker that was picked last: values are requested for its operation.
    pub picked: Option<WorkerId>,
    /// The opportunities, in their order.
    pub met: Vec<Met>,
}

/// See the module's documentation.
pub struct Sweep {
    attempts: Arc<[Attempt]>,
    default: ChessFair,
    schedules: Box<dyn Strategy>,
    attempt: Option<Attempt>,
    /// The kind that has struck.
    struck: Option<u64>,
    course: Arc<Mutex<Course>>,
}

impl Sweep {
    /// Makes these attempts. If an attempt is sampled, `schedules` chooses after its fault.
    pub fn new(attempts: Arc<[Attempt]>, schedules: Box<dyn Strategy>) -> Sweep {
        Sweep {
            attempts,
            default: ChessFair::new(Box::new(GoesOn::default())),
            schedules,
            attempt: None,
            struck: None,
            course: Arc::default(),
        }
    }

    /// The course of the iteration that runs or has ended last.
    pub fn course(&self) -> Arc<Mutex<Course>> {
        self.course.clone()
    }

    /// Whether the other strategy chooses now.
    fn is_sampling(&self) -> bool {
        self.struck.is_some() && self.attempt.is_some_and(|attempt| attempt.sampled)
    }

    /// The value at an opportunity.
    fn fault(&mut self, number: u64, kind: u64, bound: u64) -> u64 {
        let Some(attempt) = self.attempt else { return 0 };
        match self.struck {
            None if number == attempt.opportunity && attempt.value < bound => {
                self.struck = Some(kind);
                attempt.value
            }
            Some(struck) if attempt.lasting && struck == kind => attempt.value.min(bound - 1),
            _ => 0,
        }
    }
}

impl Strategy for Sweep {
    fn name(&self) -> String {
        format!("sweep, then {}", self.schedules.name())
    }

    fn within(&self) -> Option<&dyn Strategy> {
        Some(&*self.schedules)
    }

    fn member(&self) -> Option<String> {
        match self.attempt {
            Some(attempt) if attempt.sampled => {
                Some(self.schedules.member().unwrap_or(self.schedules.name()))
            }
            _ => None,
        }
    }

    fn fair(&self) -> bool {
        self.attempt.is_none_or(|attempt| !attempt.sampled) || self.schedules.fair()
    }

    /// In the default schedule, timeouts wait for long; and when the other strategy begins is not known before.
    fn fair_from(&self) -> Option<u64> {
        None
    }

    fn prepare(&mut self, profile: &Profile) {
        self.schedules.prepare(profile);
    }

    fn begin(&mut self, iteration: Iteration) {
        self.default.begin(iteration);
        self.schedules.begin(iteration);
        let number = iteration.index.checked_sub(1).and_then(|number| usize::try_from(number).ok());
        self.attempt = number.and_then(|number| self.attempts.get(number).copied());
        self.struck = None;
        *self.course.lock().unwrap_or_else(PoisonError::into_inner) = Course::default();
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        let pick = if self.is_sampling() { self.schedules.pick(view) } else { self.default.pick(view) }?;
        self.course.lock().unwrap_or_else(PoisonError::into_inner).picked = Some(pick.worker());
        Some(pick)
    }

    fn value(&mut self, bound: u64, view: &View) -> Option<u64> {
        let mut course = self.course.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(worker), Some(kind)) = (course.picked, view.fault) {
            let number = course.met.len() as u64;
            course.met.push(Met { kind, bound, worker });
            drop(course);
            return Some(self.fault(number, kind, bound));
        }
        drop(course);
        if self.is_sampling() { self.schedules.value(bound, view) } else { self.default.value(bound, view) }
    }

    fn observe(&mut self, event: Event) {
        self.default.observe(event);
        self.schedules.observe(event);
    }

    fn end(&mut self, summary: Summary) {
        self.default.end(summary);
        self.schedules.end(summary);
    }
}

/// Steps for which workers can go on while a timeout is pending.
pub const PATIENCE: u64 = 1_000;

/// The default schedule without the handling of spins.
#[derive(Default)]
struct GoesOn {
    /// Steps since a timeout is pending, or the last one has fired.
    waited: u64,
}

impl Strategy for GoesOn {
    fn name(&self) -> String {
        "goes on".into()
    }

    fn fair(&self) -> bool {
        false
    }

    fn begin(&mut self, _: Iteration) {
        self.waited = 0;
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        let running = view.current.filter(|worker| view.can_step(*worker));
        let worker = running.or_else(|| view.enabled.first().copied());
        self.waited = if view.timeouts.is_empty() { 0 } else { self.waited + 1 };
        let pick = match view.timeouts.first() {
            Some(sleeper) if worker.is_none() || self.waited > PATIENCE => Pick::Timeout(*sleeper),
            _ => Pick::Step(worker?),
        };
        if let Pick::Timeout(_) = pick {
            self.waited = 0;
        }
        Some(pick)
    }

    fn value(&mut self, _: u64, _: &View) -> Option<u64> {
        Some(0)
    }
}
