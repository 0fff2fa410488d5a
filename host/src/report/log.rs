//! The failing iteration, step by step, for reading: every operation with its place, and the guest's
//! output where it was written.

use super::frames::one_line;
use super::text::mark;
use crate::results::FoundBug;
use crate::symbols::Symbols;
use crate::trace::Decision;
use coyote_instrumenter::Location;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The log of a found bug.
pub fn log(test: &str, found: &FoundBug, symbols: &Symbols) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}", super::text::verdict(test, found));
    let _ = writeln!(text, "{}", super::text::details(found, symbols));
    let _ = writeln!(text, "{:>7}  {:<12} operation", "step", "worker");
    // Most steps come from few places.
    let mut places: BTreeMap<Location, String> = BTreeMap::new();
    let mut lines = found.post_mortem.output.iter().peekable();
    let mut step = 0;
    for decision in &found.trace.decisions {
        match decision {
            Decision::Step { worker, kind, site } => {
                // Output counts the steps before it.
                while let Some(line) = lines.next_if(|l| l.step <= step) {
                    let _ = writeln!(text, "{:>7}  {}: {}{}", "", line.worker, mark(line.stream), line.text);
                }
                step += 1;
                let place = match site {
                    Some(site) => places.entry(*site).or_insert_with(|| one_line(*site, symbols)),
                    None => "",
                };
                let _ = writeln!(text, "{step:>7}  {:<12} {:<18} {place}", worker.to_string(), kind.name());
            }
            Decision::Timeout { worker } => {
                let _ = writeln!(text, "{:>7}  {:<12} timeout", "", worker.to_string());
            }
            Decision::Value { value, bound } => {
                let _ = writeln!(text, "{:>7}  {:<12} chose {value} of 0..{bound}", "", "");
            }
        }
    }
    for line in lines {
        let _ = writeln!(text, "{:>7}  {}: {}{}", "", line.worker, mark(line.stream), line.text);
    }
    text
}
