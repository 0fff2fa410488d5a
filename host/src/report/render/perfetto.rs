//! A bug as a trace of Perfetto (ui.perfetto.dev): a track for each worker with a slice for each step, and below it a
//! track for each lock that it holds and one for its waits; arrows between steps; the likelihood of the bug as a
//! counter.
//!
//! The messages are those of `protos/perfetto/trace/track_event`, restricted to what is needed. A step takes one
//! microsecond: there is no other time in a schedule. Arrows are drawn only where one step happens before the other;
//! wake-ups are in the details of the step.

use super::step_index::StepIndex;
use crate::report::model::BugReport;
use crate::results::{History, HistoryStep, LinkKind, SpanKind};
use prost::Message;
use std::collections::BTreeMap;

#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packets: Vec<Packet>,
}

#[derive(Clone, PartialEq, Message)]
struct Packet {
    /// In nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, tag = "10")]
    sequence: u32,
    #[prost(message, optional, tag = "11")]
    event: Option<TrackEvent>,
    #[prost(message, optional, tag = "60")]
    track: Option<Track>,
}

#[derive(Clone, PartialEq, Message)]
struct Track {
    #[prost(uint64, tag = "1")]
    uuid: u64,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
    #[prost(message, optional, tag = "3")]
    process: Option<Process>,
    #[prost(message, optional, tag = "4")]
    thread: Option<Thread>,
    #[prost(uint64, optional, tag = "5")]
    parent: Option<u64>,
    #[prost(message, optional, tag = "8")]
    counter: Option<Counter>,
}

#[derive(Clone, PartialEq, Message)]
struct Process {
    #[prost(int32, tag = "1")]
    pid: i32,
    #[prost(string, tag = "6")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct Thread {
    #[prost(int32, tag = "1")]
    pid: i32,
    #[prost(int32, tag = "2")]
    tid: i32,
    #[prost(string, tag = "5")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct Counter {
    #[prost(string, tag = "6")]
    unit: String,
}

#[derive(Clone, PartialEq, Message)]
struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    details: Vec<Detail>,
    #[prost(int32, tag = "9")]
    kind: i32,
    #[prost(uint64, tag = "11")]
    track: u64,
    #[prost(string, repeated, tag = "22")]
    categories: Vec<String>,
    #[prost(string, optional, tag = "23")]
    name: Option<String>,
    #[prost(message, optional, tag = "33")]
    place: Option<Place>,
    #[prost(double, optional, tag = "44")]
    counter: Option<f64>,
    #[prost(fixed64, repeated, tag = "47")]
    flows: Vec<u64>,
    #[prost(fixed64, repeated, tag = "48")]
    flows_that_end: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct Detail {
    #[prost(string, optional, tag = "6")]
    text: Option<String>,
    #[prost(string, tag = "10")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct Place {
    #[prost(string, tag = "2")]
    file: String,
    #[prost(string, tag = "3")]
    function: String,
    #[prost(uint32, tag = "4")]
    line: u32,
}

const BEGIN: i32 = 1;
const END: i32 = 2;
const INSTANT: i32 = 3;
const COUNTER: i32 = 4;

const STEP_NS: u64 = 1_000;
const PID: i32 = 1;
/// Ids of tracks: the program, the likelihood, and from `WORKERS` on the workers.
const PROGRAM: u64 = 1;
const LIKELIHOOD: u64 = 2;
const WORKERS: u64 = 100;

/// The trace of a bug of a test; `None` without its history.
pub fn trace(test: &str, bug: &BugReport) -> Option<Vec<u8>> {
    let history = bug.history.as_ref()?;
    let mut writer = Writer::default();
    let process = Process { pid: PID, name: format!("test {test}") };
    writer.track(Track { uuid: PROGRAM, process: Some(process), ..Track::default() });
    for (index, worker) in history.workers.iter().enumerate() {
        let thread = Thread { pid: PID, tid: index as i32 + 1, name: worker.title.clone() };
        let (uuid, thread) = (WORKERS + index as u64, Some(thread));
        writer.track(Track { uuid, thread, parent: Some(PROGRAM), ..Track::default() });
    }
    writer.steps(history);
    writer.spans(history);
    writer.likelihood(bug);
    let end = history.steps.len() as u64 * STEP_NS;
    let culprit = bug.workers.iter().find(|worker| worker.culprit);
    let culprit = culprit.and_then(|culprit| history.workers.iter().position(|w| w.title == culprit.title));
    let track = culprit.map_or(PROGRAM, |worker| WORKERS + worker as u64);
    let name = Some(format!("{}: {}", bug.kind.name(), bug.message));
    writer.event(end, TrackEvent { kind: INSTANT, track, name, ..TrackEvent::default() });
    // Events with the same time keep their order.
    writer.events.sort_by_key(|packet| packet.timestamp);
    writer.tracks.append(&mut writer.events);
    Some(Trace { packets: writer.tracks }.encode_to_vec())
}

#[derive(Default)]
struct Writer {
    tracks: Vec<Packet>,
    events: Vec<Packet>,
}

impl Writer {
    fn track(&mut self, track: Track) {
        self.tracks.push(Packet { sequence: 1, track: Some(track), ..Packet::default() });
    }

    fn event(&mut self, time: u64, event: TrackEvent) {
        self.events.push(Packet {
            timestamp: Some(time),
            sequence: 1,
            event: Some(event),
            ..Packet::default()
        });
    }

    fn steps(&mut self, history: &History) {
        let (mut flows, mut ends) = (BTreeMap::<u32, Vec<u64>>::new(), BTreeMap::<u32, Vec<u64>>::new());
        let mut woken_by: BTreeMap<u32, u32> = BTreeMap::new();
        for (id, link) in history.links.iter().enumerate() {
            if link.kind == LinkKind::Wakes {
                woken_by.insert(link.to, link.from);
                continue;
            }
            // Ids start at 1, since 0 means no flow.
            flows.entry(link.from).or_default().push(id as u64 + 1);
            ends.entry(link.to).or_default().push(id as u64 + 1);
        }
        for (index, step) in history.steps.iter().enumerate() {
            let (time, at, track) = (index as u64 * STEP_NS, index as u32, WORKERS + u64::from(step.worker));
            let mut details = details(step);
            if let Some(by) = woken_by.get(&at).map(|by| &history.steps[*by as usize]) {
                let (who, number) =
                    (&history.workers[by.worker as usize].title, by.number.unwrap_or_default());
                details.push(detail("woken by", format!("step {number} of {who}")));
            }
            let name = if step.text.is_empty() { &step.operation } else { &step.text };
            self.event(
                time,
                TrackEvent {
                    details,
                    kind: BEGIN,
                    track,
                    categories: vec![if step.shared { "shared" } else { "private" }.into()],
                    name: Some(name.clone()),
                    place: place(history, step),
                    counter: None,
                    flows: flows.remove(&at).unwrap_or_default(),
                    flows_that_end: ends.remove(&at).unwrap_or_default(),
                },
            );
            self.event(time + STEP_NS, TrackEvent { kind: END, track, ..TrackEvent::default() });
        }
    }

    /// Each lock of a worker has a track of its own, since locks need not be released in the order of their nesting.
    fn spans(&mut self, history: &History) {
        let mut tracks: BTreeMap<(u32, SpanKind, Option<u32>), u64> = BTreeMap::new();
        for span in &history.spans {
            let thing = span.thing.filter(|_| span.kind == SpanKind::Holds);
            let next = WORKERS + (history.workers.len() + tracks.len()) as u64;
            let key = (span.worker, span.kind, thing);
            let track = *tracks.entry(key).or_insert(next);
            if track == next {
                let name = thing.map(|thing| &history.things[thing as usize]);
                let name = name.map_or("waits".into(), |thing| format!("{} {}", thing.kind, thing.name));
                let parent = Some(WORKERS + u64::from(span.worker));
                self.track(Track { uuid: track, name: Some(name), parent, ..Track::default() });
            }
            // A wait begins after the step.
            let begins = u64::from(span.from) + u64::from(span.kind == SpanKind::Waits);
            let ends = span.to.map_or(history.steps.len() as u64, |to| u64::from(to) + 1);
            let name = Some(span.text.clone());
            self.event(begins * STEP_NS, TrackEvent { kind: BEGIN, track, name, ..TrackEvent::default() });
            self.event(ends.max(begins) * STEP_NS, TrackEvent { kind: END, track, ..TrackEvent::default() });
        }
    }

    fn likelihood(&mut self, bug: &BugReport) {
        let Some(decisive) = &bug.explanation.decisive else { return };
        let counter = Some(Counter { unit: "%".into() });
        let name = Some("bug likelihood".into());
        self.track(Track { uuid: LIKELIHOOD, name, parent: Some(PROGRAM), counter, ..Track::default() });
        let index = StepIndex::of(&bug.timeline.decisions);
        for (decision, rate) in &decisive.curve {
            let time = index.of_decision(*decision) as u64 * STEP_NS;
            let counter = Some(100.0 * rate.share());
            let event = TrackEvent { kind: COUNTER, track: LIKELIHOOD, counter, ..TrackEvent::default() };
            self.event(time, event);
        }
    }
}

fn detail(name: &str, text: String) -> Detail {
    Detail { name: name.into(), text: Some(text) }
}

fn details(step: &HistoryStep) -> Vec<Detail> {
    let mut details = vec![detail("operation", step.operation.clone())];
    details.extend(step.number.map(|number| detail("step", number.to_string())));
    if !step.accesses.is_empty() {
        details.push(detail("memory", step.accesses.join(", ")));
    }
    details
}

/// The guest's own line.
fn place(history: &History, step: &HistoryStep) -> Option<Place> {
    let stack = &history.stacks[step.stack? as usize];
    let frame = &history.frames[*stack.get(step.own? as usize)? as usize].frame;
    Some(Place { file: frame.file.clone()?, function: frame.function.clone(), line: frame.line? })
}
