//! Calls on descriptors and paths: reads them from guest memory as plain data, and writes the answer back.

use super::failures::{self, Way};
use super::{BadAddress, Guest, MODULE, aligned, on_memory};
use crate::machine::directories::Asked;
use crate::machine::gate::settled;
use crate::machine::guest_memory::GuestMemory;
use crate::machine::host::{Host, Stopped, original_stack};
use crate::machine::observed::accessed;
use crate::machine::scheduler::AccessResult;
use crate::outcome::Outcome;
use crate::runtime::files::{Answer, Call, Errno, Served};
use coyote_abi::Type;
use coyote_abi::file::{CALLS, FileCall, Param};
use coyote_abi::rt;
use wasmtime::{FuncType, Linker, Result, Val, ValType, WasmBacktrace};

/// Maximum number of buffers of a call, as in Linux.
const BUFFERS_MAX: u32 = 1024;
/// Maximum number of bytes of a call, as in wasmtime.
const BYTES_MAX: u64 = 128 << 20;
const BUFFER_BYTES: u32 = 8;
/// The argument of `fd_seek` for an offset from where the descriptor is.
const WHENCE_CURRENT: u64 = 1;

pub fn define(linker: &mut Linker<Host>) -> Result<()> {
    linker.func_wrap(rt::MODULE, rt::CALL, |mut guest: Guest, object: i32, site: i32| {
        let result = settled(&mut guest).call_point(site as u32, object as u32);
        accessed(&mut guest, result, |host| host.operation(site as u32, u64::from(object as u32)))
    })?;
    for function in CALLS {
        let params = function.types().map(|ty| match ty {
            Type::I32 => ValType::I32,
            Type::I64 => ValType::I64,
        });
        let ty = FuncType::new(linker.engine(), params, [ValType::I32]);
        let module = if function.point { rt::MODULE } else { MODULE };
        linker.func_new(module, function.name, ty, |mut guest, arguments, results| {
            let error = call(&mut guest, function, arguments)?;
            results[0] = Val::I32(error.into());
            Ok(())
        })?;
    }
    Ok(())
}

/// The addresses to which an answer is written.
#[derive(Default)]
struct Targets {
    /// The fixed results, in order: address and size.
    results: Vec<(u32, u32)>,
    /// Buffers for the data that is read, in order: address and length.
    buffers: Vec<(u32, u32)>,
}

fn call(guest: &mut Guest, function: &'static FileCall, arguments: &[Val]) -> Result<u16> {
    let host = settled(guest);
    let failure = host.scheduler.running.map_or(0, |w| host.scheduler.runtime.take_failure(w)) as usize;
    let way = failure.checked_sub(1).and_then(|index| failures::ways(function.name).get(index).copied());
    let prepared = on_memory(guest, function.name, |memory, _, _| prepare(memory, function, arguments))?;
    let (call, targets) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return Ok(error.0),
    };
    let mut call = call;
    let runtime = &mut guest.data_mut().scheduler.runtime;
    // Of a file of the host, it is known when it was read.
    let would_read =
        if way == Some(Way::Short) && call.room > 0 { runtime.would_read(&call) } else { Some(0) };
    let is_short = match (way, would_read) {
        (Some(Way::Short), Some(reads)) => failures::shorten(&mut call, reads),
        _ => false,
    };
    if let Some(way) = way.filter(|way| *way != Way::Short || is_short) {
        runtime.call_failed(way.told(function.name));
    }
    if let Some(answer) = failures::before(way) {
        return Ok(answer.errno());
    }
    if guest.data().takes_call_stacks {
        let stack = original_stack(&WasmBacktrace::force_capture(&*guest), guest.data());
        guest.data_mut().scheduler.runtime.call_stack = Some(stack.into());
    }
    let host = guest.data_mut();
    let running = host.scheduler.running;
    let answer = match host.scheduler.runtime.file_call(running, &call) {
        Served::Here(answer) => answer,
        Served::ByHost(question) => match host.directories.ask(&question)? {
            Asked::Answered(answer) if would_read.is_none() && answer.data.len() > 1 => {
                host.scheduler.runtime.call_failed(Way::Short.told(function.name));
                give_back_half(host, &question, answer)?
            }
            Asked::Answered(answer) => host.scheduler.runtime.host_answered(&call, answer),
            Asked::Diverged => {
                host.scheduler.outcome.get_or_insert(Outcome::Abandoned);
                return Err(Stopped.into());
            }
        },
    };
    let answer = failures::after(way, answer);
    if function.name.starts_with("sock_") && matches!(answer.error, Some(Errno::BADF | Errno::NOTSOCK)) {
        guest.data_mut().refused_calls.insert(function.name);
    }
    on_memory(guest, function.name, |memory, _, _| deliver(memory, &answer, &targets))?;
    Ok(answer.errno())
}

/// Makes a read of a file of the host short that was not: returns half of what it read, and puts the descriptor back.
fn give_back_half(host: &mut Host, read: &Call, answer: Answer) -> Result<Answer> {
    let kept = failures::half(answer.data.len());
    if read.function.name == "fd_read" {
        let function = CALLS.iter().find(|call| call.name == "fd_seek").expect("it is a call on descriptors");
        let back = (kept as i64 - answer.data.len() as i64) as u64;
        let numbers = vec![read.number(0), back, WHENCE_CURRENT];
        host.directories.ask(&Call { function, numbers, inputs: Vec::new(), room: 0 })?;
    }
    Ok(Answer::data(answer.data[..kept].to_vec()))
}

/// Reads the arguments. All that the answer needs is checked before anything happens.
fn prepare(
    memory: &mut GuestMemory,
    function: &'static FileCall,
    arguments: &[Val],
) -> Result<Result<(Call, Targets), Errno>, BadAddress> {
    let mut call = Call { function, numbers: Vec::new(), inputs: Vec::new(), room: 0 };
    let mut targets = Targets::default();
    let mut arguments = arguments.iter();
    let mut next = || arguments.next().expect("as many as its type has");
    let mut total = 0u64;
    for param in function.params {
        let first = next();
        let (number, wide) = match first {
            Val::I64(wide) => (0, *wide as u64),
            other => (other.unwrap_i32() as u32, u64::from(other.unwrap_i32() as u32)),
        };
        match param {
            Param::Descriptor | Param::I32 | Param::I64 => call.numbers.push(wide),
            Param::Result { bytes, align } => {
                memory.check(aligned(number, *align)?, *bytes)?;
                targets.results.push((number, *bytes));
            }
            Param::Text | Param::Buffer => {
                let length = next().unwrap_i32() as u32;
                memory.check(number, length)?;
                total += u64::from(length);
                if total > BYTES_MAX {
                    return Ok(Err(Errno::NOMEM));
                }
                if *param == Param::Text {
                    call.inputs.push(memory.read(number, length)?.to_vec());
                } else {
                    targets.buffers.push((number, length));
                }
            }
            Param::Gather | Param::Scatter => {
                let count = next().unwrap_i32() as u32;
                if count > BUFFERS_MAX {
                    return Ok(Err(Errno::INVAL));
                }
                let list = memory.read(aligned(number, 4)?, count * BUFFER_BYTES)?.to_vec();
                let mut gathered = Vec::new();
                for buffer in list.chunks_exact(BUFFER_BYTES as usize) {
                    let word =
                        |at: usize| u32::from_le_bytes(buffer[at..at + 4].try_into().expect("4 bytes"));
                    let (address, length) = (word(0), word(4));
                    memory.check(address, length)?;
                    total += u64::from(length);
                    if total > BYTES_MAX {
                        return Ok(Err(Errno::NOMEM));
                    }
                    if *param == Param::Gather {
                        gathered.extend_from_slice(memory.read(address, length)?);
                    } else {
                        targets.buffers.push((address, length));
                    }
                }
                if *param == Param::Gather {
                    call.inputs.push(gathered);
                }
            }
        }
    }
    call.room = targets.buffers.iter().map(|b| b.1).sum();
    Ok(Ok((call, targets)))
}

fn deliver(memory: &mut GuestMemory, answer: &Answer, targets: &Targets) -> Result<(), BadAddress> {
    let mut rest = &answer.data[..];
    for (address, length) in &targets.buffers {
        let (part, after) = rest.split_at(rest.len().min(*length as usize));
        memory.write(*address, part)?;
        rest = after;
    }
    let mut rest = &answer.result[..];
    for (address, size) in targets.results.iter().filter(|_| answer.error.is_none()) {
        let (part, after) = rest.split_at(rest.len().min(*size as usize));
        memory.write(*address, part)?;
        rest = after;
    }
    Ok(())
}

impl Host {
    /// Announces that the running worker is about to call a file function or a stub.
    pub fn call_point(&mut self, site: u32, object: u32) -> AccessResult {
        let operation = self.operation(site, object.into());
        let stream =
            operation.kind == coyote_abi::OpKind::File && self.scheduler.runtime.files.is_stream(object);
        if stream { AccessResult::Execute } else { self.scheduler.access(operation) }
    }
}
