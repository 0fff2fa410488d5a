//! A recorded schedule as a strategy: each choice must have the recorded worker, operation kind and site, and
//! the first one that does not is a [`Divergence`]. For a program that was edited since: [`super::lenient`].

use crate::paths::{Paths, WorkerPath};
use crate::{Event, Iteration, OpKind, Pick, Strategy, View, WorkerId, WorkerState};

/// One recorded choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// The worker executed a pending operation of this kind, announced at this site.
    Step {
        /// The worker that executed it.
        worker: WorkerPath,
        /// The kind of the operation.
        kind: OpKind,
        /// As [`crate::Operation::site`].
        site: u32,
    },
    /// The timeout of the worker fired.
    Timeout {
        /// The worker whose timeout it was.
        worker: WorkerPath,
    },
    /// The running worker was given a value below the bound.
    Value {
        /// The chosen value.
        value: u64,
        /// The bound that the guest requested: a replay must have the same.
        bound: u64,
    },
}

/// Where and why an execution deviated from its recorded schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Index of the recorded choice; the number of choices if the execution was longer than the record.
    pub at: usize,
    /// How many choices the execution had made.
    pub made: usize,
    /// The worker of the recorded choice, if it exists.
    pub worker: Option<WorkerId>,
    /// The difference, as half a sentence for the user: the recorded choice, and the situation in the
    /// execution.
    pub reason: String,
}

/// See the module's documentation.
pub struct Replay {
    schedule: Vec<Recorded>,
    at: usize,
    paths: Paths,
    divergence: Option<Divergence>,
}

impl Replay {
    /// Follows the schedule exactly or not at all.
    pub fn strict(schedule: Vec<Recorded>) -> Replay {
        Replay { schedule, at: 0, paths: Paths::default(), divergence: None }
    }

    /// The first place where the execution deviated from the schedule, if it did.
    pub fn divergence(&self) -> Option<&Divergence> {
        self.divergence.as_ref()
    }

    /// How many recorded choices were used.
    pub fn position(&self) -> usize {
        self.at
    }

    fn diverge(&mut self, reason: String) {
        let worker = match self.schedule.get(self.at) {
            Some(Recorded::Step { worker, .. } | Recorded::Timeout { worker }) => self.paths.find(worker),
            _ => None,
        };
        self.divergence.get_or_insert(Divergence { at: self.at, made: self.at, worker, reason });
    }

    /// The pick of a recorded choice, or why it is not possible.
    fn matching(&self, recorded: &Recorded, view: &View) -> Result<Pick, String> {
        match recorded {
            Recorded::Step { worker, kind, site } => {
                let id = self.paths.find(worker).ok_or_else(|| format!("worker {worker} does not exist"))?;
                let pending = &view.workers[id.index()];
                let operation = &pending.operation;
                // A worker in an atomic function is the only one that can be picked.
                if pending.state == WorkerState::Enabled && !view.enabled.contains(&id) {
                    return Err(format!("worker {worker} has to wait for an atomic function"));
                }
                if pending.state != WorkerState::Enabled {
                    let how = if pending.state == WorkerState::Ended { "has ended" } else { "is blocked" };
                    return Err(format!("worker {worker} {how} at {}", operation.kind.name()));
                }
                if operation.kind != *kind {
                    return Err(format!(
                        "worker {worker} is at {}, the trace says {}",
                        operation.kind.name(),
                        kind.name()
                    ));
                }
                if operation.site != *site {
                    return Err(format!("worker {worker} is at {} in another place", kind.name()));
                }
                Ok(Pick::Step(id))
            }
            Recorded::Timeout { worker } => match self.paths.find(worker) {
                Some(id) if view.timeouts.contains(&id) => Ok(Pick::Timeout(id)),
                _ => Err(format!("no timeout of worker {worker} can fire")),
            },
            Recorded::Value { .. } => Err("the trace chooses a value, the execution a worker".into()),
        }
    }
}

impl Strategy for Replay {
    fn name(&self) -> String {
        "replay".into()
    }

    fn fair(&self) -> bool {
        // Bounds mattered to the original strategy only: a recorded schedule is followed to its end.
        true
    }

    fn fair_from(&self) -> Option<u64> {
        None
    }

    fn begin(&mut self, _iteration: Iteration) {
        self.at = 0;
        self.paths.reset();
        self.divergence = None;
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
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

    fn value(&mut self, bound: u64, _view: &View) -> Option<u64> {
        let reason = match self.schedule.get(self.at) {
            Some(Recorded::Value { value, bound: recorded }) if *value < bound && *recorded == bound => {
                self.at += 1;
                return Some(*value);
            }
            Some(Recorded::Value { value, bound: recorded }) => {
                format!("the execution chooses a value below {bound}, the trace has {value} of {recorded}")
            }
            Some(Recorded::Step { .. } | Recorded::Timeout { .. }) => {
                "the execution chooses a value, the trace a worker".into()
            }
            None => format!("the trace ends after {} choices, the execution chooses a value", self.at),
        };
        self.diverge(reason);
        None
    }

    fn observe(&mut self, event: Event) {
        self.paths.observe(event);
    }
}
