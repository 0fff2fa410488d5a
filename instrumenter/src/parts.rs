//! Cuts an instrumented module into parts, so that only code that is executed has to be compiled.
//!
//! The *root* is the module itself, in which the body of a function that is left out is a stub. A *part* is a module
//! with some of these functions: it imports the root's memories, tables, globals and tags, has no state of its own, and
//! puts its functions into the root's table of functions that are left out. A stub calls through that table, and asks
//! the host for the part first if there is none:
//!
//! ```wat
//! (func $f (param $p i32) (result i32)
//!   i32.const 7 table.get $left_out ref.is_null
//!   if i32.const 7 call $need end              ;; the host instantiates a part that has $f
//!   local.get $p
//!   i32.const 7 return_call_indirect $left_out (type $t))
//! ```
//!
//! A body is never re-encoded: in a part, calls get indices in place, in as many bytes as before (an index of a part is
//! never greater than that of the module). So the places of the module's code are those of its parts but for where each
//! function begins, which [`Part::begins`] tells.
//!
//! Functions stay in the root if they have to share an instance with what they use: those that may use data or element
//! segments, those that are no longer than their stub would be, and those that no function of the guest stands behind.

use crate::Error;
use coyote_abi::rt;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{
    CodeSection, ConstExpr, ElementSection, Elements, Encode, EntityType, ExportKind, ExportSection,
    Function, FunctionSection, ImportSection, RawSection, RefType, Section, SectionId, TableSection,
    TableType,
};
use wasmparser::{BinaryReader, FunctionBody, Operator, Parser, Payload, TypeRef};

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

/// An instrumented module that can be cut into parts.
#[derive(Debug)]
pub struct Parts {
    wasm: Arc<[u8]>,
    /// `(id, contents)` in file order.
    sections: Vec<(u8, Range<usize>)>,
    /// The module's imports.
    imports: Vec<EntityType>,
    /// Indices in the index space of types, of all functions, imported ones first.
    types: Vec<u32>,
    /// How many functions are imported.
    imported: u32,
    /// Parameters, by type.
    parameters: BTreeMap<u32, u32>,
    /// What the module defines that a part imports, in the order of the root's exports: memories, tables, globals, tags.
    defined: Vec<(ExportKind, u32, EntityType)>,
    /// The import [`rt::NEED`].
    need: u32,
    /// The body of each defined function, without its size.
    bodies: Vec<Range<usize>>,
    /// How many tables there are.
    tables: u32,
    /// The start function.
    start: Option<u32>,
}

impl Parts {
    /// Reads an instrumented module. `None` if it cannot be cut: it cannot be without the import that a stub calls, or
    /// has references to functions that can be told apart.
    ///
    /// # Errors
    /// The module is invalid.
    pub fn read(wasm: Arc<[u8]>) -> Result<Option<Parts>, Error> {
        let mut parts = Parts {
            wasm: wasm.clone(),
            sections: vec![],
            imports: vec![],
            types: vec![],
            imported: 0,
            parameters: BTreeMap::new(),
            defined: vec![],
            need: u32::MAX,
            bodies: vec![],
            tables: 0,
            start: None,
        };
        let mut numbers = Numbers::default();
        for payload in Parser::new(0).parse_all(&wasm) {
            let payload = payload?;
            parts.sections.extend(payload.as_section());
            parts.read_section(payload, &mut numbers)?;
        }
        parts.tables = numbers.tables;
        Ok((parts.need != u32::MAX).then_some(parts))
    }

    fn read_section(&mut self, payload: Payload, numbers: &mut Numbers) -> Result<(), Error> {
        let mut same = RoundtripReencoder;
        match payload {
            Payload::TypeSection(types) => {
                let mut index = 0;
                for group in types {
                    for ty in group?.into_types() {
                        if let wasmparser::CompositeInnerType::Func(ty) = &ty.composite_type.inner {
                            self.parameters.insert(index, ty.params().len() as u32);
                        }
                        index += 1;
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
                    numbers.count(import.ty);
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
                    let ty = encoded(same.table_type(table?.ty))?;
                    self.defined.push((ExportKind::Table, numbers.tables, EntityType::Table(ty)));
                    numbers.tables += 1;
                }
            }
            Payload::MemorySection(memories) => {
                for memory in memories {
                    let ty = encoded(same.memory_type(memory?))?;
                    self.defined.push((ExportKind::Memory, numbers.memories, EntityType::Memory(ty)));
                    numbers.memories += 1;
                }
            }
            Payload::TagSection(tags) => {
                for tag in tags {
                    let ty = encoded(same.tag_type(tag?))?;
                    self.defined.push((ExportKind::Tag, numbers.tags, EntityType::Tag(ty)));
                    numbers.tags += 1;
                }
            }
            Payload::GlobalSection(globals) => {
                for global in globals {
                    let ty = encoded(same.global_type(global?.ty))?;
                    self.defined.push((ExportKind::Global, numbers.globals, EntityType::Global(ty)));
                    numbers.globals += 1;
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

    /// Where the body of a defined function begins in the module.
    pub fn begin(&self, function: u32) -> u32 {
        self.bodies[function as usize].start as u32
    }

    /// Whether a function has to be in the root, whatever else is.
    pub fn is_of_root(&self, function: u32) -> bool {
        let body = &self.wasm[self.bodies[function as usize].clone()];
        self.start == Some(self.imported + function) || body.len() <= SHORT || may_use_segments(body)
    }

    /// The root: the module with these functions, by their numbers among the defined ones, and those that have to be in
    /// it.
    pub fn root(&self, functions: &BTreeSet<u32>) -> Part {
        let mut wasm = b"\0asm\x01\0\0\0".to_vec();
        let mut begins = vec![];
        let is_whole = |function: u32| functions.contains(&function) || self.is_of_root(function);
        for section in ORDER {
            let own = self.sections.iter().find(|(id, _)| *id == section as u8);
            let contents = own.map(|(_, range)| &self.wasm[range.clone()]);
            let extend = |more: &dyn Encode| extended(section, contents.unwrap_or(&[0]), more);
            match section {
                SectionId::Table => extend(&self.left_out_table()).append_to(&mut wasm),
                SectionId::Export => extend(&self.root_exports()).append_to(&mut wasm),
                SectionId::Element => extend(&self.root_elements(is_whole)).append_to(&mut wasm),
                SectionId::Code => begins = self.root_code(is_whole, &mut wasm),
                _ => {
                    if let Some(data) = contents {
                        RawSection { id: section as u8, data }.append_to(&mut wasm);
                    }
                }
            }
        }
        Part { wasm, imports: vec![], begins }
    }

    /// Puts the root's functions into the table, for the stubs of parts.
    fn root_elements(&self, is_whole: impl Fn(u32) -> bool) -> ElementSection {
        let mut elements = ElementSection::new();
        for function in (0..self.functions()).filter(|function| is_whole(*function)) {
            self.put(&mut elements, function, self.imported + function);
        }
        elements
    }

    /// An element segment that puts a function, which has this index, into the table of what is left out.
    fn put(&self, elements: &mut ElementSection, function: u32, index: u32) {
        let offset = ConstExpr::i32_const(function as i32);
        elements.active(Some(self.tables), &offset, Elements::Functions([index][..].into()));
    }

    fn left_out_table(&self) -> TableSection {
        let size = u64::from(self.functions());
        let mut tables = TableSection::new();
        tables.table(TableType {
            element_type: RefType::FUNCREF,
            minimum: size,
            maximum: Some(size),
            table64: false,
            shared: false,
        });
        tables
    }

    /// Exports of all that parts import; the table of what is left out comes last.
    fn root_exports(&self) -> ExportSection {
        let mut exports = ExportSection::new();
        let left_out = (ExportKind::Table, self.tables);
        let all = self.defined.iter().map(|(kind, index, _)| (*kind, *index)).chain([left_out]);
        for (number, (kind, index)) in all.enumerate() {
            exports.export(&format!("{}{number}", rt::PART_PREFIX), kind, index);
        }
        exports
    }

    fn root_code(&self, is_whole: impl Fn(u32) -> bool, wasm: &mut Vec<u8>) -> Vec<(u32, u32)> {
        let bodies = (0..self.functions()).map(|function| match is_whole(function) {
            true => self.wasm[self.bodies[function as usize].clone()].to_vec(),
            false => self.stub(function, self.tables, self.need, self.types_of(function)),
        });
        write_code(bodies, wasm).into_iter().zip(0..).map(|(at, f)| (at, self.begin(f))).collect()
    }

    fn types_of(&self, function: u32) -> u32 {
        self.types[(self.imported + function) as usize]
    }

    /// The body of a function that calls the one in the table of what is left out.
    fn stub(&self, function: u32, table: u32, need: u32, ty: u32) -> Vec<u8> {
        let mut stub = Function::new([]);
        let mut code = stub.instructions();
        code.i32_const(function as i32).table_get(table).ref_is_null();
        code.if_(wasm_encoder::BlockType::Empty).i32_const(function as i32).call(need).end();
        for parameter in 0..self.parameters[&ty] {
            code.local_get(parameter);
        }
        code.i32_const(function as i32).return_call_indirect(table, ty).end();
        stub.into_raw_body()
    }

    /// A part with a function and others that it calls directly, of those for which `wanted` holds, nearest first, until
    /// the part is long. The function must not be one that has to be in the root.
    ///
    /// # Errors
    /// The module is invalid.
    pub fn around(&self, function: u32, wanted: impl Fn(u32) -> bool) -> Result<BTreeSet<u32>, Error> {
        let mut part = BTreeSet::from([function]);
        let mut queue = std::collections::VecDeque::from([function]);
        let mut bytes = self.bodies[function as usize].len();
        while let Some(next) = queue.pop_front() {
            for (_, callee) in self.callees(next)? {
                let Some(callee) = callee.checked_sub(self.imported) else { continue };
                if part.contains(&callee) || self.is_of_root(callee) || !wanted(callee) {
                    continue;
                }
                bytes += self.bodies[callee as usize].len();
                if bytes > PART_BYTES {
                    return Ok(part);
                }
                part.insert(callee);
                queue.push_back(callee);
            }
        }
        Ok(part)
    }

    /// A part with these functions. None of them may have to be in the root.
    ///
    /// # Errors
    /// The module is invalid.
    pub fn part(&self, functions: &BTreeSet<u32>) -> Result<Part, Error> {
        let mut calls = BTreeMap::new();
        let mut referred = BTreeSet::from([self.need]);
        for function in functions {
            let callees = self.callees(*function)?;
            referred.extend(callees.iter().map(|(_, callee)| *callee));
            calls.insert(*function, callees);
        }
        let (imports, mut section) = self.part_imports(&referred);
        section.import(rt::MODULE, "left_out", self.left_out_type());
        let mut index = BTreeMap::new();
        for import in referred.iter().filter(|f| **f < self.imported) {
            index.insert(*import, index.len() as u32);
        }
        let defined: BTreeSet<u32> = referred
            .iter()
            .filter_map(|f| f.checked_sub(self.imported))
            .chain(functions.iter().copied())
            .collect();
        let mut types = FunctionSection::new();
        for function in &defined {
            index.insert(self.imported + function, index.len() as u32);
            types.function(self.types_of(*function));
        }
        let mut elements = ElementSection::new();
        for function in functions {
            self.put(&mut elements, *function, index[&(self.imported + function)]);
        }
        let referenced: Vec<u32> = defined.iter().map(|f| index[&(self.imported + f)]).collect();
        elements.declared(Elements::Functions(referenced[..].into()));
        let bodies = defined.iter().map(|function| match calls.get(function) {
            Some(calls) => self.patched(*function, calls, &index),
            None => self.stub(*function, self.tables, index[&self.need], self.types_of(*function)),
        });
        let mut wasm = b"\0asm\x01\0\0\0".to_vec();
        let types_section = self.sections.iter().find(|(id, _)| *id == SectionId::Type as u8);
        let (id, range) = types_section.expect("a module with functions has types");
        RawSection { id: *id, data: &self.wasm[range.clone()] }.append_to(&mut wasm);
        section.append_to(&mut wasm);
        types.append_to(&mut wasm);
        elements.append_to(&mut wasm);
        let at = write_code(bodies, &mut wasm);
        let begins = at.into_iter().zip(&defined).map(|(at, f)| (at, self.begin(*f))).collect();
        Ok(Part { wasm, imports, begins })
    }

    fn left_out_type(&self) -> EntityType {
        let size = u64::from(self.functions());
        EntityType::Table(TableType {
            element_type: RefType::FUNCREF,
            minimum: size,
            maximum: Some(size),
            table64: false,
            shared: false,
        })
    }

    /// The imports of a part, without the table of what is left out: of functions, those that it refers to; of all else,
    /// all, so that indices stay as they are.
    fn part_imports(&self, referred: &BTreeSet<u32>) -> (Vec<PartImport>, ImportSection) {
        let (mut imports, mut section) = (vec![], ImportSection::new());
        let mut function = 0;
        for (number, ty) in (0..).zip(&self.imports) {
            if let EntityType::Function(_) = ty {
                function += 1;
                if !referred.contains(&(function - 1)) {
                    continue;
                }
            }
            imports.push(PartImport::Import(number));
            section.import(rt::MODULE, "import", *ty);
        }
        for (number, (_, _, ty)) in (0..).zip(&self.defined) {
            imports.push(PartImport::Root(number));
            section.import(rt::MODULE, "root", *ty);
        }
        imports.push(PartImport::Root(self.defined.len() as u32));
        (imports, section)
    }

    /// The functions that a body refers to: the offset of each index in the body, and the index.
    fn callees(&self, function: u32) -> Result<Vec<(usize, u32)>, Error> {
        let range = self.bodies[function as usize].clone();
        let begin = range.start;
        let body = FunctionBody::new(BinaryReader::new(&self.wasm[range], begin));
        let mut callees = vec![];
        for operator in body.get_operators_reader()?.into_iter_with_offsets() {
            let (operator, at) = operator?;
            let callee = match operator {
                Operator::Call { function_index } | Operator::ReturnCall { function_index } => function_index,
                Operator::RefFunc { function_index } => function_index,
                _ => continue,
            };
            // Each of these is a byte and an index.
            callees.push((at + 1 - begin, callee));
        }
        Ok(callees)
    }

    /// A body whose calls have the indices of a part, each in as many bytes as before.
    fn patched(&self, function: u32, calls: &[(usize, u32)], index: &BTreeMap<u32, u32>) -> Vec<u8> {
        let mut body = self.wasm[self.bodies[function as usize].clone()].to_vec();
        for (at, callee) in calls {
            let mut rest = index[callee];
            let mut at = *at;
            // The bytes before the last one of a LEB128 number have their high bit set.
            while body[at] & 0x80 != 0 {
                body[at] = 0x80 | (rest & 0x7f) as u8;
                rest >>= 7;
                at += 1;
            }
            debug_assert!(rest < 0x80, "indices of a part are not greater");
            body[at] = rest as u8;
        }
        body
    }
}

/// The order of sections in a module. Custom sections are left out of roots: the host has read them.
const ORDER: [SectionId; 13] = [
    SectionId::Type,
    SectionId::Import,
    SectionId::Function,
    SectionId::Table,
    SectionId::Memory,
    SectionId::Tag,
    SectionId::Global,
    SectionId::Export,
    SectionId::Start,
    SectionId::Element,
    SectionId::DataCount,
    SectionId::Code,
    SectionId::Data,
];
/// A body of at most so many bytes is not worth a stub.
const SHORT: usize = 24;
/// About how long a part may be. A part costs about as much as the compilation of 1,000 bytes, beside its code.
const PART_BYTES: usize = 8192;

/// How many of each kind there are so far.
#[derive(Default)]
struct Numbers {
    memories: u32,
    tables: u32,
    globals: u32,
    tags: u32,
}

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

/// A section with entries appended.
struct Extended {
    id: u8,
    data: Vec<u8>,
}

impl Extended {
    fn append_to(&self, wasm: &mut Vec<u8>) {
        RawSection { id: self.id, data: &self.data }.append_to(wasm);
    }
}

fn extended(id: SectionId, contents: &[u8], more: &dyn Encode) -> Extended {
    let mut added = vec![];
    more.encode(&mut added);
    let mut added = BinaryReader::new(&added, 0);
    let mut own = BinaryReader::new(contents, 0);
    let counts = added
        .read_var_u32()
        .and_then(|_size| added.read_var_u32())
        .and_then(|new| Ok((new, own.read_var_u32()?)));
    let (new, count) = counts.expect("sections that are valid");
    let mut data = vec![];
    (count + new).encode(&mut data);
    data.extend_from_slice(&contents[own.current_position()..]);
    data.extend_from_slice(added.read_bytes(added.bytes_remaining()).expect("what remains"));
    Extended { id: id as u8, data }
}

/// Writes a code section; returns where each body begins in the module.
fn write_code(bodies: impl Iterator<Item = Vec<u8>>, wasm: &mut Vec<u8>) -> Vec<u32> {
    let mut section = CodeSection::new();
    let mut ends = vec![];
    let mut end = 0;
    for body in bodies {
        section.raw(&body);
        let mut size = vec![];
        body.len().encode(&mut size);
        end += size.len() + body.len();
        ends.push((end, body.len()));
    }
    section.append_to(wasm);
    let first = wasm.len() - end;
    ends.into_iter().map(|(end, length)| (first + end - length) as u32).collect()
}
