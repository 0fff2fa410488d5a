//! The state machines that rustc makes of async functions and blocks: where a suspended one waits.
//!
//! From DWARF. The type `{async_fn_env#0}` holds a number, `__state`, and a variant for each value of it. Values 0 to 2
//! mean that it has not begun, has returned, or has panicked; each other one belongs to an `await`, whose line is the
//! variant's. A variant may contain the awaited future as its field `__awaitee`, often a state machine itself. The
//! function `{async_fn#0}` in the same namespace is the machine's code.
//!
//! Nothing is known about machines that an optimised build has no types for.

use super::module::Module;
use super::variables::{Entry, Section, name, reference};
use gimli::constants as dw;
use gimli::{AttributeValue, UnitRef};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// The state of a machine that has not begun.
pub const UNRESUMED: u64 = 0;

/// The first value of a state that belongs to an `await`.
const FIRST_AWAIT: u64 = 3;

/// Maximum depth of futures that await each other.
const DEPTH_MAX: usize = 32;

/// Offset in `.debug_info`.
type TypeId = usize;

/// A state machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coroutine {
    /// The path of its code's function.
    pub function: String,
    /// Its size.
    pub bytes: u64,
    /// The offset and the size of its state.
    pub state: (u64, u32),
    /// The variants, by state.
    variants: BTreeMap<u64, Variant>,
}

impl Coroutine {
    /// Where its function or block begins.
    pub fn begins(&self) -> Suspension {
        self.place(self.variants.get(&UNRESUMED))
    }

    /// Where it is suspended in a state. `None` if that is the state of no suspended machine.
    pub fn suspended_in(&self, state: u64) -> Option<Suspension> {
        let variant = self.variants.get(&state).filter(|_| state >= FIRST_AWAIT)?;
        Some(self.place(Some(variant)))
    }

    fn place(&self, variant: Option<&Variant>) -> Suspension {
        Suspension {
            function: self.function.clone(),
            file: variant.and_then(|variant| variant.file.clone()),
            line: variant.and_then(|variant| variant.line),
        }
    }
}

/// The variant of a state: the place of its `await`, and its type.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Variant {
    file: Option<String>,
    line: Option<u32>,
    ty: TypeId,
}

/// A place in a state machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspension {
    /// The path of the function.
    pub function: String,
    /// The file, as the compiler named it.
    pub file: Option<String>,
    /// The line of the `await`.
    pub line: Option<u32>,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub struct Coroutines {
    /// Offset of the contents of the code section, from which DWARF counts.
    code_start: u32,
    types: BTreeMap<TypeId, Arc<Coroutine>>,
    /// The awaited future of a variant: its offset and its type.
    awaited: BTreeMap<TypeId, (u64, TypeId)>,
    /// Code of state machines.
    code: Vec<(Range<u64>, TypeId)>,
}

impl Coroutines {
    /// Reads the original module. Never fails.
    pub fn read(original_wasm: &[u8]) -> Coroutines {
        let module = Module::read(original_wasm);
        let mut read = Reading::default();
        if let Some(dwarf) = module.dwarf() {
            let mut units = dwarf.units();
            while let Ok(Some(header)) = units.next() {
                if let Ok(unit) = dwarf.unit(header) {
                    // What was read before the damage counts.
                    let _ = read.unit(unit.unit_ref(&dwarf));
                }
            }
        }
        Coroutines { code_start: module.code_start, ..read.finish() }
    }

    /// Whether the module has none, or no data about them.
    pub fn is_empty(&self) -> bool {
        self.code.is_empty()
    }

    /// The state machine to whose code an instruction belongs, by its offset in the module. It takes time in proportion to
    /// the module's size.
    pub fn of_code(&self, offset: u32) -> Option<&Arc<Coroutine>> {
        let address = u64::from(offset.checked_sub(self.code_start)?);
        let around = self.code.iter().filter(|(range, _)| range.contains(&address));
        let (_, ty) = around.min_by_key(|(range, _)| range.end - range.start)?;
        self.types.get(ty)
    }

    /// Where a state machine is suspended, and in it the ones that it awaits, the outermost first; empty if it is not
    /// suspended. `number` reads memory.
    pub fn suspensions(
        &self,
        coroutine: &Coroutine,
        address: u64,
        number: &dyn Fn(u64, u32) -> Option<u64>,
    ) -> Vec<Suspension> {
        let (mut coroutine, mut address, mut found) = (coroutine, address, Vec::new());
        while found.len() < DEPTH_MAX {
            let (offset, bytes) = coroutine.state;
            let Some(state) = number(address + offset, bytes) else { break };
            let Some(place) = coroutine.suspended_in(state) else { break };
            found.push(place);
            let awaited = coroutine.variants.get(&state).and_then(|variant| self.awaited.get(&variant.ty));
            let Some((offset, ty)) = awaited else { break };
            let Some(next) = self.types.get(ty) else { break };
            (coroutine, address) = (next, address + offset);
        }
        found
    }
}

/// The data that was read so far.
#[derive(Default)]
struct Reading {
    types: BTreeMap<TypeId, Coroutine>,
    awaited: BTreeMap<TypeId, (u64, TypeId)>,
    /// The paths of functions that may be code of state machines, by their entries.
    functions: BTreeMap<TypeId, String>,
    /// Code by the entry of its function.
    code: Vec<(Range<u64>, TypeId)>,
    /// Sizes of numbers.
    numbers: BTreeMap<TypeId, u64>,
    /// The types of states.
    states: BTreeMap<TypeId, TypeId>,
}

/// An entry that contains other entries.
enum Part {
    Namespace(String),
    /// A type in the innermost namespace, a state machine or a variant.
    Type(TypeId, String),
    Variants(TypeId),
    Variant(TypeId, Option<u64>),
    Other,
}

impl Reading {
    fn unit(&mut self, unit: UnitRef<'_, Section>) -> gimli::Result<()> {
        let start = unit.header.debug_info_offset().map_or(0, |offset| offset.0);
        let mut parents: Vec<(isize, Part)> = Vec::new();
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            while parents.last().is_some_and(|(depth, _)| *depth >= entry.depth()) {
                parents.pop();
            }
            let id = start + entry.offset().0;
            let part = self.entry(unit, entry, id, &parents)?;
            if entry.has_children() {
                parents.push((entry.depth(), part));
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        unit: UnitRef<'_, Section>,
        entry: &Entry,
        id: TypeId,
        parents: &[(isize, Part)],
    ) -> gimli::Result<Part> {
        let start = id - entry.offset().0;
        let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
        let refers = |name| entry.attr_value(name).and_then(|value| reference(start, &value));
        let path = |name: &str| {
            let around = parents.iter().filter_map(|(_, part)| match part {
                Part::Namespace(name) => Some(name.as_str()),
                _ => None,
            });
            around.chain([name]).collect::<Vec<_>>().join("::")
        };
        let parent = parents.last().map(|(_, part)| part);
        Ok(match (entry.tag(), parent) {
            (dw::DW_TAG_namespace, _) => Part::Namespace(name(unit, entry).unwrap_or_default()),
            (dw::DW_TAG_base_type, _) => {
                self.numbers.extend(number(dw::DW_AT_byte_size).map(|bytes| (id, bytes)));
                Part::Other
            }
            (dw::DW_TAG_structure_type, _) => {
                let name = name(unit, entry).unwrap_or_default();
                if name.starts_with("{async_") && name.contains("_env#") {
                    let function = path(&name.replacen("_env#", "#", 1));
                    let bytes = number(dw::DW_AT_byte_size).unwrap_or_default();
                    self.types.insert(id, Coroutine { function, bytes, ..Coroutine::default() });
                }
                Part::Type(id, name)
            }
            (dw::DW_TAG_variant_part, Some(Part::Type(ty, _))) if self.types.contains_key(ty) => {
                Part::Variants(*ty)
            }
            (dw::DW_TAG_variant, Some(Part::Variants(ty))) => {
                Part::Variant(*ty, number(dw::DW_AT_discr_value))
            }
            (dw::DW_TAG_member, Some(Part::Variants(ty))) => {
                let offset = number(dw::DW_AT_data_member_location).unwrap_or_default();
                self.states.extend(refers(dw::DW_AT_type).map(|number| (*ty, number)));
                self.types.entry(*ty).and_modify(|coroutine| coroutine.state.0 = offset);
                Part::Other
            }
            (dw::DW_TAG_member, Some(Part::Variant(ty, Some(state)))) => {
                if let Some(variant) = refers(dw::DW_AT_type) {
                    let file = match entry.attr_value(dw::DW_AT_decl_file) {
                        Some(AttributeValue::FileIndex(index)) => file(unit, index),
                        _ => None,
                    };
                    let line = number(dw::DW_AT_decl_line).and_then(|line| line.try_into().ok());
                    let line = line.filter(|line| *line != 0);
                    let variant = Variant { file, line, ty: variant };
                    self.types
                        .entry(*ty)
                        .and_modify(|coroutine| drop(coroutine.variants.insert(*state, variant)));
                }
                Part::Other
            }
            (dw::DW_TAG_member, Some(Part::Type(variant, of))) if of.starts_with("Suspend") => {
                if name(unit, entry).is_some_and(|name| name == "__awaitee") {
                    let offset = number(dw::DW_AT_data_member_location).unwrap_or_default();
                    self.awaited.extend(refers(dw::DW_AT_type).map(|ty| (*variant, (offset, ty))));
                }
                Part::Other
            }
            (dw::DW_TAG_subprogram | dw::DW_TAG_inlined_subroutine, _) => {
                let own = name(unit, entry).filter(|name| name.starts_with("{async_"));
                self.functions.extend(own.map(|name| (id, path(&name))));
                let origin = refers(dw::DW_AT_abstract_origin).or_else(|| refers(dw::DW_AT_specification));
                let mut ranges = unit.die_ranges(entry)?;
                while let Some(range) = ranges.next()? {
                    self.code.push((range.begin..range.end, origin.unwrap_or(id)));
                }
                Part::Other
            }
            _ => Part::Other,
        })
    }

    fn finish(mut self) -> Coroutines {
        for (ty, number) in &self.states {
            let bytes = self.numbers.get(number).copied().unwrap_or_default();
            self.types.entry(*ty).and_modify(|coroutine| coroutine.state.1 = bytes as u32);
        }
        // Units repeat types, or only declare them; those of one path are equal.
        let types: BTreeMap<TypeId, Arc<Coroutine>> =
            self.types.into_iter().map(|(id, coroutine)| (id, coroutine.into())).collect();
        let defined = types.iter().filter(|(_, coroutine)| !coroutine.variants.is_empty());
        let by_path: BTreeMap<&str, TypeId> =
            defined.map(|(id, coroutine)| (coroutine.function.as_str(), *id)).collect();
        let of = |function: &TypeId| by_path.get(self.functions.get(function)?.as_str()).copied();
        let code = self.code.iter().filter_map(|(range, function)| Some((range.clone(), of(function)?)));
        // The linker gives code that it left out to the lowest addresses.
        let code = code.filter(|(range, _)| range.start != 0 && range.start < range.end).collect();
        let definition =
            |coroutine: &Coroutine| types.get(by_path.get(coroutine.function.as_str())?).cloned();
        let types = types.iter().filter_map(|(id, coroutine)| Some((*id, definition(coroutine)?))).collect();
        Coroutines { code_start: 0, code, types, awaited: self.awaited }
    }
}

/// The path of a file of the line table.
fn file(unit: UnitRef<'_, Section>, index: u64) -> Option<String> {
    let header = unit.line_program.as_ref()?.header();
    let file = header.file(index)?;
    let text = |value| Some(String::from_utf8_lossy(&unit.attr_string(value).ok()?).into_owned());
    let mut path = PathBuf::from(
        unit.comp_dir.as_ref().map(|d| String::from_utf8_lossy(d).into_owned()).unwrap_or_default(),
    );
    path.extend(file.directory(header).and_then(text));
    path.push(text(file.path_name())?);
    Some(path.to_string_lossy().into_owned())
}
