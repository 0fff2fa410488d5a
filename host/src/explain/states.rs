//! The states of a trace, to go on from in other ways.

use super::{Ended, Subject, Time, meaning};
use crate::execution::Execution;
use crate::machine::Snapshot;
use crate::machine::scheduler::Looks;
use crate::outcome::Outcome;
use crate::results::{Meaning, Rate};
use coyote_strategies::system::decide;
use coyote_strategies::{
    Decision, Guided, Iteration, Pick, Preference, Status, System, WorkerId, WorkerPath,
};
use std::sync::Arc;

/// Where in a trace something was chosen that could have been chosen otherwise.
pub struct States<'t> {
    /// Indices of these decisions, ascending.
    choices: Vec<usize>,
    /// The states before these of the path's decisions, ascending: before every step that may matter.
    saved: Vec<(usize, Snapshot)>,
    /// What could have been chosen instead, by the same indices as `choices`.
    others: Vec<Vec<Decision>>,
    /// What those of values decide, by the same indices as `choices`.
    meanings: Vec<Option<Meaning>>,
    path: Vec<Decision>,
    /// By number.
    workers: Vec<WorkerPath>,
    /// Steps executed by continuations so far.
    pub steps: u64,
    time: Time<'t>,
}

impl<'t> States<'t> {
    /// Executes the path.
    pub fn new(execution: &mut Execution, path: &[Decision], time: Time<'t>) -> Result<States<'t>, Ended> {
        let (mut choices, mut saved) = (Vec::new(), Vec::new());
        let (mut others, mut meanings) = (Vec::new(), Vec::new());
        execution.begin()?;
        let mut step = None;
        for (index, decision) in path.iter().enumerate() {
            let alternatives = match execution.status() {
                Status::Choosing { bound } => (0..bound.min(VALUES_MAX)).map(Decision::Value).collect(),
                Status::Ready => execution.view().picks().map(Decision::Pick).collect::<Vec<_>>(),
                _ => Vec::new(),
            };
            let alternatives: Vec<Decision> = alternatives.into_iter().filter(|a| a != decision).collect();
            let chooses = matches!(decision, Decision::Value(_));
            if !chooses {
                step = Some(index);
            }
            if !chooses && (!alternatives.is_empty() || needs_value(path, index)) {
                saved.push((index, execution.snapshot()));
            }
            if !alternatives.is_empty() && step.is_some() {
                choices.push(index);
                others.push(alternatives);
                meanings.push(if chooses { meaning::of_next_value(execution) } else { None });
            }
            decide(execution, *decision);
            if let Some(error) = execution.take_error() {
                return Err(error.into());
            }
            time.check()?;
        }
        let workers = execution.runtime().workers().iter().map(|worker| worker.path.clone()).collect();
        Ok(States { choices, saved, others, meanings, path: path.to_vec(), workers, steps: 0, time })
    }

    /// Indices of decisions that could have been others, ascending.
    pub fn choices(&self) -> &[usize] {
        &self.choices
    }

    /// What could have been decided instead of one of the choices.
    pub fn others(&self, choice: usize) -> &[Decision] {
        self.choices.binary_search(&choice).map_or(&[], |at| &self.others[at])
    }

    /// What one of the choices decides, if it is one of a value that the guest did not ask for.
    pub fn meaning(&self, choice: usize) -> Option<&Meaning> {
        self.meanings[self.choices.binary_search(&choice).ok()?].as_ref()
    }

    /// Whether a choice is one of a value, or of who goes on instead of who did before.
    pub fn switches(&self, choice: usize) -> bool {
        match self.path[choice] {
            Decision::Value(_) => true,
            pick => self.path[..choice].iter().rfind(|d| matches!(d, Decision::Pick(_))) != Some(&pick),
        }
    }

    /// The path of a worker, by its number in the trace's execution.
    pub fn worker(&self, worker: WorkerId) -> &WorkerPath {
        &self.workers[worker.index()]
    }

    /// The number of the step that a decision is or belongs to, from 1; of a timeout that of the step before.
    pub fn step(&self, decision: usize) -> u64 {
        let steps = self.path[..=decision].iter().filter(|d| matches!(d, Decision::Pick(Pick::Step(_))));
        steps.count() as u64
    }

    /// Goes on at random from before a decision, or from after another one in its place, until that many have been
    /// executed beside those in the rate. Continuations with the same numbers make the same random choices.
    pub fn go_on(
        &mut self,
        execution: &mut Execution,
        subject: &Subject,
        from: usize,
        instead: Option<Decision>,
        rate: &mut Rate,
        until: u64,
    ) -> Result<(), Ended> {
        let saved = match self.saved.binary_search_by_key(&from, |(index, _)| *index) {
            Ok(at) => at,
            Err(after) => after.checked_sub(1).expect("the state before a choice is saved"),
        };
        let (index, state) = &self.saved[saved];
        let path: Vec<Decision> = self.path[*index..from].iter().copied().chain(instead).collect();
        while rate.of < until {
            let guided = Guided::new(Arc::default()).after(path.clone()).then_random();
            let iteration = Iteration { seed: from as u64, index: rate.of };
            let before = state.steps();
            let outcome = execution.run_from(state, Box::new(guided), iteration)?;
            self.time.check()?;
            self.steps += execution.runtime().steps().saturating_sub(before);
            rate.of += 1;
            rate.bugs += u64::from(subject.is_met(execution, &outcome));
        }
        Ok(())
    }

    /// Executes the path up to a decision, another one in its place, and then what is left of the schedule as far as it
    /// can be followed; behind its end by default, or at random with a number.
    pub fn with(
        &self,
        execution: &mut Execution,
        choice: usize,
        instead: Decision,
        rest: Arc<Preference>,
        then_random: Option<u64>,
    ) -> Result<Outcome, Ended> {
        let path = self.path[..choice].iter().copied().chain([instead]).collect();
        let guided = Guided::new(rest).after(path);
        let guided = if then_random.is_some() { guided.then_random() } else { guided };
        let iteration = Iteration { seed: 0, index: then_random.unwrap_or(0) };
        let run = |execution: &mut Execution| execution.run(Box::new(guided), iteration);
        let outcome = execution.looking(Looks::Never, run)?.0;
        self.time.check()?;
        Ok(outcome)
    }
}

/// Values of which others are tried.
const VALUES_MAX: u64 = 16;

/// Whether the step at this index chooses a value.
fn needs_value(path: &[Decision], index: usize) -> bool {
    matches!(path.get(index + 1), Some(Decision::Value(_)))
}
