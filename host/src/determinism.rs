//! `--check-determinism`: an iteration, executed again and compared after every step.
//!
//! Replays, searches and fingerprints rely on one claim: the same choices lead through the same states. An iteration
//! that was executed inline is executed twice more, step by step, from the choices that it made. All three executions
//! must make the same choices, end alike and leave the same memory, byte for byte. The two that stop at every step must
//! also agree there in everything that a fingerprint consists of.
//!
//! Limits: state that a fingerprint leaves out (a worker's stack far below its stack pointer) is compared only at the
//! end, as a part of memory. An iteration that was cut off by one of this tool's bounds on call depth is not compared,
//! since suspended frames take more room than running ones.

use crate::execution::Execution;
use crate::machine::scheduler::Choice;
use crate::machine::{MachineError, Part};
use crate::outcome::{Bound, BugKind, Outcome};
use coyote_strategies::sample::follow::Follow;
use coyote_strategies::{Decision, Iteration, Strategy};

/// The choices and states of one execution of an iteration.
pub struct Course {
    pub outcome: Outcome,
    pub choices: Vec<Choice>,
    /// The parts of the state's fingerprint after every step, if the iteration was executed step by step.
    pub states: Vec<Vec<(Part, u128)>>,
    /// Guest memory at the end.
    pub memory: Vec<u8>,
}

impl Course {
    /// The course of the iteration that has just been executed inline.
    pub fn inline(execution: &Execution, outcome: &Outcome) -> Course {
        Course::of(execution, outcome.clone(), Vec::new())
    }

    /// Executes an iteration step by step.
    ///
    /// # Errors
    /// The machine's: internal errors, or errors of the environment.
    pub fn stepwise(
        execution: &mut Execution,
        strategy: &mut dyn Strategy,
        iteration: Iteration,
    ) -> Result<Course, MachineError> {
        let mut states = Vec::new();
        let outcome = execution.run_stepwise(strategy, iteration, &mut |execution| {
            states.push(execution.machine_mut().fingerprint_parts());
        })?;
        Ok(Course::of(execution, outcome, states))
    }

    fn of(execution: &Execution, outcome: Outcome, states: Vec<Vec<(Part, u128)>>) -> Course {
        let machine = execution.machine();
        let memory = machine.memory()[..machine.memory_bytes()].to_vec();
        Course { outcome, choices: execution.choices().to_vec(), states, memory }
    }

    /// The first difference from another course of the same iteration, as a sentence. States are compared if both
    /// courses have them.
    pub fn difference(&self, other: &Course) -> Option<String> {
        if self.cut_off() || other.cut_off() {
            return None;
        }
        let chosen = first_difference(&self.choices, &other.choices);
        let stated = first_difference(&self.states, &other.states);
        let state = stated.filter(|_| !self.states.is_empty() && !other.states.is_empty());
        match (chosen, state) {
            // A choice leads to the state with the same index.
            (chosen, Some(at)) if chosen.is_none_or(|chosen| at < chosen) => {
                let state = |course: &Course| course.states.get(at).cloned().unwrap_or_default();
                Some(format!("after choice {at}, {}", parts(&state(self), &state(other))))
            }
            (Some(at), _) => Some(format!(
                "choice {at} is {} in one execution and {} in the other",
                choice(self.choices.get(at)),
                choice(other.choices.get(at))
            )),
            _ if self.outcome != other.outcome => Some(format!(
                "one execution ends with {:?}, the other with {:?}",
                self.outcome, other.outcome
            )),
            _ => first_difference(&self.memory, &other.memory)
                .map(|address| format!("memory differs at the end, first at the address {address:#x}")),
        }
    }

    /// Whether a bound on call depth ended the execution.
    fn cut_off(&self) -> bool {
        matches!(self.outcome, Outcome::Bound(Bound::Frames | Bound::NativeStack))
    }
}

/// Executes the iteration that has just ended inline twice more. Returns the number of states that were compared.
///
/// # Errors
/// [`MachineError::Internal`] if anything differs, which is a bug of this tool.
pub fn check(
    execution: &mut Execution,
    outcome: &Outcome,
    fair: bool,
    iteration: Iteration,
) -> Result<u64, MachineError> {
    // A stepwise execution does not look for livelocks and lassos and does not know that it is fair: its choices just
    // end.
    let outcome = match outcome {
        Outcome::Bug(bug) if bug.kind == BugKind::Livelock || bug.evidence.is_of_many_steps() => {
            &Outcome::Abandoned
        }
        outcome => outcome,
    };
    let inline = Course::inline(execution, outcome);
    // The strategy gives up where a choice is not possible, and the course ends there.
    let mut follow = Follow::new(inline.choices.iter().map(|choice| Decision::from(*choice)).collect(), fair);
    let mut again = || Course::stepwise(execution, &mut follow, iteration);
    let (first, second) = (again()?, again()?);
    // The iteration has already reported what became shared during it.
    execution.take_grown();
    let compared = first.states.len() as u64;
    match inline.difference(&first).or_else(|| first.difference(&second)) {
        None => Ok(compared),
        Some(difference) => Err(MachineError::Internal(format!(
            "iteration {} of test {} with seed {} does not repeat: {difference}",
            iteration.index,
            execution.test().name,
            iteration.seed
        ))),
    }
}

fn first_difference<T: PartialEq>(a: &[T], b: &[T]) -> Option<usize> {
    // In most cases they are equal, and memory is large.
    if a == b {
        return None;
    }
    let at = a.iter().zip(b).position(|(a, b)| a != b);
    at.or((a.len() != b.len()).then(|| a.len().min(b.len())))
}

/// The parts in which two states differ, as a clause.
fn parts(a: &[(Part, u128)], b: &[(Part, u128)]) -> String {
    let only = |a: &[(Part, u128)], b: &[(Part, u128)]| -> Vec<Part> {
        a.iter().filter(|part| !b.contains(part)).map(|part| part.0).collect()
    };
    let mut parts = only(a, b);
    parts.extend(only(b, a));
    parts.sort();
    parts.dedup();
    let verb = if parts.len() == 1 { "differs" } else { "differ" };
    let names: Vec<String> = parts.iter().map(Part::to_string).collect();
    format!("{} {verb}", names.join(" and "))
}

fn choice(choice: Option<&Choice>) -> String {
    choice.map_or("the end".into(), |choice| format!("{choice:?}"))
}
