//! The operands on the stack, and how each one can be pushed again.
//!
//! The validator tracks the types; this module tracks for each operand whether it is a constant or the
//! present value of a local. Such an operand need not be saved at a site: it is dropped and pushed again,
//! which keeps points cheap (the operands of nearly every load are of this kind).

use wasmparser::{FuncValidator, Operator, ValType, ValidatorResources};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// Its value is only on the stack.
    Computed,
    /// Pushed by this instruction, a constant.
    Constant(u32),
    /// The value of this local, which has not been assigned since.
    Local(u32),
    /// The value of its spill local.
    Spilled,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Operand {
    pub source: Source,
    /// The range of output bytes that pushed it and did nothing else; empty if there is none.
    pub pushed: (u32, u32),
}

#[derive(Default)]
pub(super) struct Operands {
    stack: Vec<Operand>,
    /// Types and spill numbers of the lower part of the stack, computed at the first request.
    slots: Vec<Slot>,
    /// How many operands are `Local(x)`, by x: most assignments need no search.
    local_uses: Vec<u32>,
}

/// The spill local of an operand. Operands are numbered from the bottom of the function's whole stack, so
/// that a construct never uses a spill local of a construct around it.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    pub ty: ValType,
    /// How many operands of the same type are lower on the stack.
    pub number: u32,
    /// Numbers of operands by type, up to and including this one.
    counts: [u32; 5],
}

impl Operands {
    pub fn new(local_count: u32) -> Operands {
        Operands { local_uses: vec![0; local_count as usize], ..Operands::default() }
    }

    pub fn len(&self) -> usize {
        self.stack.len()
    }

    pub fn get(&self, index: usize) -> Operand {
        self.stack[index]
    }

    pub fn set_source(&mut self, index: usize, source: Source) {
        self.uncount(index);
        self.stack[index].source = source;
        self.stack[index].pushed = (0, 0);
        if let Source::Local(x) = source {
            self.local_uses[x as usize] += 1;
        }
    }

    /// Records that instruction number `instr` was written as `bytes`. It did not touch the lowest `kept`
    /// operands and left the stack at `height`.
    pub fn apply(&mut self, instr: u32, operator: &Operator, kept: usize, height: usize, bytes: (u32, u32)) {
        if let Operator::LocalSet { local_index } | Operator::LocalTee { local_index } = *operator {
            self.assigned(local_index);
        }
        self.truncate(kept.min(height));
        let (source, pushed) = match *operator {
            Operator::I32Const { .. }
            | Operator::I64Const { .. }
            | Operator::F32Const { .. }
            | Operator::F64Const { .. }
            | Operator::V128Const { .. }
            | Operator::RefNull { .. }
            | Operator::RefFunc { .. } => (Source::Constant(instr), bytes),
            Operator::LocalGet { local_index } => (Source::Local(local_index), bytes),
            Operator::LocalTee { local_index } => (Source::Local(local_index), (0, 0)),
            _ => (Source::Computed, (0, 0)),
        };
        while self.stack.len() < height {
            self.stack.push(Operand { source, pushed });
            if let Source::Local(x) = source {
                self.local_uses[x as usize] += 1;
            }
        }
    }

    fn truncate(&mut self, height: usize) {
        for index in height..self.stack.len() {
            self.uncount(index);
        }
        self.stack.truncate(height);
        self.slots.truncate(height);
    }

    fn uncount(&mut self, index: usize) {
        if let Source::Local(x) = self.stack[index].source {
            self.local_uses[x as usize] -= 1;
        }
    }

    /// Records that the local no longer has the value that was pushed from it.
    fn assigned(&mut self, local: u32) {
        if self.local_uses[local as usize] > 0 {
            for operand in self.stack.iter_mut().filter(|o| o.source == Source::Local(local)) {
                operand.source = Source::Computed;
                operand.pushed = (0, 0);
            }
            self.local_uses[local as usize] = 0;
        }
    }

    /// Finds the types of all operands on the stack. `base` is 0, except to plant a mutant: then spill
    /// numbers begin again there.
    pub fn find_slots(&mut self, validator: &FuncValidator<ValidatorResources>, base: usize) {
        self.slots.truncate(self.stack.len());
        if base > 0 {
            self.slots.truncate(base);
        }
        for index in self.slots.len()..self.stack.len() {
            let ty = validator.get_operand_type(self.stack.len() - 1 - index).flatten();
            let ty = ty.expect("live code has operands of known types");
            let below = if index == base { [0; 5] } else { self.slots[index - 1].counts };
            let mut counts = below;
            let kind = numeric_kind(ty);
            kind.iter().for_each(|k| counts[*k] += 1);
            self.slots.push(Slot { ty, number: kind.map_or(0, |k| below[k]), counts });
        }
    }

    /// The spill local of an operand. `find_slots` must have been called.
    pub fn slot(&self, index: usize) -> Slot {
        self.slots[index]
    }
}

/// Index of a numeric type; `None` for references.
pub(super) fn numeric_kind(ty: ValType) -> Option<usize> {
    Some(match ty {
        ValType::I32 => 0,
        ValType::I64 => 1,
        ValType::F32 => 2,
        ValType::F64 => 3,
        ValType::V128 => 4,
        ValType::Ref(_) => return None,
    })
}
