//! The output of a session.

use super::width;
use crate::debug::Debugger;
use crate::debug::motion::Stop;
use crate::debug::schedule::{Frame, own};
use crate::symbols::{Place, SourceFrame, library_file, without_generics};
use coyote_strategies::{WorkerId, WorkerState};

/// Prints why the execution stopped.
pub fn stop(debugger: &Debugger, stop: &Stop) {
    match stop {
        Stop::There | Stop::End => {}
        Stop::Beginning => println!("the beginning: nothing was executed yet"),
        Stop::Breakpoint(number) => println!("breakpoint {number}"),
        Stop::Changed(change) => {
            println!("watchpoint {}: {}", change.number, debugger.describe_change(change))
        }
    }
}

/// Prints the position of the execution.
pub fn place(debugger: &Debugger) {
    let position = debugger.position();
    if position == debugger.end() {
        let last = debugger.schedule.steps.last().map_or(0, |step| step.number);
        println!("=> the end, after step {last}: {}", debugger.ending());
        return;
    }
    let worker = debugger.current();
    println!(
        "=> {} of {}: {}",
        debugger.label(position),
        debugger.title(worker),
        debugger.describe(position)
    );
    if let Some(frame) = own(debugger.schedule.frames(position)) {
        println!("   at {}", function(frame));
    }
}

/// Prints the steps around the present one.
pub fn list(debugger: &Debugger, around: usize) {
    let position = debugger.position();
    let last = position.saturating_add(around).min(debugger.end());
    let rows: Vec<[String; 4]> =
        (position.saturating_sub(around)..=last).map(|at| row(debugger, at, at == position)).collect();
    let wide = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second, third) = (wide(0), wide(1), wide(2).min(width() / 2));
    for [label, worker, what, place] in &rows {
        let line = format!("{label:<first$}  {worker:<second$}  {what:<third$}  {place}");
        println!("{}", line.trim_end());
    }
}

fn row(debugger: &Debugger, position: usize, is_next: bool) -> [String; 4] {
    let mark = if is_next { "=>" } else { "  " };
    let Some(step) = debugger.schedule.steps.get(position) else {
        return [format!("{mark} end"), String::new(), debugger.ending(), String::new()];
    };
    let place = own(debugger.schedule.frames(position)).map(|frame| short(&frame.source)).unwrap_or_default();
    [
        format!("{mark} {}", if step.timeout { "-".to_string() } else { step.number.to_string() }),
        debugger.title(step.worker),
        debugger.describe(position),
        place,
    ]
}

/// The file name without its directory, and the line.
fn short(frame: &SourceFrame) -> String {
    let file = frame.file.as_deref().and_then(|file| file.rsplit('/').next());
    match (file, frame.line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        _ => frame.function.clone(),
    }
}

/// Prints all workers.
pub fn workers(debugger: &Debugger) {
    let current = debugger.current();
    for worker in debugger.workers() {
        let is_next = worker.id == current && debugger.position() < debugger.end();
        let mark = if is_next { "=>" } else { "  " };
        let place = worker.place.filter(|_| worker.state != WorkerState::Ended);
        let place = place.map_or(String::new(), |frame| format!(" ({})", short(&frame)));
        println!("{mark} {}: {}{place}", worker.title, worker.doing);
    }
}

/// Prints the functions on a worker's stack.
pub fn stack(debugger: &Debugger, worker: WorkerId) {
    let Some(view) = debugger.workers().into_iter().find(|view| view.id == worker) else {
        println!("{} has not been created yet", debugger.title(worker));
        return;
    };
    println!("{}: {}", view.title, view.doing);
    let frames = debugger.frames(worker);
    (0..frames.len()).for_each(|index| frame(&frames, index));
    if frames.is_empty() && view.state != WorkerState::Ended {
        println!("  it has not started");
    }
}

/// Prints a function on a stack.
pub fn frame(frames: &[Frame], index: usize) {
    println!("  #{index} {}", function(&frames[index]));
}

/// A function on a stack, without generic arguments and without the directory in which a library is installed.
fn function(frame: &Frame) -> String {
    let source = &frame.source;
    let file = source.file.as_ref().map(|file| match library_file(file) {
        Some(short) if frame.is_library => short.to_string(),
        _ => file.clone(),
    });
    let library = if frame.is_library { " (library)" } else { "" };
    let shown = SourceFrame { function: without_generics(&source.function), file, ..source.clone() };
    format!("{shown}{library}")
}

/// Prints lines of a file; returns false if there are none.
pub fn source(debugger: &mut Debugger, file: &str, line: u32, around: u32) -> bool {
    let Some((lines, changed)) = debugger.source(file, line, around) else { return false };
    if changed {
        println!("{file} was changed after the module was built: lines may be others");
    }
    for (number, text) in lines {
        let mark = if number == line { "=>" } else { "  " };
        println!("{}", format!("{mark} {number:>5}  {text}").trim_end());
    }
    true
}

/// Prints local variables.
pub fn locals(debugger: &Debugger, locals: &[Place]) {
    locals.iter().for_each(|place| println!("{} = {}", place.name, debugger.show(place)));
}

/// Prints the global variables whose names contain a text; returns how many there are.
pub fn globals(debugger: &Debugger, text: &str) -> usize {
    let globals = debugger.globals().into_iter().filter(|place| place.name.contains(text));
    globals.map(|place| println!("{} = {}", place.name, debugger.show(&place))).count()
}

/// Prints breakpoints and watchpoints.
pub fn points(debugger: &Debugger) -> Result<(), String> {
    let stops = &debugger.stops;
    if stops.breakpoints.is_empty() && stops.watchpoints.is_empty() {
        return Err("there are none".into());
    }
    for breakpoint in &stops.breakpoints {
        println!("{} stops at {}, {} times", breakpoint.number, breakpoint.at, breakpoint.positions.len());
    }
    for watchpoint in &stops.watchpoints {
        let place = &watchpoint.place;
        let value = debugger.show(place);
        println!(
            "{} watches {} ({:#x}:{}): {value}",
            watchpoint.number, place.name, place.address, place.bytes
        );
    }
    Ok(())
}

/// Prints the locks that workers hold and wait for.
pub fn locks(debugger: &Debugger) {
    let locks = debugger.locks();
    if locks.is_empty() {
        println!("no lock is held, and no worker waits for one");
    }
    let titles = |ids: &[WorkerId]| ids.iter().map(|id| debugger.title(*id)).collect::<Vec<_>>().join(", ");
    for lock in locks {
        let held = match lock.holders.as_slice() {
            [] => String::new(),
            holders => format!(", held by {}", titles(holders)),
        };
        let waiting = match lock.waiting.as_slice() {
            [] => String::new(),
            waiting => format!(", waited for by {}", titles(waiting)),
        };
        println!("{}{held}{waiting}", lock.name);
    }
}

/// Prints bytes of memory; returns false if some of them are outside of it.
pub fn memory(debugger: &Debugger, address: u64, bytes: u64) -> bool {
    let Some(memory) = debugger.memory_at(address, bytes) else { return false };
    for (row, bytes) in memory.chunks(16).enumerate() {
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let text: String =
            bytes.iter().map(|b| if (32..127).contains(b) { *b as char } else { '.' }).collect();
        println!("{:#010x}  {:<47}  {text}", address + 16 * row as u64, hex.join(" "));
    }
    true
}
