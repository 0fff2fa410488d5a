//! The value that a failing worker read, which worker wrote it, and which value it reads in the nearest passing schedule.
//!
//! A worker does the same in two schedules until it reads something else. So the first read in which a failing and a passing
//! schedule differ is where the difference reaches the worker that fails. Only the guest's own lines count: how often a
//! library tries to take a lock says nothing.

use super::facts::Cause;
use super::places::{Places, stack_of};
use super::polls::Lane;
use super::recorder::{RawAccess, RawBlock, RawStep, Recording};
use super::words::{self, Names};
use crate::symbols::SourceFrame;
use coyote_instrumenter::Location;
use coyote_strategies::WorkerId;
use std::collections::BTreeMap;
use std::ops::Range;

/// A worker's read of memory in the guest's own source.
pub struct Read {
    pub step: u64,
    line: SourceFrame,
    site: Option<Location>,
    pub access: RawAccess,
    writer: Option<Writer>,
}

/// The last write before a read.
struct Writer {
    lane: Lane,
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
        let mut blocks = step.blocks.iter().peekable();
        for (at, raw) in step.accesses.iter().enumerate() {
            while let Some(block) = blocks.next_if(|block| block.accesses <= at) {
                written.renew(block);
            }
            if raw.reads && step.worker == reader {
                let stack = stack_of(step, raw);
                let line = places.own(&stack).map(|(_, line)| line);
                if let Some(line) = line.filter(|_| places.is_direct(stack.iter().copied())) {
                    let writer = written.last(raw).map(|(by, fresh)| Writer {
                        lane: Lane::of(by.worker, by.task),
                        is_reader: by.worker == reader,
                        step: by.number,
                        line: places.own(&by.stack).map(|(_, line)| line),
                        is_news: by.worker != reader && by.number > born && !fresh,
                    });
                    let (site, access) = (stack.first().copied(), raw.clone());
                    reads.push(Read { step: step.number, line, site, access, writer });
                }
            }
            written.add(step, raw);
        }
        blocks.for_each(|block| written.renew(block));
    }
    reads.dedup_by(|b, a| a.is_at(b) && a.access.before == b.access.before);
    reads
}

/// The last write of each byte.
#[derive(Default)]
struct Written<'a> {
    bytes: BTreeMap<u64, Byte<'a>>,
    /// The ranges that an allocator handed out or took back: ends by beginnings.
    blocks: BTreeMap<u64, u64>,
}

/// The last write of a byte.
struct Byte<'a> {
    step: &'a RawStep,
    value: u8,
    /// Whether it is the first one since an allocator handed the byte out: every reader sees what a block is made with.
    fresh: bool,
}

impl<'a> Written<'a> {
    fn add(&mut self, step: &'a RawStep, raw: &RawAccess) {
        if !raw.changes() {
            return;
        }
        let bytes = bytes(raw);
        let block = self.blocks.range(..=raw.address).next_back();
        let of_block = block.is_some_and(|(_, end)| raw.address < *end);
        let fresh = of_block && self.bytes.range(bytes.clone()).next().is_none();
        match raw.after.filter(|_| raw.bytes <= 8) {
            Some(value) => {
                let byte = |(at, value)| (at, Byte { step, value, fresh });
                self.bytes.extend(bytes.zip(value.to_le_bytes()).map(byte));
            }
            // What the memory holds then is not known.
            None => self.forget(bytes),
        }
    }

    /// Records that an allocator handed out memory, or took it back.
    fn renew(&mut self, block: &RawBlock) {
        for (address, size) in &block.renewed {
            let end = address.saturating_add(*size);
            self.forget(*address..end);
            self.blocks.insert(*address, end);
        }
    }

    fn forget(&mut self, range: Range<u64>) {
        let known: Vec<u64> = self.bytes.range(range).map(|(at, _)| *at).collect();
        known.iter().for_each(|at| _ = self.bytes.remove(at));
    }

    /// The last write of what an access reads, and whether it is the first one of new memory. `None` if the memory holds
    /// something else: what the host writes is not known here.
    fn last(&self, raw: &RawAccess) -> Option<(&'a RawStep, bool)> {
        let value = raw.before?.to_le_bytes();
        let all = || self.bytes.range(bytes(raw));
        let (_, last) = all().max_by_key(|(_, byte)| byte.step.number)?;
        let mut its = all().filter(|(_, byte)| byte.step.number == last.step.number);
        let holds = its.all(|(at, byte)| value[(at - raw.address) as usize] == byte.value);
        holds.then_some((last.step, last.fresh))
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
        let who = if writer.is_reader { "it".into() } else { names.lane(writer.lane) };
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
pub fn sentence(reader: Lane, failing: &[Read], names: &Names<'_>) -> Option<Cause> {
    let is_news = |read: &&Read| read.writer.as_ref().is_some_and(|writer| writer.is_news);
    let read = failing.last().filter(is_news)?;
    let value = words::value(&read.access, names).filter(|value| value != words::NOT_NULL);
    let (who, what, place) = (names.lane(reader), read.what(value, names)?, words::place(&read.line));
    let sentence = format!("{who} reads {what} in step {} ({place}){}", read.step, read.wrote(names));
    let written = read.writer.as_ref().map(|writer| writer.step);
    Some(Cause { sentence, steps: [Some(read.step), written].into_iter().flatten().collect() })
}

/// The first read in which a passing schedule differs from the failing one, in both.
pub fn difference<'a>(
    failing: &'a [Read],
    passing: &'a [Read],
    names: &Names<'_>,
) -> Option<(&'a Read, &'a Read)> {
    let same = failing.iter().zip(passing).take_while(|(a, b)| a.is_at(b));
    let mut differ = same.filter(|(a, b)| a.access.before != b.access.before);
    differ.find(|(a, b)| {
        let (here, there) = (words::value(&a.access, names), words::value(&b.access, names));
        // What the worker keeps for itself follows from something else.
        here.is_some() && there.is_some() && here != there && !(a.is_of_own() && b.is_of_own())
    })
}

/// A clause on a difference.
pub fn differs(reader: Lane, (failing, passing): (&Read, &Read), names: &Names<'_>) -> Option<String> {
    let value = |read: &Read| {
        let value = words::value(&read.access, names)?;
        Some(if value == words::NOT_NULL { "a pointer".to_string() } else { value })
    };
    let (who, what) = (names.lane(reader), passing.what(Some(value(passing)?), names)?);
    let place = words::place(&passing.line);
    Some(format!("{who} then reads {what} ({place}) instead of {}", value(failing)?))
}
