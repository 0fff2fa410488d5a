//! `run`, the only entry from the host into the guest.
//!
//! ```wat
//! (func (export "__cy_run")
//!   loop
//!     call $next($end) -> $action, $fsp, $result, $entry, $a, $b
//!     return if $action is Leave
//!     worker globals = frames[0 ..]
//!     $state = 2 if $action is Resume, else 0
//!     call entry number $entry with $a, $b
//!     if $state                      ;; it was suspended
//!       frames[0 ..] = worker globals;  $state = 0;  $end = $fsp
//!     else                           ;; it ended
//!       $end = 0
//!     end
//!     br 0
//!   end)
//! ```
//! A run that trapped leaves nothing behind: every value that is read here was written here before.

use super::module::Module;
use super::{Config, Context, Control, Entry};
use crate::Error;
use coyote_abi::rt::{self, Action};
use wasm_encoder::{BlockType, Function, InstructionSink, MemArg};
use wasmparser::ValType;

/// The locals of `run`.
const END: u32 = 0;
const ACTION: u32 = 1;
const ENTRY: u32 = 2;
const A: u32 = 3;
const B: u32 = 4;

/// `entry_type` is the index of type `(i32) -> ()`.
pub(super) fn run(cx: &Context, entry_type: u32) -> Result<Function, Error> {
    let Control { state, fsp, result, .. } = cx.control;
    let mut function = Function::new([(5, wasm_encoder::ValType::I32)]);
    let mut out = function.instructions();
    out.loop_(BlockType::Empty);
    out.local_get(END).call(cx.config.next).local_set(B).local_set(A).local_set(ENTRY);
    out.global_set(result).global_set(fsp).local_tee(ACTION);
    out.i32_eqz().if_(BlockType::Empty).return_().end();
    for (index, global) in cx.config.worker_globals.iter().enumerate() {
        load_global(cx, &mut out, index, *global)?;
    }
    out.local_get(ACTION).i32_const(Action::Resume as i32).i32_eq();
    out.i32_const(1).i32_shl().global_set(state);
    let entries = &cx.config.entries;
    // One block around everything, and one that ends before each entry's call.
    (0..=entries.len()).for_each(|_| {
        out.block(BlockType::Empty);
    });
    if entries.is_empty() {
        out.unreachable();
    } else {
        let targets: Vec<u32> = (0..entries.len() as u32).collect();
        let last = targets[targets.len() - 1];
        out.local_get(ENTRY).br_table(targets, last);
    }
    for (index, entry) in entries.iter().enumerate() {
        out.end();
        call_entry(cx.module, &mut out, *entry, entry_type)?;
        out.br((entries.len() - 1 - index) as u32);
    }
    out.end();
    out.global_get(state).if_(BlockType::Empty);
    for (index, global) in cx.config.worker_globals.iter().enumerate() {
        store_global(cx, &mut out, index, *global)?;
    }
    out.i32_const(0).global_set(state).global_get(fsp).local_set(END);
    out.else_().i32_const(0).local_set(END).end();
    out.br(0).end().end();
    Ok(function)
}

/// Address of a worker's frames: after its globals.
pub(super) fn frames_begin(config: &Config) -> u32 {
    (config.worker_globals.len() * rt::GLOBAL_BYTES) as u32
}

fn call_entry(
    module: &Module,
    out: &mut InstructionSink,
    entry: Entry,
    entry_type: u32,
) -> Result<(), Error> {
    match entry {
        Entry::Table => {
            out.local_get(B).local_get(A).call_indirect(0, entry_type);
        }
        Entry::Function(function) => {
            let ty = module.function_type(function);
            if ty.params().len() > 2 || ty.params().iter().any(|t| *t != ValType::I32) {
                return Err(Error::UnsupportedModule(format!(
                    "function {function} cannot be started as a worker: it has type {ty}; give it at most \
                     two i32 parameters"
                )));
            }
            for local in [A, B].iter().take(ty.params().len()) {
                out.local_get(*local);
            }
            out.call(function);
            ty.results().iter().for_each(|_| {
                out.drop();
            });
        }
    }
    Ok(())
}

fn global_type(cx: &Context, global: u32) -> Result<ValType, Error> {
    let ty = cx.module.types.as_ref().global_at(global);
    match ty.content_type {
        ValType::Ref(_) => Err(Error::UnsupportedModule(format!(
            "global {global} holds a reference and cannot belong to a worker"
        ))),
        content => Ok(content),
    }
}

fn load_global(cx: &Context, out: &mut InstructionSink, index: usize, global: u32) -> Result<(), Error> {
    let at = place(cx, index);
    out.i32_const(0);
    match global_type(cx, global)? {
        ValType::I32 => out.i32_load(at),
        ValType::I64 => out.i64_load(at),
        ValType::F32 => out.f32_load(at),
        ValType::F64 => out.f64_load(at),
        _ => out.v128_load(at),
    };
    out.global_set(global);
    Ok(())
}

fn store_global(cx: &Context, out: &mut InstructionSink, index: usize, global: u32) -> Result<(), Error> {
    let at = place(cx, index);
    out.i32_const(0).global_get(global);
    match global_type(cx, global)? {
        ValType::I32 => out.i32_store(at),
        ValType::I64 => out.i64_store(at),
        ValType::F32 => out.f32_store(at),
        ValType::F64 => out.f64_store(at),
        _ => out.v128_store(at),
    };
    Ok(())
}

fn place(cx: &Context, index: usize) -> MemArg {
    // The alignment is a hint; 4 does not exceed that of any type.
    MemArg { offset: (index * rt::GLOBAL_BYTES) as u64, align: 2, memory_index: cx.control.frames }
}
