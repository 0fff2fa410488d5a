//! Writes the module out, ready for `suspend`, and remembers where each instruction came from.
//!
//! Walrus renumbers what it writes, so indices are looked up in the written bytes: imports and exports by
//! name.

use crate::draft::{Draft, site_of_location};
use crate::suspend::{self, Config, Gate};
use crate::{Entry, Error, INITIALISERS, Location, RECOVER_PROGRAM, WorkerGlobal};
use coyote_abi::{guest, rt};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use walrus::ir::Value;
use walrus::{
    CodeTransform, ConstExpr, ConstOp, CustomSection, ExportItem, FunctionId, GlobalId, GlobalKind,
    IdsToIndices, ImportKind, ValType,
};
use wasmparser::{ExternalKind, Parser, Payload, TypeRef};

/// A valid module in which every scheduling point is a plain call of a runtime import.
#[derive(Debug)]
pub struct Intermediate {
    pub wasm: Vec<u8>,
    pub config: Config,
    pub entries: Vec<Entry>,
    pub worker_globals: Vec<WorkerGlobal>,
    pub places: Places,
}

/// Maps offsets in the intermediate module to places in the original one.
#[derive(Debug, Default)]
pub struct Places {
    /// `(offset, location)` of instructions that have a location, ascending.
    instructions: Vec<(u32, u32)>,
    /// `(start, original function)` of bodies, ascending.
    bodies: Vec<(u32, Option<u32>)>,
}

impl Places {
    /// The original function whose code is at an offset.
    pub fn function(&self, offset: u32) -> Option<u32> {
        let next = self.bodies.partition_point(|(start, _)| *start <= offset);
        self.bodies[..next].last()?.1
    }

    /// If a body begins at this offset, the original function that it is from.
    pub fn body(&self, offset: u32) -> Option<Option<u32>> {
        let at = self.bodies.binary_search_by_key(&offset, |(start, _)| *start).ok()?;
        Some(self.bodies[at].1)
    }

    /// The offset in the original of the instruction at an offset, or its site for an added call.
    pub fn instruction(&self, offset: u32) -> Option<Result<u32, u32>> {
        let at = self.instructions.binary_search_by_key(&offset, |(at, _)| *at).ok()?;
        Some(site_of_location(self.instructions[at].1))
    }
}

pub fn emit(draft: &mut Draft) -> Result<Intermediate, Error> {
    const I32: ValType = ValType::I32;
    draft.import(rt::NEXT, &[I32], &[I32, I32, ValType::I64, I32, I32, I32]);
    draft.import(rt::FRAMES_OVERFLOW, &[], &[]);
    draft.import(rt::NEED, &[I32], &[]);
    let worker_globals = export_worker_globals(draft)?;
    let suspending: Vec<FunctionId> = draft.suspending_imports().collect();
    let suspending: Vec<String> = draft
        .module
        .imports
        .iter()
        .filter(|i| matches!(i.kind, ImportKind::Function(id) if suspending.contains(&id)))
        .map(|i| i.name.clone())
        .collect();

    let transform = Arc::new(Mutex::new(CodeTransform::default()));
    draft.module.customs.add(Recorder(transform.clone()));
    let wasm = draft.module.emit_wasm();
    let transform = std::mem::take(&mut *transform.lock().expect("walrus did not panic"));
    let places = places(draft, &transform);

    let indices = Indices::read(&wasm)?;
    let gate = indices.imports.get(rt::POINT).filter(|_| draft.options.gates());
    let mut config = Config {
        gate: gate.map(|import| Gate { import: *import, sites: draft.sites.len() as u32 }),
        suspending: suspending.iter().map(|name| indices.imports[name.as_str()]).collect(),
        next: indices.imports[rt::NEXT],
        frames_overflow: indices.imports[rt::FRAMES_OVERFLOW],
        worker_globals: (0..worker_globals.len())
            .map(|n| indices.globals[format!("{}{n}", rt::WORKER_GLOBAL_PREFIX).as_str()])
            .collect(),
        ..Config::default()
    };
    config.suspending.sort();
    let entries = entries(draft);
    config.entries = entries
        .iter()
        .map(|entry| match entry {
            Entry::Table => suspend::Entry::Table,
            Entry::WasiThread => suspend::Entry::Function(indices.functions["wasi_thread_start"]),
            Entry::Export(name) => suspend::Entry::Function(indices.functions[name.as_str()]),
        })
        .collect();
    drop(indices);
    Ok(Intermediate { wasm, config, entries, worker_globals, places })
}

/// What a worker can start with, in the order of the numbers that the host uses.
fn entries(draft: &Draft) -> Vec<Entry> {
    let mut entries = Vec::new();
    let table = draft.module.tables.iter().next();
    if table.is_some_and(|t| t.element_ty == walrus::RefType::FUNCREF && !t.table64) {
        entries.push(Entry::Table);
    }
    let functions = draft.module.exports.iter().filter(|e| matches!(e.item, ExportItem::Function(_)));
    let names: Vec<&str> = functions.map(|e| e.name.as_str()).collect();
    if names.contains(&"wasi_thread_start") {
        entries.push(Entry::WasiThread);
    }
    let starts = |name: &str| {
        matches!(name, "_start" | "_initialize" | guest::SETUP | guest::RECOVER | RECOVER_PROGRAM)
            || INITIALISERS.contains(&name)
            || name.starts_with(guest::TEST_PREFIX)
    };
    entries.extend(names.into_iter().filter(|n| starts(n)).map(|n| Entry::Export(n.to_string())));
    entries
}

fn export_worker_globals(draft: &mut Draft) -> Result<Vec<WorkerGlobal>, Error> {
    let mut worker_globals = Vec::new();
    for (n, own) in draft.own_globals.iter().enumerate() {
        draft.module.exports.add(&format!("{}{n}", rt::WORKER_GLOBAL_PREFIX), own.id);
        let initial = initial_value(draft, own.id).ok_or_else(|| {
            Error::UnsupportedModule(format!(
                "the initial value of global `{}` is not a number that can be computed beforehand: \
                 initialise it with a constant",
                own.name
            ))
        })?;
        worker_globals.push(WorkerGlobal {
            name: own.name.clone(),
            initial,
            stack_pointer: own.stack_pointer,
        });
    }
    Ok(worker_globals)
}

/// The value of a global in a new instance, zero-extended.
fn initial_value(draft: &Draft, global: GlobalId) -> Option<u128> {
    let bits = |value: &Value| match *value {
        Value::I32(v) => v as u32 as u128,
        Value::I64(v) => v as u64 as u128,
        Value::F32(v) => v.to_bits() as u128,
        Value::F64(v) => v.to_bits() as u128,
        Value::V128(v) => v,
    };
    let ops = match &draft.module.globals.get(global).kind {
        GlobalKind::Import(_) => return None,
        GlobalKind::Local(ConstExpr::Value(value)) => return Some(bits(value)),
        GlobalKind::Local(ConstExpr::Global(other)) => return initial_value(draft, *other),
        GlobalKind::Local(ConstExpr::Extended(ops)) => ops,
        GlobalKind::Local(_) => return None,
    };
    let mut stack: Vec<u128> = Vec::new();
    for op in ops {
        let value = match op {
            ConstOp::I32Const(v) => bits(&Value::I32(*v)),
            ConstOp::I64Const(v) => bits(&Value::I64(*v)),
            ConstOp::GlobalGet(other) => initial_value(draft, *other)?,
            ConstOp::I32Add | ConstOp::I32Sub | ConstOp::I32Mul => {
                let (b, a) = (stack.pop()? as u32, stack.pop()? as u32);
                u128::from(match op {
                    ConstOp::I32Add => a.wrapping_add(b),
                    ConstOp::I32Sub => a.wrapping_sub(b),
                    _ => a.wrapping_mul(b),
                })
            }
            ConstOp::I64Add | ConstOp::I64Sub | ConstOp::I64Mul => {
                let (b, a) = (stack.pop()? as u64, stack.pop()? as u64);
                u128::from(match op {
                    ConstOp::I64Add => a.wrapping_add(b),
                    ConstOp::I64Sub => a.wrapping_sub(b),
                    _ => a.wrapping_mul(b),
                })
            }
            _ => return None,
        };
        stack.push(value);
    }
    stack.pop()
}

/// Records where walrus writes each instruction.
#[derive(Debug)]
struct Recorder(Arc<Mutex<CodeTransform>>);

impl CustomSection for Recorder {
    fn name(&self) -> &str {
        "coyote.places"
    }

    fn data(&self, _: &IdsToIndices) -> Cow<'_, [u8]> {
        Cow::Borrowed(&[])
    }

    fn apply_code_transform(&mut self, transform: &CodeTransform) {
        let mut recorded = self.0.lock().expect("nobody else holds it");
        recorded.instruction_map = transform.instruction_map.clone();
        recorded.function_ranges = transform.function_ranges.clone();
    }
}

fn places(draft: &Draft, transform: &CodeTransform) -> Places {
    let mut places = Places {
        instructions: transform
            .instruction_map
            .iter()
            .map(|(location, offset)| (*offset as u32, location.data()))
            .collect(),
        bodies: transform
            .function_ranges
            .iter()
            .map(|(id, range)| (range.start as u32, draft.origin(*id)))
            .collect(),
    };
    places.instructions.sort();
    places.bodies.sort();
    places
}

/// Indices in the written module.
struct Indices<'a> {
    /// By the names of runtime imports.
    imports: BTreeMap<&'a str, u32>,
    /// By the names of exported functions and globals.
    functions: BTreeMap<&'a str, u32>,
    globals: BTreeMap<&'a str, u32>,
}

impl Indices<'_> {
    fn read(wasm: &[u8]) -> Result<Indices<'_>, Error> {
        let mut indices =
            Indices { imports: BTreeMap::new(), functions: BTreeMap::new(), globals: BTreeMap::new() };
        for payload in Parser::new(0).parse_all(wasm) {
            match payload? {
                Payload::ImportSection(section) => {
                    let mut next = 0;
                    for import in section.into_imports() {
                        let import = import?;
                        if let TypeRef::Func(_) | TypeRef::FuncExact(_) = import.ty {
                            if import.module == rt::MODULE {
                                indices.imports.insert(import.name, next);
                            }
                            next += 1;
                        }
                    }
                }
                Payload::ExportSection(section) => {
                    for export in section {
                        let export = export?;
                        match export.kind {
                            ExternalKind::Func => indices.functions.insert(export.name, export.index),
                            ExternalKind::Global => indices.globals.insert(export.name, export.index),
                            _ => None,
                        };
                    }
                }
                Payload::CodeSectionStart { .. } => break,
                _ => {}
            }
        }
        Ok(indices)
    }
}

/// The place in the original of a call in the intermediate module.
pub fn original_place(draft: &Draft, places: &Places, offset: u32) -> Location {
    match places.instruction(offset) {
        Some(Ok(site)) => draft.sites[site as usize].location,
        Some(Err(offset)) => {
            Location { function: draft.original.function_at(offset as usize).unwrap_or(0), offset }
        }
        None => match places.function(offset) {
            Some(function) => draft.location(function, Default::default()),
            None => Location { function: 0, offset: 0 },
        },
    }
}
