//! Programs of the toy machine as wasm modules: properties of one machine can be tested on the other.
//!
//! A worker is a loop over a program counter, which makes no scheduling point; each instruction is compiled
//! as a compiler would. Workers that are not spawned by the program are spawned by the test, one after the
//! other, before it ends: that adds steps, but none whose order is free.

use coyote_wasm::strategies::toy::{Instruction, Program};
use std::fmt::Write;

/// Addresses of variables, locks, condvars, rwlocks and semaphores: in separate chunks, away from null.
fn variable(v: u8) -> u32 {
    4096 + 64 * u32::from(v)
}

fn lock(l: u8) -> u32 {
    8192 + 64 * u32::from(l)
}

fn condvar(c: u8) -> u32 {
    12288 + 64 * u32::from(c)
}

fn rwlock(l: u8) -> u32 {
    16384 + 64 * u32::from(l)
}

fn semaphore(s: u8) -> u32 {
    20480 + 64 * u32::from(s)
}

/// The program as text with one test, `t`. `None` if it joins a worker that the joining one did not spawn: a
/// guest would not have the handle.
pub fn module(program: &Program) -> Option<String> {
    let spawns = program.iter().flatten().any(|i| matches!(i, Instruction::Spawn(_)));
    for worker in program {
        for (at, instruction) in worker.iter().enumerate() {
            if let Instruction::Join(c) = instruction
                && !worker[..at].contains(&Instruction::Spawn(*c))
            {
                return None;
            }
        }
    }
    let mut text = String::from(IMPORTS);
    let names: Vec<String> = (0..program.len()).map(|w| format!("$w{w}")).collect();
    writeln!(text, "(elem (i32.const 0) {})", names.join(" ")).unwrap();
    writeln!(text, "(table {} funcref)", program.len()).unwrap();
    for (w, worker) in program.iter().enumerate() {
        function(&mut text, w, worker);
    }
    text.push_str("(func (export \"coyote.test.t\")\n");
    match spawns {
        true => text.push_str("(call $w0 (i32.const 0))"),
        false => (0..program.len()).for_each(|w| {
            writeln!(text, "(drop (call $spawn (i32.const {w}) (i32.const 0) (i32.const 0) (i32.const 0)))")
                .unwrap();
        }),
    }
    text.push_str("))\n");
    Some(text)
}

const IMPORTS: &str = r#"(module
(import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
(import "coyote" "join" (func $join (param i32)))
(import "coyote" "yield" (func $yield))
(import "coyote" "sleep" (func $sleep (param i64)))
(import "coyote" "mutex_lock" (func $lock (param i32 i64) (result i32)))
(import "coyote" "mutex_try_lock" (func $try_lock (param i32) (result i32)))
(import "coyote" "mutex_unlock" (func $unlock (param i32) (result i32)))
(import "coyote" "rwlock_read" (func $read_lock (param i32 i64) (result i32)))
(import "coyote" "rwlock_try_read" (func $try_read_lock (param i32) (result i32)))
(import "coyote" "rwlock_write" (func $write_lock (param i32 i64) (result i32)))
(import "coyote" "rwlock_try_write" (func $try_write_lock (param i32) (result i32)))
(import "coyote" "rwlock_unlock" (func $rw_unlock (param i32) (result i32)))
(import "coyote" "semaphore_wait" (func $semaphore_wait (param i32 i64) (result i32)))
(import "coyote" "semaphore_try_wait" (func $semaphore_try_wait (param i32) (result i32)))
(import "coyote" "semaphore_post" (func $semaphore_post (param i32) (result i32)))
(import "coyote" "condvar_wait" (func $wait (param i32 i32 i64) (result i32)))
(import "coyote" "condvar_signal" (func $signal (param i32)))
(import "coyote" "condvar_broadcast" (func $broadcast (param i32)))
(import "coyote" "choose_int" (func $choose (param i32) (result i32)))
(import "coyote" "assume" (func $assume (param i32)))
(import "coyote" "hint" (func $hint (param i64)))
(import "coyote" "fail" (func $fail (param i32 i32)))
(memory (export "memory") 1)
"#;

fn function(text: &mut String, w: usize, worker: &[Instruction]) {
    let handles: String = (0..8).map(|c| format!("(local $h{c} i32)")).collect();
    writeln!(text, "(func $w{w} (param i32) (local $pc i32) (local $r i32) (local $t i32) {handles}")
        .unwrap();
    text.push_str("(loop $next (block $end\n");
    (0..worker.len()).rev().for_each(|i| write!(text, "(block $i{i} ").unwrap());
    let labels: String = (0..worker.len()).map(|i| format!("$i{i} ")).collect();
    writeln!(text, "(br_table {labels}$end (local.get $pc))").unwrap();
    for (i, instruction) in worker.iter().enumerate() {
        writeln!(text, ") (local.set $pc (i32.const {})) {} (br $next)", i + 1, code(*instruction, i))
            .unwrap();
    }
    text.push_str(")))\n");
}

/// The code of an instruction, executed when the program counter points behind it.
fn code(instruction: Instruction, at: usize) -> String {
    let skip = |test: String, to: usize| format!("(if {test} (then (local.set $pc (i32.const {to}))))");
    // The register becomes 1 if the call returns 0, otherwise 0, and then the next instruction is skipped.
    let attempt = |call: String| {
        format!("(local.set $r (i32.eqz ({call}))) {}", skip("(i32.eqz (local.get $r))".into(), at + 2))
    };
    let endless = "(i64.const -1)";
    let differs = |value: i8| format!("(i32.ne (local.get $r) (i32.const {value}))");
    match instruction {
        Instruction::Load(v) => format!("(local.set $r (i32.load8_s (i32.const {})))", variable(v)),
        Instruction::Store(v, add) => {
            format!("(i32.store8 (i32.const {}) (i32.add (local.get $r) (i32.const {add})))", variable(v))
        }
        Instruction::Set(v, value) => format!("(i32.store8 (i32.const {}) (i32.const {value}))", variable(v)),
        Instruction::Rmw(v, add) => format!(
            "(local.set $r (i32.extend8_s (i32.atomic.rmw8.add_u (i32.const {}) (i32.const {add}))))",
            variable(v)
        ),
        Instruction::Swap(v, value) => format!(
            "(local.set $r (i32.extend8_s (i32.atomic.rmw8.xchg_u (i32.const {}) (i32.const {value}))))",
            variable(v)
        ),
        Instruction::Cas(v, from, to) => format!(
            "(local.set $r (i32.eq (i32.const {0}) (i32.atomic.rmw8.cmpxchg_u (i32.const {1}) (i32.const {0}) \
             (i32.const {to}))))",
            from as u8,
            variable(v)
        ),
        Instruction::Until(v) => {
            let other = format!("(i32.ne (local.get $r) (i32.load8_s (i32.const {})))", variable(v));
            skip(other, at)
        }
        Instruction::Lock(l) => format!("(drop (call $lock (i32.const {}) (i64.const -1)))", lock(l)),
        Instruction::TryLock(l) => attempt(format!("call $try_lock (i32.const {})", lock(l))),
        Instruction::LockTimeout(l, span) => {
            attempt(format!("call $lock (i32.const {}) (i64.const {span})", lock(l)))
        }
        Instruction::ReadLock(l) => format!("(drop (call $read_lock (i32.const {}) {endless}))", rwlock(l)),
        Instruction::TryReadLock(l) => attempt(format!("call $try_read_lock (i32.const {})", rwlock(l))),
        Instruction::WriteLock(l) => format!("(drop (call $write_lock (i32.const {}) {endless}))", rwlock(l)),
        Instruction::TryWriteLock(l) => attempt(format!("call $try_write_lock (i32.const {})", rwlock(l))),
        Instruction::RwUnlock(l) => format!("(drop (call $rw_unlock (i32.const {})))", rwlock(l)),
        Instruction::SemaphoreWait(s) => {
            format!("(drop (call $semaphore_wait (i32.const {}) {endless}))", semaphore(s))
        }
        Instruction::SemaphoreTryWait(s) => {
            attempt(format!("call $semaphore_try_wait (i32.const {})", semaphore(s)))
        }
        Instruction::SemaphorePost(s) => {
            format!("(drop (call $semaphore_post (i32.const {})))", semaphore(s))
        }
        Instruction::SetOneOf(variables, value) => format!(
            "(i32.store8 (i32.add (i32.const {}) (i32.mul (i32.const 64) (call $choose (i32.const {variables})))) \
             (i32.const {value}))",
            variable(0)
        ),
        Instruction::Unlock(l) => format!("(drop (call $unlock (i32.const {})))", lock(l)),
        Instruction::Wait(c, l) => {
            format!("(drop (call $wait (i32.const {}) (i32.const {}) (i64.const -1)))", condvar(c), lock(l))
        }
        Instruction::WaitTimeout(c, l, span) => format!(
            "(local.set $r (i32.ne (i32.const 0) (call $wait (i32.const {}) (i32.const {}) (i64.const {span}))))",
            condvar(c),
            lock(l)
        ),
        Instruction::Signal(c) => format!("(call $signal (i32.const {}))", condvar(c)),
        Instruction::Broadcast(c) => format!("(call $broadcast (i32.const {}))", condvar(c)),
        Instruction::Sleep(span) => format!("(call $sleep (i64.const {span}))"),
        Instruction::Spawn(c) => format!(
            "(local.set $h{c} (call $spawn (i32.const {c}) (i32.const 0) (i32.const 0) (i32.const 0)))"
        ),
        Instruction::Join(c) => format!("(call $join (local.get $h{c}))"),
        Instruction::Choose(bound) => format!("(local.set $r (call $choose (i32.const {bound})))"),
        Instruction::SkipUnless(value, count) => skip(differs(value), at + 1 + usize::from(count)),
        Instruction::BackUnless(value, count) => skip(differs(value), at - usize::from(count)),
        Instruction::Assert(value) => {
            format!("(if {} (then (call $fail (i32.const 0) (i32.const 0))))", differs(value))
        }
        Instruction::Assume(value) => format!("(call $assume (i32.eqz {}))", differs(value)),
        Instruction::AssumeNot(value) => format!("(call $assume {})", differs(value)),
        Instruction::Hint(value) => format!("(call $hint (i64.const {value}))"),
        Instruction::Yield => "(call $yield)".into(),
        Instruction::Monitor(..) | Instruction::Renew(_) => {
            unreachable!("programs with monitors are not among these")
        }
        Instruction::Section(_) => unreachable!("programs with sections are not among these"),
    }
}
