//! A trace as text, versions 1 to 5.
//!
//! UTF-8, lines that end in `\n`. Lines that are empty or start with `#` are ignored, and are allowed
//! anywhere after the first line. `TEXT` is text with the escapes of `super::escape`, `N` a decimal number
//! below 2^64, `HEX` lower-case hex digits. `docs/trace-format.md` describes the same for people who read
//! traces with other tools, and a test compares its example with the committed sample.
//!
//! ```text
//! trace     = "coyote-wasm trace " version header* "schedule" run* answer* "end" count [checksum]
//! header    = "tool" TEXT | "module" TEXT | "test" TEXT | "strategy" TEXT | "seed" N
//!           | "iteration" N | "option" NAME "=" TEXT | "outcome" TEXT | "message" TEXT
//!           | "fingerprint" HEX*32
//!           | "shared" granules                                  from version 2 on
//!           | "identity" TEXT | "at" worker (" " place)*         from version 4 on
//!           | "function" N " " TEXT                              from version 4 on
//! answer    = "answer" FUNCTION HEX*16 N BYTES BYTES              from version 3 on: see `answers`
//! granules  = [range (" " range)*]             ascending, with gaps between them
//! range     = HEX ["-" HEX]                    numbers of granules, below 2^26
//! run       = worker decision ("; " decision)* | value       from version 5 on; before it, one decision a line
//! decision  = KIND [place] | "timeout" | value
//! value     = "value" N "of" N
//! worker    = "0" ("." N)*                     below 2^32; the creation path
//! place     = "f" N "@0x" HEX                  below 2^32; function index, offset in the file
//! count     = N                                of decisions
//! checksum  = HEX*16                           of all lines before this one that mean something
//! ```
//!
//! Each header key is given exactly once, except that there are any number of options and functions, at most one
//! fingerprint, one set of shared granules and one identity, to which all lines `at` belong. The offset after `@`
//! counts from the beginning of the module, as tools such as `wasm-objdump` print it, not from that of the function.
//!
//! A run is a sequence of decisions of one worker until another one goes on, so each line but the first is a switch. A
//! value belongs to the step before it. A trace is written in the newest version.
//!
//! The end line makes every cut noticeable, and the checksum every damage: the first 64 bits of the blake3 of
//! the lines, each with its `\n`. An edited trace must leave it out.
//!
//! A change of what a line means, or a new line that a reader must not ignore, is a new version. Readers
//! refuse what they do not know: a schedule that is only partly understood is another schedule.

use super::escape::escape;
use super::version::{MAGIC, SCHEDULE, WRITTEN};
use super::{Decision, Header, Trace, answers};
use crate::identity::{Identity, Party};
use coyote_instrumenter::Location;
use std::fmt::{self, Write};

impl Trace {
    /// The text of the whole file.
    pub fn to_text(&self) -> String {
        let mut text = format!("{MAGIC} {WRITTEN}\n");
        write_header(&self.header, &mut text).expect("a String takes all");
        text.push_str(SCHEDULE);
        text.push('\n');
        write_schedule(&self.decisions, &mut text).expect("a String takes all");
        for answer in &self.answers {
            answers::write(answer, &mut text).expect("a String takes all");
        }
        let checksum = checksum(blake3::hash(text.as_bytes()));
        writeln!(text, "end {} {checksum}", self.decisions.len()).expect("a String takes all");
        text
    }
}

/// Writes a line for each run.
fn write_schedule(decisions: &[Decision], text: &mut String) -> fmt::Result {
    let mut running = None;
    for (i, decision) in decisions.iter().enumerate() {
        let worker = decision.worker();
        if running.is_some() && (worker.is_none() || worker == running) {
            write!(text, "{RUN}{}", WithoutWorker(decision))?;
            continue;
        }
        text.push_str(if i == 0 { "" } else { "\n" });
        write!(text, "{decision}")?;
        running = worker;
    }
    text.push_str(if decisions.is_empty() { "" } else { "\n" });
    Ok(())
}

/// The separator between the decisions of a run.
pub(super) const RUN: &str = "; ";

/// The checksum that follows the count: the first 64 bits of the hash in hex.
pub(super) fn checksum(hash: blake3::Hash) -> String {
    hash.to_hex()[..16].to_owned()
}

fn write_header(header: &Header, text: &mut String) -> fmt::Result {
    let Header {
        tool,
        module,
        test,
        strategy,
        seed,
        iteration,
        options,
        shared,
        outcome,
        message,
        functions,
        identity,
        fingerprint,
    } = header;
    for (key, value) in [("tool", tool), ("module", module), ("test", test), ("strategy", strategy)] {
        write_text(key, value, text);
    }
    writeln!(text, "seed {seed}\niteration {iteration}")?;
    for (name, value) in options {
        text.push_str("option ");
        escape(name, "=", text);
        text.push('=');
        escape(value, "", text);
        text.push('\n');
    }
    if let Some(shared) = shared {
        write_text("shared", &shared.to_string(), text);
    }
    for (key, value) in [("outcome", outcome), ("message", message)] {
        write_text(key, value, text);
    }
    if let Some(Identity { detail, parties }) = identity {
        write_text("identity", detail, text);
        for Party { worker, stack } in parties {
            write!(text, "at {worker}")?;
            stack.iter().try_for_each(|place| write!(text, " {}", Place(*place)))?;
            text.push('\n');
        }
    }
    for (index, name) in functions {
        write!(text, "function {index} ")?;
        escape(name, "", text);
        text.push('\n');
    }
    match fingerprint {
        Some(fingerprint) => writeln!(text, "fingerprint {fingerprint:032x}"),
        None => Ok(()),
    }
}

/// Writes a header line. An empty value leaves no space at the end of its line, which editors would strip.
fn write_text(key: &str, value: &str, text: &mut String) {
    text.push_str(key);
    if !value.is_empty() {
        text.push(' ');
        escape(value, "", text);
    }
    text.push('\n');
}

/// A place in the form of a trace.
struct Place(Location);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "f{}@{:#x}", self.0.function, self.0.offset)
    }
}

/// In the form of the first decision of a run.
impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.worker() {
            Some(worker) => write!(f, "{worker} {}", WithoutWorker(self)),
            None => WithoutWorker(self).fmt(f),
        }
    }
}

/// A decision without its worker, which is known from the run.
struct WithoutWorker<'a>(&'a Decision);

impl fmt::Display for WithoutWorker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.0 {
            Decision::Step { kind, site: None, .. } => f.write_str(kind.name()),
            Decision::Step { kind, site: Some(place), .. } => write!(f, "{} {}", kind.name(), Place(*place)),
            Decision::Timeout { .. } => f.write_str("timeout"),
            Decision::Value { value, bound } => write!(f, "value {value} of {bound}"),
        }
    }
}
