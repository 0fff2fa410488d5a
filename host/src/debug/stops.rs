//! Breakpoints at lines and functions, watchpoints on memory.
//!
//! A worker can be stopped only at scheduling points. A breakpoint at a line therefore stops it
//!
//! - at each operation of the line itself;
//! - in functions that the line calls, of a library or of the program: at the first operation after the worker came to
//!   the line, that is, if it was not on that line, in the same call, at its step before.
//!
//! A line in a loop whose only operations are in a function that the line calls therefore stops its worker once.
//!
//! A watchpoint compares memory before and after each step, so it sees every change, also one without an operation of
//! its own. It also sees an operation that writes the same value again, since updates can be lost in this way.

use super::Debugger;
use super::schedule::{Frame, Schedule, own};
use crate::symbols::{Place, is_fetched};
use coyote_strategies::WorkerId;
use std::collections::BTreeSet;
use std::path::Path;

/// The breakpoints and watchpoints.
#[derive(Default)]
pub struct Stops {
    /// The breakpoints, in the order in which they were set.
    pub breakpoints: Vec<Breakpoint>,
    /// The watchpoints, in the order in which they were set.
    pub watchpoints: Vec<Watchpoint>,
    last: u32,
}

/// A place at which workers are stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breakpoint {
    /// A number that is unique among breakpoints and watchpoints.
    pub number: u32,
    /// The place.
    pub at: At,
    /// The positions at which it stops, ascending.
    pub positions: Vec<usize>,
}

/// The place of a breakpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// A line of a file, named by its path in the debug information.
    Line {
        /// The file.
        file: String,
        /// The line's number, from 1.
        line: u32,
    },
    /// The beginning of a function.
    Function(String),
}

/// Memory that is watched for changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watchpoint {
    /// A number that is unique among breakpoints and watchpoints.
    pub number: u32,
    /// The watched place.
    pub place: Place,
}

impl Stops {
    /// Removes the breakpoint or watchpoint with this number. Returns whether it existed.
    pub fn remove(&mut self, number: u32) -> bool {
        let count = self.breakpoints.len() + self.watchpoints.len();
        self.breakpoints.retain(|b| b.number != number);
        self.watchpoints.retain(|w| w.number != number);
        count != self.breakpoints.len() + self.watchpoints.len()
    }

    fn next(&mut self) -> u32 {
        self.last += 1;
        self.last
    }
}

impl Debugger {
    /// Sets a breakpoint at a line of a file, given by the end of its path. Of several such files, those of the program
    /// itself are preferred to those of other packages, and these to those of the Rust distribution and the like.
    ///
    /// # Errors
    /// No worker stops there in this execution, or several files match equally well: the message lists alternatives.
    pub fn break_at_line(&mut self, file: &str, line: u32) -> Result<&Breakpoint, String> {
        let names = matching(self.schedule.all_frames(), file);
        let [file] = names.as_slice() else {
            return Err(match names.is_empty() {
                true => format!("no worker is in the file {file} at any step of this execution"),
                false => format!("several files are called so: {}", names.join(", ")),
            });
        };
        let at = At::Line { file: file.clone(), line };
        let positions = positions(&self.schedule, &at);
        if positions.is_empty() {
            let lines: BTreeSet<u32> = lines(&self.schedule, file);
            let below = lines.range(..line).next_back().map(|line| format!("{line} before it"));
            let above = lines.range(line..).next().map(|line| format!("{line} behind it"));
            let near: Vec<String> = below.into_iter().chain(above).collect();
            return Err(format!(
                "no worker stops at line {line} of {file} in this execution; it does at line {}",
                near.join(" and at ")
            ));
        }
        Ok(self.add(at, positions))
    }

    /// Sets a breakpoint where workers enter a function, given by its whole path or the end of it.
    ///
    /// # Errors
    /// No worker is in such a function at any step of this execution.
    pub fn break_at_function(&mut self, function: &str) -> Result<&Breakpoint, String> {
        let at = At::Function(function.to_string());
        let positions = positions(&self.schedule, &at);
        if positions.is_empty() {
            return Err(format!("no worker is in a function {function} at any step of this execution"));
        }
        Ok(self.add(at, positions))
    }

    fn add(&mut self, at: At, positions: Vec<usize>) -> &Breakpoint {
        let number = self.stops.next();
        self.stops.breakpoints.push(Breakpoint { number, at, positions });
        self.stops.breakpoints.last().expect("it was just added")
    }

    /// Watches the place that an expression denotes at the present position, as [`Debugger::find`] reads it: pointers are
    /// followed once, now, and the place of a local variable is watched after its function has ended, too.
    ///
    /// # Errors
    /// Why the expression denotes no place here.
    pub fn watch(&mut self, expression: &str, of: Option<(WorkerId, usize)>) -> Result<&Watchpoint, String> {
        let place = self.find(expression, of)?;
        if self.memory_at(place.address, place.bytes).is_none() {
            return Err(format!("{} lies beyond the end of memory", place.name));
        }
        let number = self.stops.next();
        self.stops.watchpoints.push(Watchpoint { number, place });
        Ok(self.stops.watchpoints.last().expect("it was just added"))
    }
}

/// How far a file is from the program that is examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Distance {
    /// Below the current directory.
    Here,
    Elsewhere,
    /// A package that cargo has fetched.
    Package,
    Library,
}

impl Distance {
    fn of(file: &str, is_library: bool) -> Distance {
        match () {
            () if is_library => Distance::Library,
            () if is_fetched(file) => Distance::Package,
            () if Path::new(file).is_relative() => Distance::Here,
            () => Distance::Elsewhere,
        }
    }
}

/// The nearest of the files that match the user's name, or the one of exactly this name.
fn matching<'f>(frames: impl Iterator<Item = &'f Frame>, named: &str) -> Vec<String> {
    let files = frames.filter_map(|frame| Some((frame.source.file.as_deref()?, frame.is_library)));
    let files = files.filter(|(file, _)| is_file(file, named));
    let files: BTreeSet<(Distance, &str)> =
        files.map(|(file, is_library)| (Distance::of(file, is_library), file)).collect();
    if files.iter().any(|(_, file)| *file == named) {
        return vec![named.to_string()];
    }
    let nearest = files.first().map(|(distance, _)| *distance);
    let nearest = files.iter().filter(|(distance, _)| Some(*distance) == nearest);
    nearest.map(|(_, file)| file.to_string()).collect()
}

/// Whether a file of the debug information matches the user's name of it, which may be the end of the path.
fn is_file(known: &str, named: &str) -> bool {
    let (known, named) = (Path::new(known), Path::new(named));
    known.ends_with(named) || (named.is_absolute() && named.ends_with(known))
}

/// The lines of a file at which a breakpoint would stop.
fn lines(schedule: &Schedule, file: &str) -> BTreeSet<u32> {
    let frames = schedule.all_frames().filter(|frame| frame.source.file.as_deref() == Some(file));
    frames.filter_map(|frame| frame.source.line).collect()
}

fn positions(schedule: &Schedule, at: &At) -> Vec<usize> {
    let mut before: Vec<Option<usize>> = Vec::new();
    let mut found = Vec::new();
    for (position, step) in schedule.steps.iter().enumerate() {
        let worker = step.worker.index();
        before.resize(before.len().max(worker + 1), None);
        let previous = before[worker].replace(position);
        if step.timeout {
            continue;
        }
        let stack = |position: usize| Stack {
            frames: schedule.frames(position),
            outer: schedule.steps[position].outer,
        };
        if stops(at, stack(position), previous.map_or(Stack::default(), stack)) {
            found.push(position);
        }
    }
    found
}

/// The innermost frames of a worker's stack.
#[derive(Clone, Copy, Default)]
struct Stack<'a> {
    frames: &'a [Frame],
    /// Number of the other frames.
    outer: usize,
}

impl Stack<'_> {
    fn depth(&self) -> usize {
        self.frames.len() + self.outer
    }
}

/// Whether to stop a worker with this stack, which had the stack `last` at its step before.
fn stops(at: &At, stack: Stack<'_>, last: Stack<'_>) -> bool {
    // Whether the worker was not there before. Of a frame that is not kept it is not known, and then it was.
    let came = |index: usize, is_same: &dyn Fn(&Frame) -> bool| {
        let Some(at) = last.depth().checked_sub(stack.depth() - index) else { return true };
        last.frames.get(at).is_some_and(|was| !is_same(was))
    };
    stack.frames.iter().enumerate().any(|(index, frame)| match at {
        At::Line { file, line } => {
            let is_there = |frame: &Frame| {
                frame.source.line == Some(*line) && frame.source.file.as_deref() == Some(file.as_str())
            };
            let is_same = |was: &Frame| is_there(was) && was.source.function == frame.source.function;
            is_there(frame) && (index == 0 || came(index, &is_same))
        }
        At::Function(name) => {
            let is_called = |frame: &Frame| is_function(&frame.source.function, name);
            is_called(frame) && came(index, &is_called)
        }
    })
}

fn is_function(known: &str, named: &str) -> bool {
    let known = crate::symbols::without_generics(known);
    known == named || known.strip_suffix(named).is_some_and(|rest| rest.ends_with("::"))
}

/// The place of a breakpoint, in the user's notation.
impl std::fmt::Display for At {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            At::Line { file, line } => write!(f, "{file}:{line}"),
            At::Function(name) => f.write_str(name),
        }
    }
}

/// A worker's place in the program's own source, with the number of the program's own functions on its stack.
pub(super) fn own_place(frames: &[Frame]) -> Option<(usize, &Frame)> {
    let count = frames.iter().filter(|frame| !frame.is_library).count();
    own(frames).map(|frame| (count, frame))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::SourceFrame;

    fn frame(function: &str, line: u32) -> Frame {
        let source = SourceFrame {
            function: function.into(),
            file: Some("a.rs".into()),
            line: Some(line),
            column: None,
        };
        Frame { source, is_library: false }
    }

    fn stops_at(at: &At, frames: &[Frame], last: &[Frame]) -> bool {
        stops(at, Stack { frames, outer: 0 }, Stack { frames: last, outer: 0 })
    }

    #[test]
    fn a_line_stops_at_its_operations_and_where_it_is_come_to() {
        let at = At::Line { file: "a.rs".into(), line: 5 };
        let (here, inner) = (frame("f", 5), frame("g", 9));
        let alone = std::slice::from_ref(&here);
        // The operation is on the line itself: stops each time.
        assert!(stops_at(&at, alone, &[]));
        assert!(stops_at(&at, alone, alone));
        // The operation is in a function that the line calls: stops when the worker comes to the line.
        let called = [inner.clone(), here.clone()];
        assert!(stops_at(&at, &called, &[frame("f", 4)]));
        assert!(!stops_at(&at, &called, &called));
        assert!(!stops_at(&at, &called, alone));
        // Another call of the same function.
        assert!(stops_at(&at, &[inner, here.clone(), frame("f", 5)], &[frame("h", 1), frame("f", 5)]));
        assert!(!stops_at(&at, &[frame("f", 4)], alone));
    }

    #[test]
    fn frames_that_are_not_kept_count() {
        let at = At::Line { file: "a.rs".into(), line: 5 };
        // f calls f calls g; only two frames are kept.
        let before = [frame("g", 9), frame("f", 5)];
        let called = [frame("g", 9), frame("f", 5), frame("f", 5)];
        let (before, deeper) =
            (Stack { frames: &before, outer: 1 }, Stack { frames: &called[..2], outer: 1 });
        assert!(!stops(&at, deeper, before));
        assert!(stops(&at, Stack { outer: 2, ..deeper }, before));
        assert!(!stops(&at, before, Stack { outer: 2, ..deeper }));
    }

    #[test]
    fn a_function_stops_when_it_is_entered() {
        let at = At::Function("take".into());
        let (outer, inner) = (frame("main", 1), frame("buffer::take<u32>", 3));
        let alone = std::slice::from_ref(&outer);
        assert!(stops_at(&at, &[inner.clone(), outer.clone()], alone));
        assert!(!stops_at(&at, &[inner.clone(), outer.clone()], &[inner.clone(), outer.clone()]));
        assert!(!stops_at(&at, &[frame("mistake", 1), outer.clone()], alone));
    }

    #[test]
    fn files_of_the_program_are_preferred() {
        let of = |file: &str, is_library| {
            let source = SourceFrame { file: Some(file.into()), ..frame("f", 1).source };
            Frame { source, is_library }
        };
        let library = of("/rustc/0123/library/test/src/lib.rs", true);
        let package = of("/home/me/.cargo/registry/src/index.crates.io-0123/flume-0.11.0/src/lib.rs", false);
        let elsewhere = of("/work/app/src/lib.rs", false);
        let (here, other) = (of("a/src/lib.rs", false), of("b/src/lib.rs", false));
        let names = |frames: &[&Frame], named: &str| matching(frames.iter().copied(), named);
        for (frames, wanted) in [
            (&[&library, &package, &elsewhere, &here][..], &[&here][..]),
            (&[&library, &package, &elsewhere], &[&elsewhere]),
            (&[&library, &package], &[&package]),
            (&[&library], &[&library]),
            (&[&library, &other, &here], &[&here, &other]),
        ] {
            let wanted: Vec<String> = wanted.iter().map(|frame| frame.source.file.clone().unwrap()).collect();
            assert_eq!(names(frames, "lib.rs"), wanted);
        }
        assert_eq!(names(&[&here, &other], "b/src/lib.rs"), ["b/src/lib.rs"]);
        assert_eq!(names(&[&here, &library], "test/src/lib.rs").len(), 1);
    }

    #[test]
    fn files_are_named_by_the_ends_of_their_paths() {
        for (known, named, is) in [
            ("examples/rust/a/src/lib.rs", "lib.rs", true),
            ("examples/rust/a/src/lib.rs", "src/lib.rs", true),
            ("src/lib.rs", "/home/me/a/src/lib.rs", true),
            ("src/mylib.rs", "lib.rs", false),
            ("src/lib.rs", "other/src/lib.rs", false),
        ] {
            assert_eq!(is_file(known, named), is, "{known} {named}");
        }
    }
}
