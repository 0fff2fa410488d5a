//! Local variables that lie in frames of the shadow stack.
//!
//! From DWARF: variables and parameters whose location is an offset from the frame base of their function, if that base
//! is a local of wasm. Compilers keep the stack pointer there, once the function has moved it to make its frame, so that
//! the offset counts from the beginning of the frame. Optimised code says so of a few instructions only, and piece by
//! piece; the place in the frame stays that of the variable. A variable that is kept in locals of wasm has no address.

use super::{Entry, Section, TypeId, Variables, reference};
use coyote_instrumenter::Location;
use gimli::constants as dw;
use gimli::{AttributeValue, Expression, Operation, UnitRef};
use std::collections::BTreeMap;
use std::ops::Range;

/// A local variable in a frame.
#[derive(Debug)]
pub(super) struct Local {
    pub name: String,
    pub ty: TypeId,
    /// From the beginning of the frame.
    pub offset: u64,
    /// Index of its scope.
    scope: usize,
}

/// A function or a block within one.
#[derive(Debug)]
struct Scope {
    /// Its code. DWARF counts from the beginning of the code section's contents.
    code: Vec<Range<u64>>,
    /// The number of inlined functions around it.
    inlined: usize,
}

impl Scope {
    fn contains(&self, at: u64) -> bool {
        self.code.iter().any(|range| range.contains(&at))
    }
}

/// A function of wasm with variables in its frame.
#[derive(Debug)]
struct Function {
    end: u64,
    /// The local of wasm that holds the beginning of its frame.
    base: u32,
    /// In the order of declaration.
    locals: Vec<Local>,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Locals {
    /// By the beginning of their code.
    functions: BTreeMap<u64, Function>,
    scopes: Vec<Scope>,
}

/// A scope that is being read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Within {
    /// The beginning of the function's code.
    function: u64,
    scope: usize,
}

impl Locals {
    /// Begins a function, a block or an inlined function. `around`: the scope that contains it. `None` if nothing in it has
    /// an address in a frame.
    pub fn enter(
        &mut self,
        unit: UnitRef<'_, Section>,
        entry: &Entry,
        around: Option<Within>,
    ) -> Option<Within> {
        let code = || {
            let mut found = Vec::new();
            let mut ranges = unit.die_ranges(entry).ok()?;
            while let Ok(Some(range)) = ranges.next() {
                found.push(range.begin..range.end);
            }
            Some(found).filter(|found| !found.is_empty())
        };
        let (function, inlined) = match entry.tag() {
            dw::DW_TAG_subprogram => {
                let Some(AttributeValue::Exprloc(base)) = entry.attr_value(dw::DW_AT_frame_base) else {
                    return None;
                };
                let begin = base.operations(unit.encoding()).next().ok()??;
                let Operation::WasmLocal { index: base } = begin else { return None };
                // Linkers give the largest number to functions that they left out.
                let code = code()?;
                let [Range { start, end }] = code[..] else { return None };
                if start == 0 || end > 1 << 32 {
                    return None;
                }
                self.functions.insert(start, Function { end, base, locals: Vec::new() });
                self.scopes.push(Scope { code, inlined: 0 });
                return Some(Within { function: start, scope: self.scopes.len() - 1 });
            }
            dw::DW_TAG_inlined_subroutine => (around?.function, self.scopes[around?.scope].inlined + 1),
            dw::DW_TAG_lexical_block => (around?.function, self.scopes[around?.scope].inlined),
            _ => return None,
        };
        // A block without code of its own is as large as what is around it.
        let Some(code) = code() else { return around };
        self.scopes.push(Scope { code, inlined });
        Some(Within { function, scope: self.scopes.len() - 1 })
    }

    /// Adds a variable or a parameter, if it has a place in the frame.
    pub fn add(&mut self, unit: UnitRef<'_, Section>, entry: &Entry, within: Within) {
        let Some(function) = self.functions.get_mut(&within.function) else { return };
        let offset = match entry.attr_value(dw::DW_AT_location) {
            Some(AttributeValue::Exprloc(location)) => offset(unit, location, function.base),
            Some(list) => listed(unit, list, function.base),
            None => None,
        };
        if let Some(offset) = offset
            && let Some((name, ty)) = declared(unit, entry)
        {
            function.locals.push(Local { name, ty, offset, scope: within.scope });
        }
    }

    /// Whether no function has any.
    pub fn is_empty(&self) -> bool {
        self.functions.values().all(|function| function.locals.is_empty())
    }

    /// The variables in scope at a place in the code, each with the number of inlined functions around it: the outermost
    /// function first, and in each the variables in the order of declaration.
    pub fn at(&self, code: u64) -> Vec<(usize, &Local)> {
        let around = self.functions.range(..=code).next_back();
        let Some((_, function)) = around.filter(|(_, function)| code < function.end) else {
            return Vec::new();
        };
        let mut found: Vec<(usize, &Local)> = Vec::new();
        for local in &function.locals {
            let scope = &self.scopes[local.scope];
            if scope.contains(code) {
                found.push((scope.inlined, local));
            }
        }
        found.sort_by_key(|(inlined, _)| *inlined);
        found
    }
}

/// The offset of a variable from the beginning of its frame, by its location. `base`: the local that holds that beginning.
fn offset(unit: UnitRef<'_, Section>, location: Expression<Section>, base: u32) -> Option<u64> {
    let mut operations = location.operations(unit.encoding());
    // Of the variable, by the pieces so far; of the piece, if it has a place; and the bytes before it.
    let (mut variable, mut piece, mut before) = (None, None::<u64>, 0);
    loop {
        match (operations.next().ok()?, piece) {
            (Some(Operation::FrameOffset { offset }), None) => piece = Some(offset.try_into().ok()?),
            (Some(Operation::WasmLocal { index }), None) if index == base => piece = Some(0),
            (Some(Operation::PlusConstant { value }), Some(at)) => piece = at.checked_add(value),
            (Some(Operation::Piece { size_in_bits, bit_offset: None }), _) if size_in_bits % 8 == 0 => {
                agree(&mut variable, piece.take(), before)?;
                before += size_in_bits / 8;
            }
            (None, _) => {
                agree(&mut variable, piece, before)?;
                return variable;
            }
            _ => return None,
        }
    }
}

/// Takes up where a variable begins by the place of a piece, which stands behind so many bytes; `None` if other pieces say
/// otherwise.
fn agree(variable: &mut Option<u64>, piece: Option<u64>, before: u64) -> Option<()> {
    let Some(piece) = piece else { return Some(()) };
    let begin = piece.checked_sub(before)?;
    (*variable.get_or_insert(begin) == begin).then_some(())
}

/// The offset in a list of locations, if all of them that are places in the frame agree.
fn listed(unit: UnitRef<'_, Section>, list: AttributeValue<Section>, base: u32) -> Option<u64> {
    let mut locations = unit.attr_locations(list).ok()??;
    let mut found = None;
    while let Ok(Some(location)) = locations.next() {
        let Some(here) = offset(unit, location.data, base) else { continue };
        if found.is_some_and(|found| found != here) {
            return None;
        }
        found = Some(here);
    }
    found
}

/// The name and the type of a variable. An inlined function's refers to the one of the function that was inlined.
fn declared(unit: UnitRef<'_, Section>, entry: &Entry) -> Option<(String, TypeId)> {
    const REFERENCES_MAX: usize = 4;
    let start = unit.header.debug_info_offset().map_or(0, |offset| offset.0);
    let mut entry = entry.clone();
    for _ in 0..REFERENCES_MAX {
        let ty = entry.attr_value(dw::DW_AT_type).and_then(|value| reference(start, &value));
        if let Some(declared) = super::name(unit, &entry).zip(ty) {
            return Some(declared);
        }
        let AttributeValue::UnitRef(origin) = entry.attr_value(dw::DW_AT_abstract_origin)? else {
            return None;
        };
        entry = unit.entry(origin).ok()?;
    }
    None
}

impl Variables {
    /// The variable that holds these bytes of a frame, and the offset within it: one of the outermost function, whose place
    /// those of inlined functions may share; of those, the one that was declared last.
    pub(super) fn local_holding(&self, at: &InFrame<'_>, bytes: u64) -> Option<(u64, &Local)> {
        let code = at.function.offset.checked_sub(self.code_start)?;
        let holds = |local: &Local| {
            let end = local.offset + self.size(local.ty, 0).unwrap_or_default();
            local.offset <= at.offset && at.offset.checked_add(bytes).is_some_and(|last| last <= end)
        };
        let mut holding = self.locals.at(code.into());
        holding.retain(|(inlined, local)| (at.has_names)(*inlined) && holds(local));
        let outermost = holding.first()?.0;
        let (_, local) = holding.into_iter().rfind(|(inlined, _)| *inlined == outermost)?;
        Some((at.offset - local.offset, local))
    }
}

/// A place in a frame.
pub struct InFrame<'a> {
    /// Where its function is.
    pub function: Location,
    /// From the frame's beginning.
    pub offset: u64,
    /// Whether variables of a function have names that the author of the program knows: of the function itself (0), or of
    /// one that is inlined there within so many others.
    pub has_names: &'a dyn Fn(usize) -> bool,
}
