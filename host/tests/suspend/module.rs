//! Makes any module one that the test can drive.
//!
//! Added are: the imports of the pass and of the test; for each exported function a caller of type
//! `(i32) -> ()` that makes arguments from its parameter and puts the results into globals; exports
//! of all globals and memories; and, if asked for, calls of suspending imports at random places.

use crate::random::Random;
use coyote_abi::rt;
use coyote_instrumenter::suspend::{Config, Entry};
use std::convert::Infallible;
use wasm_encoder::reencode::{Error, Reencode};
use wasm_encoder::*;
use wasmparser::{ExternalKind, Parser, Payload, TypeRef};

/// The module of the test's own imports.
pub const TEST: &str = "t";

/// Test imports: name, type, and whether they suspend.
pub const IMPORTS: [(&str, &[ValType], &[ValType], bool); 6] = [
    ("y", &[], &[], true),
    ("p", &[ValType::I32, ValType::I32], &[], true),
    ("v", &[], &[ValType::I32], true),
    ("w", &[ValType::I32], &[ValType::I64], true),
    ("log", &[ValType::I32], &[], false),
    ("log64", &[ValType::I64], &[], false),
];

pub struct Prepared {
    pub wasm: Vec<u8>,
    pub config: Config,
    /// Names of the added callers.
    pub callers: Vec<String>,
    /// Names of exported mutable globals, the workers' first.
    pub globals: Vec<String>,
    pub memories: Vec<String>,
    /// Whether the module changes tables or drops segments: it cannot move to another instance then.
    pub moves: bool,
}

struct Added<'r> {
    imported: u32,
    /// Index of the first of `IMPORTS`, before which come `next` and `frames_overflow`.
    test_imports: u32,
    /// Draws the places of inserted calls: one in so many instructions.
    insert: Option<(&'r mut Random, u64)>,
    inserted: i32,
    moves: bool,
}

impl Reencode for Added<'_> {
    type Error = Infallible;

    fn function_index(&mut self, function: u32) -> Result<u32, Error<Infallible>> {
        let added = 2 + IMPORTS.len() as u32;
        Ok(if function < self.imported { function } else { function + added })
    }

    fn parse_function_body(
        &mut self,
        code: &mut CodeSection,
        body: wasmparser::FunctionBody<'_>,
    ) -> Result<(), Error<Infallible>> {
        let mut function = self.new_function_with_parsed_locals(&body)?;
        let mut operators = body.get_operators_reader()?;
        while !operators.eof() {
            let operator = operators.read()?;
            let name = format!("{operator:?}");
            self.moves &= !["Table", "ElemDrop", "DataDrop"].iter().any(|n| name.starts_with(n));
            self.insert_call(&mut function);
            function.instruction(&self.instruction(operator)?);
        }
        code.function(&function);
        Ok(())
    }
}

impl Added<'_> {
    /// Leaves the operand stack as it is, and so can stand anywhere.
    fn insert_call(&mut self, function: &mut Function) {
        let [_, p, v, w, log, log64] = std::array::from_fn(|i| self.test_imports + i as u32);
        let Some((random, density)) = &mut self.insert else { return };
        if !random.one_in(*density) {
            return;
        }
        self.inserted += 1;
        let mut out = function.instructions();
        match random.below(4) {
            0 => out.call(v).call(log),
            1 => out.i32_const(self.inserted).call(w).call(log64),
            _ => out.i32_const(self.inserted).i32_const(7).call(p),
        };
    }
}

/// `insert`: add a call of a suspending import before one in so many instructions.
pub fn prepare(wasm: &[u8], insert: Option<(&mut Random, u64)>) -> Prepared {
    try_prepare(wasm, insert).unwrap_or_else(|e| panic!("a test module cannot be prepared: {e}"))
}

fn try_prepare(wasm: &[u8], insert: Option<(&mut Random, u64)>) -> Result<Prepared, Error<Infallible>> {
    let types_of = wasmparser::Validator::new_with_features(wasmparser::WasmFeatures::all())
        .validate_all(wasm)
        .unwrap_or_else(|e| panic!("a test module does not validate: {e}"));
    let facts = types_of.as_ref();
    let (mut types, mut imports, mut functions) =
        (TypeSection::new(), ImportSection::new(), FunctionSection::new());
    let (mut tables, mut memories, mut tags) = (TableSection::new(), MemorySection::new(), TagSection::new());
    let (mut globals, mut exports) = (GlobalSection::new(), ExportSection::new());
    let (mut elements, mut code, mut data) = (ElementSection::new(), CodeSection::new(), DataSection::new());
    let (mut start, mut data_count) = (None, None);
    let mut added = Added { imported: 0, test_imports: 0, insert, inserted: 0, moves: true };
    let mut exported = vec![];
    let mut suspending = vec![];
    for payload in Parser::new(0).parse_all(wasm) {
        if let Payload::ImportSection(section) = payload? {
            for import in section.into_imports() {
                let import = import?;
                if let TypeRef::Func(_) = import.ty {
                    let ours = IMPORTS.iter().find(|i| i.0 == import.name).expect("an import of the test");
                    suspending.extend(ours.3.then_some(added.imported));
                    added.imported += 1;
                }
            }
        }
    }
    added.test_imports = added.imported + 2;
    suspending.extend((0..4).map(|i| added.test_imports + i));
    for payload in Parser::new(0).parse_all(wasm) {
        match payload? {
            Payload::TypeSection(s) => added.parse_type_section(&mut types, s)?,
            Payload::ImportSection(s) => added.parse_import_section(&mut imports, s)?,
            Payload::FunctionSection(s) => added.parse_function_section(&mut functions, s)?,
            Payload::TableSection(s) => added.parse_table_section(&mut tables, s)?,
            Payload::MemorySection(s) => added.parse_memory_section(&mut memories, s)?,
            Payload::TagSection(s) => added.parse_tag_section(&mut tags, s)?,
            Payload::GlobalSection(s) => added.parse_global_section(&mut globals, s)?,
            Payload::ExportSection(s) => {
                for export in s.clone() {
                    let export = export?;
                    if export.kind == ExternalKind::Func {
                        exported.push(export.index);
                    }
                }
                added.parse_export_section(&mut exports, s)?
            }
            Payload::StartSection { func, .. } => start = Some(added.function_index(func)?),
            Payload::ElementSection(s) => added.parse_element_section(&mut elements, s)?,
            Payload::DataCountSection { count, .. } => data_count = Some(DataCountSection { count }),
            Payload::CodeSectionEntry(body) => added.parse_function_body(&mut code, body)?,
            Payload::DataSection(s) => added.parse_data_section(&mut data, s)?,
            _ => {}
        }
    }

    let mut type_count = facts.core_type_count_in_module();
    let mut add_type = |params: &[ValType], results: &[ValType]| {
        types.ty().function(params.iter().copied(), results.iter().copied());
        type_count += 1;
        type_count - 1
    };
    let (i32, i64) = (ValType::I32, ValType::I64);
    let next_type = add_type(&[i32], &[i32, i32, i64, i32, i32, i32]);
    imports.import(rt::MODULE, rt::NEXT, EntityType::Function(next_type));
    let overflow_type = add_type(&[], &[]);
    imports.import(rt::MODULE, rt::FRAMES_OVERFLOW, EntityType::Function(overflow_type));
    for (name, params, results, _) in IMPORTS {
        let ty = add_type(params, results);
        imports.import(TEST, name, EntityType::Function(ty));
    }
    let caller_type = add_type(&[i32], &[]);

    // Results go into these; the others are exported as they are.
    let first_result = facts.global_count();
    let mut global_count = first_result;
    let mut add_global = |ty: ValType, init: ConstExpr| {
        globals.global(GlobalType { val_type: ty, mutable: true, shared: false }, &init);
        global_count += 1;
        global_count - 1
    };
    let results = [
        (wasmparser::ValType::I32, add_global(i32, ConstExpr::i32_const(0))),
        (wasmparser::ValType::I64, add_global(i64, ConstExpr::i64_const(0))),
        (wasmparser::ValType::F32, add_global(ValType::F32, ConstExpr::f32_const(0.0.into()))),
        (wasmparser::ValType::F64, add_global(ValType::F64, ConstExpr::f64_const(0.0.into()))),
        (wasmparser::ValType::V128, add_global(ValType::V128, ConstExpr::v128_const(0))),
    ];
    let mut config = Config {
        suspending,
        next: added.imported,
        frames_overflow: added.imported + 1,
        entries: vec![Entry::Table],
        ..Config::default()
    };
    let mut names = vec![];
    for global in 0..first_result {
        let ty = facts.global_at(global);
        if ty.mutable && !ty.shared && !matches!(ty.content_type, wasmparser::ValType::Ref(_)) {
            config.worker_globals.push(global);
            names.push(format!("x_global{global}"));
            exports.export(&names[names.len() - 1], ExportKind::Global, global);
        }
    }
    for (_, global) in results {
        names.push(format!("x_result{global}"));
        exports.export(&names[names.len() - 1], ExportKind::Global, global);
    }
    let mut memory_names = vec![];
    for memory in 0..facts.memory_count() {
        memory_names.push(format!("x_memory{memory}"));
        exports.export(&memory_names[memory as usize], ExportKind::Memory, memory);
    }
    let mut callers = vec![];
    let mut next_function = facts.function_count() + 2 + IMPORTS.len() as u32;
    for function in exported {
        let ty = types_of[facts.core_function_at(function)].unwrap_func();
        if function < added.imported || !ty.params().iter().all(|t| t.is_defaultable()) {
            continue;
        }
        functions.function(caller_type);
        code.function(&caller(ty, added.function_index(function)?, &results));
        callers.push(format!("x_call{}", callers.len()));
        exports.export(&callers[callers.len() - 1], ExportKind::Func, next_function);
        config.entries.push(Entry::Function(next_function));
        next_function += 1;
    }
    if facts.table_count() == 0 || facts.table_at(0).element_type != wasmparser::RefType::FUNCREF {
        config.entries.remove(0);
    }

    let mut module = Module::new();
    module.section(&types).section(&imports).section(&functions).section(&tables).section(&memories);
    if !tags.is_empty() {
        module.section(&tags);
    }
    module.section(&globals).section(&exports);
    if let Some(function_index) = start {
        module.section(&StartSection { function_index });
    }
    module.section(&elements);
    if let Some(count) = data_count {
        module.section(&count);
    }
    module.section(&code).section(&data);
    Ok(Prepared {
        wasm: module.finish(),
        config,
        callers,
        globals: names,
        memories: memory_names,
        moves: added.moves,
    })
}

/// Calls `function` with arguments made from its own parameter.
fn caller(ty: &wasmparser::FuncType, function: u32, results: &[(wasmparser::ValType, u32)]) -> Function {
    let mut caller = Function::new([]);
    let mut out = caller.instructions();
    for (index, param) in ty.params().iter().enumerate() {
        let index = index as i32;
        if !matches!(param, wasmparser::ValType::Ref(_)) {
            out.local_get(0).i32_const(index * 3).i32_add();
        }
        match param {
            wasmparser::ValType::I32 => &mut out,
            wasmparser::ValType::I64 => out.i64_extend_i32_s().i64_const(0x1_0000_0003).i64_mul(),
            wasmparser::ValType::F32 => out.f32_convert_i32_s(),
            wasmparser::ValType::F64 => out.f64_convert_i32_s(),
            wasmparser::ValType::V128 => out.i32x4_splat(),
            wasmparser::ValType::Ref(r) => out
                .ref_null(reencode::RoundtripReencoder.heap_type(r.heap_type()).expect("a plain heap type")),
        };
    }
    out.call(function);
    for result in ty.results().iter().rev() {
        match results.iter().find(|(ty, _)| ty == result) {
            Some((_, global)) => out.global_set(*global),
            None => out.drop(),
        };
    }
    out.end();
    caller
}
