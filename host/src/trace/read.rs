//! Reads a trace from text in the format of [`super::format`].

use super::answers::{ANSWER, read as read_answer};
use super::escape::unescape;
use super::format::{RUN, checksum};
use super::numbers::{digits, hex};
use super::version::{MAGIC, SCHEDULE, VERSIONS, WITH_ANSWERS, WITH_IDENTITY, WITH_RUNS, WITH_SHARED};
use super::{Decision, Header, Problem, Trace, TraceError, WorkerPath};
use crate::identity::{Identity, Party};
use coyote_abi::OpKind;
use coyote_instrumenter::Location;
use std::collections::BTreeMap;

impl Trace {
    /// Reads the bytes of a trace file. The error names the first line that is wrong, and the problem. A file
    /// that was cut off or whose bits were flipped is refused or reads as the same trace.
    ///
    /// # Errors
    /// [`TraceError::Format`], for the first line that is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Trace, TraceError> {
        // This is checked first, so that another kind of file is not called damaged.
        if !bytes.starts_with(MAGIC.as_bytes()) {
            return Err(TraceError::Format { line: 1, problem: Problem::Magic });
        }
        let text = std::str::from_utf8(bytes).map_err(|e| {
            let before = &bytes[..e.valid_up_to()];
            let line = 1 + before.iter().filter(|b| **b == b'\n').count();
            TraceError::Format { line, problem: Problem::NotUtf8 }
        })?;
        let mut lines = Lines { rest: text, number: 0, hasher: blake3::Hasher::new() };
        read(&mut lines).map_err(|problem| TraceError::Format { line: lines.number, problem })
    }
}

/// The lines that are not ignored, and the number of the one that was read last.
struct Lines<'a> {
    rest: &'a str,
    number: usize,
    hasher: blake3::Hasher,
}

impl<'a> Lines<'a> {
    /// The next line without its end, which may be that of Windows.
    fn next(&mut self) -> Result<&'a str, Problem> {
        loop {
            let (line, rest) = self.rest.split_once('\n').ok_or_else(|| {
                self.number += 1;
                Problem::CutOff
            })?;
            self.rest = rest;
            self.number += 1;
            let line = line.strip_suffix('\r').unwrap_or(line);
            if !line.is_empty() && !line.starts_with('#') {
                return Ok(line);
            }
        }
    }

    fn hash(&mut self, line: &str) {
        self.hasher.update(line.as_bytes()).update(b"\n");
    }
}

fn read(lines: &mut Lines) -> Result<Trace, Problem> {
    let first = lines.next()?;
    let version = first.strip_prefix(MAGIC).and_then(|v| v.strip_prefix(' ')).ok_or(Problem::Magic)?;
    let known = VERSIONS.into_iter().find(|v| v.to_string() == version);
    let version = known.ok_or_else(|| Problem::Version(version.to_owned()))?;
    lines.hash(first);
    let header = read_header(lines, version)?;
    let (mut decisions, mut answers) = (Vec::new(), Vec::new());
    loop {
        let line = lines.next()?;
        if let Some(end) = line.strip_prefix("end ") {
            check_end(end, decisions.len(), lines)?;
            return Ok(Trace { header, decisions, answers });
        }
        lines.hash(line);
        match line.strip_prefix(ANSWER) {
            Some(answer) if version >= WITH_ANSWERS => answers.push(read_answer(answer)?),
            _ if !answers.is_empty() => return Err(Problem::malformed("an answer of the host", line)),
            _ if version >= WITH_RUNS => read_run(line, &mut decisions)?,
            _ => decisions.push(read_decision(line)?),
        }
    }
}

fn read_header(lines: &mut Lines, version: u32) -> Result<Header, Problem> {
    let (mut tool, mut module, mut test, mut strategy) = (None, None, None, None);
    let (mut seed, mut iteration, mut outcome, mut message) = (None, None, None, None);
    let (mut options, mut shared, mut fingerprint) = (Vec::new(), None, None);
    let (mut identity, mut parties, mut functions) = (None, Vec::new(), BTreeMap::new());
    loop {
        let line = lines.next()?;
        lines.hash(line);
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        match key {
            SCHEDULE if value.is_empty() => break,
            "tool" => set(&mut tool, "tool", read_text(value)?)?,
            "module" => set(&mut module, "module", read_text(value)?)?,
            "test" => set(&mut test, "test", read_text(value)?)?,
            "strategy" => set(&mut strategy, "strategy", read_text(value)?)?,
            "seed" => set(&mut seed, "seed", read_number(value)?)?,
            "iteration" => set(&mut iteration, "iteration", read_number(value)?)?,
            "option" => {
                let (name, value) =
                    value.split_once('=').ok_or_else(|| Problem::malformed("an option NAME=VALUE", value))?;
                options.push((read_text(name)?, read_text(value)?));
            }
            "shared" if version >= WITH_SHARED => {
                let granules = value.parse();
                let wrong = |_| Problem::malformed("granules such as `10-1f 40`", value);
                set(&mut shared, "shared", granules.map_err(wrong)?)?;
            }
            "identity" if version >= WITH_IDENTITY => set(&mut identity, "identity", read_text(value)?)?,
            "function" if version >= WITH_IDENTITY => {
                let (index, name) = read_function(value)?;
                if functions.insert(index, name).is_some() {
                    return Err(Problem::malformed("the first line of this function", value));
                }
            }
            "at" if version >= WITH_IDENTITY => parties.push(read_party(value)?),
            "outcome" => set(&mut outcome, "outcome", read_text(value)?)?,
            "message" => set(&mut message, "message", read_text(value)?)?,
            "fingerprint" => set(&mut fingerprint, "fingerprint", read_fingerprint(value)?)?,
            _ => return Err(Problem::UnknownKey(key.to_owned())),
        }
    }
    if identity.is_none() && !parties.is_empty() {
        return Err(Problem::MissingKey("identity"));
    }
    Ok(Header {
        tool: tool.ok_or(Problem::MissingKey("tool"))?,
        module: module.ok_or(Problem::MissingKey("module"))?,
        test: test.ok_or(Problem::MissingKey("test"))?,
        strategy: strategy.ok_or(Problem::MissingKey("strategy"))?,
        seed: seed.ok_or(Problem::MissingKey("seed"))?,
        iteration: iteration.ok_or(Problem::MissingKey("iteration"))?,
        options,
        shared,
        outcome: outcome.ok_or(Problem::MissingKey("outcome"))?,
        message: message.ok_or(Problem::MissingKey("message"))?,
        functions,
        identity: identity.map(|detail| Identity { detail, parties }),
        fingerprint,
    })
}

fn set<T>(slot: &mut Option<T>, key: &'static str, value: T) -> Result<(), Problem> {
    match slot.replace(value) {
        Some(_) => Err(Problem::RepeatedKey(key)),
        None => Ok(()),
    }
}

fn check_end(end: &str, found: usize, lines: &mut Lines) -> Result<(), Problem> {
    let (count, stated_sum) = match end.split_once(' ') {
        Some((count, sum)) => (count, Some(sum)),
        None => (end, None),
    };
    let stated = read_number(count)?;
    if stated != found as u64 {
        return Err(Problem::Count { found, stated });
    }
    if stated_sum.is_some_and(|sum| sum != checksum(lines.hasher.finalize())) {
        return Err(Problem::Checksum);
    }
    let rest = lines.rest;
    for line in rest.lines() {
        lines.number += 1;
        if !line.is_empty() && !line.starts_with('#') {
            return Err(Problem::AfterEnd);
        }
    }
    Ok(())
}

const DECISION: &str = "a decision, `WORKER KIND [PLACE]`, `WORKER timeout` or `value N of N`";

/// Reads a run: consecutive decisions of one worker, and the values that it asks for.
fn read_run(line: &str, decisions: &mut Vec<Decision>) -> Result<(), Problem> {
    let mut parts = line.split(RUN);
    let first = read_decision(parts.next().unwrap_or(line))?;
    let worker = first.worker().cloned();
    decisions.push(first);
    for part in parts {
        let worker = worker.clone().ok_or_else(|| Problem::malformed(DECISION, line))?;
        decisions.push(match part.strip_prefix(VALUE) {
            Some(value) => read_value(value, part)?,
            None => read_step(part, worker)?,
        });
    }
    Ok(())
}

fn read_decision(line: &str) -> Result<Decision, Problem> {
    if let Some(value) = line.strip_prefix(VALUE) {
        return read_value(value, line);
    }
    let (worker, rest) = line.split_once(' ').ok_or_else(|| Problem::malformed(DECISION, line))?;
    let worker = read_worker(worker).ok_or_else(|| Problem::malformed(DECISION, line))?;
    read_step(rest, worker)
}

/// The beginning of a value.
const VALUE: &str = "value ";

fn read_value(text: &str, line: &str) -> Result<Decision, Problem> {
    let (value, bound) = text.split_once(" of ").ok_or_else(|| Problem::malformed(DECISION, line))?;
    let (value, bound) = (read_number(value)?, read_number(bound)?);
    if value < bound {
        Ok(Decision::Value { value, bound })
    } else {
        Err(Problem::ValueOutOfBound { value, bound })
    }
}

/// Reads a step or a timeout of the worker.
fn read_step(text: &str, worker: WorkerPath) -> Result<Decision, Problem> {
    if text == "timeout" {
        return Ok(Decision::Timeout { worker });
    }
    let (kind, site) = match text.split_once(' ') {
        Some((kind, place)) => (
            kind,
            Some(read_place(place).ok_or_else(|| Problem::malformed("a place such as `f12@0x3a4`", place))?),
        ),
        None => (text, None),
    };
    let kind = OpKind::from_name(kind).ok_or_else(|| Problem::UnknownKind(kind.to_owned()))?;
    Ok(Decision::Step { worker, kind, site })
}

fn read_function(line: &str) -> Result<(u32, String), Problem> {
    let wrong = || Problem::malformed("a function, `INDEX NAME`", line);
    let (index, name) = line.split_once(' ').ok_or_else(wrong)?;
    let index = digits(index).and_then(|index| index.try_into().ok()).ok_or_else(wrong)?;
    match read_text(name)? {
        name if name.is_empty() => Err(wrong()),
        name => Ok((index, name)),
    }
}

fn read_party(line: &str) -> Result<Party, Problem> {
    let wrong = || Problem::malformed("a worker and its stack, `WORKER PLACE...`", line);
    let mut words = line.split(' ');
    let worker = words.next().and_then(read_worker).ok_or_else(wrong)?;
    let stack = words.map(|place| read_place(place).ok_or_else(wrong)).collect::<Result<_, _>>()?;
    Ok(Party { worker, stack })
}

/// A worker's path in text; `None` if it is malformed.
pub fn read_worker(text: &str) -> Option<WorkerPath> {
    // Paths are short, and most are that of the first worker, which needs no allocation.
    let mut children = text.strip_prefix('0')?;
    let mut path = Vec::new();
    while !children.is_empty() {
        let rest = children.strip_prefix('.')?;
        let end = rest.find('.').unwrap_or(rest.len());
        path.push(digits(&rest[..end])?.try_into().ok()?);
        children = &rest[end..];
    }
    Some(WorkerPath(path))
}

fn read_place(text: &str) -> Option<Location> {
    let (function, offset) = text.strip_prefix('f')?.split_once("@0x")?;
    Some(Location { function: digits(function)?.try_into().ok()?, offset: hex(offset)?.try_into().ok()? })
}

fn read_text(line: &str) -> Result<String, Problem> {
    unescape(line).ok_or_else(|| Problem::malformed("text with the escapes \\\\ \\n \\r \\t \\u{HEX}", line))
}

fn read_number(text: &str) -> Result<u64, Problem> {
    digits(text).ok_or_else(|| Problem::malformed("a decimal number below 2^64", text))
}

fn read_fingerprint(text: &str) -> Result<u128, Problem> {
    let value = (text.len() == 32).then(|| hex(text)).flatten();
    value.ok_or_else(|| Problem::malformed("a fingerprint of 32 hex digits", text))
}
