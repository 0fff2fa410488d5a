//! Replay of a stored schedule.

use crate::execution::Execution;
use crate::identity::Identity;
use crate::machine::MachineError;
use crate::machine::scheduler::Looks;
use crate::outcome::{BugKind, Outcome};
use crate::record;
use crate::trace::Trace;
use coyote_instrumenter::Location;
use coyote_strategies::sample::follow::Follow;
use coyote_strategies::{
    self as strategies, Decision, Event, Iteration, Lenient, Pick, RandomWalk, Replay, Strategy, Summary,
    View,
};
use std::sync::{Arc, Mutex};

/// The number of times that a lenient replay follows a schedule, each time with what it learned about the program.
const ATTEMPTS: u32 = 16;

/// How a replay went.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// How the execution ended.
    pub outcome: Outcome,
    /// The identity of the bug with which the execution ended, if it ended with one.
    pub identity: Option<Identity>,
    /// Where the execution first left the trace; `None` if it followed the trace to its end.
    pub divergence: Option<Divergence>,
    /// In a lenient replay: choices that the trace lacks, and choices of the trace that the execution left out.
    pub added: u64,
    /// See [`Replayed::added`].
    pub left_out: u64,
}

/// Where and why an execution left its trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Index of the choice in the trace.
    pub at: usize,
    /// The stack of the worker that the trace names, innermost frame first. Empty if the worker was at no place, or if
    /// the execution ended with a bug.
    pub stack: Vec<Location>,
    /// What the trace says and what happened instead, as a clause.
    pub reason: String,
}

impl Replayed {
    /// Whether the execution ended as the trace says, without leaving it: with the same bug, whatever its wording.
    pub fn reproduces(&self, trace: &Trace) -> bool {
        // Traces of older versions contain only the kind of the bug.
        let same = trace.header.identity.is_none() || self.identity == trace.header.identity;
        self.divergence.is_none() && self.ends_alike(trace) && same
    }

    /// Whether the execution ended with a bug of the trace's kind, or without a bug if the trace has none.
    pub fn ends_alike(&self, trace: &Trace) -> bool {
        self.outcome.describe().0 == trace.header.outcome
    }
}

/// Executes the schedule of a trace. `lenient` is for a program that was edited since: the replay executes operations
/// that the trace lacks, and leaves out decisions that the program does not offer any more.
///
/// # Errors
/// As [`Execution::run`]. A schedule that the program does not follow is no error: see [`Replayed::divergence`].
pub fn replay(execution: &mut Execution, trace: &Trace, lenient: bool) -> Result<Replayed, MachineError> {
    execution.share(trace.header.sharing());
    if lenient { follow_leniently(execution, trace) } else { follow(execution, trace) }
}

fn follow(execution: &mut Execution, trace: &Trace) -> Result<Replayed, MachineError> {
    let schedule = record::schedule(trace, &execution.machine().artifact().table);
    let replay = Arc::new(Mutex::new(Replay::strict(schedule)));
    let outcome = run(execution, trace, &replay, false)?;
    let replay = replay.lock().expect("the run is over");
    replayed(execution, trace, outcome, replay.position(), replay.divergence())
}

fn follow_leniently(execution: &mut Execution, trace: &Trace) -> Result<Replayed, MachineError> {
    let (schedule, groups) = record::alike(trace, execution.machine().artifact());
    let lenient = Lenient::new(schedule, groups, Box::new(RandomWalk::default()));
    let replay = Arc::new(Mutex::new(lenient));
    let mut attempts = 1;
    loop {
        let outcome = run(execution, trace, &replay, true)?;
        let mut replay = replay.lock().expect("the run is over");
        if !outcome.is_bug() && attempts < ATTEMPTS && replay.realign() {
            attempts += 1;
            continue;
        }
        let replayed = replayed(execution, trace, outcome, replay.position(), replay.divergence())?;
        return Ok(Replayed { added: replay.added(), left_out: replay.left_out(), ..replayed });
    }
}

/// Executes an iteration under a strategy that the execution owns meanwhile and that the caller reads afterwards.
fn run<S: Strategy + 'static>(
    execution: &mut Execution,
    trace: &Trace,
    strategy: &Arc<Mutex<S>>,
    lenient: bool,
) -> Result<Outcome, MachineError> {
    if execution.machine().directories().any() {
        execution.machine_mut().directories_mut().replay(trace.answers.clone());
    }
    // A livelock is looked for where it was proved, and not elsewhere: a trace may end with another outcome there.
    let looks = match BugKind::Livelock.name() == trace.header.outcome {
        _ if lenient => Looks::WhenSuspicious,
        true => Looks::After(trace.decisions.len()),
        false if record::number(trace, record::ROUND).is_some() => Looks::AfterRound(trace.decisions.len()),
        false => Looks::Never,
    };
    let usual = (execution.bound(), execution.fair_from(), execution.livelock_states_max);
    execution.set_bound(record::number(trace, record::BOUND));
    execution.set_fair_from(record::number(trace, record::FAIR_FROM));
    if let Some(states) = record::number(trace, record::LIVELOCK_STATES) {
        execution.livelock_states_max = usize::try_from(states).unwrap_or(usize::MAX);
    }
    let iteration = Iteration { seed: trace.header.seed, index: trace.header.iteration };
    let shared = Box::new(Shared(strategy.clone()));
    let result = execution.going_round(record::given(trace), |execution| {
        execution.looking(looks, |execution| execution.run(shared, iteration))
    });
    execution.set_bound(usual.0);
    execution.set_fair_from(usual.1);
    execution.livelock_states_max = usual.2;
    Ok(result?.0)
}

/// The result of the execution that has just ended. `position`: how far it got in the trace.
fn replayed(
    execution: &mut Execution,
    trace: &Trace,
    outcome: Outcome,
    position: usize,
    left: Option<&strategies::Divergence>,
) -> Result<Replayed, MachineError> {
    let identity = match &outcome {
        Outcome::Bug(bug) => Some(record::identity(execution, bug)),
        _ => None,
    };
    let directories = execution.machine().directories().diverged();
    let mut divergence = None;
    if let Some(reason) = directories {
        let at = position.saturating_sub(1);
        divergence = Some(Divergence { at, stack: Vec::new(), reason: reason.into() });
    } else if let Some(left) = left {
        // The caller looks at the end of an execution with something to report.
        let stack = if identity.is_some() { Vec::new() } else { stack_at(execution, left)? };
        divergence = Some(Divergence { at: left.at, stack, reason: left.reason.clone() });
    } else if position < trace.decisions.len() {
        let (kind, _) = outcome.describe();
        let reason = format!("the execution ended ({kind}) before the trace did");
        divergence = Some(Divergence { at: position, stack: Vec::new(), reason });
    }
    Ok(Replayed { outcome, identity, divergence, added: 0, left_out: 0 })
}

/// The stack of the worker at the point where the execution that has just ended left its record. Executes the iteration
/// once more up to there.
fn stack_at(execution: &mut Execution, left: &strategies::Divergence) -> Result<Vec<Location>, MachineError> {
    let Some(worker) = left.worker else { return Ok(Vec::new()) };
    let choices = execution.choices().iter().take(left.made);
    let path: Vec<Decision> = choices.map(|choice| Decision::from(*choice)).collect();
    // The strategy gives up where the path ends.
    execution.run(Box::new(Follow::new(path, true)), Iteration { seed: 0, index: 0 })?;
    Ok(execution.machine().stack(worker))
}

/// A strategy with two owners.
struct Shared<S>(Arc<Mutex<S>>);

impl<S> Shared<S> {
    fn with<R>(&self, function: impl FnOnce(&mut S) -> R) -> R {
        function(&mut self.0.lock().expect("used by one thread"))
    }
}

impl<S: Strategy> Strategy for Shared<S> {
    fn name(&self) -> String {
        self.with(|r| r.name())
    }
    fn fair(&self) -> bool {
        self.with(|r| r.fair())
    }
    fn fair_from(&self) -> Option<u64> {
        self.with(|r| r.fair_from())
    }
    fn begin(&mut self, iteration: Iteration) {
        self.with(|r| r.begin(iteration));
    }
    fn pick(&mut self, view: &View) -> Option<Pick> {
        self.with(|r| r.pick(view))
    }
    fn value(&mut self, bound: u64, view: &View) -> Option<u64> {
        self.with(|r| r.value(bound, view))
    }
    fn observe(&mut self, event: Event) {
        self.with(|r| r.observe(event));
    }
    fn end(&mut self, summary: Summary) {
        self.with(|r| r.end(summary));
    }
}
