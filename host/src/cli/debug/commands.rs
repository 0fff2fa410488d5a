//! The commands of a session: one table, which `help` prints.

use super::show;
use crate::debug::Debugger;
use crate::debug::motion::{Direction, Stop};
use anyhow::Result;
use coyote_strategies::WorkerId;

/// Whether the session goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    GoOn,
    Quit,
}

/// A session: the execution, and the user's selection.
pub struct Console {
    pub debugger: Debugger,
    /// The worker that the user selected, until the next motion.
    selected: Option<WorkerId>,
    /// The frame of that worker, or of the current one, that the user selected, by its number in `stack`.
    frame: Option<usize>,
    /// The motion that an empty line repeats.
    last: Option<String>,
}

/// A command: its names, its parameters, a description, and its implementation.
struct Command {
    names: &'static [&'static str],
    takes: &'static str,
    does: &'static str,
    run: fn(&mut Console, &str) -> Result<Answer>,
}

/// The result of a command.
enum Answer {
    /// The command was executed and has printed its output.
    Done,
    /// The execution has moved; why it stopped there.
    Moved(Stop),
    /// The command could not be executed; why.
    Refused(String),
    Quit,
}

/// The commands, in the order of `help`.
const COMMANDS: &[Command] = &[
    Command {
        names: &["step", "s"],
        takes: "[N]",
        does: "execute the next step, or N steps, of any worker",
        run: |console, text| console.step(Direction::Forward, text),
    },
    Command {
        names: &["back", "b"],
        takes: "[N]",
        does: "go back one step, or N",
        run: |console, text| console.step(Direction::Back, text),
    },
    Command {
        names: &["next", "n"],
        takes: "",
        does: "go to the next line of the worker, over calls and steps of other workers",
        run: |console, _| console.line(false, Direction::Forward),
    },
    Command {
        names: &["previous", "rn"],
        takes: "",
        does: "go back to the previous line of the worker",
        run: |console, _| console.line(false, Direction::Back),
    },
    Command {
        names: &["finish", "fin"],
        takes: "",
        does: "go to where the worker has left the function",
        run: |console, _| console.line(true, Direction::Forward),
    },
    Command {
        names: &["switch", "sw"],
        takes: "",
        does: "go to the next switch to another worker",
        run: |console, _| Ok(Answer::Moved(console.debugger.to_switch(Direction::Forward)?)),
    },
    Command {
        names: &["rswitch", "rsw"],
        takes: "",
        does: "go back to the last switch to another worker",
        run: |console, _| Ok(Answer::Moved(console.debugger.to_switch(Direction::Back)?)),
    },
    Command {
        names: &["goto", "g"],
        takes: "STEP|start|end",
        does: "go to the point before a step, by its number in reports",
        run: Console::go_to,
    },
    Command {
        names: &["continue", "c"],
        takes: "",
        does: "go to a breakpoint, or past a step that writes watched memory, or to the end",
        run: |console, _| Ok(Answer::Moved(console.debugger.run(Direction::Forward)?)),
    },
    Command {
        names: &["rcontinue", "rc"],
        takes: "",
        does: "go back to a breakpoint, or before a step that writes watched memory, or to the start",
        run: |console, _| Ok(Answer::Moved(console.debugger.run(Direction::Back)?)),
    },
    Command {
        names: &["break", "br"],
        takes: "FILE:LINE|FUNCTION",
        does: "stop workers at a line, or when they enter a function",
        run: Console::set_breakpoint,
    },
    Command {
        names: &["watch", "w"],
        takes: "EXPRESSION",
        does: "stop when this memory is written or changes: a variable as in print, or 0xADDRESS:BYTES",
        run: Console::watch,
    },
    Command {
        names: &["points"],
        takes: "",
        does: "list breakpoints and watchpoints",
        run: |console, _| {
            show::points(&console.debugger).map_or_else(|e| Ok(Answer::Refused(e)), |()| Ok(Answer::Done))
        },
    },
    Command {
        names: &["delete", "d"],
        takes: "NUMBER",
        does: "remove a breakpoint or watchpoint",
        run: Console::delete,
    },
    Command {
        names: &["where"],
        takes: "",
        does: "show where the execution stands",
        run: |console, _| {
            console.place();
            Ok(Answer::Done)
        },
    },
    Command {
        names: &["list", "l"],
        takes: "[N]",
        does: "list N steps before and after this one [5]",
        run: Console::list,
    },
    Command {
        names: &["workers"],
        takes: "",
        does: "list all workers, and what they are about to do",
        run: |console, _| {
            show::workers(&console.debugger);
            Ok(Answer::Done)
        },
    },
    Command {
        names: &["worker"],
        takes: "WORKER",
        does: "look at a worker, by its path or name, until the next motion",
        run: Console::select,
    },
    Command {
        names: &["stack", "bt"],
        takes: "[WORKER|all]",
        does: "show the functions that a worker is in, innermost first",
        run: Console::stack,
    },
    Command {
        names: &["source", "src"],
        takes: "[FILE:LINE]",
        does: "show the source around a line, or around the worker's own",
        run: Console::source,
    },
    Command {
        names: &["print", "p"],
        takes: "EXPRESSION",
        does: "show a variable: NAME, then any of .FIELD and [INDEX]; *EXPRESSION follows a pointer",
        run: Console::print,
    },
    Command {
        names: &["frame", "f"],
        takes: "N",
        does: "look at frame N of the worker's stack, until the next motion",
        run: Console::select_frame,
    },
    Command {
        names: &["locals"],
        takes: "",
        does: "show the frame's local variables that are in memory: without optimisation all of them",
        run: |console, _| console.locals(),
    },
    Command {
        names: &["globals"],
        takes: "[TEXT]",
        does: "show the program's global variables, or those with a text in their names",
        run: |console, text| match show::globals(&console.debugger, text) {
            0 => Ok(Answer::Refused("no global variable of the program is known here".into())),
            _ => Ok(Answer::Done),
        },
    },
    Command {
        names: &["memory", "x"],
        takes: "EXPRESSION [BYTES]",
        does: "show the bytes of a variable or from 0xADDRESS on [64]",
        run: Console::memory,
    },
    Command {
        names: &["locks"],
        takes: "",
        does: "show the locks, their holders and the workers that wait for them",
        run: |console, _| {
            show::locks(&console.debugger);
            Ok(Answer::Done)
        },
    },
    Command {
        names: &["bug"],
        takes: "",
        does: "show how the execution ends",
        run: |console, _| {
            println!("{}", console.debugger.ending());
            Ok(Answer::Done)
        },
    },
    Command {
        names: &["help", "h", "?"],
        takes: "[COMMAND]",
        does: "show this",
        run: |_, text| Ok(help(text)),
    },
    Command { names: &["quit", "q", "exit"], takes: "", does: "leave", run: |_, _| Ok(Answer::Quit) },
];

/// The number of lines shown before and after a line.
const AROUND: u32 = 4;
/// The number of bytes shown by default, and the maximum.
const BYTES: u64 = 64;
const BYTES_MAX: u64 = 4096;

impl Console {
    pub fn new(debugger: Debugger) -> Console {
        Console { debugger, selected: None, frame: None, last: None }
    }

    /// Prints the number of steps, the outcome and the position.
    pub fn greet(&self) {
        let steps = self.debugger.schedule.steps.iter().filter(|step| !step.timeout).count();
        println!("{steps} steps; {}; type help for commands", self.debugger.ending());
        self.place();
    }

    /// Executes a command line.
    ///
    /// # Errors
    /// The machine's.
    pub fn execute(&mut self, line: &str) -> Result<Flow> {
        let line = match (line, &self.last) {
            ("", Some(last)) => last.clone(),
            ("", None) => return Ok(Flow::GoOn),
            _ => line.to_string(),
        };
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((&line, ""));
        let Some(command) = COMMANDS.iter().find(|command| command.names.contains(&name)) else {
            println!("error: there is no command {name}; help lists them");
            return Ok(Flow::GoOn);
        };
        let rest = rest.trim();
        if command.takes.is_empty() && !rest.is_empty() {
            println!("error: {name} takes no argument");
            return Ok(Flow::GoOn);
        }
        if rest.is_empty() && !command.takes.is_empty() && !command.takes.starts_with('[') {
            println!("error: {name} takes {}", command.takes);
            return Ok(Flow::GoOn);
        }
        self.last = None;
        match (command.run)(self, rest)? {
            Answer::Done => {}
            Answer::Refused(why) => println!("error: {why}"),
            Answer::Quit => return Ok(Flow::Quit),
            Answer::Moved(stop) => {
                self.last = Some(line.clone());
                (self.selected, self.frame) = (None, None);
                show::stop(&self.debugger, &stop);
                self.place();
            }
        }
        Ok(Flow::GoOn)
    }

    /// The selected worker, or the current one.
    fn worker(&self) -> WorkerId {
        self.selected.unwrap_or(self.debugger.current())
    }

    fn place(&self) {
        show::place(&self.debugger);
    }

    fn step(&mut self, direction: Direction, text: &str) -> Result<Answer> {
        let count = match text {
            "" => 1,
            _ => match text.parse::<usize>() {
                Ok(count) if count > 0 => count,
                _ => return Ok(Answer::Refused(format!("{text} is no number of steps"))),
            },
        };
        Ok(Answer::Moved(self.debugger.step(direction, count)?))
    }

    fn line(&mut self, out: bool, direction: Direction) -> Result<Answer> {
        Ok(Answer::Moved(self.debugger.to_line(self.worker(), out, direction)?))
    }

    fn go_to(&mut self, text: &str) -> Result<Answer> {
        let position = match text {
            "start" => Some(0),
            "end" => Some(self.debugger.end()),
            _ => text.parse().ok().and_then(|number| self.debugger.schedule.position_of(number)),
        };
        let Some(position) = position else {
            return Ok(Answer::Refused(format!(
                "there is no step {text}: give the number of one, start or end"
            )));
        };
        self.debugger.go_to(position)?;
        Ok(Answer::Moved(Stop::There))
    }

    fn set_breakpoint(&mut self, text: &str) -> Result<Answer> {
        let line = text.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse::<u32>().ok()?)));
        let set = match line {
            Some((file, line)) if !file.ends_with(':') => self.debugger.break_at_line(file, line),
            _ => self.debugger.break_at_function(text),
        };
        Ok(match set {
            Ok(set) => {
                println!("{} stops at {}, {} times", set.number, set.at, set.positions.len());
                Answer::Done
            }
            Err(why) => Answer::Refused(why),
        })
    }

    fn watch(&mut self, text: &str) -> Result<Answer> {
        Ok(match self.debugger.watch(text, self.scope()) {
            Ok(set) => {
                let (number, place) = (set.number, set.place.clone());
                let value = self.debugger.show(&place);
                println!("{number} watches {} ({:#x}:{}): {value}", place.name, place.address, place.bytes);
                Answer::Done
            }
            Err(why) => Answer::Refused(why),
        })
    }

    fn delete(&mut self, text: &str) -> Result<Answer> {
        let removed = text.parse().is_ok_and(|number| self.debugger.stops.remove(number));
        Ok(match removed {
            true => Answer::Done,
            false => {
                Answer::Refused(format!("there is no breakpoint or watchpoint {text}; points lists them"))
            }
        })
    }

    fn list(&mut self, text: &str) -> Result<Answer> {
        let around = if text.is_empty() { Some(5) } else { text.parse().ok() };
        Ok(match around {
            Some(around) => {
                show::list(&self.debugger, around);
                Answer::Done
            }
            None => Answer::Refused(format!("{text} is no number of steps")),
        })
    }

    fn select(&mut self, text: &str) -> Result<Answer> {
        Ok(match self.debugger.worker_of(text) {
            Ok(worker) => {
                (self.selected, self.frame) = (Some(worker), None);
                show::stack(&self.debugger, worker);
                Answer::Done
            }
            Err(why) => Answer::Refused(why),
        })
    }

    fn select_frame(&mut self, text: &str) -> Result<Answer> {
        let frames = self.debugger.frames(self.worker());
        let Some(frame) = text.parse().ok().filter(|frame| *frame < frames.len()) else {
            return Ok(Answer::Refused(format!("there is no frame {text}; stack lists them")));
        };
        self.frame = Some(frame);
        show::frame(&frames, frame);
        Ok(Answer::Done)
    }

    /// The frame whose local variables are looked at: the selected one, or the innermost one of the program's own that has
    /// any.
    fn scope(&self) -> Option<(WorkerId, usize)> {
        let worker = self.worker();
        Some((worker, self.frame.or_else(|| self.debugger.own_frame(worker))?))
    }

    fn locals(&mut self) -> Result<Answer> {
        let Some((worker, frame)) = self.scope() else {
            return Ok(Answer::Refused("the worker is in no function of the program's own".into()));
        };
        Ok(match self.debugger.locals(worker, frame) {
            Some(locals) if !locals.is_empty() => {
                show::frame(&self.debugger.frames(worker), frame);
                show::locals(&self.debugger, &locals);
                Answer::Done
            }
            Some(_) => Answer::Refused(
                "no local variable of it is in memory: compile with -g and without optimisation".into(),
            ),
            None => Answer::Refused("where its frame lies is not known here: go back a step".into()),
        })
    }

    fn stack(&mut self, text: &str) -> Result<Answer> {
        let workers = match text {
            "" => vec![self.worker()],
            "all" => self.debugger.workers().into_iter().map(|worker| worker.id).collect(),
            _ => match self.debugger.worker_of(text) {
                Ok(worker) => vec![worker],
                Err(why) => return Ok(Answer::Refused(why)),
            },
        };
        workers.into_iter().for_each(|worker| show::stack(&self.debugger, worker));
        Ok(Answer::Done)
    }

    fn source(&mut self, text: &str) -> Result<Answer> {
        let place = match text {
            "" => {
                let frames = self.debugger.frames(self.worker());
                let own = crate::debug::schedule::own(&frames);
                own.and_then(|frame| Some((frame.source.file.clone()?, frame.source.line?)))
            }
            _ => text.rsplit_once(':').and_then(|(file, line)| Some((file.to_string(), line.parse().ok()?))),
        };
        let Some((file, line)) = place else {
            return Ok(Answer::Refused(match text {
                "" => "the worker's line is not known: give FILE:LINE".into(),
                _ => "give FILE:LINE".into(),
            }));
        };
        Ok(match show::source(&mut self.debugger, &file, line, AROUND) {
            true => Answer::Done,
            false => Answer::Refused(format!("there is no line {line} in {file}, or no such file here")),
        })
    }

    fn print(&mut self, text: &str) -> Result<Answer> {
        Ok(match self.debugger.find(text, self.scope()) {
            Ok(place) => {
                println!("{} = {}", place.name, self.debugger.show(&place));
                Answer::Done
            }
            Err(why) => Answer::Refused(why),
        })
    }

    fn memory(&mut self, text: &str) -> Result<Answer> {
        let (expression, bytes) = match text.rsplit_once(char::is_whitespace) {
            Some((expression, bytes)) => (expression.trim(), bytes.parse::<u64>().map(Some)),
            None => (text, Ok(None)),
        };
        let Ok(bytes) = bytes else { return Ok(Answer::Refused("give EXPRESSION [BYTES]".into())) };
        let place = match self.debugger.find(expression, self.scope()) {
            Ok(place) => place,
            Err(why) => return Ok(Answer::Refused(why)),
        };
        let is_address = expression.starts_with("0x") && !expression.contains(':');
        let bytes = bytes.unwrap_or(if is_address { BYTES } else { place.bytes }).min(BYTES_MAX);
        Ok(match show::memory(&self.debugger, place.address, bytes) {
            true => Answer::Done,
            false => Answer::Refused("that lies beyond the end of memory".into()),
        })
    }
}

fn help(text: &str) -> Answer {
    let named = |command: &&Command| text.is_empty() || command.names.contains(&text);
    let commands: Vec<&Command> = COMMANDS.iter().filter(named).collect();
    if commands.is_empty() {
        return Answer::Refused(format!("there is no command {text}"));
    }
    for command in commands {
        let usage = format!("{} {}", command.names.join("|"), command.takes);
        println!("{:<34} {}", usage.trim(), command.does);
    }
    Answer::Done
}

#[cfg(test)]
mod tests {
    use super::COMMANDS;

    #[test]
    fn a_name_is_one_command() {
        let mut names: Vec<&str> =
            COMMANDS.iter().flat_map(|command| command.names.iter().copied()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    /// The table in the documentation is that of the program.
    #[test]
    fn the_documentation_lists_every_command() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/debugging.md");
        let text = std::fs::read_to_string(path).expect("a document");
        for command in COMMANDS {
            let usage = format!("{} {}", command.names.join(", "), command.takes);
            let row = format!("| `{}` | {} |", usage.trim().replace('|', "\\|"), command.does);
            assert!(text.contains(&row), "{row}");
        }
    }
}
