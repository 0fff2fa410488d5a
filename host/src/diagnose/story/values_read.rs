//! The value that a failing worker read, which worker wrote it, and which value it reads in the nearest passing schedule.
//!
//! A worker does the same in two schedules until it reads something else. So the first read in which a failing and a passing
//! schedule differ is where the difference reaches the worker that fails. Only the guest's own lines count: how often a
//! library tries to take a lock says nothing.

use super::moment::{Places, stack_of};
use super::recorder::{RawAccess, RawStep, Recording};
use super::words::{self, Names};
use crate::symbols::SourceFrame;
use coyote_instrumenter::Location;
use coyote_strategies::WorkerId;
use std::collections::BTreeMap;
use std::ops::Range;

/// A worker's read of memory in the guest's own source.
pub struct Read {
    step: u64,
    line: SourceFrame,
    site: Option<Location>,
    access: RawAccess,
    writer: Option<Writer>,
}

/// The last write before a read.
struct Writer {
    worker: WorkerId,
    is_reader: bool,
    step: u64,
    line: Option<SourceFrame>,
    /// Whether another worker wrote it while the reader existed.
    is_news: bool,
}

/// A worker's reads in the guest's own source, in order; equal ones in a row count as one.
pub fn reads(recording: &Recording, reader: WorkerId, places: &mut Places<'_>) -> Vec<Read> {
    let mut reads: Vec<Read> = Vec::new();
    let mut written = Written::default();
    let born = recording.steps.iter().find(|step| step.spawned == Some(reader)).map_or(0, |step| step.number);
    for step in &recording.steps {
        for raw in &step.accesses {
            if raw.reads && step.worker == reader {
                let stack = stack_of(step, raw);
                let line = places.own(&stack).map(|(_, line)| line);
                if let Some(line) = line.filter(|_| places.is_direct(stack.iter().copied())) {
                    let writer = written.last(raw).map(|by| Writer {
                        worker: by.worker,
                        is_reader: by.worker == reader,
                        step: by.number,
                        line: places.own(&by.stack).map(|(_, line)| line),
                        is_news: by.worker != reader && by.number > born,
                    });
                    let (site, access) = (stack.first().copied(), raw.clone());
                    reads.push(Read { step: step.number, line, site, access, writer });
                }
            }
            written.add(step, raw);
        }
    }
    reads.dedup_by(|b, a| a.is_at(b) && a.access.before == b.access.before);
    reads
}

/// The last write of each byte: its step, and the value.
#[derive(Default)]
struct Written<'a>(BTreeMap<u64, (&'a RawStep, u8)>);

impl<'a> Written<'a> {
    fn add(&mut self, step: &'a RawStep, raw: &RawAccess) {
        if !raw.writes || raw.may_fail && raw.before == raw.after {
            return;
        }
        let bytes = bytes(raw);
        match raw.after.filter(|_| raw.bytes <= 8) {
            Some(value) => self.0.extend(bytes.zip(value.to_le_bytes()).map(|(at, byte)| (at, (step, byte)))),
            // What the memory holds then is not known.
            None => {
                let known: Vec<u64> = self.0.range(bytes).map(|(at, _)| *at).collect();
                known.iter().for_each(|at| _ = self.0.remove(at));
            }
        }
    }

    /// The last write of what an access reads. `None` if the memory holds something else: what the host writes is not
    /// known here.
    fn last(&self, raw: &RawAccess) -> Option<&'a RawStep> {
        let value = raw.before?.to_le_bytes();
        let all = || self.0.range(bytes(raw));
        let (_, (last, _)) = all().max_by_key(|(_, (step, _))| step.number)?;
        let mut its = all().filter(|(_, (step, _))| step.number == last.number);
        its.all(|(at, (_, byte))| value[(at - raw.address) as usize] == *byte).then_some(*last)
    }
}

/// The addresses of an access.
fn bytes(raw: &RawAccess) -> Range<u64> {
    raw.address..raw.address + u64::from(raw.bytes)
}

impl Read {
    /// Whether two reads are of the same memory in the same place of the program.
    fn is_at(&self, other: &Read) -> bool {
        (self.site, self.access.address) == (other.site, other.access.address)
    }

    fn is_of_own(&self) -> bool {
        self.writer.as_ref().is_some_and(|writer| writer.is_reader)
    }

    fn wrote(&self, names: &Names<'_>) -> String {
        let Some(writer) = &self.writer else { return String::new() };
        let who = if writer.is_reader { "it".into() } else { (names.workers)(writer.worker) };
        format!(", which {who} wrote in step {}{}", writer.step, words::in_brackets(writer.line.as_ref()))
    }

    /// What is read, by a value in words and by the name of the memory.
    fn what(&self, value: Option<String>, names: &Names<'_>) -> Option<String> {
        let memory = (names.memory)(&self.access).map(|known| known.name);
        Some(match (value, memory) {
            (Some(value), Some(name)) => format!("{value} from `{name}`"),
            (Some(value), None) => value,
            (None, Some(name)) => format!("`{name}`"),
            (None, None) => return None,
        })
    }
}

/// A sentence on the last thing that a failing worker read, if another worker had written it meanwhile.
pub fn sentence(reader: WorkerId, failing: &[Read], names: &Names<'_>) -> Option<String> {
    let is_news = |read: &&Read| read.writer.as_ref().is_some_and(|writer| writer.is_news);
    let read = failing.last().filter(is_news)?;
    let value = words::value(&read.access, names).filter(|value| value != words::NOT_NULL);
    let (who, what, place) = ((names.workers)(reader), read.what(value, names)?, words::place(&read.line));
    Some(format!("{who} reads {what} in step {} ({place}){}", read.step, read.wrote(names)))
}

/// A clause on the first read in which a passing schedule differs from the failing one.
pub fn difference(reader: WorkerId, failing: &[Read], passing: &[Read], names: &Names<'_>) -> Option<String> {
    let same = failing.iter().zip(passing).take_while(|(a, b)| a.is_at(b));
    let mut differ = same.filter(|(a, b)| a.access.before != b.access.before);
    differ.find_map(|(a, b)| {
        let (here, there) = (words::value(&a.access, names)?, words::value(&b.access, names)?);
        // What the worker keeps for itself follows from something else.
        if here == there || a.is_of_own() && b.is_of_own() {
            return None;
        }
        let (who, what, place) =
            ((names.workers)(reader), b.what(Some(there), names)?, words::place(&b.line));
        Some(format!("{who} then reads {what} ({place}), not {here}"))
    })
}
