//! The result of a run for programs. Field names are part of the interface.

use crate::livelock::{Livelock, Look};
use crate::outcome::BugKind;
use crate::results::{BlockEvent, FoundBug, SearchSummary, TestResult};
use crate::statistics::Statistics;
use crate::symbols::{SourceFrame, Symbols};
use crate::verdict::Unfinished;
use serde::Serialize;

/// The whole run.
#[derive(Serialize)]
pub struct Run {
    pub version: &'static str,
    pub module: String,
    pub seed: u64,
    pub strategy: String,
    pub tests: Vec<Test>,
    /// Tests that their harness does not run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<Ignored>,
    pub exit_code: u8,
}

#[derive(Serialize)]
pub struct Ignored {
    pub name: String,
    pub reason: String,
}

#[derive(Serialize)]
pub struct Test {
    pub name: String,
    /// One of [`crate::verdict::Verdict::NAMES`].
    pub verdict: &'static str,
    /// Executions that the bound on steps cut off.
    pub unfinished: Unfinished,
    pub stopped_by: &'static str,
    pub statistics: Statistics,
    /// Only for searches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchSummary>,
    pub notes: Vec<String>,
    pub elapsed_seconds: f64,
    pub bugs: Vec<Bug>,
}

#[derive(Serialize)]
pub struct Bug {
    pub kind: BugKind,
    pub message: String,
    pub iteration: u64,
    /// The strategy of a portfolio, or the dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found_by: Option<String>,
    pub count: u64,
    pub steps: usize,
    pub trace: String,
    pub replay_command: String,
    pub workers: Vec<Worker>,
    /// Only for memory errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<Block>,
    /// What in it may not be the program's fault.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Only for livelocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub livelock: Option<Spinning>,
    pub output: Vec<Line>,
}

#[derive(Serialize)]
pub struct Worker {
    pub title: String,
    pub culprit: bool,
    pub doing: String,
    pub stack: Vec<SourceFrame>,
}

/// The block of the heap that a memory error is about.
#[derive(Serialize)]
pub struct Block {
    pub address: u32,
    pub bytes: u32,
    /// Absent if it was there when the test began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocated: Option<BlockCall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freed: Option<BlockCall>,
}

#[derive(Serialize)]
pub struct BlockCall {
    pub worker: String,
    pub step: u64,
    pub stack: Vec<SourceFrame>,
}

/// What never ends.
#[derive(Serialize)]
pub struct Spinning {
    /// How many states can follow.
    pub states: usize,
    pub spinning: Vec<Spin>,
    /// How many workers wait for ever.
    pub waiting: usize,
}

#[derive(Serialize)]
pub struct Spin {
    pub title: String,
    /// Steps of one round.
    pub steps: usize,
    pub looks: Vec<Look>,
}

impl Spinning {
    fn of(livelock: &Livelock) -> Spinning {
        let spin = |spin: &crate::livelock::Spin| Spin {
            title: spin.title.clone(),
            steps: spin.steps,
            looks: spin.looks.clone(),
        };
        let Livelock { states, waiting, .. } = *livelock;
        Spinning { states, spinning: livelock.spinning.iter().map(spin).collect(), waiting }
    }
}

#[derive(Serialize)]
pub struct Line {
    pub worker: String,
    pub step: u64,
    pub text: String,
}

impl Test {
    /// Schedules that were executed, or executions of a search.
    pub fn schedules(&self) -> u64 {
        self.search.as_ref().map_or(self.statistics.iterations(), |s| s.counts.executions)
    }
}

pub fn test(
    name: &str,
    exploration: &TestResult,
    notes: Vec<String>,
    symbols: &Symbols,
    replay_command: &dyn Fn(&FoundBug) -> String,
) -> Test {
    Test {
        name: name.into(),
        verdict: exploration.verdict().name(),
        unfinished: exploration.unfinished(),
        stopped_by: exploration.stop.name(),
        statistics: exploration.statistics,
        search: exploration.search.clone(),
        notes,
        elapsed_seconds: exploration.elapsed.as_secs_f64(),
        bugs: exploration.bugs.iter().map(|f| bug(f, symbols, replay_command(f))).collect(),
    }
}

fn bug(found: &FoundBug, symbols: &Symbols, replay_command: String) -> Bug {
    let workers = found.post_mortem.workers.iter().map(|worker| Worker {
        title: worker.title.clone(),
        culprit: found.post_mortem.culprit == Some(worker.id),
        doing: worker.doing.clone(),
        stack: worker.stack.iter().flat_map(|l| symbols.frames(*l)).collect(),
    });
    let lines = found.post_mortem.output.iter().map(|line| Line {
        worker: line.worker.clone(),
        step: line.step,
        text: line.text.clone(),
    });
    let event = |event: &BlockEvent| BlockCall {
        worker: event.title.clone(),
        step: event.step,
        stack: event.stack.iter().flat_map(|l| symbols.frames(*l)).collect(),
    };
    let block = found.post_mortem.block.as_ref().map(|history| Block {
        address: history.address,
        bytes: history.bytes,
        allocated: history.allocated.as_ref().map(event),
        freed: history.freed.as_ref().map(event),
    });
    Bug {
        kind: found.bug.kind,
        message: found.bug.message(),
        iteration: found.iteration,
        found_by: found.by.clone(),
        count: found.count,
        steps: found.trace.decisions.len(),
        trace: found.path.display().to_string(),
        replay_command,
        workers: workers.collect(),
        block,
        notes: found.post_mortem.notes.clone(),
        livelock: found.post_mortem.livelock.as_ref().map(Spinning::of),
        output: lines.collect(),
    }
}
