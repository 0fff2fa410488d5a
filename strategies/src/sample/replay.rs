//! A recorded schedule as a strategy.
//!
//! Strict: each choice must meet the recorded worker, operation kind and site, and the first that
//! does not is a [`Divergence`]. Lenient: used after the guest was edited or rebuilt. There a step
//! matches by worker, kind and, if any, object; recorded steps of that worker which the new program
//! no longer makes are skipped, and where nothing matches another strategy answers.

use crate::paths::{Paths, WorkerPath};
use crate::{Event, Iteration, OpKind, Pick, Standing, Strategy, View, WorkerId};

/// One recorded choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    Step { worker: WorkerPath, kind: OpKind, site: u32 },
    Timeout { worker: WorkerPath },
    Value { value: u64, bound: u64 },
}

/// Where and why an execution left its recorded schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Index of the recorded choice; the number of choices if the execution outlived the record.
    pub at: usize,
    pub reason: String,
}

/// How far a lenient replay looks ahead for an operation that the edited program still makes.
const LOOK_AHEAD: usize = 64;

/// See the module's documentation.
pub struct Replay {
    schedule: Vec<Recorded>,
    at: usize,
    paths: Paths,
    divergence: Option<Divergence>,
    /// Answers where a lenient replay has nothing to say.
    fallback: Option<Box<dyn Strategy>>,
}

impl Replay {
    /// Follows the schedule exactly or not at all.
    pub fn strict(schedule: Vec<Recorded>) -> Replay {
        Replay { schedule, at: 0, paths: Paths::default(), divergence: None, fallback: None }
    }

    /// Follows the schedule where it can and `fallback` elsewhere.
    pub fn lenient(schedule: Vec<Recorded>, fallback: Box<dyn Strategy>) -> Replay {
        Replay { fallback: Some(fallback), ..Replay::strict(schedule) }
    }

    /// The first place where the execution left the schedule, if it did.
    pub fn divergence(&self) -> Option<&Divergence> {
        self.divergence.as_ref()
    }

    /// How many recorded choices were used.
    pub fn position(&self) -> usize {
        self.at
    }

    fn diverge(&mut self, reason: String) {
        self.divergence.get_or_insert(Divergence { at: self.at, reason });
    }

    fn id(&self, path: &WorkerPath) -> Option<WorkerId> {
        self.paths.find(path)
    }

    /// The pick that a recorded choice stands for, or why it is not possible.
    fn matching(&self, recorded: &Recorded, view: &View) -> Result<Pick, String> {
        match recorded {
            Recorded::Step { worker, kind, site } => {
                let id = self.id(worker).ok_or_else(|| format!("worker {worker} does not exist"))?;
                let pending = &view.workers[id.index()];
                let operation = &pending.operation;
                // A worker in an atomic function is the only one that can be picked.
                if pending.standing == Standing::Enabled && !view.enabled.contains(&id) {
                    return Err(format!("worker {worker} has to wait for an atomic function"));
                }
                if pending.standing != Standing::Enabled {
                    let how = if pending.standing == Standing::Ended { "has ended" } else { "is blocked" };
                    return Err(format!("worker {worker} {how} at {}", operation.kind.name()));
                }
                if operation.kind != *kind {
                    return Err(format!(
                        "worker {worker} is at {}, the trace says {}",
                        operation.kind.name(),
                        kind.name()
                    ));
                }
                if operation.site != *site && self.fallback.is_none() {
                    return Err(format!("worker {worker} is at {} in another place", kind.name()));
                }
                Ok(Pick::Step(id))
            }
            Recorded::Timeout { worker } => match self.id(worker) {
                Some(id) if view.timeout == Some(id) => Ok(Pick::Timeout(id)),
                _ => Err(format!("no timeout of worker {worker} can fire")),
            },
            Recorded::Value { .. } => Err("the trace chooses a value, the execution a worker".into()),
        }
    }

    fn pick_leniently(&mut self, view: &View) -> Option<Pick> {
        while let Some(recorded) = self.schedule.get(self.at) {
            let reason = match self.matching(recorded, view) {
                Ok(pick) => {
                    self.at += 1;
                    return Some(pick);
                }
                Err(reason) => reason,
            };
            let inserted = match recorded {
                Recorded::Step { worker, .. } => {
                    self.inserted(worker, view).then(|| self.id(worker)).flatten()
                }
                _ => None,
            };
            self.diverge(reason);
            match inserted {
                Some(id) => return Some(Pick::Step(id)),
                None => self.at += 1,
            }
        }
        let at = self.at;
        self.diverge(format!("the trace ends after {at} choices, the execution goes on"));
        self.fallback.as_mut().and_then(|f| f.pick(view))
    }

    /// Whether the worker can execute an operation that the record does not know: one that none of
    /// its next recorded steps has.
    fn inserted(&self, worker: &WorkerPath, view: &View) -> bool {
        let Some(id) = self.id(worker) else { return false };
        let pending = &view.workers[id.index()];
        let ahead = &self.schedule[self.at..(self.at + LOOK_AHEAD).min(self.schedule.len())];
        pending.standing == Standing::Enabled
            && !ahead.iter().any(|r| {
                matches!(r, Recorded::Step { worker: w, kind, .. }
                    if w == worker && *kind == pending.operation.kind)
            })
    }
}

impl Strategy for Replay {
    fn name(&self) -> String {
        "replay".into()
    }

    fn fair(&self) -> bool {
        // Bounds were the original strategy's business: a recorded schedule is followed to its end.
        true
    }

    fn begin(&mut self, iteration: Iteration) {
        self.at = 0;
        self.paths.reset();
        self.divergence = None;
        if let Some(fallback) = &mut self.fallback {
            fallback.begin(iteration);
        }
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        if self.fallback.is_some() {
            return self.pick_leniently(view);
        }
        let Some(recorded) = self.schedule.get(self.at) else {
            self.diverge(format!("the trace ends after {} choices, the execution goes on", self.at));
            return None;
        };
        match self.matching(recorded, view) {
            Ok(pick) => {
                self.at += 1;
                Some(pick)
            }
            Err(reason) => {
                self.diverge(reason);
                None
            }
        }
    }

    fn value(&mut self, bound: u64, view: &View) -> Option<u64> {
        match self.schedule.get(self.at) {
            Some(Recorded::Value { value, bound: recorded })
                if *value < bound && (*recorded == bound || self.fallback.is_some()) =>
            {
                self.at += 1;
                return Some(*value);
            }
            Some(Recorded::Value { value, bound: recorded }) => self.diverge(format!(
                "the execution chooses a value below {bound}, the trace has {value} of {recorded}"
            )),
            Some(Recorded::Step { .. } | Recorded::Timeout { .. }) => {
                self.diverge("the execution chooses a value, the trace a worker".into());
            }
            None => self
                .diverge(format!("the trace ends after {} choices, the execution chooses a value", self.at)),
        }
        self.fallback.as_mut().and_then(|f| f.value(bound, view))
    }

    fn observe(&mut self, event: Event) {
        self.paths.observe(event);
        if let Some(fallback) = &mut self.fallback {
            fallback.observe(event);
        }
    }
}
