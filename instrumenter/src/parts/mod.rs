//! Cuts an instrumented module into parts, so that only code that is executed has to be compiled.
//!
//! The *root* is the module itself, in which the body of a function that is left out is a stub. A *part* is a module
//! with some of these functions: it imports the root's memories, tables, globals and tags, has no state of its own, and
//! puts its functions into a table of all functions. A stub calls through that table, and asks the host for the part
//! first if there is none:
//!
//! ```wat
//! (func $f (param $p i32) (result i32)         ;; 7: its number
//!   local.get $p i32.const 7 return_call $t)
//! (func $t (param $p i32) (param $f i32) (result i32)
//!   local.get $f table.get $functions ref.is_null
//!   if local.get $f call $need end             ;; the host instantiates a part that has $f
//!   local.get $p
//!   local.get $f return_call_indirect $functions (type (func (param i32) (result i32))))
//! ```
//!
//! A body is never re-encoded: in a part, calls get indices in place, in as many bytes as before (an index of a part is
//! never greater than that of the module). So the places of the module's code are those of its parts but for where each
//! function begins, which [`Part::begins`] tells.
//!
//! Functions stay in the root if they have to share an instance with what they use: those that may use data or element
//! segments, those that are no longer than their stub would be, and those that no function of the guest stands behind.

//! - `root`, `part`: how each is written. `write`: sections and code.

mod part;
mod root;
mod write;

use crate::Error;
use coyote_abi::rt;
use std::ops::Range;
use std::sync::Arc;
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{EntityType, ExportKind, RefType, TableType, ValType};
use wasmparser::{CompositeInnerType, Parser, Payload, TypeRef};

/// What a part imports, in the order of its imports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartImport {
    /// The same as the module's import of this number.
    Import(u32),
    /// The root's export [`rt::PART_PREFIX`] and this number.
    Root(u32),
}

/// A module with some of the functions of an instrumented module.
#[derive(Clone, Debug)]
pub struct Part {
    /// The module.
    pub wasm: Vec<u8>,
    /// What it imports; empty for the root, which imports what the module does.
    pub imports: Vec<PartImport>,
    /// For each body, in the order of this module: where it begins in this module, and in the whole module.
    pub begins: Vec<(u32, u32)>,
}

/// Parameters and results of a function.
type Signature = (Vec<ValType>, Vec<ValType>);

/// An instrumented module that can be cut into parts.
///
/// Functions are known by their numbers among those that the module defines; an *index* counts imported functions, too.
#[derive(Debug)]
pub struct Parts {
    wasm: Arc<[u8]>,
    /// `(id, contents)` in file order.
    sections: Vec<(u8, Range<usize>)>,
    /// By type index. `None` for a type that is not just that of a function.
    signatures: Vec<Option<Signature>>,
    imports: Vec<EntityType>,
    /// How many functions are imported.
    imported: u32,
    /// The type of each function, by its index.
    types: Vec<u32>,
    /// What the module defines and parts import, in the order of the root's exports: its kind, its index and its type.
    defined: Vec<(ExportKind, u32, EntityType)>,
    /// The index of the import [`rt::NEED`].
    need: u32,
    /// The body of each function, without its size.
    bodies: Vec<Range<usize>>,
    /// The index of the start function.
    start: Option<u32>,
    numbers: Numbers,
}

/// How many of each kind there are, imported ones too. The number of tables is the index of that of all functions.
#[derive(Clone, Copy, Debug, Default)]
struct Numbers {
    memories: u32,
    tables: u32,
    globals: u32,
    tags: u32,
}

impl Parts {
    /// Reads an instrumented module. `None` if it lacks the import that stubs need.
    ///
    /// References to functions must not be compared: those to a function that is left out are not equal to each other.
    ///
    /// # Errors
    /// The module is invalid.
    pub fn read(wasm: Arc<[u8]>) -> Result<Option<Parts>, Error> {
        let mut parts = Parts {
            wasm: wasm.clone(),
            sections: vec![],
            signatures: vec![],
            imports: vec![],
            imported: 0,
            types: vec![],
            defined: vec![],
            need: u32::MAX,
            bodies: vec![],
            start: None,
            numbers: Numbers::default(),
        };
        for payload in Parser::new(0).parse_all(&wasm) {
            let payload = payload?;
            parts.sections.extend(payload.as_section());
            parts.section(payload)?;
        }
        Ok((parts.need != u32::MAX).then_some(parts))
    }

    fn section(&mut self, payload: Payload) -> Result<(), Error> {
        let mut same = RoundtripReencoder;
        match payload {
            Payload::TypeSection(groups) => {
                for group in groups {
                    let types: Vec<_> = group?.into_types().collect();
                    let alone = types.len() == 1;
                    for ty in types {
                        let plain = alone && ty.is_final && ty.supertype_idx.is_none();
                        self.signatures.push(match &ty.composite_type.inner {
                            CompositeInnerType::Func(ty) if plain => Some(signature(ty)?),
                            _ => None,
                        });
                    }
                }
            }
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    let import = import?;
                    if let TypeRef::Func(ty) = import.ty {
                        if (import.module, import.name) == (rt::MODULE, rt::NEED) {
                            self.need = self.imported;
                        }
                        self.types.push(ty);
                        self.imported += 1;
                    }
                    self.numbers.count(import.ty);
                    self.imports.push(encoded(same.entity_type(import.ty))?);
                }
            }
            Payload::FunctionSection(functions) => {
                for ty in functions {
                    self.types.push(ty?);
                }
            }
            Payload::TableSection(tables) => {
                for table in tables {
                    let ty = EntityType::Table(encoded(same.table_type(table?.ty))?);
                    self.defined.push((ExportKind::Table, next(&mut self.numbers.tables), ty));
                }
            }
            Payload::MemorySection(memories) => {
                for memory in memories {
                    let ty = EntityType::Memory(encoded(same.memory_type(memory?))?);
                    self.defined.push((ExportKind::Memory, next(&mut self.numbers.memories), ty));
                }
            }
            Payload::TagSection(tags) => {
                for tag in tags {
                    let ty = EntityType::Tag(encoded(same.tag_type(tag?))?);
                    self.defined.push((ExportKind::Tag, next(&mut self.numbers.tags), ty));
                }
            }
            Payload::GlobalSection(globals) => {
                for global in globals {
                    let ty = EntityType::Global(encoded(same.global_type(global?.ty))?);
                    self.defined.push((ExportKind::Global, next(&mut self.numbers.globals), ty));
                }
            }
            Payload::StartSection { func, .. } => self.start = Some(func),
            Payload::CodeSectionEntry(body) => self.bodies.push(body.range()),
            _ => {}
        }
        Ok(())
    }

    /// How many functions the module defines.
    pub fn functions(&self) -> u32 {
        self.bodies.len() as u32
    }

    /// Bytes of the module's code.
    pub fn code_bytes(&self) -> usize {
        self.bodies.iter().map(Range::len).sum()
    }

    /// Where the body of a function begins in the module.
    pub fn begin(&self, function: u32) -> u32 {
        self.bodies[function as usize].start as u32
    }

    /// Whether a function has to be in the root, whatever else is.
    pub fn is_of_root(&self, function: u32) -> bool {
        let body = self.body(function);
        self.start == Some(self.index(function))
            || body.len() <= SHORT
            || may_use_segments(body)
            || self.signature(function).is_none()
    }

    fn body(&self, function: u32) -> &[u8] {
        &self.wasm[self.bodies[function as usize].clone()]
    }

    fn index(&self, function: u32) -> u32 {
        self.imported + function
    }

    fn type_of(&self, function: u32) -> u32 {
        self.types[self.index(function) as usize]
    }

    fn signature(&self, function: u32) -> Option<&Signature> {
        self.signatures[self.type_of(function) as usize].as_ref()
    }

    fn parameters(&self, function: u32) -> u32 {
        self.signature(function).expect("it is not of the root").0.len() as u32
    }

    /// The contents of a section, if there is one.
    fn contents(&self, id: u8) -> Option<&[u8]> {
        let (_, range) = self.sections.iter().find(|(section, _)| *section == id)?;
        Some(&self.wasm[range.clone()])
    }

    /// The index of the table of all functions.
    fn table(&self) -> u32 {
        self.numbers.tables
    }

    fn table_type(&self) -> TableType {
        let size = u64::from(self.functions());
        let element_type = RefType::FUNCREF;
        TableType { element_type, minimum: size, maximum: Some(size), table64: false, shared: false }
    }
}

/// A body of at most so many bytes is not worth a stub.
const SHORT: usize = 24;

impl Numbers {
    fn count(&mut self, ty: TypeRef) {
        match ty {
            TypeRef::Memory(_) => self.memories += 1,
            TypeRef::Table(_) => self.tables += 1,
            TypeRef::Global(_) => self.globals += 1,
            TypeRef::Tag(_) => self.tags += 1,
            TypeRef::Func(_) | TypeRef::FuncExact(_) => {}
        }
    }
}

/// The present number, which is counted.
fn next(number: &mut u32) -> u32 {
    *number += 1;
    *number - 1
}

fn signature(ty: &wasmparser::FuncType) -> Result<Signature, Error> {
    let encode = |types: &[wasmparser::ValType]| -> Result<Vec<ValType>, Error> {
        types.iter().map(|ty| encoded(RoundtripReencoder.val_type(*ty))).collect()
    };
    Ok((encode(ty.params())?, encode(ty.results())?))
}

fn encoded<T, E>(result: Result<T, wasm_encoder::reencode::Error<E>>) -> Result<T, Error> {
    result.map_err(|_| Error::UnsupportedModule("a type of the instrumented module cannot be encoded".into()))
}

/// Whether a body may have an instruction that uses a data or element segment, by its bytes: these instructions begin
/// with two bytes that may also mean something else.
fn may_use_segments(body: &[u8]) -> bool {
    body.windows(2).any(|two| {
        matches!(
            two,
            // memory.init, data.drop, table.init, elem.drop; array.new_data, array.new_elem, array.init_data, array.init_elem
            [0xfc, 0x08 | 0x09 | 0x0c | 0x0d] | [0xfb, 0x09 | 0x0a | 0x12 | 0x13]
        )
    })
}
