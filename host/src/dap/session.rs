//! The requests of a session.

use super::ServeError;
use super::protocol::{Request, Writer};
use super::values::{Of, Values};
use crate::debug::Debugger;
use crate::debug::motion::{Direction, Stop};
use crate::machine::MachineError;
use crate::outcome::Outcome;
use coyote_strategies::{WorkerId, WorkerState};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// A client's launch request.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Launch {
    /// The module, or a bundle.
    pub module: Option<PathBuf>,
    /// The trace; without a module, a bundle.
    pub trace: PathBuf,
    /// Whether the module was edited since the trace was recorded.
    #[serde(default)]
    pub lenient: bool,
    /// Whether the execution stops at its beginning.
    #[serde(default = "yes")]
    pub stop_on_entry: bool,
}

fn yes() -> bool {
    true
}

/// An execution to be debugged.
pub struct Opened {
    /// The debugger, at the beginning of the execution.
    pub debugger: Debugger,
    /// A message to the user about it.
    pub said: String,
}

/// See the module's documentation.
pub struct Session<'a, W> {
    out: Writer<W>,
    open: &'a dyn Fn(&Launch) -> Result<Opened, String>,
    debugger: Option<Debugger>,
    stop_on_entry: bool,
    values: Values,
    /// Breakpoints by their file, as the client names it. Breakpoints at functions have no file.
    breakpoints: BTreeMap<String, Vec<u32>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetBreakpoints {
    source: Source,
    #[serde(default)]
    breakpoints: Vec<SourceBreakpoint>,
}

#[derive(Deserialize)]
struct Source {
    path: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
struct SourceBreakpoint {
    line: u32,
}

#[derive(Deserialize)]
struct SetNamed {
    breakpoints: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    #[serde(alias = "dataId")]
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfThread {
    thread_id: u64,
    #[serde(default)]
    start_frame: usize,
    #[serde(default)]
    levels: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfFrame {
    frame_id: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfVariable {
    #[serde(default)]
    variables_reference: u64,
    #[serde(default)]
    name: String,
    frame_id: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Evaluate {
    expression: String,
    frame_id: Option<u64>,
}

/// The result of a request.
type Answer = Result<Value, String>;

/// Keys for data breakpoints and function breakpoints in the map of breakpoints by file; no file has these names.
const DATA: &str = "\0data";
const FUNCTIONS: &str = "\0functions";

/// The client's number of a thread, which is never 0.
fn thread(worker: WorkerId) -> u64 {
    u64::from(worker.0) + 1
}

/// The worker and the frame that a client's number of a frame means.
fn frame(number: u64) -> Result<Of, String> {
    let index = usize::try_from(number % FRAMES).map_err(|_| format!("there is no frame {number}"))?;
    Ok((worker(number / FRAMES)?, index))
}

fn worker(thread: u64) -> Result<WorkerId, String> {
    let id = thread.checked_sub(1).and_then(|id| u32::try_from(id).ok());
    id.map(WorkerId).ok_or_else(|| format!("there is no thread {thread}"))
}

/// Numbers per thread in a client's number of a frame, which combines the thread and the frame's index in its stack.
const FRAMES: u64 = 1 << 20;

fn arguments<T: DeserializeOwned>(request: &Request) -> Result<T, String> {
    serde_json::from_value(request.arguments.clone()).map_err(|error| format!("{}: {error}", request.command))
}

impl<'a, W: Write> Session<'a, W> {
    pub fn new(out: Writer<W>, open: &'a dyn Fn(&Launch) -> Result<Opened, String>) -> Session<'a, W> {
        let (values, breakpoints) = (Values::default(), BTreeMap::new());
        Session { out, open, debugger: None, stop_on_entry: true, values, breakpoints }
    }

    /// Answers a request, and sends the events that result from it.
    pub fn answer(&mut self, request: &Request) -> Result<ControlFlow<()>, ServeError> {
        let result = match request.command.as_str() {
            "initialize" => Ok(capabilities()),
            "launch" => return self.launch(request),
            "attach" => Err("a replay is launched: there is nothing to attach to".into()),
            "configurationDone" => return self.begin(request),
            "disconnect" | "terminate" => {
                self.out.answer(request, Ok(Value::Null))?;
                if request.command == "terminate" {
                    self.out.event("terminated", json!({}))?;
                    return Ok(ControlFlow::Continue(()));
                }
                return Ok(ControlFlow::Break(()));
            }
            "continue" | "reverseContinue" | "next" | "stepIn" | "stepOut" | "stepBack" | "pause" => {
                return self.move_on(request);
            }
            _ => match &mut self.debugger {
                None => Err("nothing was launched".into()),
                Some(debugger) => {
                    let mut view =
                        View { debugger, values: &mut self.values, breakpoints: &mut self.breakpoints };
                    view.answer(request)
                }
            },
        };
        self.out.answer(request, result)?;
        Ok(ControlFlow::Continue(()))
    }

    fn launch(&mut self, request: &Request) -> Result<ControlFlow<()>, ServeError> {
        let opened = arguments(request).and_then(|launch: Launch| {
            self.stop_on_entry = launch.stop_on_entry;
            (self.open)(&launch)
        });
        match opened {
            Err(why) => self.out.answer(request, Err(why))?,
            Ok(opened) => {
                self.debugger = Some(opened.debugger);
                self.out.answer(request, Ok(Value::Null))?;
                self.out.event("output", json!({ "category": "console", "output": opened.said }))?;
                // The client may set breakpoints after this event.
                self.out.event("initialized", json!({}))?;
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Begins the execution when the client has set its breakpoints.
    fn begin(&mut self, request: &Request) -> Result<ControlFlow<()>, ServeError> {
        self.out.answer(request, Ok(Value::Null))?;
        let stop = match (&mut self.debugger, self.stop_on_entry) {
            (None, _) => return Ok(ControlFlow::Continue(())),
            (Some(_), true) => Stop::Beginning,
            (Some(debugger), false) => debugger.run(Direction::Forward)?,
        };
        self.stopped(&stop)
    }

    fn move_on(&mut self, request: &Request) -> Result<ControlFlow<()>, ServeError> {
        let Some(debugger) = &mut self.debugger else {
            self.out.answer(request, Err("nothing was launched".into()))?;
            return Ok(ControlFlow::Continue(()));
        };
        let of = arguments::<OfThread>(request).and_then(|of| worker(of.thread_id));
        let current = debugger.current();
        let moved = |debugger: &mut Debugger| -> Result<Stop, MachineError> {
            let worker = of.as_ref().copied().unwrap_or(current);
            match request.command.as_str() {
                "continue" => debugger.run(Direction::Forward),
                "reverseContinue" => debugger.run(Direction::Back),
                "next" => debugger.to_line(worker, false, Direction::Forward),
                "stepOut" => debugger.to_line(worker, true, Direction::Forward),
                "stepIn" => debugger.step(Direction::Forward, 1),
                "stepBack" => debugger.step(Direction::Back, 1),
                _ => Ok(Stop::There),
            }
        };
        let stop = moved(debugger)?;
        let body = match request.command.as_str() {
            "continue" => json!({ "allThreadsContinued": true }),
            _ => Value::Null,
        };
        self.out.answer(request, Ok(body))?;
        if request.command == "pause" {
            let threads =
                json!({ "reason": "pause", "threadId": thread(current), "allThreadsStopped": true });
            self.out.event("stopped", threads)?;
            return Ok(ControlFlow::Continue(()));
        }
        self.stopped(&stop)
    }

    /// Tells the client where the execution stopped.
    fn stopped(&mut self, stop: &Stop) -> Result<ControlFlow<()>, ServeError> {
        self.values = Values::default();
        let Some(debugger) = &self.debugger else { return Ok(ControlFlow::Continue(())) };
        let worker = debugger.current();
        let is_bug = matches!(debugger.replayed.outcome, Outcome::Bug(_));
        let place = match debugger.position() == debugger.end() {
            true => debugger.ending(),
            false => {
                format!("{}: {}", debugger.label(debugger.position()), debugger.describe(debugger.position()))
            }
        };
        let (reason, text) = match stop {
            Stop::There => ("step", place),
            Stop::Beginning => ("entry", format!("the beginning, before {place}")),
            Stop::End if is_bug => ("exception", place),
            Stop::End => ("step", format!("the end: {place}")),
            Stop::Breakpoint(_) => ("breakpoint", place),
            Stop::Changed(change) => ("data breakpoint", debugger.describe_change(change)),
        };
        let hit = match stop {
            Stop::Breakpoint(number) => vec![*number],
            Stop::Changed(change) => vec![change.number],
            _ => Vec::new(),
        };
        let body = json!({
            "reason": reason,
            "description": text,
            "text": text,
            "threadId": thread(worker),
            "allThreadsStopped": true,
            "hitBreakpointIds": hit,
        });
        self.out.event("stopped", body)?;
        Ok(ControlFlow::Continue(()))
    }
}

/// A launched execution, for requests that examine it.
struct View<'a> {
    debugger: &'a mut Debugger,
    values: &'a mut Values,
    breakpoints: &'a mut BTreeMap<String, Vec<u32>>,
}

impl View<'_> {
    fn answer(&mut self, request: &Request) -> Answer {
        match request.command.as_str() {
            "setBreakpoints" => self.set_breakpoints(&arguments(request)?),
            "setFunctionBreakpoints" => {
                let wanted: SetNamed = arguments(request)?;
                self.forget(FUNCTIONS);
                let set = wanted.breakpoints.iter().map(|named| self.set_function(&named.name));
                Ok(json!({ "breakpoints": set.collect::<Vec<_>>() }))
            }
            "setDataBreakpoints" => {
                let wanted: SetNamed = arguments(request)?;
                self.forget(DATA);
                let set = wanted.breakpoints.iter().map(|named| self.set_data(&named.name));
                Ok(json!({ "breakpoints": set.collect::<Vec<_>>() }))
            }
            "setExceptionBreakpoints" => Ok(json!({ "breakpoints": [] })),
            "dataBreakpointInfo" => Ok(self.data_breakpoint(&arguments(request)?)),
            "threads" => Ok(self.threads()),
            "stackTrace" => self.stack(&arguments(request)?),
            "scopes" => {
                let of: OfFrame = arguments(request)?;
                Ok(self.values.scopes(frame(of.frame_id)?))
            }
            "variables" => {
                let of: OfVariable = arguments(request)?;
                self.values.parts(self.debugger, of.variables_reference)
            }
            "evaluate" => {
                let of: Evaluate = arguments(request)?;
                let scope = of.frame_id.map(frame).transpose()?;
                let place = self.debugger.find(&of.expression, scope)?;
                Ok(self.values.evaluated(self.debugger, place, scope))
            }
            "source" => self.source(request),
            "exceptionInfo" => Ok(json!({
                "exceptionId": self.debugger.replayed.outcome.describe().0,
                "description": self.debugger.ending(),
                "breakMode": "always",
            })),
            other => Err(format!("{other} is not supported")),
        }
    }

    /// Removes the breakpoints that were set before.
    fn forget(&mut self, of: &str) {
        for number in self.breakpoints.remove(of).unwrap_or_default() {
            self.debugger.stops.remove(number);
        }
    }

    fn set_breakpoints(&mut self, wanted: &SetBreakpoints) -> Answer {
        let path = wanted.source.path.as_ref().or(wanted.source.name.as_ref());
        let path = path.ok_or("setBreakpoints: a source without a path")?.clone();
        self.forget(&path);
        let mut set = Vec::new();
        for breakpoint in &wanted.breakpoints {
            set.push(match self.debugger.break_at_line(&path, breakpoint.line) {
                Ok(done) => {
                    let number = done.number;
                    self.breakpoints.entry(path.clone()).or_default().push(number);
                    json!({ "id": number, "verified": true, "line": breakpoint.line })
                }
                Err(why) => json!({ "verified": false, "line": breakpoint.line, "message": why }),
            });
        }
        Ok(json!({ "breakpoints": set }))
    }

    fn set_function(&mut self, name: &str) -> Value {
        match self.debugger.break_at_function(name) {
            Ok(done) => {
                let number = done.number;
                self.breakpoints.entry(FUNCTIONS.into()).or_default().push(number);
                json!({ "id": number, "verified": true })
            }
            Err(why) => json!({ "verified": false, "message": why }),
        }
    }

    fn set_data(&mut self, expression: &str) -> Value {
        match self.debugger.watch(expression, None) {
            Ok(done) => {
                let number = done.number;
                self.breakpoints.entry(DATA.into()).or_default().push(number);
                json!({ "id": number, "verified": true })
            }
            Err(why) => json!({ "verified": false, "message": why }),
        }
    }

    /// The memory that a data breakpoint on a variable would watch.
    fn data_breakpoint(&self, of: &OfVariable) -> Value {
        let found = match of.variables_reference {
            0 => self.debugger.find(&of.name, of.frame_id.map(frame).transpose().ok().flatten()),
            number => {
                let part = self.values.part(self.debugger, number, &of.name);
                part.ok_or_else(|| format!("{} is no memory", of.name))
            }
        };
        match found {
            Err(why) => json!({ "dataId": null, "description": why }),
            Ok(place) => {
                let is_known = self.debugger.find(&place.name, None).is_ok_and(|found| found == place);
                let id = if is_known {
                    place.name.clone()
                } else {
                    format!("{:#x}:{}", place.address, place.bytes)
                };
                json!({ "dataId": id, "description": place.name, "accessTypes": ["write"], "canPersist": is_known })
            }
        }
    }

    /// Workers that have not ended, and in any case the current one.
    fn threads(&self) -> Value {
        let current = self.debugger.current();
        let workers = self.debugger.workers().into_iter();
        let alive = workers.filter(|worker| worker.state != WorkerState::Ended || worker.id == current);
        let threads = alive.map(|worker| json!({ "id": thread(worker.id), "name": worker.title }));
        json!({ "threads": threads.collect::<Vec<_>>() })
    }

    fn stack(&self, of: &OfThread) -> Answer {
        let id = worker(of.thread_id)?;
        let frames = self.debugger.frames(id);
        let levels = if of.levels == 0 { frames.len() } else { of.levels };
        let shown = frames.iter().enumerate().skip(of.start_frame).take(levels);
        let shown = shown.map(|(index, frame)| {
            let source = frame.source.file.as_deref().map(|file| {
                let path = self.debugger.source_path(file).map(|path| absolute(&path));
                let name = file.rsplit('/').next().unwrap_or(file);
                let hint = if frame.is_library || path.is_none() { "deemphasize" } else { "normal" };
                json!({ "name": name, "path": path.unwrap_or_else(|| file.into()), "presentationHint": hint })
            });
            json!({
                "id": of.thread_id * FRAMES + index as u64,
                "name": frame.source.function,
                "source": source,
                "line": frame.source.line.unwrap_or(0),
                "column": frame.source.column.unwrap_or(0),
                "presentationHint": if frame.is_library { "subtle" } else { "normal" },
            })
        });
        Ok(json!({ "stackFrames": shown.collect::<Vec<_>>(), "totalFrames": frames.len() }))
    }

    /// The text of a file that the module names.
    fn source(&mut self, request: &Request) -> Answer {
        let path = request.arguments["source"]["path"].as_str().ok_or("source: no path")?.to_string();
        let lines =
            self.debugger.source(&path, 1, u32::MAX / 4).ok_or_else(|| format!("{path} is not here"))?.0;
        let text: String = lines.into_iter().map(|(_, line)| line + "\n").collect();
        Ok(json!({ "content": text }))
    }
}

fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

fn capabilities() -> Value {
    json!({
        "supportsConfigurationDoneRequest": true,
        "supportsFunctionBreakpoints": true,
        "supportsDataBreakpoints": true,
        "supportsEvaluateForHovers": true,
        "supportsStepBack": true,
        "supportsExceptionInfoRequest": true,
        "supportsTerminateRequest": true,
    })
}
