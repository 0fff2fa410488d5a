//! The whole schedule of a bug, step by step, for pages and timelines.
//!
//! - `links`: effects of steps on later ones; `spans`: when workers hold locks, and when they wait.
//! - `texts`: the source lines that are shown beside it.

mod links;
mod spans;
mod texts;

use super::moment::{Act, Moment, SharedAccess, Weight};
use super::objects::Objects;
use super::places::Places;
use super::polls::Lane;
use super::recorder::{RawAccess, RawStep, Recording, Wait};
use super::rows::Group;
use super::words::{self, Names};
use crate::results::{History, HistoryFrame, HistoryStep, HistoryWorker, Link, Span, Thing};
use crate::runtime::{Lock, ObjectId, Request, Runtime};
use crate::symbols::{Sources, is_library};
use coyote_instrumenter::Location;
use coyote_strategies::{Class, WorkerId};
use links::{RawLink, Through};
use spans::{RawSpan, What};
use std::collections::BTreeMap;

/// The material for a history, in addition to the recording.
pub struct Material<'a, 'b> {
    pub runtime: &'a Runtime,
    pub moments: &'a [Moment],
    pub objects: &'a Objects,
    pub names: &'a Names<'a>,
    pub places: &'a mut Places<'b>,
    pub sources: &'a mut Sources,
}

/// The history of the execution that was recorded and has just ended.
pub fn history(recording: &Recording, material: &mut Material<'_, '_>) -> History {
    let mut writer = Writer { history: History::default(), stacks: BTreeMap::new(), things: BTreeMap::new() };
    let runtime = material.runtime;
    let workers = (0..runtime.workers().len() as u32).map(WorkerId);
    writer.history.workers = workers
        .map(|id| HistoryWorker { title: runtime.title(id), name: (material.names.workers)(id) })
        .collect();
    let mut moments = material.moments;
    for (at, step) in recording.steps.iter().enumerate() {
        let (own, others) = moments.split_at(moments.iter().take_while(|moment| moment.at == at).count());
        moments = others;
        let of_block = |moment: &Moment| matches!(moment.act, Act::Allocates | Act::Frees);
        let own: Vec<Moment> =
            own.iter().filter(|moment| !moment.is_after || of_block(moment)).cloned().collect();
        writer.step(step, &own, material);
    }
    for RawLink { from, to, kind, through } in links::links(&recording.steps) {
        let thing = writer.through(through, material);
        writer.history.links.push(Link { from: from as u32, to: to as u32, kind, thing });
    }
    for span in spans::spans(&recording.steps) {
        writer.span(&span, material);
    }
    writer.history.sources = texts::texts(&writer.history, material.sources);
    writer.history
}

struct Writer {
    history: History,
    stacks: BTreeMap<Vec<Location>, (u32, Option<u32>)>,
    things: BTreeMap<Thing, u32>,
}

impl Writer {
    fn step(&mut self, step: &RawStep, moments: &[Moment], material: &mut Material<'_, '_>) {
        let stack = self.stack(&step.stack, material.places);
        let source =
            moments.first().and_then(|moment| super::source_text(material.sources, moment.line.as_ref()));
        let function = moments.first().and_then(|moment| moment.line.as_ref());
        let function = function.map(|frame| super::short_name(&frame.function));
        let group = Group {
            lane: Lane::of(step.worker, step.task),
            moments: moments.to_vec(),
            repeats: None,
            skipped: 0,
        };
        let mut things = Vec::new();
        let mut about = |thing: u32| {
            if !things.contains(&thing) {
                things.push(thing);
            }
        };
        for moment in moments {
            if let Act::Object { address, .. } = moment.act
                && let Some(class) = Class::of_sync_object(step.operation.kind)
            {
                let object = ObjectId { class, address: address as u32 };
                about(self.object(object, material));
            }
            for access in &moment.accesses {
                about(self.thing("memory", words::access(access, material.names).0));
            }
        }
        let accesses = step.accesses.iter().map(|raw| words::access(&shown(raw), material.names).1);
        self.history.steps.push(HistoryStep {
            worker: step.worker.0,
            number: (!step.timeout).then_some(step.number),
            operation: if step.timeout { "timeout" } else { step.operation.kind.name() }.into(),
            text: words::text(&group, function.as_deref(), source.as_deref(), material.names),
            shared: moments.iter().any(|moment| moment.weight >= Weight::Library),
            stack: stack.map(|(stack, _)| stack),
            own: stack.and_then(|(_, own)| own),
            accesses: accesses.collect(),
            things,
        });
    }

    fn stack(&mut self, stack: &[Location], places: &mut Places<'_>) -> Option<(u32, Option<u32>)> {
        if stack.is_empty() {
            return None;
        }
        if let Some(known) = self.stacks.get(stack) {
            return Some(*known);
        }
        let own = places.own(stack).map(|(at, _)| at as u32);
        let mut frames = Vec::new();
        for frame in places.frames(stack) {
            let known = self.history.frames.iter().position(|other| other.frame == frame);
            frames.push(known.unwrap_or_else(|| {
                let library = is_library(&frame);
                self.history.frames.push(HistoryFrame { frame, library });
                self.history.frames.len() - 1
            }) as u32);
        }
        self.history.stacks.push(frames);
        let index = self.history.stacks.len() as u32 - 1;
        self.stacks.insert(stack.to_vec(), (index, own));
        Some((index, own))
    }

    fn thing(&mut self, kind: &str, name: String) -> u32 {
        let thing = Thing { kind: kind.into(), name };
        let next = self.things.len() as u32;
        *self.things.entry(thing).or_insert_with_key(|thing| {
            self.history.things.push(thing.clone());
            next
        })
    }

    fn object(&mut self, object: ObjectId, material: &Material<'_, '_>) -> u32 {
        let title = material.objects.title(material.runtime, object);
        let name = title.strip_prefix(object.noun()).unwrap_or(&title).trim();
        let name = name.strip_prefix('`').and_then(|name| name.strip_suffix('`')).unwrap_or(name);
        self.thing(object.noun(), name.into())
    }

    fn through(&mut self, through: Through, material: &Material<'_, '_>) -> Option<u32> {
        match through {
            Through::Nothing => None,
            Through::Object(object) => Some(self.object(object, material)),
            Through::Memory(address, bytes) => {
                let raw = RawAccess { address, bytes, ..RawAccess::default() };
                Some(self.thing("memory", words::access(&shown(&raw), material.names).0))
            }
        }
    }

    fn span(&mut self, span: &RawSpan, material: &Material<'_, '_>) {
        let (thing, text) = match span.what {
            What::Lock { place, shared } => {
                let thing = self.object(place, material);
                let how = if shared { " to read" } else { "" };
                (Some(thing), format!("holds {}{how}", self.title(thing)))
            }
            What::Wait(wait) => self.wait(wait, material),
        };
        let (from, to) = (span.from as u32, span.to.map(|to| to as u32));
        self.history.spans.push(Span { worker: span.worker.0, kind: span.kind, from, to, thing, text });
    }

    fn wait(&mut self, wait: Wait, material: &Material<'_, '_>) -> (Option<u32>, String) {
        let Wait { request, woken } = wait;
        if let Some(place) = request.queue().filter(|_| !woken).or(request.wants()) {
            let thing = self.object(place, material);
            let what = match request {
                Request::Lock { lock: Lock::Read(_), .. } => "waits to read under",
                Request::Lock { lock: Lock::Write(_), .. } => "waits to write under",
                Request::Lock { lock: Lock::Mutex(_), .. } => "waits to lock",
                Request::Relock { .. } if woken => "was woken and waits to lock",
                Request::BarrierWait { .. } => "waits at",
                _ => "waits for",
            };
            return (Some(thing), format!("{what} {}", self.title(thing)));
        }
        let text = match request {
            Request::Join { handle } => match material.runtime.worker_of(handle) {
                Some(worker) => format!("waits for the end of {}", (material.names.workers)(worker)),
                None => "waits for the end of a worker".into(),
            },
            Request::Sleep { .. } => "sleeps".into(),
            Request::Socket { .. } => "waits for a socket".into(),
            Request::Poll { .. } => "polls".into(),
            Request::Assume => "stopped at an assumption that does not hold".into(),
            _ => "cannot go on".into(),
        };
        (None, text)
    }

    fn title(&self, thing: u32) -> String {
        let Thing { kind, name } = &self.history.things[thing as usize];
        match name.starts_with("at ") || name.starts_with("in ") {
            true => format!("{kind} {name}"),
            false => format!("{kind} `{name}`"),
        }
    }
}

/// An access in the form that `words` expects.
fn shown(raw: &RawAccess) -> SharedAccess {
    SharedAccess { raw: raw.clone(), direct: true, of_library: false, is_contended: true, word: None }
}
