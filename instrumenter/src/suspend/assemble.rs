//! The output module: the input's sections, with new bodies and what the pass appends.
//!
//! Sections are copied byte for byte where nothing changes, and extended in place where entries are appended,
//! so that every index of the input means the same in the output. Custom sections with offsets of code that
//! has moved (`.debug_*`, branch hints) are left out.

use super::{Context, NewBody, gate, run};
use crate::Error;
use coyote_abi::rt;
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{
    ConstExpr, Encode, EntityType, ExportKind, GlobalType, ImportSection, MemoryType, RawSection, Section,
    SectionId, ValType,
};
use wasmparser::{BinaryReader, ImportSectionReader, TypeRef};

/// The order of sections in a module.
pub(crate) const ORDER: [SectionId; 13] = [
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

/// Sections that get new entries, and must be there even if the input lacks them.
const EXTENDED: [SectionId; 6] = [
    SectionId::Type,
    SectionId::Function,
    SectionId::Memory,
    SectionId::Global,
    SectionId::Export,
    SectionId::Code,
];

/// Entries to be appended to one section.
#[derive(Default)]
struct Added {
    count: u32,
    bytes: Vec<u8>,
}

struct Appended {
    types: Added,
    functions: Added,
    memories: Added,
    globals: Added,
    exports: Added,
    /// The type index of each suspending import in the output, ascending by import.
    import_types: Vec<(u32, u32)>,
    /// The body of `run`, and of the gate if there is one.
    bodies: Vec<Vec<u8>>,
}

/// `(offset in the output, offset in the input)`, ascending.
type CodeMap = Vec<(u32, u32)>;

/// Writes the output, and says where the input's instructions are in it.
pub(super) fn assemble(cx: &Context, bodies: Vec<NewBody>) -> Result<(Vec<u8>, CodeMap), Error> {
    let appended = Appended::new(cx)?;
    let mut wasm = b"\0asm\x01\0\0\0".to_vec();
    let mut code = vec![];
    // Positions in `ORDER` below this one have been written.
    let mut done = 0;
    let sections = cx.module.sections.iter().map(|(id, range)| (*id, range.clone()));
    // An empty section of no known id at the end, before which missing sections are added.
    for (id, range) in sections.chain([(u8::MAX, 0..0)]) {
        let contents = &cx.module.wasm[range.clone()];
        if id == SectionId::Custom as u8 {
            if !has_code_offsets(contents, range.start) {
                RawSection { id, data: contents }.append_to(&mut wasm);
            }
            continue;
        }
        let place = ORDER.iter().position(|s| *s as u8 == id).unwrap_or(ORDER.len());
        for missing in &ORDER[done..place] {
            if EXTENDED.contains(missing) {
                write_section(&appended, &bodies, *missing, &[0], 0, &mut wasm, &mut code)?;
            }
        }
        done = place + 1;
        if let Some(section) = ORDER.get(place) {
            write_section(&appended, &bodies, *section, contents, range.start, &mut wasm, &mut code)?;
        }
        done = done.min(ORDER.len());
    }
    Ok((wasm, code))
}

/// Writes one section of the input, and the entries appended to it.
fn write_section(
    appended: &Appended,
    bodies: &[NewBody],
    section: SectionId,
    contents: &[u8],
    offset: usize,
    wasm: &mut Vec<u8>,
    code: &mut CodeMap,
) -> Result<(), Error> {
    let added = match section {
        SectionId::Type => &appended.types,
        SectionId::Function => &appended.functions,
        SectionId::Memory => &appended.memories,
        SectionId::Global => &appended.globals,
        SectionId::Export => &appended.exports,
        SectionId::Import => {
            imports(appended, BinaryReader::new(contents, offset))?.append_to(wasm);
            return Ok(());
        }
        SectionId::Code => {
            write_code(bodies, &appended.bodies, wasm, code);
            return Ok(());
        }
        _ => {
            RawSection { id: section as u8, data: contents }.append_to(wasm);
            return Ok(());
        }
    };
    let mut reader = BinaryReader::new(contents, offset);
    let count = reader.read_var_u32()?;
    let mut data = vec![];
    (count + added.count).encode(&mut data);
    data.extend_from_slice(&contents[reader.current_position()..]);
    data.extend_from_slice(&added.bytes);
    RawSection { id: section as u8, data: &data }.append_to(wasm);
    Ok(())
}

fn imports(appended: &Appended, reader: BinaryReader) -> Result<ImportSection, Error> {
    let mut section = ImportSection::new();
    let mut function = 0;
    for import in ImportSectionReader::new(reader)?.into_imports() {
        let import = import?;
        let mut ty = RoundtripReencoder.entity_type(import.ty).expect("a validated type can be encoded");
        if let TypeRef::Func(_) | TypeRef::FuncExact(_) = import.ty {
            if let Some((_, index)) = appended.import_types.iter().find(|(import, _)| *import == function) {
                ty = EntityType::Function(*index);
            }
            function += 1;
        }
        section.import(import.module, import.name, ty);
    }
    Ok(section)
}

/// Writes the code section: the input's bodies, and those that were added after them.
pub(super) fn write_code(bodies: &[NewBody], added: &[Vec<u8>], wasm: &mut Vec<u8>, code: &mut CodeMap) {
    let mut data = vec![];
    ((bodies.len() + added.len()) as u32).encode(&mut data);
    let instructions = bodies.iter().map(|b| b.map.len()).sum::<usize>() + added.len();
    let mut map: Vec<(u32, u32)> = Vec::with_capacity(instructions);
    for body in bodies {
        body.bytes.len().encode(&mut data);
        let start = data.len() as u32;
        map.extend(body.map.iter().map(|(at, original)| (start + at, *original)));
        data.extend_from_slice(&body.bytes);
    }
    for body in added {
        map.push((data.len() as u32, 0));
        data.extend_from_slice(body);
    }
    RawSection { id: SectionId::Code as u8, data: &data }.append_to(wasm);
    let start = (wasm.len() - data.len()) as u32;
    code.extend(map.into_iter().map(|(at, original)| (start + at, original)));
}

/// Whether a custom section contains offsets of code.
pub(super) fn has_code_offsets(contents: &[u8], offset: usize) -> bool {
    let name = BinaryReader::new(contents, offset).read_string().unwrap_or_default();
    name.starts_with(".debug_") || name.starts_with("metadata.code.") || name.starts_with("reloc.")
}

impl Appended {
    fn new(cx: &Context) -> Result<Appended, Error> {
        let module = cx.module;
        let types = module.types.as_ref();
        let first_type = types.core_type_count_in_module();
        let mut function_types: Vec<(Vec<ValType>, Vec<ValType>)> = vec![];
        let mut type_index = |params: Vec<ValType>, results: Vec<ValType>| {
            let ty = (params, results);
            let known = function_types.iter().position(|t| *t == ty).unwrap_or_else(|| {
                function_types.push(ty);
                function_types.len() - 1
            });
            first_type + known as u32
        };
        let run_type = type_index(vec![], vec![]);
        let entry_type = type_index(vec![ValType::I32], vec![]);
        let mut import_types: Vec<(u32, u32)> = vec![];
        for import in &cx.config.suspending {
            let ty = module.function_type(*import);
            let encode = |types: &[wasmparser::ValType]| -> Vec<ValType> {
                types.iter().map(|t| module.encode(*t)).collect()
            };
            let (params, mut results) = (encode(ty.params()), encode(ty.results()));
            results.push(ValType::I32);
            import_types.push((*import, type_index(params, results)));
        }
        let mut types_added = wasm_encoder::TypeSection::new();
        for (params, results) in &function_types {
            types_added.ty().function(params.iter().copied(), results.iter().copied());
        }
        let run_index = types.function_count();
        let mut functions = wasm_encoder::FunctionSection::new();
        functions.function(run_type);
        let mut memories = wasm_encoder::MemorySection::new();
        memories.memory(memory_of(rt::FRAME_PAGES));
        let mut globals = wasm_encoder::GlobalSection::new();
        for (ty, zero) in [
            (ValType::I32, ConstExpr::i32_const(0)),
            (ValType::I32, ConstExpr::i32_const(cx.frames_begin as i32)),
            (ValType::I64, ConstExpr::i64_const(0)),
        ] {
            globals.global(GlobalType { val_type: ty, mutable: true, shared: false }, &zero);
        }
        let mut exports = wasm_encoder::ExportSection::new();
        exports.export(rt::RUN, ExportKind::Func, run_index);
        exports.export(rt::FRAMES, ExportKind::Memory, cx.control.frames);
        let mut bodies = vec![encoded(&run::run(cx, entry_type)?)];
        if let Some(gate) = cx.config.gate {
            let import = import_types.iter().find(|(import, _)| *import == gate.import);
            functions.function(import.expect("a suspending import").1);
            memories.memory(memory_of(rt::lease::pages(gate.sites)));
            exports.export(rt::LEASE, ExportKind::Memory, cx.control.lease);
            bodies.push(encoded(&gate::gate(cx, gate.import)));
        }
        Ok(Appended {
            types: Added::of(&types_added),
            functions: Added::of(&functions),
            memories: Added::of(&memories),
            globals: Added::of(&globals),
            exports: Added::of(&exports),
            import_types,
            bodies,
        })
    }
}

/// A memory of this many pages, which cannot grow.
fn memory_of(pages: u64) -> MemoryType {
    MemoryType { minimum: pages, maximum: Some(pages), memory64: false, shared: false, page_size_log2: None }
}

fn encoded(function: &wasm_encoder::Function) -> Vec<u8> {
    let mut bytes = vec![];
    function.encode(&mut bytes);
    bytes
}

impl Added {
    /// The entries of a section without its size and count.
    fn of(section: &impl Encode) -> Added {
        let mut bytes = vec![];
        section.encode(&mut bytes);
        let mut reader = BinaryReader::new(&bytes, 0);
        let count = reader.read_var_u32().and_then(|_size| reader.read_var_u32()).expect("just encoded");
        Added { count, bytes: bytes[reader.current_position()..].to_vec() }
    }
}
