//! The accesses of each instruction to the guest's memory.

use coyote_abi::OpKind;
use walrus::ir::*;
use walrus::{MemoryId, ValType};

/// A load, store or atomic access: one address, a constant offset and a fixed size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    pub kind: OpKind,
    /// Bytes.
    pub size: u8,
    pub offset: u64,
    /// Types of the operands above the address.
    pub values: Vec<ValType>,
}

/// The access of an instruction to `memory`; `None` for bulk operations and all others.
pub fn access(instr: &Instr, memory: MemoryId) -> Option<Access> {
    let plain = |kind, size: u32, arg: &MemArg, values: &[ValType]| {
        Some(Access { kind, size: size as u8, offset: arg.offset, values: values.to_vec() })
    };
    match instr {
        Instr::Load(i) if i.memory == memory => {
            let kind = if i.kind.atomic() { OpKind::AtomicLoad } else { OpKind::Load };
            plain(kind, i.kind.width(), &i.arg, &[])
        }
        Instr::Store(i) if i.memory == memory => {
            let kind = if i.kind.atomic() { OpKind::AtomicStore } else { OpKind::Store };
            plain(kind, i.kind.width(), &i.arg, &[stored(i.kind)])
        }
        Instr::LoadSimd(i) if i.memory == memory => {
            let (kind, size, values) = simd(i.kind);
            plain(kind, size, &i.arg, values)
        }
        Instr::AtomicRmw(i) if i.memory == memory => {
            plain(OpKind::Rmw, i.width.bytes(), &i.arg, &[atomic(i.width)])
        }
        Instr::Cmpxchg(i) if i.memory == memory => {
            plain(OpKind::CompareExchange, i.width.bytes(), &i.arg, &[atomic(i.width); 2])
        }
        _ => None,
    }
}

fn stored(kind: StoreKind) -> ValType {
    match kind {
        StoreKind::I32 { .. } | StoreKind::I32_8 { .. } | StoreKind::I32_16 { .. } => ValType::I32,
        StoreKind::I64 { .. }
        | StoreKind::I64_8 { .. }
        | StoreKind::I64_16 { .. }
        | StoreKind::I64_32 { .. } => ValType::I64,
        StoreKind::F32 => ValType::F32,
        StoreKind::F64 => ValType::F64,
        StoreKind::V128 => ValType::V128,
    }
}

fn atomic(width: AtomicWidth) -> ValType {
    match width {
        AtomicWidth::I32 | AtomicWidth::I32_8 | AtomicWidth::I32_16 => ValType::I32,
        AtomicWidth::I64 | AtomicWidth::I64_8 | AtomicWidth::I64_16 | AtomicWidth::I64_32 => ValType::I64,
    }
}

/// Returns kind, size and operands of a SIMD access. Walrus calls stores of lanes loads too.
fn simd(kind: LoadSimdKind) -> (OpKind, u32, &'static [ValType]) {
    use LoadSimdKind::*;
    const VECTOR: &[ValType] = &[ValType::V128];
    match kind {
        Splat8 => (OpKind::Load, 1, &[]),
        Splat16 => (OpKind::Load, 2, &[]),
        Splat32 | V128Load32Zero => (OpKind::Load, 4, &[]),
        Splat64 | V128Load64Zero => (OpKind::Load, 8, &[]),
        V128Load8x8S | V128Load8x8U | V128Load16x4S | V128Load16x4U | V128Load32x2S | V128Load32x2U => {
            (OpKind::Load, 8, &[])
        }
        V128Load8Lane(_) => (OpKind::Load, 1, VECTOR),
        V128Load16Lane(_) => (OpKind::Load, 2, VECTOR),
        V128Load32Lane(_) => (OpKind::Load, 4, VECTOR),
        V128Load64Lane(_) => (OpKind::Load, 8, VECTOR),
        V128Store8Lane(_) => (OpKind::Store, 1, VECTOR),
        V128Store16Lane(_) => (OpKind::Store, 2, VECTOR),
        V128Store32Lane(_) => (OpKind::Store, 4, VECTOR),
        V128Store64Lane(_) => (OpKind::Store, 8, VECTOR),
    }
}

/// A bulk memory operation on the guest's memory. All take (destination, source or value, length).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bulk {
    Copy,
    Fill,
    Init,
}

impl Bulk {
    pub fn kind(self) -> OpKind {
        match self {
            Bulk::Copy => OpKind::Copy,
            Bulk::Fill | Bulk::Init => OpKind::Fill,
        }
    }
}

/// The bulk operation on `memory` that an instruction is, if any.
pub fn bulk(instr: &Instr, memory: MemoryId) -> Option<Bulk> {
    match instr {
        Instr::MemoryCopy(i) if i.dst == memory => Some(Bulk::Copy),
        Instr::MemoryFill(i) if i.memory == memory => Some(Bulk::Fill),
        Instr::MemoryInit(i) if i.memory == memory => Some(Bulk::Init),
        _ => None,
    }
}
