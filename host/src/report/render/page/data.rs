//! The data of a page, in the form for its scripts: columns of numbers, and each text once.

use crate::report::frames;
use crate::report::model::BugReport;
use crate::report::render::explanation;
use crate::report::render::step_index::StepIndex;
use crate::results::{History, SourceText, SpanKind, Story, StoryRow, StoryWorker};
use crate::symbols::{SourceFrame, is_library};
use serde::Serialize;
use std::collections::BTreeMap;

/// The level of detail of each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    All,
    /// Everything except accesses that its text does not mention.
    Texts,
    /// Only the operation and its place.
    Operations,
}

impl Detail {
    /// The levels, the most detailed first.
    pub const ALL: [Detail; 3] = [Detail::All, Detail::Texts, Detail::Operations];

    fn left_out(self) -> Option<&'static str> {
        match self {
            Detail::All => None,
            Detail::Texts => Some("many steps: only values that others notice are shown"),
            Detail::Operations => Some("many steps: values are left out"),
        }
    }
}

/// See the module's documentation. -1 stands for a missing index.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Data<'a> {
    version: &'static str,
    module: &'a str,
    test: &'a str,
    kind: &'static str,
    identity: &'a str,
    message: &'a str,
    why: Option<&'a str>,
    structure: Vec<&'a str>,
    replay: &'a str,
    /// The results of experiments: a name and a text each.
    facts: Vec<(&'static str, String)>,
    workers: Vec<Worker<'a>>,
    things: Vec<(&'a str, &'a str)>,
    frames: Vec<Frame<'a>>,
    stacks: &'a [Vec<u32>],
    steps: Columns,
    /// Links: from step, to step, kind, thing.
    links: Vec<(u32, u32, u32, i64)>,
    /// Spans: worker, kind, from step, to step, thing, text.
    spans: Vec<(u32, u32, u32, i64, i64, u32)>,
    sources: Vec<Source<'a>>,
    story: Option<StoryData<'a>>,
    /// The curve: before which step, how many bugs, of how many continuations.
    curve: Vec<(usize, u64, u64)>,
    /// Indices of the decisive step and of the worker that executed it.
    decisive: i64,
    culprit: i64,
    ends: Vec<End<'a>>,
    output: Vec<Output<'a>>,
    left_out: Option<&'static str>,
    strings: Vec<String>,
}

#[derive(Serialize)]
struct Worker<'a> {
    title: &'a str,
    name: &'a str,
}

#[derive(Serialize)]
struct Frame<'a> {
    function: String,
    file: Option<&'a str>,
    line: Option<u32>,
    library: bool,
}

/// Steps in columns. Texts are indices into the table of strings.
#[derive(Default, Serialize)]
struct Columns {
    worker: Vec<u32>,
    operation: Vec<u32>,
    text: Vec<u32>,
    shared: Vec<u8>,
    stack: Vec<i64>,
    own: Vec<i64>,
    /// By step, for steps that have any.
    accesses: BTreeMap<usize, Vec<u32>>,
    things: BTreeMap<usize, Vec<u32>>,
}

#[derive(Serialize)]
struct Source<'a> {
    file: &'a str,
    changed: bool,
    parts: &'a [(u32, Vec<String>)],
}

#[derive(Serialize)]
struct StoryData<'a> {
    workers: &'a [StoryWorker],
    rows: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    /// Index of its first step.
    at: i64,
    worker: usize,
    text: &'a str,
    place: Option<&'a SourceFrame>,
    wakes: &'a [usize],
    repeats: Option<(usize, u32)>,
    decisive: bool,
    skipped: usize,
}

/// The place of a worker at the end.
#[derive(Serialize)]
struct End<'a> {
    worker: i64,
    title: &'a str,
    culprit: bool,
    doing: &'a str,
    stack: Vec<Frame<'a>>,
    /// Index of the guest's own frame.
    own: i64,
}

#[derive(Serialize)]
struct Output<'a> {
    worker: &'a str,
    /// The index of the step before which it was written.
    at: usize,
    text: &'a str,
}

/// A table of texts without duplicates.
#[derive(Default)]
struct Strings {
    all: Vec<String>,
    known: BTreeMap<String, u32>,
}

impl Strings {
    fn of(&mut self, text: &str) -> u32 {
        if let Some(known) = self.known.get(text) {
            return *known;
        }
        self.all.push(text.into());
        self.known.insert(text.into(), self.all.len() as u32 - 1);
        self.all.len() as u32 - 1
    }
}

/// The data of a bug; `None` without its history.
pub fn of<'a>(module: &'a str, test: &'a str, bug: &'a BugReport, detail: Detail) -> Option<Data<'a>> {
    let history = bug.history.as_ref()?;
    let mut strings = Strings::default();
    let columns = columns(history, detail, &mut strings);
    let links = history
        .links
        .iter()
        .map(|link| (link.from, link.to, strings.of(link.kind.name()), link.thing.map_or(-1, i64::from)));
    let links = links.collect();
    let spans = history.spans.iter().map(|span| {
        let kind = strings.of(if span.kind == SpanKind::Holds { "holds" } else { "waits" });
        let (to, thing) = (span.to.map_or(-1, i64::from), span.thing.map_or(-1, i64::from));
        (span.worker, kind, span.from, to, thing, strings.of(&span.text))
    });
    let spans = spans.collect();
    let index = StepIndex::of(&bug.timeline.decisions);
    let decisive = bug.explanation.decisive.as_ref();
    let worker = |title: &str| history.workers.iter().position(|worker| worker.title == title);
    let as_index = |at: Option<usize>| at.map_or(-1, |at| at as i64);
    let ends = bug.workers.iter().map(|end| End {
        worker: as_index(worker(&end.title)),
        title: &end.title,
        culprit: end.culprit,
        doing: &end.doing,
        own: as_index(end.stack.iter().position(|frame| !is_library(frame) && frame.line.is_some())),
        stack: end.stack.iter().map(|at| frame(at, is_library(at))).collect(),
    });
    let culprit = bug.workers.iter().find(|end| end.culprit);
    let story = bug.story.as_ref();
    Some(Data {
        version: env!("CARGO_PKG_VERSION"),
        module,
        test,
        kind: bug.kind.name(),
        identity: &bug.identity,
        message: &bug.message,
        why: story.and_then(|story| story.why.as_deref()),
        structure: story.map_or(Vec::new(), |story| story.structure.iter().map(String::as_str).collect()),
        replay: &bug.replay_command,
        facts: explanation::facts(bug),
        workers: history.workers.iter().map(|w| Worker { title: &w.title, name: &w.name }).collect(),
        things: history.things.iter().map(|thing| (&*thing.kind, &*thing.name)).collect(),
        frames: history.frames.iter().map(|at| frame(&at.frame, at.library)).collect(),
        stacks: &history.stacks,
        steps: columns,
        links,
        spans,
        sources: history.sources.iter().map(source).collect(),
        story: story.map(|story| story_data(story, &index)),
        curve: decisive.map_or(Vec::new(), |decisive| {
            let points = decisive.curve.iter().map(|(at, rate)| (index.of_decision(*at), rate.bugs, rate.of));
            points.collect()
        }),
        decisive: decisive.map_or(-1, |decisive| index.of_decision(decisive.decision) as i64),
        culprit: as_index(culprit.and_then(|end| worker(&end.title))),
        ends: ends.collect(),
        output: bug
            .output
            .iter()
            .map(|line| Output { worker: &line.worker, at: index.of_number(line.step), text: &line.text })
            .collect(),
        left_out: detail.left_out(),
        strings: strings.all,
    })
}

fn columns(history: &History, detail: Detail, strings: &mut Strings) -> Columns {
    let mut columns = Columns::default();
    for (index, step) in history.steps.iter().enumerate() {
        columns.worker.push(step.worker);
        columns.operation.push(strings.of(&step.operation));
        columns.text.push(strings.of(if detail == Detail::Operations { "" } else { &step.text }));
        columns.shared.push(step.shared.into());
        columns.stack.push(step.stack.map_or(-1, i64::from));
        columns.own.push(step.own.map_or(-1, i64::from));
        if !step.accesses.is_empty() && detail == Detail::All {
            columns.accesses.insert(index, step.accesses.iter().map(|text| strings.of(text)).collect());
        }
        if !step.things.is_empty() {
            columns.things.insert(index, step.things.clone());
        }
    }
    columns
}

fn frame(frame: &SourceFrame, library: bool) -> Frame<'_> {
    let SourceFrame { function, file, line, .. } = frame;
    Frame { function: frames::short(function), file: file.as_deref(), line: *line, library }
}

fn source(text: &SourceText) -> Source<'_> {
    Source { file: &text.file, changed: text.changed, parts: &text.parts }
}

fn story_data<'a>(story: &'a Story, index: &StepIndex) -> StoryData<'a> {
    let row = |row: &'a StoryRow| Row {
        at: row.steps.map_or(-1, |(first, _)| index.of_number(first) as i64),
        worker: row.worker,
        text: &row.text,
        place: row.place.as_ref(),
        wakes: &row.wakes,
        repeats: row.repeats,
        decisive: row.decisive,
        skipped: row.skipped,
    };
    StoryData { workers: &story.workers, rows: story.rows.iter().map(row).collect() }
}
