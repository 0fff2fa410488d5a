//! The view at a position: workers and their stacks, memory, locks, the steps around it.

use super::Debugger;
use super::motion::Change;
use super::schedule::{Frame, Step, frames_at, own};
use crate::diagnose::doing;
use crate::evidence::Naming;
use crate::outcome::Outcome;
use crate::runtime::ObjectId;
use crate::symbols::{Place, SourceFrame, number_text, slice};
use coyote_strategies::{OpKind, WorkerId, WorkerState};

/// A worker at the present position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerView {
    /// The worker's id.
    pub id: WorkerId,
    /// The worker by the name that reports show.
    pub title: String,
    /// Whether the worker can continue.
    pub state: WorkerState,
    /// The operation that the worker is about to execute, or that it has ended.
    pub doing: String,
    /// Its place in the program's own source.
    pub place: Option<SourceFrame>,
}

/// A sync object that workers hold or wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockView {
    /// The object's name.
    pub name: String,
    /// Workers that hold it.
    pub holders: Vec<WorkerId>,
    /// Workers that wait for it.
    pub waiting: Vec<WorkerId>,
}

impl Debugger {
    /// Guest memory, of the size that the guest sees.
    pub fn memory(&self) -> &[u8] {
        let machine = self.execution.machine();
        let memory = machine.memory();
        &memory[..machine.memory_bytes().min(memory.len())]
    }

    /// A range of guest memory; `None` if it reaches beyond the end.
    pub fn memory_at(&self, address: u64, bytes: u64) -> Option<&[u8]> {
        slice(self.memory(), address, bytes)
    }

    /// The place that an expression denotes now: see [`crate::symbols::Variables::find`]. `of`: the worker and the frame
    /// whose local variables hide global ones; the frame by its index in [`Debugger::frames`].
    ///
    /// # Errors
    /// Why the expression denotes no place.
    pub fn find(&self, expression: &str, of: Option<(WorkerId, usize)>) -> Result<Place, String> {
        let locals = of.and_then(|(worker, frame)| self.locals(worker, frame)).unwrap_or_default();
        self.variables.find(expression, &locals, self.memory())
    }

    /// The local variables of a worker's frame that have a place in memory, in the order of declaration; the frame by its
    /// index in [`Debugger::frames`]. `None` if it is not known where the frame lies: the worker stopped there without
    /// being suspended, or a function has a frame of variable size.
    pub fn locals(&self, worker: WorkerId, frame: usize) -> Option<Vec<Place>> {
        if !self.has_stack(worker) {
            return None;
        }
        let mut first = 0;
        for (location, begin) in self.execution.machine().shadow_frames(worker) {
            let count = frames_at(location, &self.symbols).len();
            if frame < first + count {
                let inlined = first + count - 1 - frame;
                return Some(self.variables.locals(location, inlined, begin?.into()));
            }
            first += count;
        }
        None
    }

    /// The innermost frame of a worker that is the program's own and has local variables in memory; else the innermost one
    /// that is the program's own.
    pub fn own_frame(&self, worker: WorkerId) -> Option<usize> {
        let frames = self.frames(worker);
        let own = (0..frames.len()).filter(|frame| !frames[*frame].is_library);
        let has_locals = |frame: &usize| self.locals(worker, *frame).is_some_and(|locals| !locals.is_empty());
        own.clone().find(has_locals).or_else(|| own.clone().next())
    }

    /// The present value at a place, as text.
    pub fn show(&self, place: &Place) -> String {
        self.variables.show(place, self.memory())
    }

    /// The parts of a place, with their names.
    pub fn children(&self, place: &Place) -> Vec<(String, Place)> {
        self.variables.children(place, self.memory())
    }

    /// The program's own global variables.
    pub fn globals(&self) -> Vec<Place> {
        self.variables.globals().collect()
    }

    /// A value that memory held earlier or will hold, shown as that of the place.
    pub fn show_bytes(&self, place: &Place, bytes: Option<&[u8]>) -> String {
        let Some(bytes) = bytes else { return "no memory".into() };
        // Memory with the given bytes at the place and its present content elsewhere: pointers are not followed.
        let mut memory = self.memory().to_vec();
        let start = usize::try_from(place.address).unwrap_or(usize::MAX);
        match memory.get_mut(start..start.saturating_add(bytes.len())) {
            Some(there) => there.copy_from_slice(bytes),
            None => return "no memory".into(),
        }
        self.variables.show(place, &memory)
    }

    /// The workers that exist, by their ids.
    pub fn workers(&self) -> Vec<WorkerView> {
        let runtime = self.execution.runtime();
        let ids = (0..runtime.workers().len() as u32).map(WorkerId);
        let view = |id: WorkerId| {
            let state = runtime.pending(id).state;
            let naming = Naming {
                memory: &|address, bytes| self.variables.at(address.into(), bytes).map(|known| known.name),
                object: &|object| self.object_name(object),
            };
            WorkerView {
                id,
                title: runtime.title(id),
                state,
                doing: match state {
                    WorkerState::Ended => "has ended".into(),
                    _ => doing(runtime, id, self.culprit(), &naming),
                },
                place: own(&self.frames(id)).map(|frame| frame.source.clone()),
            }
        };
        ids.map(view).collect()
    }

    /// The worker that caused the bug, at the end of the execution.
    fn culprit(&self) -> Option<WorkerId> {
        match &self.replayed.outcome {
            Outcome::Bug(bug) if self.position() == self.end() => bug.worker,
            _ => None,
        }
    }

    /// The worker's name in reports.
    pub fn title(&self, id: WorkerId) -> String {
        let runtime = self.execution.runtime();
        match runtime.workers().get(id.index()) {
            Some(_) => runtime.title(id),
            None => format!("worker number {}", id.0),
        }
    }

    /// The worker with a path such as `0.1`, or with a name that the program gave it.
    ///
    /// # Errors
    /// There is no such worker yet, or several workers have that name.
    pub fn worker_of(&self, text: &str) -> Result<WorkerId, String> {
        let runtime = self.execution.runtime();
        let ids = (0..runtime.workers().len() as u32).map(WorkerId);
        let is = |id: &WorkerId| {
            let worker = runtime.worker(*id);
            worker.path.to_string() == text || worker.name.as_deref() == Some(text)
        };
        let found: Vec<WorkerId> = ids.filter(is).collect();
        match found.as_slice() {
            [only] => Ok(*only),
            [] => Err(format!("there is no worker {text} here; `workers` lists them")),
            _ => Err(format!("several workers are called {text}; give a path such as 0.1")),
        }
    }

    /// The frames on a worker's stack, innermost first. Empty if the worker has not started or has ended.
    pub fn frames(&self, worker: WorkerId) -> Vec<Frame> {
        if !self.has_stack(worker) {
            return Vec::new();
        }
        let stack = self.execution.machine().stack(worker);
        stack.into_iter().flat_map(|location| frames_at(location, &self.symbols)).collect()
    }

    /// Whether the worker exists and has not ended.
    fn has_stack(&self, worker: WorkerId) -> bool {
        let runtime = self.execution.runtime();
        worker.index() < runtime.workers().len() && runtime.pending(worker).state != WorkerState::Ended
    }

    /// The locks that workers hold, and those that they wait for.
    pub fn locks(&self) -> Vec<LockView> {
        let runtime = self.execution.runtime();
        let mut objects: Vec<(ObjectId, Vec<WorkerId>)> =
            runtime.held().map(|object| (object, Vec::new())).collect();
        for id in (0..runtime.workers().len() as u32).map(WorkerId) {
            if runtime.pending(id).state != WorkerState::Blocked {
                continue;
            }
            let worker = runtime.worker(id);
            // A wait for a condvar waits for its mutex after the notification.
            let queue = worker.request.queue().filter(|_| worker.wake.is_none());
            let Some(object) = queue.or(worker.request.wants()) else { continue };
            match objects.iter_mut().find(|(known, _)| *known == object) {
                Some((_, waiting)) => waiting.push(id),
                None => objects.push((object, vec![id])),
            }
        }
        objects.sort_by_key(|(object, _)| *object);
        let view = |(object, waiting): (ObjectId, Vec<WorkerId>)| LockView {
            name: self.object_name(object),
            holders: runtime.holders(object),
            waiting,
        };
        objects.into_iter().map(view).collect()
    }

    /// The locks that a worker holds.
    pub fn held_by(&self, worker: WorkerId) -> Vec<String> {
        self.locks().into_iter().filter(|lock| lock.holders.contains(&worker)).map(|lock| lock.name).collect()
    }

    fn object_name(&self, object: ObjectId) -> String {
        match self.name_of_object(object.address) {
            Some(name) => format!("{} `{name}`", object.noun()),
            None => object.title(),
        }
    }

    fn name_of_object(&self, address: u32) -> Option<String> {
        let known = self.objects.get(&address.into()).cloned();
        known.or_else(|| self.variables.object_at(address.into()))
    }

    /// The label of a position: the step that comes next.
    pub fn label(&self, position: usize) -> String {
        match self.schedule.steps.get(position) {
            Some(step) if step.timeout => format!("the timeout after step {}", step.number),
            Some(step) => format!("step {}", step.number),
            None => "the end".into(),
        }
    }

    /// A description of an entry of the schedule.
    pub fn describe(&self, position: usize) -> String {
        let Some(step) = self.schedule.steps.get(position) else { return self.ending() };
        if step.timeout {
            return "its time is up".into();
        }
        let mut text = self.operation(step);
        if !step.values.is_empty() {
            let values: Vec<String> = step.values.iter().map(u64::to_string).collect();
            text += &format!(", chooses {}", values.join(", "));
        }
        text
    }

    fn operation(&self, step: &Step) -> String {
        let operation = &step.operation;
        let kind = operation.kind.name();
        if operation.kind.accesses_memory() {
            let known = self.variables.at(operation.object, operation.size);
            let place = match &known {
                Some(known) => known.name.clone(),
                None => format!("{:#x}:{}", operation.object, operation.size),
            };
            let encoding = known.map(|known| known.encoding).unwrap_or_default();
            let show = |value| number_text(value, operation.size, &encoding);
            return match step.number_at {
                None => format!("{kind} {place}"),
                Some((before, after)) if operation.kind.writes() && before != after => {
                    format!("{kind} {place}: {} -> {}", show(before), show(after))
                }
                Some((_, after))
                    if operation.kind == OpKind::Store || operation.kind == OpKind::AtomicStore =>
                {
                    format!("{kind} {place}: {}", show(after))
                }
                Some((before, _)) => format!("{kind} {place}: {}", show(before)),
            };
        }
        let address = u32::try_from(operation.object).ok().filter(|address| *address != 0);
        let object = address.and_then(|address| self.name_of_object(address));
        match (operation.kind, object, address) {
            (
                OpKind::Spawn | OpKind::Join | OpKind::File | OpKind::Call | OpKind::Stub | OpKind::Fault,
                ..,
            )
            | (_, None, None) => kind.into(),
            (_, Some(name), _) => format!("{kind} `{name}`"),
            (_, None, Some(address)) => format!("{kind} {address:#x}"),
        }
    }

    /// A description of the execution's end.
    pub fn ending(&self) -> String {
        match &self.replayed.outcome {
            Outcome::Passed => "ends without a bug".into(),
            Outcome::Bug(bug) => format!("{}: {}", bug.kind.name(), bug.message()),
            Outcome::Bound(bound) => bound.advice(),
            Outcome::Abandoned => "goes no further: the program does not follow the trace".into(),
        }
    }

    /// A description of the change that a watchpoint saw, as a sentence.
    pub fn describe_change(&self, change: &Change) -> String {
        let watched = self.stops.watchpoints.iter().find(|w| w.number == change.number);
        let (Some(watched), Some(step)) = (watched, self.schedule.steps.get(change.position)) else {
            return "watched memory changes".into();
        };
        let place = &watched.place;
        let value = |bytes: &Option<Vec<u8>>| self.show_bytes(place, bytes.as_deref());
        if change.before == change.after {
            let (label, title) = (self.label(change.position), self.title(step.worker));
            return format!(
                "{label} of {title} writes {}: {}, which was there already",
                place.name,
                value(&change.after)
            );
        }
        let how = match step.writes(place.address, place.bytes) {
            true => "",
            false => " (by no operation of its own: between this step and the next one of the worker)",
        };
        format!(
            "{} of {} changes {}: {} -> {}{how}",
            self.label(change.position),
            self.title(step.worker),
            place.name,
            value(&change.before),
            value(&change.after)
        )
    }

    /// The lines of a file around a given one, with their numbers, and whether the file was changed after the module
    /// was built.
    pub fn source(&mut self, file: &str, line: u32, around: u32) -> Option<(Vec<(u32, String)>, bool)> {
        let source = self.sources.file(file)?;
        let first = line.saturating_sub(around).max(1);
        let lines = source.lines.iter().enumerate().skip(first as usize - 1).take(2 * around as usize + 1);
        let lines: Vec<(u32, String)> = lines.map(|(index, text)| (index as u32 + 1, text.clone())).collect();
        Some((lines, source.changed)).filter(|(lines, _)| !lines.is_empty())
    }

    /// The path of a source file on disk.
    pub fn source_path(&self, file: &str) -> Option<std::path::PathBuf> {
        self.sources.path(file)
    }
}
