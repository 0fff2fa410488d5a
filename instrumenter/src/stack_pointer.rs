//! Finds the shadow stack pointer: by name, by export, or by the convention that LLVM's linker makes it
//! global 0.

use crate::Error;
use std::collections::BTreeMap;
use wasmparser::{FunctionBody, GlobalType, Operator, ValType};

/// The name that linkers give it.
pub const NAME: &str = "__stack_pointer";

/// A global, and whether it could be the stack pointer.
#[derive(Clone, Default)]
pub struct Candidate {
    mutable_i32: bool,
    /// Whether some function reads it, subtracts and writes it, in this order.
    moves_down: bool,
}

impl Candidate {
    /// A global that the module defines. An imported global is no candidate.
    pub fn of(ty: GlobalType) -> Candidate {
        Candidate { mutable_i32: ty.mutable && ty.content_type == ValType::I32, moves_down: false }
    }
}

/// The index of the stack pointer.
///
/// # Errors
/// Refuses a module that can have workers (`spawns`), moves some unnamed global down like a stack pointer,
/// and does not say that this is one: its workers would share one stack.
pub fn find(
    names: &BTreeMap<u32, String>,
    mut globals: Vec<Candidate>,
    bodies: &[FunctionBody],
    linked: bool,
    spawns: bool,
) -> Result<Option<u32>, Error> {
    let named = names.iter().find(|(_, name)| *name == NAME);
    if let Some((index, _)) = named
        && globals.get(*index as usize).is_some_and(|g| g.mutable_i32)
    {
        return Ok(Some(*index));
    }
    // A global with another name is not the stack pointer.
    for index in names.keys() {
        if let Some(global) = globals.get_mut(*index as usize) {
            global.mutable_i32 = false;
        }
    }
    if !globals.iter().any(|g| g.mutable_i32) {
        return Ok(None);
    }
    for body in bodies {
        note_moves(body, &mut globals)?;
    }
    match globals.iter().position(|g| g.mutable_i32 && g.moves_down) {
        Some(0) if linked => Ok(Some(0)),
        Some(_) if spawns => Err(Error::unsupported(
            "the module starts workers, but it cannot be told which global is its stack pointer: link \
             with `-Wl,--export=__stack_pointer` (Rust: `-C link-arg=--export=__stack_pointer`) or keep \
             the name section",
        )),
        _ => Ok(None),
    }
}

/// Records which globals a function moves down.
fn note_moves(body: &FunctionBody, globals: &mut [Candidate]) -> Result<(), Error> {
    let mut progress = vec![0u8; globals.len()];
    for operator in body.get_operators_reader()? {
        match operator? {
            Operator::GlobalGet { global_index: g } if (g as usize) < progress.len() => {
                progress[g as usize] = progress[g as usize].max(1);
            }
            Operator::I32Sub => {
                progress.iter_mut().filter(|p| **p == 1).for_each(|p| *p = 2);
            }
            Operator::GlobalSet { global_index: g } if (g as usize) < progress.len() => {
                globals[g as usize].moves_down |= progress[g as usize] == 2;
            }
            _ => {}
        }
    }
    Ok(())
}
