//! Reading and writing sequences of instructions.

use walrus::ir::*;
use walrus::{FunctionId, GlobalId, LocalFunction, LocalId, MemoryId};

/// A sequence under construction. An added instruction has no place in the original module unless one is
/// given with it.
#[derive(Debug, Default)]
pub struct Code(Vec<(Instr, InstrLocId)>);

impl From<Code> for Vec<(Instr, InstrLocId)> {
    fn from(code: Code) -> Self {
        code.0
    }
}

impl Code {
    /// An empty sequence with room for `instrs` instructions.
    pub fn with_capacity(instrs: usize) -> Code {
        Code(Vec::with_capacity(instrs))
    }

    /// Adds an instruction at a place.
    pub fn push(&mut self, instr: impl Into<Instr>, at: InstrLocId) -> &mut Code {
        self.0.push((instr.into(), at));
        self
    }

    /// Adds an instruction that has no place in the original module.
    pub fn add(&mut self, instr: impl Into<Instr>) -> &mut Code {
        self.push(instr, InstrLocId::default())
    }

    /// Adds `local.get`.
    pub fn get(&mut self, local: LocalId) -> &mut Code {
        self.add(LocalGet { local })
    }

    /// Adds `local.set`.
    pub fn set(&mut self, local: LocalId) -> &mut Code {
        self.add(LocalSet { local })
    }

    /// Adds `local.tee`.
    pub fn tee(&mut self, local: LocalId) -> &mut Code {
        self.add(LocalTee { local })
    }

    /// Adds `global.get`.
    pub fn global_get(&mut self, global: GlobalId) -> &mut Code {
        self.add(GlobalGet { global })
    }

    /// Adds `global.set`.
    pub fn global_set(&mut self, global: GlobalId) -> &mut Code {
        self.add(GlobalSet { global })
    }

    /// Adds `i32.const`.
    pub fn i32(&mut self, value: i32) -> &mut Code {
        self.add(Const { value: Value::I32(value) })
    }

    /// Adds `i64.const`.
    pub fn i64(&mut self, value: i64) -> &mut Code {
        self.add(Const { value: Value::I64(value) })
    }

    /// Adds an address: `base` pushes it without its constant offset.
    pub fn address(&mut self, base: &Instr, offset: u64) -> &mut Code {
        self.add(base.clone());
        if offset != 0 {
            self.i32(offset as i32).binary(BinaryOp::I32Add);
        }
        self
    }

    /// Adds an instruction that takes two operands from the stack.
    pub fn binary(&mut self, op: BinaryOp) -> &mut Code {
        self.add(Binop { op })
    }

    /// Adds an instruction that takes one operand from the stack.
    pub fn unary(&mut self, op: UnaryOp) -> &mut Code {
        self.add(Unop { op })
    }

    /// Adds a direct call.
    pub fn call(&mut self, func: FunctionId) -> &mut Code {
        self.add(Call { func })
    }

    /// Adds `i32.store8` with offset 0: takes an address and a value.
    pub fn store8(&mut self, memory: MemoryId) -> &mut Code {
        let arg = MemArg { align: 1, offset: 0 };
        self.add(Store { memory, kind: StoreKind::I32_8 { atomic: false }, arg })
    }

    /// Adds `i32.load8_u` with offset 0: takes an address.
    pub fn load8(&mut self, memory: MemoryId) -> &mut Code {
        let arg = MemArg { align: 1, offset: 0 };
        self.add(Load { memory, kind: LoadKind::I32_8 { kind: ExtendedLoad::ZeroExtend }, arg })
    }

    /// Adds `if (result i32) .. else .. end`, which takes its condition from the stack.
    pub fn if_else(
        &mut self,
        function: &mut LocalFunction,
        then: impl FnOnce(&mut Code),
        otherwise: impl FnOnce(&mut Code),
    ) -> &mut Code {
        let mut arm = |fill: &mut dyn FnMut(&mut Code)| {
            let mut code = Code::default();
            fill(&mut code);
            let id = function.builder_mut().dangling_instr_seq(walrus::ValType::I32).id();
            function.block_mut(id).instrs = code.0;
            id
        };
        let (mut then, mut otherwise) = (Some(then), Some(otherwise));
        let consequent = arm(&mut |code| then.take().expect("once")(code));
        let alternative = arm(&mut |code| otherwise.take().expect("once")(code));
        self.add(IfElse { consequent, alternative })
    }

    /// Adds `if .. end`, which takes its condition from the stack.
    pub fn if_then(&mut self, function: &mut LocalFunction, then: impl FnOnce(&mut Code)) -> &mut Code {
        let consequent = function.builder_mut().dangling_instr_seq(None).id();
        let alternative = function.builder_mut().dangling_instr_seq(None).id();
        let mut code = Code::default();
        then(&mut code);
        function.block_mut(consequent).instrs = code.0;
        self.add(IfElse { consequent, alternative })
    }

    /// Removes and returns the last instruction if it is a constant.
    pub fn take_constant(&mut self) -> Option<i32> {
        let value = constant(&self.0.last()?.0)?;
        self.0.pop();
        Some(value)
    }

    /// Index of the first of the last `count` instructions if all of them only push a local or a constant:
    /// then the same values can be pushed again, and code can be put before them. A `local.tee` at the first
    /// position is split into `local.set` and `local.get`.
    pub fn simple_operands(&mut self, count: usize) -> Option<usize> {
        let first = self.0.len().checked_sub(count)?;
        let simple = |i: &Instr| matches!(i, Instr::LocalGet(_) | Instr::Const(_));
        if !self.0.get(first + 1..)?.iter().all(|(i, _)| simple(i)) {
            return None;
        }
        let (instr, at) = self.0.get(first)?.clone();
        if let Instr::LocalTee(LocalTee { local }) = instr {
            self.0[first] = (LocalSet { local }.into(), at);
            self.0.insert(first + 1, (LocalGet { local }.into(), InstrLocId::default()));
            return Some(first + 1);
        }
        simple(&instr).then_some(first)
    }

    /// The instruction at an index.
    pub fn at(&self, index: usize) -> Instr {
        self.0[index].0.clone()
    }

    /// The instruction that has this number of others behind it.
    pub fn at_end(&self, behind: usize) -> Instr {
        self.at(self.0.len() - 1 - behind)
    }

    /// Removes the instructions from an index on.
    pub fn split_off(&mut self, index: usize) -> Code {
        Code(self.0.split_off(index))
    }

    /// Adds all instructions of another sequence, with their places.
    pub fn append(&mut self, mut other: Code) -> &mut Code {
        self.0.append(&mut other.0);
        self
    }
}

/// The number that an instruction pushes, if it is a constant.
pub fn constant(instr: &Instr) -> Option<i32> {
    match instr {
        Instr::Const(Const { value: Value::I32(value) }) => Some(*value),
        _ => None,
    }
}

/// The instruction sequences of a function that execution can reach, outermost first.
pub fn sequences(function: &LocalFunction) -> Vec<InstrSeqId> {
    let mut found = vec![function.entry_block()];
    let mut next = 0;
    while next < found.len() {
        let sequence = found[next];
        for (instr, _) in &function.block(sequence).instrs {
            match instr {
                Instr::Block(i) => found.push(i.seq),
                Instr::Loop(i) => found.push(i.seq),
                Instr::IfElse(i) => found.extend([i.consequent, i.alternative]),
                Instr::TryTable(i) => found.push(i.seq),
                _ => {}
            }
        }
        next += 1;
    }
    found
}

/// The instructions in these sequences.
pub fn instructions(function: &LocalFunction) -> impl Iterator<Item = &(Instr, InstrLocId)> {
    sequences(function).into_iter().flat_map(|sequence| &function.block(sequence).instrs)
}
