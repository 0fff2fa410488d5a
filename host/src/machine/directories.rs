//! Directories of the host (`--dir`), served by wasmtime's implementation of preview 1.
//!
//! That implementation only works on the memory of a wasm instance, so there is a small instance that does
//! nothing but pass calls on. Every answer is kept for the trace. A replay takes the answers from the trace
//! and does not touch the host.

use crate::preview1::MODULE;
use crate::runtime::files::{Answer, Call, Errno};
use crate::world::Mapping;
use coyote_abi::Type;
use coyote_abi::file::{CALLS, FileCall, Param};
use std::fmt::Write;
use wasmtime::{Engine, Instance, Linker, Memory, Module, Result, Store, Val};
use wasmtime_wasi::p1::{WasiP1Ctx, add_to_linker_sync};
use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

/// The host's answer to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostAnswer {
    /// The function's name.
    pub function: String,
    /// [`Call::digest`] of the call.
    pub call: u64,
    pub answer: Answer,
}

/// The result of [`Directories::ask`].
pub enum Asked {
    Answered(Answer),
    /// The guest makes another call than the recorded execution did: see [`Directories::diverged`].
    Diverged,
}

/// See the module's documentation.
pub struct Directories {
    engine: Engine,
    given: Vec<Mapping>,
    /// Created at the first call of an iteration: descriptors belong to the iteration.
    live: Option<Live>,
    /// The answers of this iteration.
    answers: Vec<HostAnswer>,
    /// Recorded answers, which are given instead of the host's.
    recorded: Option<Vec<HostAnswer>>,
    diverged: Option<String>,
}

impl Directories {
    pub fn new(engine: &Engine, given: &[Mapping]) -> Directories {
        Directories {
            engine: engine.clone(),
            given: given.to_vec(),
            live: None,
            answers: Vec::new(),
            recorded: None,
            diverged: None,
        }
    }

    /// Whether the program was given a directory: parts of its state are then outside of this tool's control.
    pub fn any(&self) -> bool {
        !self.given.is_empty()
    }

    /// Begins a new iteration.
    pub fn begin(&mut self) {
        self.live = None;
        self.answers.clear();
        self.diverged = None;
    }

    /// Gives these answers, in this order, to later calls instead of asking the host.
    pub fn replay(&mut self, recorded: Vec<HostAnswer>) {
        self.recorded = Some(recorded);
    }

    pub fn answers(&self) -> &[HostAnswer] {
        &self.answers
    }

    /// The difference between the guest's calls and the recorded ones, if there is one.
    pub fn diverged(&self) -> Option<&str> {
        self.diverged.as_deref()
    }

    /// Answers a call: from the recorded answers if there are any, else by asking the host.
    ///
    /// # Errors
    /// The host cannot be asked: a directory is gone, or wasmtime fails.
    pub fn ask(&mut self, call: &Call) -> Result<Asked> {
        let function = call.function.name;
        let answer = match &self.recorded {
            Some(recorded) => match recorded.get(self.answers.len()) {
                Some(next) if next.function == function && next.call == call.digest() => next.answer.clone(),
                next => {
                    let expected = next.map_or("nothing more".into(), |n| n.function.clone());
                    let number = self.answers.len() + 1;
                    self.diverged = Some(match expected == function {
                        true => format!("question {number} to the host is {function} with other arguments"),
                        false => format!(
                            "question {number} to the host is {function}, the trace has {expected} there"
                        ),
                    });
                    return Ok(Asked::Diverged);
                }
            },
            None => {
                let live = match &mut self.live {
                    Some(live) => live,
                    None => self.live.insert(Live::new(&self.engine, &self.given)?),
                };
                live.ask(call)?
            }
        };
        let (function, call) = (function.to_string(), call.digest());
        self.answers.push(HostAnswer { function, call, answer: answer.clone() });
        Ok(Asked::Answered(answer))
    }
}

/// wasmtime's preview 1 and the instance on whose memory it works.
pub(super) struct Live {
    store: Store<WasiP1Ctx>,
    instance: Instance,
    memory: Memory,
}

/// The address at which the layout of a call begins: not 0, which not all code accepts as an address.
const START: usize = 64;

impl Live {
    pub fn new(engine: &Engine, given: &[Mapping]) -> Result<Live> {
        let mut builder = WasiCtxBuilder::new();
        builder.allow_blocking_current_thread(true);
        for Mapping { host, guest } in given {
            builder.preopened_dir(host, guest, FsPerms::ReadWrite).map_err(|e| {
                wasmtime::Error::msg(format!(
                    "--dir {}: the directory cannot be opened: {e:#}",
                    host.display()
                ))
            })?;
        }
        let mut store = Store::new(engine, builder.build_p1());
        let mut linker = Linker::new(engine);
        add_to_linker_sync(&mut linker, |context| context)?;
        let module = Module::new(engine, wat::parse_str(passing())?)?;
        let instance = linker.instantiate(&mut store, &module)?;
        let memory = instance.get_memory(&mut store, "memory").expect("it stands in the text");
        Ok(Live { store, instance, memory })
    }

    /// Lays the call out in the instance's memory, makes it, and reads the answer.
    pub fn ask(&mut self, call: &Call) -> Result<Answer> {
        let mut layout = Layout { bytes: vec![0; START], ..Layout::default() };
        let arguments = layout.arguments(call);
        let pages = (layout.bytes.len() as u64).div_ceil(1 << 16);
        let missing = pages.saturating_sub(self.memory.size(&self.store));
        self.memory.grow(&mut self.store, missing)?;
        self.memory.data_mut(&mut self.store)[..layout.bytes.len()].copy_from_slice(&layout.bytes);
        let function = self.instance.get_func(&mut self.store, call.function.name);
        let mut results = [Val::I32(0)];
        let called = function.expect("it stands in the text").call(&mut self.store, &arguments, &mut results);
        if called.is_err() {
            // wasmtime ends a program that passes flags which do not exist. Addresses cannot be the cause:
            // they are those of the layout.
            return Ok(Answer::error(Errno::INVAL));
        }
        let memory = self.memory.data(&self.store);
        let error = results[0].unwrap_i32() as u16;
        if error != 0 {
            return Ok(Answer::error(Errno(error)));
        }
        let result = layout.result.map_or(Vec::new(), |(at, bytes)| memory[at..at + bytes].to_vec());
        let data = match layout.data {
            Some(at) => {
                let length = match layout.result {
                    Some(_) => u32::from_le_bytes(result[..4].try_into().expect("a size")),
                    None => call.room,
                };
                memory[at..at + length as usize].to_vec()
            }
            None => Vec::new(),
        };
        Ok(Answer { error: None, result, data })
    }
}

/// The layout of a call in the instance's memory.
#[derive(Default)]
struct Layout {
    bytes: Vec<u8>,
    /// Address and size of the fixed result.
    result: Option<(usize, usize)>,
    /// Address of the buffer that receives what is read.
    data: Option<usize>,
}

impl Layout {
    fn place(&mut self, bytes: &[u8]) -> usize {
        let at = self.bytes.len().next_multiple_of(8);
        self.bytes.resize(at, 0);
        self.bytes.extend_from_slice(bytes);
        at
    }

    fn arguments(&mut self, call: &Call) -> Vec<Val> {
        let (mut numbers, mut inputs) = (call.numbers.iter(), call.inputs.iter());
        let mut arguments = Vec::new();
        let word = |n: usize| Val::I32(n as u32 as i32);
        for param in call.function.params {
            match param {
                Param::Descriptor | Param::I32 => {
                    arguments.push(word(*numbers.next().expect("one each") as usize));
                }
                Param::I64 => arguments.push(Val::I64(*numbers.next().expect("one each") as i64)),
                Param::Result { bytes, .. } => {
                    let at = self.place(&vec![0; *bytes as usize]);
                    self.result = Some((at, *bytes as usize));
                    arguments.push(word(at));
                }
                Param::Text => {
                    let input = inputs.next().expect("one each");
                    arguments.extend([word(self.place(input)), word(input.len())]);
                }
                Param::Gather => {
                    let input = inputs.next().expect("one each");
                    let at = self.place(input);
                    arguments.extend([word(self.buffer(at, input.len())), word(1)]);
                }
                Param::Buffer | Param::Scatter => {
                    let room = call.room as usize;
                    let at = self.place(&vec![0; room]);
                    self.data = Some(at);
                    arguments.extend(match param {
                        Param::Scatter => [word(self.buffer(at, room)), word(1)],
                        _ => [word(at), word(room)],
                    });
                }
            }
        }
        arguments
    }

    /// Places a list of one buffer, and returns the list's address.
    fn buffer(&mut self, at: usize, length: usize) -> usize {
        let words = [at as u32, length as u32].map(u32::to_le_bytes).concat();
        self.place(&words)
    }
}

/// A module with a function for each call that passes it on.
fn passing() -> String {
    let types = |call: &FileCall| {
        let name = |ty: Type| if ty == Type::I32 { " i32" } else { " i64" };
        call.types().map(name).collect::<String>()
    };
    let mut text = String::from("(module");
    for call in CALLS {
        let (name, params) = (call.name, types(call));
        let module = MODULE;
        let import = format!("(import \"{module}\" \"{name}\" (func ${name} (param{params}) (result i32)))");
        writeln!(text, "{import}").expect("a String takes all");
    }
    text.push_str("(memory (export \"memory\") 1)\n");
    for call in CALLS {
        let (name, params) = (call.name, types(call));
        let gets: String = (0..call.types().count()).map(|i| format!(" local.get {i}")).collect();
        let body = format!("(param{params}) (result i32){gets} call ${name})");
        writeln!(text, "(func (export \"{name}\") {body}").expect("a String takes all");
    }
    text.push(')');
    text
}
