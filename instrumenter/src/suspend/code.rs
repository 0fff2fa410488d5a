//! The new body while it is written: bytes, open labels, and the position of each original instruction.

use wasm_encoder::{BlockType, InstructionSink, ValType};

/// A label of the output, counted from the outermost: the function itself is 0.
pub(super) type Label = u32;

/// The function's own label: branching to it returns.
pub(super) const FUNCTION: Label = 0;
/// The block around the whole body: branching to it saves the frame.
pub(super) const UNWIND: Label = 1;

pub(super) struct Code {
    pub bytes: Vec<u8>,
    /// How many labels are open, including the function's own.
    pub height: u32,
    /// `(offset in bytes, offset in the input)` of original instructions, ascending.
    pub map: Vec<(u32, u32)>,
}

impl Code {
    /// Begins inside the `UNWIND` block.
    pub fn new() -> Code {
        Code { bytes: vec![], height: UNWIND + 1, map: vec![] }
    }

    pub fn put(&mut self) -> InstructionSink<'_> {
        InstructionSink::new(&mut self.bytes)
    }

    pub fn here(&self) -> u32 {
        self.bytes.len() as u32
    }

    /// Maps the following instruction to the original one at `offset`.
    pub fn mark(&mut self, offset: u32) {
        self.map.push((self.here(), offset));
    }

    /// Removes everything written since `here`.
    pub fn truncate(&mut self, here: u32) {
        self.bytes.truncate(here as usize);
        while self.map.last().is_some_and(|(at, _)| *at >= here) {
            self.map.pop();
        }
    }

    /// Opens a block without parameters and results.
    pub fn open_block(&mut self) -> Label {
        self.put().block(BlockType::Empty);
        self.opened()
    }

    /// Counts the structure instruction that has just been written, and returns its label.
    pub fn opened(&mut self) -> Label {
        self.height += 1;
        self.height - 1
    }

    pub fn close(&mut self) {
        self.put().end();
        self.height -= 1;
    }

    /// The depth by which a branch instruction refers to the label here.
    pub fn depth(&self, label: Label) -> u32 {
        self.height - 1 - label
    }
}

/// Pushes an arbitrary value of a type; it is never read. `false` for a reference that cannot be null.
pub(super) fn write_default(ty: ValType, out: &mut InstructionSink) -> bool {
    match ty {
        ValType::I32 => out.i32_const(0),
        ValType::I64 => out.i64_const(0),
        ValType::F32 => out.f32_const(0.0.into()),
        ValType::F64 => out.f64_const(0.0.into()),
        ValType::V128 => out.v128_const(0),
        ValType::Ref(r) if r.nullable => out.ref_null(r.heap_type),
        ValType::Ref(_) => return false,
    };
    true
}
