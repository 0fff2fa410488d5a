//! An exception as a number: its tag's number and its payload.

use wasm_encoder::{InstructionSink, ValType as Encoded};
use wasmparser::{AbstractHeapType, HeapType, ValType};

/// The payload of the exceptions of a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payload {
    Nothing,
    I32,
    F32,
}

impl Payload {
    /// `None` if the payload does not fit into a number.
    pub fn of(types: &[ValType]) -> Option<Payload> {
        match types {
            [] => Some(Payload::Nothing),
            [ValType::I32] => Some(Payload::I32),
            [ValType::F32] => Some(Payload::F32),
            _ => None,
        }
    }

    pub fn types(self) -> &'static [Encoded] {
        match self {
            Payload::Nothing => &[],
            Payload::I32 => &[Encoded::I32],
            Payload::F32 => &[Encoded::F32],
        }
    }

    /// `[payload] -> [i64]`, for an exception of this tag.
    pub fn pack(self, tag: u32, out: &mut InstructionSink) {
        let number = (tag as i64 + 1) << 32;
        match self {
            Payload::Nothing => out.i64_const(number),
            Payload::I32 => out.i64_extend_i32_u().i64_const(number).i64_or(),
            Payload::F32 => out.i32_reinterpret_f32().i64_extend_i32_u().i64_const(number).i64_or(),
        };
    }

    /// `[] -> [payload]`, of the exception in a local.
    pub fn unpack(self, local: u32, out: &mut InstructionSink) {
        match self {
            Payload::Nothing => out,
            Payload::I32 => out.local_get(local).i32_wrap_i64(),
            Payload::F32 => out.local_get(local).i32_wrap_i64().f32_reinterpret_i32(),
        };
    }
}

/// Whether it is the type of references to exceptions, or of the null exception reference.
pub(super) fn is_exception(ty: ValType) -> bool {
    match ty {
        ValType::Ref(ty) => match ty.heap_type() {
            HeapType::Abstract { ty, .. } => is_exception_heap(ty),
            _ => false,
        },
        _ => false,
    }
}

pub(super) fn is_exception_heap(ty: AbstractHeapType) -> bool {
    matches!(ty, AbstractHeapType::Exn | AbstractHeapType::NoExn)
}
