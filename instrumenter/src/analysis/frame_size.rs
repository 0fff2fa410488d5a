//! How many bytes of the shadow stack a function's frame has, and where in its code the frame exists.
//!
//! Compilers move the stack pointer down at the beginning of a function, and back to its value before the function
//! returns. A function that moves it in any other way (for a variable number of bytes, or to an aligned address) has a
//! frame of unknown size.

use crate::code::sequences;
use crate::stack_frame::StackFrame;
use std::collections::BTreeMap;
use walrus::ir::*;
use walrus::{GlobalId, LocalFunction};

/// What an operand or a local holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    Constant(i32),
    /// The stack pointer at the function's beginning, plus this number.
    Pointer(i32),
    Other,
}

/// The frame of a function; `None` if its size is not known. `offset` is the original offset of an instruction.
pub fn frame_size(
    function: &LocalFunction,
    stack_pointer: GlobalId,
    escapes: bool,
    offset: impl Fn(InstrLocId) -> Option<u32>,
) -> Option<StackFrame> {
    let (locals, now) = (BTreeMap::new(), Held::Pointer(0));
    let mut reader = Reader { stack_pointer, locals, now, reads: false, aligns: false, stack: Vec::new() };
    let mut frame = StackFrame { escapes, ..StackFrame::default() };
    for sequence in sequences(function) {
        // A sequence that is executed before the frame exists stands before the instruction that creates it.
        reader.now = Held::Pointer(-(frame.bytes as i32));
        reader.stack.clear();
        let instrs = &function.block(sequence).instrs;
        for (instr, at) in instrs {
            if !reader.step(instr) {
                continue;
            }
            match (reader.now, frame.begin) {
                (Held::Pointer(0), Some(_)) => {
                    let last = instrs.iter().rev().find_map(|(_, at)| offset(*at));
                    frame.ends.push((offset(*at)?, last.unwrap_or(u32::MAX)));
                }
                // A sequence within another one may be executed again.
                (Held::Pointer(moved), None) if moved < 0 && sequence == function.entry_block() => {
                    (frame.bytes, frame.begin) = (moved.unsigned_abs(), Some(offset(*at)?));
                }
                // A handler of exceptions sets it to what it was.
                (Held::Pointer(moved), Some(_)) if moved.unsigned_abs() == frame.bytes && moved < 0 => {}
                _ => return None,
            }
        }
    }
    frame.red_zone = reader.reads && frame.begin.is_none();
    frame.red_zone_bytes = if frame.red_zone { reader.below() } else { None };
    Some(frame)
}

/// Reads instructions in the order of the text.
struct Reader {
    stack_pointer: GlobalId,
    /// What each local holds, if all assignments of it agree.
    locals: BTreeMap<LocalId, Held>,
    /// What was last assigned to the stack pointer.
    now: Held,
    /// Whether the stack pointer was read.
    reads: bool,
    /// Whether an address in the stack was aligned.
    aligns: bool,
    stack: Vec<Held>,
}

impl Reader {
    fn pop(&mut self) -> Held {
        self.stack.pop().unwrap_or(Held::Other)
    }

    /// How far below the stack pointer at the function's beginning the lowest address lies that a local holds.
    fn below(&self) -> Option<u32> {
        let moved = self.locals.values().filter_map(|held| match held {
            Held::Pointer(moved) if *moved < 0 => Some(moved.unsigned_abs()),
            _ => None,
        });
        moved.max().filter(|_| !self.aligns)
    }

    fn assign(&mut self, local: LocalId, value: Held) {
        self.locals
            .entry(local)
            .and_modify(|held| {
                if *held != value {
                    *held = Held::Other
                }
            })
            .or_insert(value);
    }

    /// Reads an instruction. Returns whether it moves the stack pointer.
    fn step(&mut self, instr: &Instr) -> bool {
        match instr {
            Instr::Const(Const { value: Value::I32(value) }) => self.stack.push(Held::Constant(*value)),
            Instr::GlobalGet(i) if i.global == self.stack_pointer => {
                self.reads = true;
                self.stack.push(self.now);
            }
            Instr::GlobalSet(i) if i.global == self.stack_pointer => {
                self.now = self.pop();
                return true;
            }
            Instr::LocalGet(i) => self.stack.push(self.locals.get(&i.local).copied().unwrap_or(Held::Other)),
            Instr::LocalSet(i) => {
                let value = self.pop();
                self.assign(i.local, value);
            }
            Instr::LocalTee(i) => {
                let value = self.pop();
                self.assign(i.local, value);
                self.stack.push(value);
            }
            Instr::Binop(Binop { op: op @ (BinaryOp::I32Add | BinaryOp::I32Sub) }) => {
                let (right, left) = (self.pop(), self.pop());
                let sign = if matches!(op, BinaryOp::I32Add) { 1 } else { -1 };
                self.stack.push(match (left, right) {
                    (Held::Pointer(at), Held::Constant(by)) => {
                        Held::Pointer(at.wrapping_add(by.wrapping_mul(sign)))
                    }
                    (Held::Constant(by), Held::Pointer(at)) if sign == 1 => {
                        Held::Pointer(at.wrapping_add(by))
                    }
                    _ => Held::Other,
                });
            }
            Instr::Binop(Binop { op: BinaryOp::I32And }) => {
                let operands = [self.pop(), self.pop()];
                self.aligns |= operands.iter().any(|held| matches!(held, Held::Pointer(_)));
                self.stack.push(Held::Other);
            }
            // What other instructions leave on the stack is not known, and neither is how deep it is then.
            _ => self.stack.clear(),
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::instructions;
    use walrus::Module;

    /// The frame of each function of a module, and its size at each call.
    fn frames(text: &str) -> Vec<Option<(u32, Vec<Option<u32>>)>> {
        let wasm = wat::parse_str(text).unwrap();
        let module = Module::from_buffer(&wasm).unwrap();
        let sp = module.globals.iter().next().unwrap().id();
        module
            .funcs
            .iter_local()
            .map(|(_, function)| {
                let offset = |at: InstrLocId| (!at.is_default()).then(|| at.data());
                let frame = frame_size(function, sp, false, offset)?;
                let calls = instructions(function).filter(|(i, _)| matches!(i, Instr::Call(_)));
                Some((frame.bytes, calls.map(|(_, at)| frame.bytes_at(at.data())).collect()))
            })
            .collect()
    }

    const HEAD: &str = "(module (func $f (import \"a\" \"f\")) (global $sp (mut i32) (i32.const 1024))";

    #[test]
    fn frames_of_optimised_and_other_code() {
        let optimised = "(func (local i32)
            call $f
            global.get $sp i32.const 32 i32.sub local.tee 0 global.set $sp
            call $f
            local.get 0 i32.const 32 i32.add global.set $sp
            call $f)";
        let through_locals = "(func (local i32 i32 i32 i32 i32)
            global.get $sp local.set 0 i32.const 16 local.set 1 local.get 0 local.get 1 i32.sub local.set 2
            local.get 2 global.set $sp
            (block call $f)
            i32.const 16 local.set 3 local.get 2 local.get 3 i32.add local.set 4 local.get 4 global.set $sp)";
        let without = "(func (local i32) global.get $sp i32.const 16 i32.sub local.set 0 call $f)";
        let variable = "(func (param i32) (local i32)
            global.get $sp local.get 0 i32.sub local.tee 1 global.set $sp call $f)";
        let aligned = "(func (local i32)
            global.get $sp i32.const 64 i32.sub i32.const -32 i32.and local.tee 0 global.set $sp call $f)";
        let twice = "(func (local i32)
            global.get $sp i32.const 32 i32.sub local.tee 0 global.set $sp
            local.get 0 i32.const 16 i32.sub global.set $sp call $f)";
        let text = [HEAD, optimised, through_locals, without, variable, aligned, twice, ")"].concat();
        let expected = vec![
            Some((32, vec![Some(0), Some(32), None])),
            Some((16, vec![Some(16)])),
            Some((0, vec![Some(0)])),
            None,
            None,
            None,
        ];
        assert_eq!(frames(&text), expected);
    }

    #[test]
    fn data_below_the_stack_pointer() {
        let leaf = "global.get $sp i32.const 32 i32.sub local.tee 0 i32.const 12 i32.add local.set 1";
        let through_locals = "global.get $sp local.set 0 i32.const 16 local.set 1
            local.get 0 local.get 1 i32.sub local.set 2";
        let aligned = "global.get $sp i32.const 64 i32.sub local.tee 0 i32.const -32 i32.and local.set 1";
        let none = "i32.const 16 local.set 0";
        for (body, expected) in [(leaf, Some(32)), (through_locals, Some(16)), (aligned, None), (none, None)]
        {
            let text = format!("{HEAD} (func (local i32 i32 i32) {body}))");
            let module = Module::from_buffer(&wat::parse_str(text).unwrap()).unwrap();
            let sp = module.globals.iter().next().unwrap().id();
            let (_, function) = module.funcs.iter_local().next().unwrap();
            let frame = frame_size(function, sp, false, |_| None).unwrap();
            assert_eq!(frame.red_zone_bytes, expected, "{body}");
        }
    }

    /// A return in the middle ends the frame only for what follows in its sequence.
    #[test]
    fn a_return_in_the_middle() {
        let text = [
            HEAD,
            "(func (param i32) (local i32)
                global.get $sp i32.const 32 i32.sub local.tee 1 global.set $sp
                (if (local.get 0) (then
                    call $f local.get 1 i32.const 32 i32.add global.set $sp return))
                call $f
                local.get 1 i32.const 32 i32.add global.set $sp)",
            ")",
        ]
        .concat();
        assert_eq!(frames(&text), [Some((32, vec![Some(32), Some(32)]))]);
    }
}
