//! Which accesses touch only the function's own stack frame.
//!
//! At -O0 most accesses are to local variables in the shadow stack. No other worker can observe when they
//! happen, as long as the frame's address does not leave the function, so they are no scheduling points.
//!
//! A value is *frame-derived* if it is the stack pointer, or a frame-derived value plus or minus one
//! that is not, or comes from a local to which only frame-derived values are ever assigned. The
//! frame *escapes* if a frame-derived value is used in any way other than: as the address of an
//! access, in such a sum, assigned to such a local, written back to the stack pointer, or dropped.
//! If it does not escape, accesses at frame-derived addresses are private.
//!
//! Deliberately missed are: an access that leaves the frame through a wrong index, and a local that is read before it was
//! assigned (compilers do not emit that). Those stores are still marked dirty. Another worker can access such a frame
//! only through a pointer to a frame that has ended. The host finds that with [`super::frame_size`].

use crate::analysis::access::{access, bulk};
use crate::code::sequences;
use std::collections::{BTreeMap, BTreeSet};
use walrus::ir::*;
use walrus::{GlobalId, LocalFunction, MemoryId, Module};

/// The private accesses as (sequence, index in the sequence); `None` if the frame escapes. `atomics`: whether atomic accesses
/// are among them, by which musl makes a round of a loop last, and which are its barriers.
pub fn private_accesses(
    module: &Module,
    function: &LocalFunction,
    stack_pointer: GlobalId,
    memory: MemoryId,
    atomics: bool,
) -> Option<BTreeSet<(InstrSeqId, usize)>> {
    let sequences = sequences(function);
    let reads = |i: &Instr| matches!(i, Instr::GlobalGet(i) if i.global == stack_pointer);
    if !sequences.iter().any(|s| function.block(*s).instrs.iter().any(|(i, _)| reads(i))) {
        return Some(BTreeSet::new());
    }
    let mut derived = BTreeSet::new();
    // A chain of n locals takes n rounds; longer ones count as escaped.
    for _ in 0..16 {
        let mut round = Round {
            module,
            stack_pointer,
            memory,
            atomics,
            derived: &derived,
            assigned: BTreeMap::new(),
            escaped: false,
            private: BTreeSet::new(),
            stack: Vec::new(),
        };
        for sequence in &sequences {
            round.stack.clear();
            for (index, (instr, _)) in function.block(*sequence).instrs.iter().enumerate() {
                round.step(function, (*sequence, index), instr);
            }
            // The remaining operands are the sequence's result.
            round.flush();
        }
        // A parameter has a value before the first assignment.
        let only_derived = |local: &LocalId| !function.args.contains(local);
        let next: BTreeSet<LocalId> = round
            .assigned
            .iter()
            .filter(|(local, all_derived)| **all_derived && only_derived(local))
            .map(|(local, _)| *local)
            .collect();
        let (escaped, private) = (round.escaped, round.private);
        if next == derived {
            return (!escaped).then_some(private);
        }
        derived = next;
    }
    None
}

/// One pass over the function, with an assumption about which locals are frame-derived.
struct Round<'a> {
    module: &'a Module,
    stack_pointer: GlobalId,
    memory: MemoryId,
    atomics: bool,
    derived: &'a BTreeSet<LocalId>,
    /// Whether all assignments to a local so far were frame-derived.
    assigned: BTreeMap<LocalId, bool>,
    escaped: bool,
    private: BTreeSet<(InstrSeqId, usize)>,
    /// Whether each operand is frame-derived. Operands below the bottom of this list are not.
    stack: Vec<bool>,
}

impl Round<'_> {
    fn pop(&mut self) -> bool {
        self.stack.pop().unwrap_or(false)
    }

    /// Pops `uses` operands, all of which escape, and pushes others, which are not frame-derived.
    fn other(&mut self, uses: usize, pushes: usize) {
        for _ in 0..uses {
            self.escaped |= self.pop();
        }
        self.stack.extend(std::iter::repeat_n(false, pushes));
    }

    /// Empties the stack; frame-derived operands on it escape.
    fn flush(&mut self) {
        self.escaped |= self.stack.contains(&true);
        self.stack.clear();
    }

    fn assign(&mut self, local: LocalId, value: bool) {
        *self.assigned.entry(local).or_insert(true) &= value;
        self.escaped |= value && !self.derived.contains(&local);
    }

    fn step(&mut self, function: &LocalFunction, place: (InstrSeqId, usize), instr: &Instr) {
        if let Some(access) = access(instr, self.memory) {
            self.other(access.values.len(), 0);
            let plain = matches!(instr, Instr::Load(_) | Instr::Store(_) | Instr::LoadSimd(_));
            let known = if access.kind.is_atomic() { self.atomics } else { plain };
            if self.pop() && known {
                self.private.insert(place);
            }
            if !access.kind.writes() || access.kind.is_atomic() && !matches!(instr, Instr::Store(_)) {
                self.stack.push(false);
            }
            return;
        }
        if let Some(kind) = bulk(instr, self.memory) {
            self.other(1, 0);
            match kind {
                crate::analysis::access::Bulk::Copy => drop(self.pop()),
                _ => self.other(1, 0),
            }
            self.pop();
            return;
        }
        match instr {
            // A memory of the tool: the guest never reads it.
            Instr::Load(_) => self.other(1, 1),
            Instr::Store(_) => self.other(2, 0),
            Instr::Const(_) | Instr::MemorySize(_) | Instr::TableSize(_) => self.stack.push(false),
            Instr::GlobalGet(i) => self.stack.push(i.global == self.stack_pointer),
            Instr::GlobalSet(i) if i.global == self.stack_pointer => drop(self.pop()),
            Instr::GlobalSet(_) => self.other(1, 0),
            Instr::LocalGet(i) => self.stack.push(self.derived.contains(&i.local)),
            Instr::LocalSet(i) => {
                let value = self.pop();
                self.assign(i.local, value);
            }
            Instr::LocalTee(i) => {
                let value = self.pop();
                self.assign(i.local, value);
                self.stack.push(value);
            }
            Instr::Binop(Binop { op: BinaryOp::I32Add }) => {
                let (right, left) = (self.pop(), self.pop());
                self.escaped |= left && right;
                self.stack.push(left || right);
            }
            Instr::Binop(Binop { op: BinaryOp::I32Sub }) => {
                let (right, left) = (self.pop(), self.pop());
                self.escaped |= right;
                self.stack.push(left);
            }
            Instr::Binop(_) => self.other(2, 1),
            Instr::Unop(_) => self.other(1, 1),
            Instr::TernOp(_) | Instr::V128Bitselect(_) => self.other(3, 1),
            Instr::I8x16Swizzle(_) | Instr::I8x16Shuffle(_) => self.other(2, 1),
            Instr::Select(_) => self.other(3, 1),
            Instr::MemoryGrow(_) => self.other(1, 1),
            Instr::Drop(_) => drop(self.pop()),
            Instr::Call(i) => self.call(self.module.funcs.get(i.func).ty(), 0),
            Instr::CallIndirect(i) => self.call(i.ty, 1),
            Instr::Block(i) => self.enter(function, i.seq, 0),
            Instr::Loop(i) => self.enter(function, i.seq, 0),
            Instr::IfElse(i) => self.enter(function, i.consequent, 1),
            // Operands of code that is never reached do not escape.
            Instr::Unreachable(_) => self.stack.clear(),
            _ => self.flush(),
        }
    }

    fn call(&mut self, ty: walrus::TypeId, more: usize) {
        let (params, results) = self.module.types.params_results(ty);
        self.other(params.len() + more, results.len());
    }

    /// A nested sequence is read separately, so its operands count as escaping.
    fn enter(&mut self, function: &LocalFunction, sequence: InstrSeqId, more: usize) {
        let (params, results) = match function.block(sequence).ty {
            InstrSeqType::Simple(result) => (0, usize::from(result.is_some())),
            InstrSeqType::MultiValue(ty) => {
                let (params, results) = self.module.types.params_results(ty);
                (params.len(), results.len())
            }
        };
        self.other(params + more, results);
    }
}
