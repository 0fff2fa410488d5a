//! Stacks in the form for readers: the guest's own functions, with short names.

use crate::symbols::{SourceFrame, Symbols, is_library, library_file, without_generics};
use coyote_instrumenter::Location;

/// The maximum number of frames of a stack that are shown.
const FRAMES_MAX: usize = 20;

/// The maximum for a stack that only consists of library frames: how they call each other tells a reader nothing.
const LIBRARY_FRAMES_MAX: usize = 3;

/// A stack with the frames of its places, innermost first.
pub fn of(stack: &[Location], symbols: &Symbols) -> Vec<SourceFrame> {
    stack.iter().flat_map(|location| symbols.frames(*location)).collect()
}

/// The frames that belong to the guest itself.
pub fn own(stack: &[SourceFrame]) -> impl Iterator<Item = &SourceFrame> {
    stack.iter().filter(|frame| !is_library(frame))
}

/// A stack in lines, innermost first. Frames of libraries are left out unless there are no others.
pub fn lines(stack: &[SourceFrame]) -> Vec<String> {
    let own = without_entry(own(stack).collect());
    let (shown, most) = match own.is_empty() {
        true => (stack.iter().collect(), LIBRARY_FRAMES_MAX),
        false => (own, FRAMES_MAX),
    };
    let mut lines: Vec<String> = shown.iter().take(most).map(|f| format!("at {}", line(f))).collect();
    if shown.len() > most {
        lines.push(format!("... and {} more", shown.len() - most));
    }
    lines
}

/// The functions that call a program's own main function.
const ENTRIES: &[&str] = &["_start", "__main_void", "__original_main"];

/// The frames without the outermost ones, in which nobody's own code calls a test or a program. All if there are no
/// others.
fn without_entry(mut own: Vec<&SourceFrame>) -> Vec<&SourceFrame> {
    let is_entry = |frame: &SourceFrame| {
        let name = &*frame.function;
        ENTRIES.contains(&name) || name.starts_with("<fn(") && name.contains("::call_once")
    };
    if let Some(last) = own.iter().rposition(|frame| !is_entry(frame)) {
        own.truncate(last + 1);
    }
    own
}

/// A stack of places in lines, as by `lines`.
pub fn stack(stack: &[Location], symbols: &Symbols) -> Vec<String> {
    lines(&of(stack, symbols))
}

/// A place in one line, chosen from all frames there: the innermost one that belongs to the guest itself, preferably
/// with a known line. (Code that the compiler added, such as for a destructor, has no line.) In a library it is the
/// outermost one: that a lock waits is more informative than that an atomic is loaded.
pub fn one_line(frames: &[SourceFrame]) -> String {
    let frame = own(frames).find(|f| f.line.is_some()).or_else(|| own(frames).next()).or(frames.last());
    frame.map_or_else(String::new, line)
}

/// The maximum number of callers in a path.
const CALLERS_MAX: usize = 2;

/// A place in one line with those callers that belong to the guest: `read (store.c:12:9) < load < main`.
pub fn path(frames: &[SourceFrame]) -> String {
    let callers = own(frames).skip(1).take(CALLERS_MAX).map(|frame| short(&frame.function));
    std::iter::once(one_line(frames)).chain(callers).collect::<Vec<_>>().join(" < ")
}

fn line(frame: &SourceFrame) -> String {
    let function = without_generics(&frame.function);
    let file = frame.file.as_deref().map(|file| library_file(file).unwrap_or(file));
    match (file, frame.line) {
        (Some(file), Some(line)) => {
            let column = frame.column.map_or(String::new(), |column| format!(":{column}"));
            format!("{function} ({file}:{line}{column})")
        }
        (Some(file), None) => format!("{function} ({file})"),
        _ => function,
    }
}

/// A function's name in reports.
pub fn short(function: &str) -> String {
    without_generics(function)
}
