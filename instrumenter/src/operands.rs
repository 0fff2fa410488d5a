//! Moves operands into locals, so that code can be put before them.

use crate::code::Code;
use crate::draft::Draft;
use std::collections::BTreeMap;
use walrus::ir::{Instr, LocalGet};
use walrus::{LocalId, ValType};

/// Locals for operands that are moved aside, shared by all accesses of a function.
#[derive(Default)]
pub struct Aside(BTreeMap<(ValType, usize), LocalId>);

impl Aside {
    /// The local for the operand of this type in this position.
    pub fn local(&mut self, draft: &mut Draft, ty: ValType, position: usize) -> LocalId {
        *self.0.entry((ty, position)).or_insert_with(|| draft.module.locals.add(ty))
    }

    /// Moves operands aside, so that code can be put before them and they can be pushed again. Returns the
    /// instructions that push them, and the sequence that must follow the inserted code.
    pub fn operands(&mut self, draft: &mut Draft, code: &mut Code, types: &[ValType]) -> (Vec<Instr>, Code) {
        if let Some(first) = code.simple_operands(types.len()) {
            let operands = (first..first + types.len()).map(|i| code.at(i)).collect();
            return (operands, code.split_off(first));
        }
        let locals: Vec<_> = types.iter().enumerate().map(|(i, ty)| self.local(draft, *ty, i)).collect();
        let mut again = Code::with_capacity(locals.len());
        for local in &locals {
            again.get(*local);
        }
        for local in locals.iter().rev() {
            code.set(*local);
        }
        (locals.iter().map(|local| LocalGet { local: *local }.into()).collect(), again)
    }
}
