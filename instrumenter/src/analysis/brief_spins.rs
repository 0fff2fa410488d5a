//! Loops in which a lock of a standard library waits for a moment before it blocks.
//!
//! Locks of Rust's std and of musl load their state up to 100 times while another thread holds them, and block then. A
//! round changes nothing but the number of rounds, which nobody sees. So such a loop needs no scheduling point after its
//! first round:
//! - Its rounds without points between them are an execution of the program: nobody else was picked there.
//! - Each execution of the program has the same outcome as one of these, namely that in which the worker comes to the loop
//!   when its last round began. If this round ended the loop because the lock is free, so does the first one now. If it was
//!   one too many, the first one does not end the loop, and as many follow it without a pause. Should one of these see what
//!   ends the loop, which musl's can between two loads, then that makes no difference to what follows: musl's locks go on in
//!   the same way whether a loop ended because others wait, or after its last round.
//!
//! With points between them, a search tries a hundred executions for each of a worker's waits, and multiplies these: a
//! thread of Rust's std that takes no lock already waits for one in its `join`, as does any thread of musl.
//! With weak memory, a round may load another store than the one before, so each keeps its points.

use super::access::access;
use super::flow::Place;
use crate::names::is_one_of;
use coyote_abi::OpKind;
use std::collections::BTreeSet;
use walrus::ir::*;
use walrus::{LocalFunction, MemoryId};

/// Functions of Rust's std: the loop's own function may be inlined in those that use it.
const OF_STD: &[&str] = &[
    "std::sys::sync::mutex::futex::Mutex::lock_contended",
    "std::sys::sync::mutex::futex::Mutex::spin",
    "std::sys::sync::rwlock::futex::RwLock::read_contended",
    "std::sys::sync::rwlock::futex::RwLock::spin_read",
    "std::sys::sync::rwlock::futex::RwLock::spin_until",
    "std::sys::sync::rwlock::futex::RwLock::spin_write",
    "std::sys::sync::rwlock::futex::RwLock::write_contended",
];

/// Functions of musl, which wasi-libc uses. Their names are reserved for it. Its barriers and semaphores spin, too, but a
/// program may have functions of its own with their names, whose loads mean something else.
const OF_MUSL: &[&str] =
    &["__pthread_mutex_timedlock", "__pthread_rwlock_timedrdlock", "__pthread_rwlock_timedwrlock", "__wait"];

/// The most loads that a round of a lock of std has: of its state.
const LOADS_OF_STD: usize = 1;

/// The most loads that a round of a lock of musl has: of its state, and whether others wait.
const LOADS_OF_MUSL: usize = 2;

/// A loop whose rounds load a lock's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BriefSpin {
    pub body: InstrSeqId,
    /// The instructions that load. There are more than a round has if the compiler has unrolled the loop.
    pub loads: Vec<Place>,
    /// How many of the loads after the loop's beginning belong to the first round.
    pub first: usize,
}

/// The loops of a function of this name, as the module spells it. `private`: its accesses of its own frame.
pub fn brief_spins(
    function: &LocalFunction,
    name: &str,
    memory: MemoryId,
    private: &BTreeSet<Place>,
) -> Vec<BriefSpin> {
    let most = if OF_MUSL.contains(&name) {
        LOADS_OF_MUSL
    } else if is_one_of(name, OF_STD) {
        LOADS_OF_STD
    } else {
        return Vec::new();
    };
    let bodies = crate::code::instructions(function).filter_map(|(instr, _)| match instr {
        Instr::Loop(i) => Some(i.seq),
        _ => None,
    });
    let spins = bodies.filter_map(|body| {
        let mut loads = Vec::new();
        only_loads(function, body, memory, private, &mut loads)?;
        (!loads.is_empty()).then(|| BriefSpin { body, first: most.min(loads.len()), loads })
    });
    spins.collect()
}

/// The loads of a sequence that does nothing else but compute, and use its function's frame; `None` if it does something
/// else.
fn only_loads(
    function: &LocalFunction,
    sequence: InstrSeqId,
    memory: MemoryId,
    private: &BTreeSet<Place>,
    loads: &mut Vec<Place>,
) -> Option<()> {
    for (index, (instr, _)) in function.block(sequence).instrs.iter().enumerate() {
        let place = (sequence, index);
        match instr {
            Instr::LocalGet(_) | Instr::LocalSet(_) | Instr::LocalTee(_) | Instr::Const(_) => {}
            Instr::Binop(_) | Instr::Unop(_) | Instr::Select(_) | Instr::Drop(_) => {}
            Instr::Br(_) | Instr::BrIf(_) | Instr::BrTable(_) | Instr::Return(_) => {}
            Instr::Block(i) => only_loads(function, i.seq, memory, private, loads)?,
            Instr::IfElse(i) => {
                only_loads(function, i.consequent, memory, private, loads)?;
                only_loads(function, i.alternative, memory, private, loads)?;
            }
            _ => match access(instr, memory)?.kind {
                _ if private.contains(&place) => {}
                OpKind::Load | OpKind::AtomicLoad => loads.push(place),
                _ => return None,
            },
        }
    }
    Some(())
}
