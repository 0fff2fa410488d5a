//! The story of a bug: its schedule is executed once more and shown in a few rows of the guest's own source.
//!
//! - `recorder`: records what steps do.
//! - `moment`: a step as a line of the guest's own source, and its importance; `moments` reads them from the recorded steps,
//!   and `places` finds the guest's own lines in stacks. `lock_words` and `condvars` know the sync objects of Rust's std, which
//!   are futexes.
//! - `rows`: the important ones, with folded loops; `table`: the rows' columns and texts.
//! - `polls`: the tasks that workers execute, and what becomes of them; `tasks`: where suspended ones wait; `turns`: which of
//!   that is important. Workers and tasks are the story's *lanes*.
//! - `sharing`: which memory several of them use.
//! - `why`: what the schedule proves about the cause, from `facts`; `deadlock`: the cause of a deadlock; `taken_twice`: a lock
//!   that a function takes twice, with another worker in between; `values_read`: what the failing worker read, and what it
//!   reads in a passing schedule; `looks`: what a worker that waits for ever saw before somebody changed it.
//! - `holders`: which workers hold what others wait for; `within`: workers that wait for something of a library.
//! - `history`: all steps, and happens-before between them.
//! - `memory_names`: names of variables; `objects`: names of sync objects, also from their `receivers` in the source; `cxx` reads the names of C++'s functions.
//! - `words`: the texts of rows; `racing`: the words of data races.
//!
//! Unknown facts are left out: a name or a value that may be wrong is worse than none.

mod condvars;
mod cxx;
mod deadlock;
mod facts;
mod history;
mod holders;
mod lock_words;
mod looks;
mod memory_names;
mod moment;
mod moments;
mod objects;
mod places;
mod polls;
mod racing;
mod receivers;
mod recorder;
mod rows;
mod sharing;
mod table;
mod taken_twice;
mod tasks;
mod turns;
mod values_read;
mod why;
mod within;
mod words;

use crate::artifact::Artifact;
use crate::evidence::{Evidence, Misuse, Naming};
use crate::execution::Execution;
use crate::machine::MachineError;
use crate::outcome::{Bug, BugKind, Outcome};
use crate::replay::replay;
use crate::results::{FoundBug, Livelock, Story, StoryRow, StoryWorker, WorkerAt};
use crate::runtime::{Request, Runtime};
use crate::symbols::{
    self, Coroutines, SourceFrame, Sources, Symbols, Variables, is_library, without_generics,
    without_parameters,
};
use crate::trace::Trace;
use coyote_strategies::{WorkerId, WorkerPath, WorkerState};
use facts::Facts;
use history::Material;
use lock_words::LockWord;
use looks::Look;
use memory_names::MemoryNames;
use moment::{Moment, Subject, Weight, is_same_line};
use objects::Objects;
use places::Places;
use polls::Lane;
use recorder::{RawAccess, Recorder, Recording};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use within::Within;
use words::Names;

/// Creates the stories of bugs.
pub struct Teller {
    symbols: Symbols,
    variables: Variables,
    coroutines: Arc<Coroutines>,
    sources: Sources,
    with_history: bool,
}

impl Teller {
    /// A teller for the module at this path, relative to which sources are searched.
    pub fn new(artifact: &Artifact, module: &Path) -> Teller {
        let wasm = &artifact.original;
        let (symbols, variables) = (Symbols::new(wasm), symbols::variables(wasm));
        let sources = Sources::beside(module);
        let coroutines = Arc::new(Coroutines::read(wasm));
        Teller { symbols, variables, coroutines, sources, with_history: false }
    }

    /// Whether to keep all steps of the bugs as well, for their display.
    pub fn with_history(self, with_history: bool) -> Teller {
        Teller { with_history, ..self }
    }

    /// Creates the story of a bug, and uses names from the source in its message and in the descriptions of its workers.
    /// There is no story if the schedule has too many steps.
    ///
    /// # Errors
    /// The machine's: internal errors, or errors of the environment.
    pub fn tell(&mut self, execution: &mut Execution, found: &mut FoundBug) -> Result<(), MachineError> {
        let trace = &found.trace;
        let decisive = found.explanation.decisive.as_ref().map(|decisive| decisive.step);
        let from_values = why::may_follow_from_values(found.bug.kind);
        let passing = match &found.explanation.passing {
            Some(passing) if from_values => record(execution, &passing.trace, false, None)?
                .map(|(_, recording)| (recording, paths(execution))),
            _ => None,
        };
        let coroutines = Some(self.coroutines.clone());
        let recorded = record(execution, trace, self.with_history, coroutines)?;
        let Some((Outcome::Bug(bug), recording)) = recorded else { return Ok(()) };
        let Teller { symbols, variables, coroutines, sources, with_history } = self;
        let mut places = Places::new(symbols);
        let failed_calls = &execution.runtime().failed_calls;
        let within =
            within::libraries(execution.runtime(), |id| places.frames(&execution.machine().stack(id)));
        let subject = subject(execution, &bug, &within);
        let mut moments = moments::moments(&recording, &mut places, variables, &subject, failed_calls);
        turns::weigh(&mut moments);
        let runtime = execution.runtime();
        let stuck = if bug.kind == BugKind::Deadlock { runtime.stuck() } else { Vec::new() };
        let looks: Vec<Look> = stuck.iter().filter_map(|worker| looks::look(&moments, *worker)).collect();
        let failing = bug.worker.and_then(|id| Some((id, places.own(&execution.machine().stack(id))?.1)));
        let memory = MemoryNames::of(&recording, variables, &mut places);
        let is_shared = |raw: &RawAccess| {
            runtime.heap.block_around(raw.address as u32).is_some() || memory.of_access(raw).is_some()
        };
        let last = failing.and_then(|(worker, line)| last_access(&moments, worker, &line, &is_shared));
        weigh(&mut moments, &looks, decisive, last);
        let objects = Objects::of(&recording, &moments, &memory, &mut places, sources);
        let name = |id| name(runtime, id);
        if let Some(passing) = &mut found.explanation.passing {
            let step = recording.steps.iter().find(|step| step.number == passing.step);
            passing.place = step.and_then(|step| places.own(&step.stack)).map(|(_, line)| line);
        }
        let names = Names {
            objects: &objects.names,
            memory: &|access| memory.of_access(access),
            workers: &name,
            tasks: &|id| tasks::name(&recording.polls, id),
        };
        // The worker, or the task that it executes at the end.
        let at_end = |id| {
            let task = if bug.worker == Some(id) { recording.polls.task(id) } else { None };
            Lane::of(id, task.filter(|_| recording.polls.share_workers()))
        };
        let (mut read, mut differs) = (None, None);
        if let Some(reader) = bug.worker.filter(|_| from_values) {
            let reads = values_read::reads(&recording, reader, &mut places);
            read = values_read::sentence(at_end(reader), &reads, &names);
            if let (Some(passing), Some((recording, workers))) = (&mut found.explanation.passing, &passing) {
                let path = &runtime.worker(reader).path;
                let same = workers.iter().position(|other| other == path).map(|at| WorkerId(at as u32));
                let others = same.map(|same| values_read::reads(recording, same, &mut places));
                let others = others.unwrap_or_default();
                if let Some(difference) = values_read::difference(&reads, &others, &names) {
                    differs = Some((difference.0.step, difference.0.access.clone()));
                    passing.read = values_read::differs(at_end(reader), difference, &names);
                }
            }
        }
        let mut tasks = Vec::new();
        if bug.kind == BugKind::Deadlock {
            tasks = tasks::suspended(execution, &recording.polls, coroutines, &mut places);
        }
        for task in &mut tasks {
            task.source = source_text(sources, Some(&task.at));
        }
        let places = RefCell::new(places);
        let stacks = |id| -> Vec<SourceFrame> {
            let frames = places.borrow_mut().frames(&execution.machine().stack(id));
            frames.into_iter().filter(|frame| !is_library(frame)).collect()
        };
        let innermost = |id| {
            let frames = places.borrow_mut().frames(&execution.machine().stack(id));
            let beyond =
                frames.into_iter().map(|frame| frame.function).skip_while(|name| is_futex_wait(name));
            beyond.take(1).collect()
        };
        let facts = Facts {
            runtime,
            moments: &moments,
            steps: &recording.steps,
            names: &names,
            lane: &at_end,
            stacks: &stacks,
            frames: &|stack| places.borrow_mut().frames(stack),
            line_of: &|location| places.borrow_mut().own(&[location]).map(|(_, line)| line),
            innermost: &innermost,
            within: &within,
            tasks: &tasks,
            looks: &looks,
            read,
            differs,
        };
        let (cause, structure) = (why::why(&bug, &facts), deadlock::structure(&bug, &facts));
        if bug.kind == BugKind::Deadlock {
            found.post_mortem.waited_for = deadlock::waited_for(&facts);
        }
        let mut places = places.into_inner();
        let named = |moment: &&mut Moment| {
            cause.as_ref().is_some_and(|cause| !moment.is_after && cause.steps.contains(&moment.step))
        };
        moments.iter_mut().filter(named).for_each(|moment| moment.weight = Weight::Subject);
        let mut ends = ends(execution, &bug, &mut places, &names, sources);
        let (groups, left_out) = rows::rows(&moments, ends.len());
        if groups.is_empty() {
            // Without rows, the verdict already says this.
            ends.clear();
        }
        let ends = ends.into_iter().map(|(id, row)| (at_end(id), row)).collect();
        let (lanes, rows) = table::table(&groups, ends, decisive, &names, sources);
        let column = |lane| match lane {
            Lane::Worker(id) => StoryWorker { title: runtime.title(id), name: name(id) },
            Lane::Task(id) => StoryWorker {
                title: tasks::title(&recording.polls, id, &places),
                name: tasks::name(&recording.polls, id),
            },
        };
        let workers = lanes.into_iter().map(column).collect();
        if *with_history {
            let (moments, objects, names) = (&moments, &objects, &names);
            let mut material = Material { runtime, moments, objects, names, places: &mut places, sources };
            found.history = Some(history::history(&recording, &mut material));
        }
        let naming = Naming {
            memory: &|address, bytes| memory.at(address.into(), bytes).map(|known| known.name),
            object: &|object| objects.title(runtime, object),
        };
        if let Some(race) = &mut found.post_mortem.race {
            racing::name(race, &bug.evidence, runtime, &memory, &objects);
        }
        found.named_message = Some(bug.evidence.sentence(&naming)).filter(|named| *named != bug.message());
        let why = cause.map(|cause| cause.sentence);
        found.story = Some(Story { why, structure, workers, rows, left_out });
        let notes = &mut found.post_mortem.notes;
        let news = changed(sources).filter(|note| !notes.contains(note));
        notes.extend(news);
        for worker in &mut found.post_mortem.workers {
            let frames = places.frames(&execution.machine().stack(worker.id));
            describe(worker, within.get(&worker.id).copied(), &frames, execution, &bug, &naming);
        }
        Ok(())
    }
}

/// Says what a worker is about to do at the end, with names from the source. `within`: the part of a library in which it
/// waits; `frames`: its stack.
fn describe(
    worker: &mut WorkerAt,
    within: Option<Within>,
    frames: &[SourceFrame],
    execution: &Execution,
    bug: &Bug,
    naming: &Naming<'_>,
) {
    let (runtime, id) = (execution.runtime(), worker.id);
    let spins = |livelock: &Livelock| livelock.spinning.iter().any(|spin| spin.worker == id);
    if execution.livelock().is_some_and(spins) {
        return;
    }
    if let Some(within) = within.filter(|_| bug.worker != Some(id)) {
        worker.doing = format!("waits for {}", within.awaited());
        // Where in its runtime it is tells nothing more.
        if within == Within::Tasks && frames.iter().all(is_library) {
            worker.stack.clear();
        }
        return;
    }
    worker.doing = super::doing(runtime, id, bug.worker, naming);
    if let (Request::FutexWait { .. }, Some(futex)) =
        (runtime.worker(id).request, worker.doing.strip_prefix("waits to be woken at the futex"))
    {
        worker.doing = match LockWord::of(frames) {
            Some((LockWord::Mutex, _)) => format!("waits to lock the mutex{futex}"),
            Some((LockWord::Rwlock, _)) => format!("waits to lock the rwlock{futex}"),
            None if condvars::is_wait(frames) => format!("waits for a notification of the condvar{futex}"),
            None => return,
        };
    }
}

/// Executes a trace once more and records it. `None` if it ends otherwise, or has too many steps.
fn record(
    execution: &mut Execution,
    trace: &Trace,
    with_order: bool,
    coroutines: Option<Arc<Coroutines>>,
) -> Result<Option<(Outcome, Recording)>, MachineError> {
    let (recorder, recorded) = Recorder::new(with_order, coroutines);
    let replayed = super::watched(execution, Box::new(recorder), |e| replay(e, trace, false))?;
    let recording = recorded.take();
    let is_whole = replayed.reproduces(trace) && !recording.too_long;
    Ok(is_whole.then_some((replayed.outcome, recording)))
}

/// The paths of the workers of the execution that has just ended, by number.
fn paths(execution: &Execution) -> Vec<WorkerPath> {
    execution.runtime().workers().iter().map(|worker| worker.path.clone()).collect()
}

/// Makes moments a subject of the story that it must not leave out: looks of workers that wait for ever and what changes
/// afterwards, the decisive step, and the access with this index.
fn weigh(moments: &mut [Moment], looks: &[Look], decisive: Option<u64>, access: Option<usize>) {
    for at in looks.iter().flat_map(|look| [look.look, look.change]).chain(access) {
        moments[at].weight = Weight::Subject;
    }
    for moment in moments.iter_mut().filter(|moment| Some(moment.step) == decisive && !moment.is_after) {
        moment.weight = Weight::Subject;
    }
}

/// The last access of memory of a worker in its failing line: what it found there is a part of the bug. `is_shared`: whether
/// an access is one of a variable that has a name, or of a block of the heap.
fn last_access(
    moments: &[Moment],
    worker: WorkerId,
    line: &SourceFrame,
    is_shared: &dyn Fn(&RawAccess) -> bool,
) -> Option<usize> {
    let here = |moment: &Moment| moment.line.as_ref().is_some_and(|other| is_same_line(other, line));
    let accesses =
        |moment: &Moment| !moment.is_after && moment.accesses.iter().any(|access| is_shared(&access.raw));
    moments.iter().rposition(|moment| moment.worker == worker && accesses(moment) && here(moment))
}

/// The names of sync objects in the program's source, by address, as far as they follow from a replay that reproduces
/// the trace's bug.
///
/// # Errors
/// The machine's: internal errors, or errors of the environment.
pub(crate) fn object_names(
    execution: &mut Execution,
    trace: &Trace,
    symbols: &Symbols,
    variables: &Variables,
    sources: &mut Sources,
) -> Result<BTreeMap<u64, String>, MachineError> {
    let Some((Outcome::Bug(bug), recording)) = record(execution, trace, false, None)? else {
        return Ok(BTreeMap::new());
    };
    let mut places = Places::new(symbols);
    let failed_calls = &execution.runtime().failed_calls;
    let subject = subject(execution, &bug, &BTreeMap::new());
    let moments = moments::moments(&recording, &mut places, variables, &subject, failed_calls);
    let memory = MemoryNames::of(&recording, variables, &mut places);
    Ok(Objects::of(&recording, &moments, &memory, &mut places, sources).names)
}

/// Whether a function only waits for a futex.
fn is_futex_wait(function: &str) -> bool {
    let name = short_name(function);
    ["futex_wait", "memory_atomic_wait32", "emscripten_futex_wait"].contains(&name.as_str())
        || ["__timedwait", "__timedwait_cp", "__wait", "__futexwait"].contains(&name.as_str())
}

/// A note on sources that are no longer those of the module.
fn changed(sources: &Sources) -> Option<String> {
    let changed: Vec<&str> = sources.changed().collect();
    let were = if changed.len() == 1 { "was" } else { "were" };
    let files = changed.join(", ");
    let note = format!("{files} {were} changed after the module was built: its text is left out");
    (!changed.is_empty()).then_some(note)
}

/// The text of a source line.
fn source_text(sources: &mut Sources, place: Option<&SourceFrame>) -> Option<String> {
    let place = place?;
    let line = sources.line(place.file.as_deref()?, place.line?)?.trim();
    (!line.is_empty()).then(|| line.to_string())
}

/// What workers are about to do at the end, if that is a part of the bug.
fn ends(
    execution: &Execution,
    bug: &Bug,
    places: &mut Places<'_>,
    names: &Names<'_>,
    sources: &mut Sources,
) -> Vec<(WorkerId, StoryRow)> {
    let runtime = execution.runtime();
    let workers = match bug.worker {
        Some(worker) => vec![worker],
        None if bug.kind == BugKind::Deadlock => involved(runtime),
        None => Vec::new(),
    };
    let mut ends = Vec::new();
    for id in workers {
        let text = if bug.worker == Some(id) { Some(what(bug)) } else { wanted(runtime, id, names) };
        let Some(text) = text else { continue };
        let place = places.own(&execution.machine().stack(id)).map(|(_, frame)| frame);
        let source = source_text(sources, place.as_ref());
        let row = StoryRow {
            steps: None,
            worker: 0,
            text,
            place,
            source,
            repeats: None,
            wakes: Vec::new(),
            decisive: false,
            gap: false,
            skipped: 0,
        };
        ends.push((id, row));
    }
    ends
}

/// The subject of the bug with which the execution has just ended. Where runtimes of tasks wait is none.
fn subject(execution: &Execution, bug: &Bug, within: &BTreeMap<WorkerId, Within>) -> Subject {
    let runtime = execution.runtime();
    let blame = execution.machine().scheduler().blame;
    let events = blame.iter().flat_map(|blame| [Some(blame.allocated), blame.freed]).flatten().collect();
    let addresses = match &bug.evidence {
        Evidence::Misuse(Misuse::Object { place, .. }) => vec![place.address.into()],
        Evidence::Misuse(Misuse::Told { object, .. }) if *object != 0 => vec![u64::from(*object)],
        Evidence::Race { first, second } => vec![first.address.into(), second.address.into()],
        Evidence::Deadlock { .. } | Evidence::Circle { .. } => {
            let stuck = involved(runtime).into_iter().filter(|id| within.get(id) != Some(&Within::Tasks));
            let waits = stuck.flat_map(|id| {
                let request = runtime.worker(id).request;
                [request.wants(), request.queue()].into_iter().flatten()
            });
            waits.map(|place| place.address.into()).collect()
        }
        _ => Vec::new(),
    };
    Subject { events, addresses }
}

/// The workers of a deadlock that its story is about: those that cause it, and those that they hold up. Ascending.
fn involved(runtime: &Runtime) -> Vec<WorkerId> {
    let mut workers = runtime.stuck();
    workers.extend(runtime.held_up(&workers));
    workers.sort();
    workers
}

/// A worker's name in a story: the one that the guest gave it, if no other worker has it.
fn name(runtime: &Runtime, id: WorkerId) -> String {
    let worker = runtime.worker(id);
    let count = |name: &str| runtime.workers().iter().filter(|w| w.name.as_deref() == Some(name)).count();
    match &worker.name {
        Some(name) if count(name) == 1 && !name.is_empty() => name.clone(),
        _ => format!("worker {}", worker.path),
    }
}

/// The end of a worker's part of the story.
fn what(bug: &Bug) -> String {
    match bug.kind {
        BugKind::Assertion if bug.message().starts_with("abort was called") => "calls abort".into(),
        BugKind::Assertion => "the assertion fails".into(),
        BugKind::Panic => "panics".into(),
        BugKind::ExitCode => "ends the program".into(),
        BugKind::Limit => "comes to a limit of this tool".into(),
        kind => kind.name().replace('-', " "),
    }
}

/// An object for which a worker waits in vain although no step has shown this wait yet.
fn wanted(runtime: &Runtime, id: WorkerId, names: &Names<'_>) -> Option<String> {
    if runtime.pending(id).state != WorkerState::Blocked {
        return None;
    }
    let holders = |place| -> String {
        let titles: Vec<String> =
            runtime.holders(place).into_iter().map(|holder| (names.workers)(holder)).collect();
        match titles.as_slice() {
            [] => String::new(),
            [only] if *only == (names.workers)(id) => ", which it holds itself".into(),
            [only] => format!(", which {only} holds"),
            several => format!(", which {} hold", several.join(" and ")),
        }
    };
    if !runtime.awaited(id).is_empty() {
        return Some(format!("awaits {}", runtime.awaited_text(id)));
    }
    match runtime.worker(id).request {
        Request::Lock { lock, .. } => {
            let place = lock.place();
            let name = names.objects.get(&place.address.into());
            let name = name.map_or_else(|| format!("a {}", place.noun()), |name| format!("`{name}`"));
            Some(format!("waits {} {name}{}", lock.purpose(), holders(place)))
        }
        Request::Join { handle } => {
            Some(format!("waits for the end of {}", (names.workers)(runtime.worker_of(handle)?)))
        }
        _ => None,
    }
}

/// A function's name without its module, for rows.
fn short_name(function: &str) -> String {
    let plain = without_generics(function);
    // A closure gets the name of the function around it.
    let path = ["::{closure", "::{{closure", "::{async_"]
        .iter()
        .fold(&*plain, |path, closure| path.split(closure).next().unwrap_or(path));
    let bare = |path| without_parameters(path).unwrap_or(path);
    let path = bare(path);
    // A closure of C++, too.
    let path = path.split("::$_").next().unwrap_or(path);
    let path = bare(path.split("::'lambda").next().unwrap_or(path));
    let name = path.rsplit("::").next().unwrap_or(path);
    // Functions of AssemblyScript have file paths in their names, and operators of C++ their signs.
    let name = if name.starts_with("operator") { name } else { name.rsplit('/').next().unwrap_or(name) };
    if name.starts_with('{') || name.is_empty() { plain } else { name.to_string() }
}

#[cfg(test)]
mod tests {
    use super::short_name;

    /// Closures have the name of the function around them, in each notation of Rust's compiler.
    #[test]
    fn names_are_short() {
        for (name, short) in [
            ("app::tests::once", "once"),
            ("app::tests::once::{closure#0}::{closure#1}", "once"),
            ("app::tests::once::{{closure}}::{{closure}}", "once"),
            ("<app::Queue<T> as app::Push>::push", "push"),
            ("{closure#1}", "{closure#1}"),
            ("assembly/index/add", "add"),
            ("Account::operator+=(ns::Money const&)", "operator+="),
            ("ns::Ratio::operator/(int) const", "operator/"),
            ("Box::get(std::basic_string const&) const", "get"),
            ("finish(std::promise&, int)", "finish"),
            ("main::$_0::operator()() const", "main"),
            ("pool::run(int)::'lambda'()::operator()() const", "run"),
            ("worker", "worker"),
        ] {
            assert_eq!(short_name(name), short, "{name}");
        }
    }
}
