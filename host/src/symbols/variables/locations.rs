//! Where a global variable lies in memory, by its location in DWARF. Optimised code has more than one way:
//!
//! - all of it at an address;
//! - in pieces, where the compiler made a variable of each field;
//! - one byte that is 0 or 1, where a variable only ever holds two values (LLVM's `GlobalOpt`).

use super::Section;
use gimli::{Expression, Operation, UnitRef};

/// What the memory of a variable holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Its value.
    Value,
    /// A byte that is its value: 0 or 1.
    Bit,
    /// A byte that says which of two values it has.
    OneOfTwo,
}

/// Memory that holds a variable or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub address: u64,
    /// Where the part begins within the variable.
    pub offset: u64,
    /// Its size; `None` if it is all of the variable.
    pub bytes: Option<u64>,
    pub content: Content,
}

/// The parts of a variable of which a place is known, in the order of their places within it.
pub(super) fn parts(unit: UnitRef<'_, Section>, expression: Expression<Section>) -> Vec<Part> {
    let (mut parts, mut offset) = (Vec::new(), 0);
    // The operations since the last piece.
    let mut pending = Vec::new();
    let mut operations = expression.operations(unit.encoding());
    while let Ok(Some(operation)) = operations.next() {
        let Operation::Piece { size_in_bits, bit_offset } = operation else {
            pending.push(operation);
            continue;
        };
        if size_in_bits % 8 != 0 || bit_offset.is_some() {
            return parts;
        }
        let bytes = size_in_bits / 8;
        let part = part(unit, &pending).filter(|part| part.content == Content::Value);
        parts.extend(part.map(|part| Part { offset, bytes: Some(bytes), ..part }));
        offset = offset.saturating_add(bytes);
        pending.clear();
    }
    if offset == 0 {
        parts.extend(part(unit, &pending));
    }
    parts
}

fn part(unit: UnitRef<'_, Section>, operations: &[Operation<Section>]) -> Option<Part> {
    let (first, rest) = operations.split_first()?;
    let address = match first {
        Operation::Address { address } => *address,
        Operation::AddressIndex { index } => unit.address(*index).ok()?,
        _ => return None,
    };
    let content = match rest {
        [] => Content::Value,
        // The value is one of two: the byte times their difference, plus the one for 0.
        [
            Operation::Deref { size: 1, .. },
            times,
            Operation::Mul,
            plus,
            Operation::Plus,
            Operation::StackValue,
        ] => match (constant(times)?, constant(plus)?) {
            (1, 0) => Content::Bit,
            _ => Content::OneOfTwo,
        },
        _ => return None,
    };
    Some(Part { address, offset: 0, bytes: None, content })
}

fn constant(operation: &Operation<Section>) -> Option<i64> {
    match operation {
        Operation::UnsignedConstant { value } => i64::try_from(*value).ok(),
        Operation::SignedConstant { value } => Some(*value),
        _ => None,
    }
}
