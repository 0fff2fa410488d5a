//! The failing iteration, step by step, for readers: every operation with its place, and the guest's output at the
//! point where it was written.

use super::bug::{details, mark, verdict};
use super::style::Styles;
use crate::report::frames::one_line;
use crate::report::model::BugReport;
use crate::trace::Decision;
use coyote_instrumenter::Location;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The log of a found bug.
pub fn log(test: &str, bug: &BugReport) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}", verdict(test, bug));
    let _ = writeln!(text, "{}", details(bug, None, Styles::default()));
    let _ = writeln!(text, "{:>7}  {:<12} operation", "step", "worker");
    // Most steps come from few places.
    let places: BTreeMap<Location, String> =
        bug.timeline.places.iter().map(|(site, frames)| (*site, one_line(frames))).collect();
    let mut lines = bug.output.iter().peekable();
    let mut step = 0;
    for decision in &bug.timeline.decisions {
        match decision {
            Decision::Step { worker, kind, site } => {
                // Output is numbered by the steps before it.
                while let Some(line) = lines.next_if(|l| l.step <= step) {
                    let _ = writeln!(text, "{:>7}  {}: {}{}", "", line.worker, mark(line.stream), line.text);
                }
                step += 1;
                let place = site.as_ref().map_or("", |site| places[site].as_str());
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
