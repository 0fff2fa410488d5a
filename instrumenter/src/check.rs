//! Pass 1: what the original module is, and whether it can be instrumented at all.
//!
//! Everything that a later pass could not handle is refused here, by name and with what to do about
//! it. A refusal is no verdict on the guest. Two refusals come later, because they need the module
//! as it will be suspended: references live across a suspension, and legacy exceptions around one.

use crate::stubs::Answer;
use crate::{Error, Function, Location, Options, harness, nearest::nearest};
use coyote_abi::{Type, file, guest, rt};
use std::collections::BTreeMap;
use wasmparser::{
    BinaryReaderError, ExternalKind, FunctionBody, KnownCustom, Name, Operator, Parser, Payload, TypeRef,
    ValType, Validator, WasmFeatures,
};

/// The proposals that the passes understand. The legacy form of exceptions is not among them.
pub const FEATURES: WasmFeatures = WasmFeatures::WASM3;

/// The largest module: offsets above are used for code that has no place in the original.
const BYTES_MAX: usize = i32::MAX as usize;

/// What linkers call the shadow stack pointer.
const STACK_POINTER: &str = "__stack_pointer";

/// Exports that tell a linker's work from a module written by hand.
const LINKED_EXPORTS: &[&str] =
    &["__heap_base", "__data_end", "__wasm_call_ctors", "_start", "_initialize", "wasi_thread_start"];

pub const WASI: &str = "wasi_snapshot_preview1";

/// What AssemblyScript's assertions call: `(message, file, line, column)`, the texts as its strings.
pub const ASSEMBLYSCRIPT_ABORT: (&str, &str) = ("env", "abort");

/// What the passes need to know of the original module and cannot see in walrus' form of it.
#[derive(Debug, Default)]
pub struct Original {
    /// All functions, imports first.
    pub functions: Vec<Function>,
    /// Names under which each function is exported, by index.
    pub exported_as: BTreeMap<u32, Vec<String>>,
    /// Whether it imports `wasi.thread-spawn`: then every mutable global belongs to a worker.
    pub wasi_threads: bool,
    /// Whether it is a program that runs Rust's test harness.
    pub libtest: bool,
    /// Whether it imports `coyote.spawn`.
    pub spawns: bool,
    /// Index of the global that is the shadow stack pointer.
    pub stack_pointer: Option<u32>,
    /// Names of globals that have one.
    pub global_names: BTreeMap<u32, String>,
    /// End of the code section: custom sections after it are of no use to the passes.
    code_end: usize,
}

impl Original {
    /// The function whose body contains an offset.
    pub fn function_at(&self, offset: usize) -> Option<u32> {
        let inside = |f: &Function| (f.start as usize..f.end as usize).contains(&offset);
        self.functions.iter().position(inside).map(|i| i as u32)
    }

    /// A function's name, or its number where it has none.
    pub fn display_name(&self, index: u32) -> String {
        match self.functions.get(index as usize).map(|f| f.name.as_str()) {
            None | Some("") => format!("func[{index}]"),
            Some(name) => name.to_string(),
        }
    }

    /// The module without debug sections, all offsets of code unchanged: reading DWARF costs more
    /// than all passes together.
    pub fn without_debug(&self, wasm: &[u8]) -> Result<Vec<u8>, Error> {
        let mut kept = wasm[..self.code_end].to_vec();
        for payload in Parser::new(0).parse_all(wasm) {
            let payload = payload.map_err(invalid)?;
            if let Some((id, range)) = payload.as_section()
                && range.start >= self.code_end
                && !matches!(&payload, Payload::CustomSection(s) if s.name() != "name")
            {
                kept.push(id);
                wasm_encoder::Encode::encode(&(range.end - range.start), &mut kept);
                kept.extend_from_slice(&wasm[range]);
            }
        }
        Ok(kept)
    }
}

struct Import<'a> {
    module: &'a str,
    name: &'a str,
    ty: TypeRef,
}

/// Refuses what cannot be instrumented and describes the rest.
pub fn check(wasm: &[u8], options: &Options) -> Result<Original, Error> {
    if Parser::is_component(wasm) {
        return Err(Error::Component);
    }
    if !wasm.starts_with(b"\0asm") {
        let message = "it does not begin with \"\\0asm\"".to_string();
        return Err(Error::Invalid { message, offset: 0 });
    }
    if wasm.len() > BYTES_MAX {
        return Err(Error::UnsupportedModule("a module of more than 2 GiB is not supported".into()));
    }
    let (original, imports, types) = read(wasm)?;
    validate(wasm, &original)?;
    check_imports(&imports, &types, options)?;
    Ok(original)
}

fn invalid(e: BinaryReaderError) -> Error {
    Error::Invalid { message: e.message().to_string(), offset: e.offset() }
}

fn unsupported(message: &str) -> Error {
    Error::UnsupportedModule(message.to_string())
}

type FunctionTypes = Vec<Option<(Vec<ValType>, Vec<ValType>)>>;

/// Reads every section once. Bodies are looked at only to find the stack pointer.
fn read(wasm: &[u8]) -> Result<(Original, Vec<Import<'_>>, FunctionTypes), Error> {
    let mut original = Original::default();
    let mut imports = Vec::new();
    let mut types: FunctionTypes = Vec::new();
    let mut bodies: Vec<FunctionBody> = Vec::new();
    let mut memories = 0;
    let mut globals: Vec<Candidate> = Vec::new();
    let mut exports: Vec<(&str, ExternalKind, u32)> = Vec::new();
    let mut function_types: Vec<u32> = Vec::new();
    let mut linked = false;
    original.code_end = wasm.len();
    let mut parser = Parser::new(0);
    parser.set_features(WasmFeatures::all());
    for payload in parser.parse_all(wasm) {
        match payload.map_err(invalid)? {
            Payload::TypeSection(section) => {
                for group in section {
                    for ty in group.map_err(invalid)?.into_types() {
                        types.push(match &ty.composite_type.inner {
                            wasmparser::CompositeInnerType::Func(f) => {
                                Some((f.params().to_vec(), f.results().to_vec()))
                            }
                            _ => None,
                        });
                    }
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let wasmparser::Import { module, name, ty } = import.map_err(invalid)?;
                    match ty {
                        TypeRef::Func(ty) | TypeRef::FuncExact(ty) => {
                            original.functions.push(Function {
                                name: format!("{module}.{name}"),
                                start: 0,
                                end: 0,
                            });
                            function_types.push(ty);
                        }
                        TypeRef::Memory(memory) => {
                            memories += 1;
                            check_memory(&memory)?;
                        }
                        TypeRef::Global(_) => globals.push(Candidate::default()),
                        TypeRef::Table(_) | TypeRef::Tag(_) => {}
                    }
                    imports.push(Import { module, name, ty });
                }
            }
            Payload::FunctionSection(section) => {
                for ty in section {
                    function_types.push(ty.map_err(invalid)?);
                }
            }
            Payload::TableSection(section) => {
                for table in section {
                    if table.map_err(invalid)?.ty.table64 {
                        return Err(unsupported("64-bit tables are not supported: build for wasm32"));
                    }
                }
            }
            Payload::MemorySection(section) => {
                for memory in section {
                    memories += 1;
                    check_memory(&memory.map_err(invalid)?)?;
                }
            }
            Payload::GlobalSection(section) => {
                for global in section {
                    let global = global.map_err(invalid)?;
                    globals.push(Candidate {
                        mutable_i32: global.ty.mutable && global.ty.content_type == ValType::I32,
                        moves_down: false,
                    });
                }
            }
            Payload::ExportSection(section) => {
                for export in section {
                    let export = export.map_err(invalid)?;
                    exports.push((export.name, export.kind, export.index));
                }
            }
            Payload::CodeSectionStart { range, .. } => original.code_end = range.end,
            Payload::CodeSectionEntry(body) => {
                original.functions.push(Function {
                    name: String::new(),
                    start: body.range().start as u32,
                    end: body.range().end as u32,
                });
                bodies.push(body);
            }
            Payload::CustomSection(section) => {
                if section.name() == rt::SITES_SECTION {
                    return Err(Error::Instrumented);
                }
                linked |= section.name() == "producers";
                // Names are a convenience: a damaged section is as good as none.
                if let KnownCustom::Name(names) = section.as_known() {
                    for subsection in names.into_iter().map_while(Result::ok) {
                        match subsection {
                            Name::Function(map) => {
                                for naming in map.into_iter().map_while(Result::ok) {
                                    if let Some(f) = original.functions.get_mut(naming.index as usize)
                                        && f.start != 0
                                    {
                                        f.name = naming.name.to_string();
                                    }
                                }
                            }
                            Name::Global(map) => {
                                original.global_names.extend(
                                    map.into_iter()
                                        .map_while(Result::ok)
                                        .map(|n| (n.index, n.name.to_string())),
                                );
                            }
                            _ => {}
                        }
                    }
                }
            }
            _ => {}
        }
    }
    if imports.iter().any(|i| i.module == rt::MODULE) {
        return Err(Error::Instrumented);
    }
    if memories > 1 {
        return Err(unsupported("more than one memory is not supported: link the module into one memory"));
    }
    original.wasi_threads = imports.iter().any(|i| i.module == "wasi" && i.name == "thread-spawn");
    original.spawns = imports.iter().any(|i| i.module == guest::MODULE && i.name == "spawn");
    for (name, kind, index) in &exports {
        if name.starts_with(rt::EXPORT_PREFIX) {
            return Err(Error::UnsupportedModule(format!(
                "export `{name}`: names that begin with `{}` are the tool's: rename it",
                rt::EXPORT_PREFIX
            )));
        }
        linked |= LINKED_EXPORTS.contains(name);
        match kind {
            ExternalKind::Func => {
                original.exported_as.entry(*index).or_default().push(name.to_string());
                if let Some(f) = original.functions.get_mut(*index as usize)
                    && f.name.is_empty()
                {
                    f.name = name.to_string();
                }
                let ty = function_types.get(*index as usize).and_then(|ty| types.get(*ty as usize));
                check_entry(name, ty.and_then(Option::as_ref))?;
            }
            ExternalKind::Global => {
                let names = original.global_names.entry(*index);
                let known = names.or_insert(name.to_string());
                if *name == STACK_POINTER {
                    *known = name.to_string();
                }
            }
            _ => {}
        }
    }
    original.libtest = original.functions.iter().any(|f| harness::is_main(&f.name));
    original.stack_pointer = stack_pointer(&original, &mut globals, &bodies, linked)?;
    Ok((original, imports, types))
}

fn check_memory(memory: &wasmparser::MemoryType) -> Result<(), Error> {
    if memory.memory64 {
        return Err(unsupported("a 64-bit memory is not supported: build for wasm32"));
    }
    if memory.page_size_log2.is_some_and(|log2| log2 != 16) {
        return Err(unsupported("custom page sizes are not supported: use pages of 64 KiB"));
    }
    Ok(())
}

/// Exports that the host starts have a fixed type.
fn check_entry(name: &str, ty: Option<&(Vec<ValType>, Vec<ValType>)>) -> Result<(), Error> {
    let params: &[ValType] = match name {
        "wasi_thread_start" => &[ValType::I32, ValType::I32],
        "_start" | "_initialize" | "__wasm_call_ctors" | guest::SETUP => &[],
        _ if name.starts_with(guest::TEST_PREFIX) => &[],
        _ => return Ok(()),
    };
    match ty {
        Some((p, r)) if p != params || !r.is_empty() => Err(Error::UnsupportedModule(format!(
            "export `{name}` has type {}, but must have type {}",
            signature(p, r),
            signature(params, &[])
        ))),
        _ => Ok(()),
    }
}

fn signature(params: &[ValType], results: &[ValType]) -> String {
    let list = |types: &[ValType]| types.iter().map(ValType::to_string).collect::<Vec<_>>().join(", ");
    format!("({}) -> ({})", list(params), list(results))
}

/// A global, and whether it could be the stack pointer.
#[derive(Clone, Default)]
struct Candidate {
    mutable_i32: bool,
    /// Some function reads it, subtracts and writes it, in this order.
    moves_down: bool,
}

/// Finds the shadow stack pointer: by name, by export, or by the convention that LLVM's linker
/// makes it global 0. A module that moves some global without a name down like a stack pointer but
/// does not say which is refused if it can have workers: they would share one stack.
fn stack_pointer(
    original: &Original,
    globals: &mut [Candidate],
    bodies: &[FunctionBody],
    linked: bool,
) -> Result<Option<u32>, Error> {
    let named = original.global_names.iter().find(|(_, name)| *name == STACK_POINTER);
    if let Some((index, _)) = named
        && globals.get(*index as usize).is_some_and(|g| g.mutable_i32)
    {
        return Ok(Some(*index));
    }
    // Whatever has another name is something else.
    for index in original.global_names.keys() {
        if let Some(global) = globals.get_mut(*index as usize) {
            global.mutable_i32 = false;
        }
    }
    if !globals.iter().any(|g| g.mutable_i32) {
        return Ok(None);
    }
    let mut progress = vec![0u8; globals.len()];
    for body in bodies {
        progress.fill(0);
        for operator in body.get_operators_reader().map_err(invalid)? {
            match operator.map_err(invalid)? {
                Operator::GlobalGet { global_index: g } if (g as usize) < progress.len() => {
                    progress[g as usize] = progress[g as usize].max(1);
                }
                Operator::I32Sub => {
                    progress.iter_mut().filter(|p| **p == 1).for_each(|p| *p = 2);
                }
                Operator::GlobalSet { global_index: g } if (g as usize) < progress.len() => {
                    globals[g as usize].moves_down |= progress[g as usize] == 2;
                }
                _ => {}
            }
        }
    }
    let found = globals.iter().position(|g| g.mutable_i32 && g.moves_down);
    match found {
        Some(0) if linked => Ok(Some(0)),
        Some(_) if original.spawns => Err(unsupported(
            "the module starts workers, but it cannot be told which global is its stack pointer: link \
             with `-Wl,--export=__stack_pointer` (Rust: `-C link-arg=--export=__stack_pointer`) or keep \
             the name section",
        )),
        _ => Ok(None),
    }
}

/// Validates under the supported proposals; where only those are at fault, says so.
fn validate(wasm: &[u8], original: &Original) -> Result<(), Error> {
    let Err(error) = Validator::new_with_features(FEATURES).validate_all(wasm) else { return Ok(()) };
    match Validator::new_with_features(WasmFeatures::all()).validate_all(wasm) {
        Err(_) => Err(invalid(error)),
        Ok(_) => match original.function_at(error.offset()) {
            Some(function) => Err(Error::Unsupported {
                what: format!("{}: build without this proposal", error.message()),
                function: original.display_name(function),
                location: Location { function, offset: error.offset() as u32 },
            }),
            None => Err(Error::UnsupportedModule(format!(
                "{} (at offset {:#x}): build without this proposal",
                error.message(),
                error.offset()
            ))),
        },
    }
}

fn check_imports(imports: &[Import], types: &FunctionTypes, options: &Options) -> Result<(), Error> {
    let mut unknown = Vec::new();
    for Import { module, name, ty } in imports {
        let function = match ty {
            TypeRef::Func(index) | TypeRef::FuncExact(index) => types[*index as usize].as_ref(),
            _ => None,
        };
        match (*module, ty) {
            (_, TypeRef::Func(_)) if options.stub(module, name).is_some() => {
                let answer = Answer::of(options, module, name)?.expect("there is a stub");
                if let Some((_, results)) = function {
                    answer.check(module, name, results)?;
                }
            }
            (guest::MODULE, TypeRef::Func(_)) => {
                let Some(known) = guest::import(name) else {
                    return Err(Error::Import(unknown_coyote(name)));
                };
                let params: Vec<_> = known.params.iter().map(|(_, ty)| val_type(*ty)).collect();
                let results: Vec<_> = known.result.iter().map(|ty| val_type(*ty)).collect();
                expect(module, name, function, &params, &results)?;
            }
            (WASI, TypeRef::Func(_)) => {
                const I32: ValType = ValType::I32;
                match *name {
                    "sched_yield" => expect(module, name, function, &[], &[I32])?,
                    "poll_oneoff" => expect(module, name, function, &[I32; 4], &[I32])?,
                    "proc_exit" => expect(module, name, function, &[I32], &[])?,
                    name => {
                        if let Some(call) = file::call(name) {
                            let params: Vec<_> = call.types().map(val_type).collect();
                            expect(module, name, function, &params, &[I32])?;
                        }
                    }
                }
            }
            ("wasi", TypeRef::Func(_)) if *name == "thread-spawn" => {
                expect(module, name, function, &[ValType::I32], &[ValType::I32])?;
            }
            ("env", TypeRef::Memory(_)) if *name == "memory" => {}
            (module, TypeRef::Func(_)) if (module, *name) == ASSEMBLYSCRIPT_ABORT && is_abort(function) => {}
            (_, TypeRef::Func(_)) => unknown.push(format!("`{module}.{name}`")),
            (_, TypeRef::Memory(_)) => {
                return Err(Error::UnsupportedModule(format!(
                    "the imported memory `{module}.{name}` is not supported: define it in the module \
                     or import it as `env.memory`"
                )));
            }
            _ => {
                let kind = match ty {
                    TypeRef::Global(_) => "global",
                    TypeRef::Table(_) => "table",
                    _ => "tag",
                };
                return Err(Error::UnsupportedModule(format!(
                    "the imported {kind} `{module}.{name}` is not supported: define it in the module"
                )));
            }
        }
    }
    match unknown.len() {
        0 => Ok(()),
        1 => Err(Error::Import(format!(
            "import {} is neither coyote's nor WASI's: provide it, remove it, or declare it with \
             --stub MODULE.NAME (a call is a bug) or --stub MODULE.NAME=ANSWER",
            unknown[0]
        ))),
        _ => Err(Error::Import(format!(
            "imports {} are neither coyote's nor WASI's: provide them, remove them, or declare each \
             with --stub MODULE.NAME (a call is a bug) or --stub MODULE.NAME=ANSWER",
            unknown.join(", ")
        ))),
    }
}

/// Whether a function has the type of AssemblyScript's `abort`: others may be called that too.
fn is_abort(ty: Option<&(Vec<ValType>, Vec<ValType>)>) -> bool {
    ty.is_some_and(|(params, results)| *params == [ValType::I32; 4] && results.is_empty())
}

fn unknown_coyote(name: &str) -> String {
    let all: Vec<_> = guest::IMPORTS.iter().map(|i| i.name).collect();
    let close = nearest(name, all.iter().copied());
    let list = if close.is_empty() { all } else { close };
    let list: Vec<_> = list.iter().map(|n| format!("`{n}`")).collect();
    format!("import `coyote.{name}` does not exist; there is {}", list.join(", "))
}

fn val_type(ty: Type) -> ValType {
    match ty {
        Type::I32 => ValType::I32,
        Type::I64 => ValType::I64,
    }
}

fn expect(
    module: &str,
    name: &str,
    actual: Option<&(Vec<ValType>, Vec<ValType>)>,
    params: &[ValType],
    results: &[ValType],
) -> Result<(), Error> {
    match actual {
        Some((p, r)) if p != params || r != results => Err(Error::Import(format!(
            "import `{module}.{name}` has type {}, but must have type {}",
            signature(p, r),
            signature(params, results)
        ))),
        _ => Ok(()),
    }
}
