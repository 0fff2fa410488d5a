//! A sweep of faults: an iteration for each fault that the default schedule has an opportunity for.
//!
//! The *default schedule* is the same in every iteration: the running worker goes on as long as it can, then the first
//! created of those that can, timeouts fire when no worker can go on, and values are 0; around it, [`ChessFair`] lets a
//! worker that spins give way. Its opportunities for faults ([`View::fault`]) are numbered. An
//! [`Attempt`] follows it up to one of them and strikes there with one value: once, or from there on at every opportunity
//! of the same kind. What follows is the default schedule again, or one that another strategy chooses.
//!
//! Iteration 0 is the default schedule without faults, iteration n + 1 is attempt n.
//!
//! What a sweep leaves out: faults of other schedules before the fault, and two faults that are not of one kind.

use crate::{ChessFair, Event, Iteration, Pick, Profile, Strategy, Summary, View, WorkerId};
use std::sync::{Arc, Mutex, PoisonError};

/// A fault that is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The number of the opportunity in the default schedule, from 0.
    pub opportunity: u64,
    /// In which way it strikes, at least 1.
    pub value: u64,
    /// Whether it strikes at all later opportunities of the same kind as well: with the same value, or with the largest one
    /// that is possible there.
    pub lasting: bool,
    /// Whether the given strategy chooses what follows; else the default schedule goes on.
    pub sampled: bool,
}

/// An opportunity that was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Met {
    /// See [`View::fault`].
    pub kind: u64,
    /// The values are below it; 0 is no fault.
    pub bound: u64,
    /// Who came there.
    pub worker: WorkerId,
}

/// What the present iteration has met so far.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// Who was picked last: values are asked for its operation.
    pub picked: Option<WorkerId>,
    /// In order.
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
    /// Makes these attempts. `schedules` chooses what follows a fault where an attempt is sampled.
    pub fn new(attempts: Arc<[Attempt]>, schedules: Box<dyn Strategy>) -> Sweep {
        Sweep {
            attempts,
            default: ChessFair::new(Box::new(GoesOn)),
            schedules,
            attempt: None,
            struck: None,
            course: Arc::default(),
        }
    }

    /// What the iteration that runs, or has ended last, has met.
    pub fn course(&self) -> Arc<Mutex<Course>> {
        self.course.clone()
    }

    /// Whether the other strategy chooses by now.
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

    fn needs_profile(&self) -> bool {
        self.schedules.needs_profile()
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

/// The default schedule, as far as it is not about spinning.
struct GoesOn;

impl Strategy for GoesOn {
    fn name(&self) -> String {
        "goes on".into()
    }

    fn fair(&self) -> bool {
        false
    }

    fn begin(&mut self, _: Iteration) {}

    fn pick(&mut self, view: &View) -> Option<Pick> {
        let running = view.current.filter(|worker| view.can_step(*worker));
        let worker = running.or_else(|| view.enabled.first().copied());
        worker.map(Pick::Step).or(view.timeout.map(Pick::Timeout))
    }

    fn value(&mut self, _: u64, _: &View) -> Option<u64> {
        Some(0)
    }
}
