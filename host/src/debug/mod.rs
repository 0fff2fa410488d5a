//! A replayed execution that can be examined forwards and backwards, step by step.
//!
//! [`Debugger`] holds the execution of a trace at one position of its schedule. A motion backwards restores a snapshot
//! that was kept on the way and executes again from there; a guest that cannot be saved is executed from its start.
//! This module does not depend on terminals or protocols, which `cli::debug` and `dap` provide.
//!
//! - [`schedule`]: which worker executes what and where, recorded completely before the first request.
//! - `states`: snapshots kept on the way.
//! - [`stops`]: breakpoints at lines and functions, watchpoints on memory.
//! - [`motion`]: motions from one position to another.
//! - [`inspect`]: the view at a position.
//!
//! A position is the number of entries of the schedule that have been executed: at position 0 none has, and the entry
//! with that index is the next one. A worker can be examined only at scheduling points: everything that it does between
//! two of them belongs to the step.

pub mod inspect;
pub mod motion;
pub mod schedule;
mod states;
pub mod stops;

use crate::artifact::Artifact;
use crate::diagnose::story::object_names;
use crate::execution::{Execution, Settings, Test};
use crate::machine::MachineError;
use crate::outcome::{BugKind, Outcome};
use crate::record;
use crate::replay::{Replayed, replay};
use crate::symbols::{Sources, Symbols, Variables, variables};
use crate::trace::{HostAnswer, Trace};
use coyote_strategies::system::decide;
use coyote_strategies::{Decision, System, WorkerId};
use schedule::{Recording, Schedule};
use states::States;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use stops::Stops;

/// See the module's documentation.
pub struct Debugger {
    execution: Execution,
    /// The choices of the whole execution.
    path: Vec<Decision>,
    answers: Vec<HostAnswer>,
    /// The recorded schedule.
    pub schedule: Schedule,
    states: States,
    position: usize,
    /// The end of the execution, and whether it is that of the trace.
    pub replayed: Replayed,
    /// Whether the execution ends with the trace's bug.
    pub reproduces: bool,
    /// The breakpoints and watchpoints.
    pub stops: Stops,
    symbols: Symbols,
    variables: Variables,
    sources: Sources,
    /// The names of sync objects in the source, by address.
    objects: BTreeMap<u64, String>,
}

impl Debugger {
    /// Executes the trace once, and returns to its beginning. `lenient`: as for [`replay`].
    ///
    /// # Errors
    /// The machine's: internal errors, or errors of the environment. A trace that the program does not follow is
    /// debugged up to the divergence: see [`Debugger::replayed`].
    pub fn new(
        artifact: &Arc<Artifact>,
        module: &Path,
        test: &Test,
        settings: &Settings,
        trace: &Trace,
        lenient: bool,
    ) -> Result<Debugger, MachineError> {
        let mut execution = Execution::new(artifact, test, settings)?;
        let replayed = replay(&mut execution, trace, lenient)?;
        let (symbols, variables) = (Symbols::new(&artifact.original), variables(&artifact.original));
        let mut sources = Sources::beside(module);
        let path = execution.decisions();
        let objects = object_names(&mut execution, trace, &symbols, &variables, &mut sources)?;
        execution.set_bound(record::number(trace, record::BOUND));
        execution.ends_at_once = true;
        let mut debugger = Debugger {
            execution,
            answers: trace.answers.clone(),
            schedule: Schedule::default(),
            states: States::default(),
            position: 0,
            reproduces: replayed.reproduces(trace),
            replayed,
            stops: Stops::default(),
            symbols,
            variables,
            sources,
            objects,
            path,
        };
        debugger.record()?;
        Ok(debugger)
    }

    /// Records the whole execution, and returns to the beginning.
    fn record(&mut self) -> Result<(), MachineError> {
        self.begin()?;
        let mut recording = Recording::new(self.path.clone());
        while let Some(decisions) = recording.next() {
            self.keep_state();
            recording.before(&self.execution, &self.symbols);
            for index in decisions {
                decide(&mut self.execution, self.path[index]);
                self.execution.take_error().map_or(Ok(()), Err)?;
            }
            recording.after(&self.execution);
            self.position += 1;
        }
        self.schedule = recording.finish();
        self.check_end()?;
        self.go_to(0)
    }

    /// Checks that the stepwise execution ended like the replay.
    fn check_end(&self) -> Result<(), MachineError> {
        let here = self.execution.machine().scheduler().outcome.as_ref();
        let expected = match &self.replayed.outcome {
            // A livelock is proved, and no execution ends with it.
            Outcome::Bug(bug) if bug.kind == BugKind::Livelock => None,
            Outcome::Abandoned => return Ok(()),
            outcome => Some(outcome),
        };
        if here == expected {
            return Ok(());
        }
        let say = |outcome: Option<&Outcome>| outcome.map_or("no end".to_string(), |o| o.describe().0);
        Err(MachineError::Internal(format!(
            "step by step the execution comes to another end: {} instead of {}",
            say(here),
            say(expected)
        )))
    }

    fn begin(&mut self) -> Result<(), MachineError> {
        if self.execution.machine().directories().any() {
            self.execution.machine_mut().directories_mut().replay(self.answers.clone());
        }
        self.execution.machine_mut().scheduler_mut().fair = true;
        self.execution.begin()?;
        self.position = 0;
        Ok(())
    }

    /// The number of entries of the schedule that have been executed.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The position behind the last entry.
    pub fn end(&self) -> usize {
        self.schedule.steps.len()
    }

    /// Moves to a position, at most to the end.
    ///
    /// # Errors
    /// The machine's: internal errors, or errors of the environment.
    pub fn go_to(&mut self, position: usize) -> Result<(), MachineError> {
        let position = position.min(self.end());
        let ahead = (self.position..=position).contains(&self.position);
        match self.states.before(position) {
            Some((at, state)) if !ahead || at > self.position => {
                let state = state.clone();
                self.execution.restore(&state);
                self.execution.take_error().map_or(Ok(()), Err)?;
                self.position = at;
            }
            _ if !ahead => self.begin()?,
            _ => {}
        }
        while self.position < position {
            self.execute()?;
        }
        Ok(())
    }

    /// Executes the next entry of the schedule, which must exist.
    fn execute(&mut self) -> Result<(), MachineError> {
        self.keep_state();
        for index in self.schedule.steps[self.position].decisions.clone() {
            decide(&mut self.execution, self.path[index]);
            self.execution.take_error().map_or(Ok(()), Err)?;
        }
        self.position += 1;
        Ok(())
    }

    fn keep_state(&mut self) {
        if self.states.wants(self.position) && self.execution.can_snapshot() {
            let state = self.execution.snapshot();
            self.states.keep(self.position, state);
        }
    }

    /// A hash of the present state, which only depends on the position.
    pub fn fingerprint(&mut self) -> u128 {
        self.execution.fingerprint()
    }

    /// The worker whose step comes next; at the end, the worker that caused the bug or executed the last step.
    pub fn current(&self) -> WorkerId {
        let culprit = match &self.replayed.outcome {
            Outcome::Bug(bug) => bug.worker,
            _ => None,
        };
        let next = self.schedule.steps.get(self.position).map(|step| step.worker);
        let last = self.schedule.steps.last().map(|step| step.worker);
        next.or(culprit).or(last).unwrap_or(WorkerId(0))
    }
}
