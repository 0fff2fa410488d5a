//! Replay of a stored schedule.

use crate::execution::Execution;
use crate::granules::Sharing;
use crate::machine::MachineError;
use crate::outcome::Outcome;
use crate::record;
use crate::trace::Trace;
use coyote_strategies::{Divergence, Event, Iteration, Pick, RandomWalk, Replay, Strategy, Summary, View};
use std::sync::{Arc, Mutex};

/// How a replay went.
#[derive(Clone, Debug)]
pub struct Replayed {
    pub outcome: Outcome,
    /// Where the execution left the trace; `None` if it followed it to its end.
    pub divergence: Option<Divergence>,
}

impl Replayed {
    /// Whether it ended as the trace says, without leaving it.
    pub fn reproduces(&self, trace: &Trace) -> bool {
        let (kind, message) = self.outcome.describe();
        self.divergence.is_none() && kind == trace.header.outcome && message == trace.header.message
    }
}

/// Executes the schedule of a trace. `lenient` follows it as far as the program still allows.
pub fn replay(execution: &mut Execution, trace: &Trace, lenient: bool) -> Result<Replayed, MachineError> {
    let schedule = record::schedule(trace, &execution.machine().artifact().table);
    let length = schedule.len();
    let replay = if lenient {
        Replay::lenient(schedule, Box::new(RandomWalk::default()))
    } else {
        Replay::strict(schedule)
    };
    execution.share(match &trace.header.shared {
        None => Sharing::All,
        Some(granules) => Sharing::Only(Arc::new(granules.clone())),
    });
    if execution.machine().directories().any() {
        execution.machine_mut().directories_mut().replay(trace.answers.clone());
    }
    // The execution owns its strategy while it runs; we want to ask it afterwards.
    let replay = Arc::new(Mutex::new(replay));
    let iteration = Iteration { seed: trace.header.seed, index: trace.header.iteration };
    let (outcome, _) = execution.run(Box::new(Shared(replay.clone())), iteration)?;
    let replay = replay.lock().expect("the run is over");
    let mut divergence = replay.divergence().cloned();
    if let Some(reason) = execution.machine().directories().diverged() {
        divergence = Some(Divergence { at: replay.position().saturating_sub(1), reason: reason.into() });
    }
    if divergence.is_none() && replay.position() < length {
        let (kind, _) = outcome.describe();
        divergence = Some(Divergence {
            at: replay.position(),
            reason: format!("the execution ended ({kind}) before the trace did"),
        });
    }
    Ok(Replayed { outcome, divergence })
}

/// A replay that two own.
struct Shared(Arc<Mutex<Replay>>);

impl Shared {
    fn with<R>(&self, function: impl FnOnce(&mut Replay) -> R) -> R {
        function(&mut self.0.lock().expect("used by one thread"))
    }
}

impl Strategy for Shared {
    fn name(&self) -> String {
        self.with(|r| r.name())
    }
    fn fair(&self) -> bool {
        self.with(|r| r.fair())
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
