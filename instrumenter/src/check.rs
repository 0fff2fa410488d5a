//! Refuses what cannot be instrumented; names it, and says what to do about it.
//!
//! A refusal is no verdict on the guest. Two refusals come later, because they need the module as it will be
//! suspended: references live across a suspension, and legacy exceptions around one.

use crate::answer::Answer;
use crate::original::{self, Contents, Export, FunctionType, INITIALISERS, Import, Original};
use crate::{Error, Location, Options, nearest::nearest};
use coyote_abi::{Type, file, guest, rt};
use wasmparser::{ExternalKind, Parser, TypeRef, ValType, Validator, WasmFeatures};

/// The proposals that the passes understand. The legacy form of exceptions is not among them.
pub const FEATURES: WasmFeatures = WasmFeatures::WASM3;

/// The largest module in bytes: larger offsets stand for code that has no place in the original.
const BYTES_MAX: usize = i32::MAX as usize;

/// The module of WASI preview 1's functions.
pub const WASI: &str = "wasi_snapshot_preview1";

/// The function that AssemblyScript's assertions call: `(message, file, line, column)`, the texts as its
/// strings.
pub const ASSEMBLYSCRIPT_ABORT: (&str, &str) = ("env", "abort");

/// The tags that LLVM lets modules import from `env`: exceptions of C++ and Rust, and C's `longjmp`. Each carries an
/// address.
const TAGS: [&str; 2] = ["__cpp_exception", "__c_longjmp"];

/// Why a module built with the legacy exception instructions is refused, and how to build it with the current
/// ones.
const LEGACY: &str = "the legacy exception instructions (try, catch, rethrow) are not supported: build for those of \
                      today (rustc: -C llvm-args=-wasm-use-legacy-eh=false, clang: -mllvm \
                      -wasm-use-legacy-eh=false), or translate the module with `wasm-opt --translate-to-exnref`";

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
        return Err(Error::unsupported("a module of more than 2 GiB is not supported"));
    }
    let contents = original::read(wasm)?;
    check_memories(&contents)?;
    for export in &contents.exports {
        check_export(export)?;
    }
    validate(wasm, &contents.original)?;
    check_imports(&contents, options)?;
    Ok(contents.original)
}

fn check_memories(contents: &Contents) -> Result<(), Error> {
    if contents.tables.iter().any(|table| table.table64) {
        return Err(Error::unsupported("64-bit tables are not supported: build for wasm32"));
    }
    for memory in &contents.memories {
        if memory.memory64 {
            return Err(Error::unsupported("a 64-bit memory is not supported: build for wasm32"));
        }
        if memory.page_size_log2.is_some_and(|log2| log2 != 16) {
            return Err(Error::unsupported("custom page sizes are not supported: use pages of 64 KiB"));
        }
    }
    match contents.memories.len() {
        0 | 1 => Ok(()),
        _ => {
            Err(Error::unsupported("more than one memory is not supported: link the module into one memory"))
        }
    }
}

/// Refuses exports with a reserved name, and exports that the host calls but that have another type.
fn check_export(export: &Export) -> Result<(), Error> {
    let name = export.name;
    if name.starts_with(rt::EXPORT_PREFIX) {
        return Err(Error::UnsupportedModule(format!(
            "export `{name}`: names that begin with `{}` are the tool's: rename it",
            rt::EXPORT_PREFIX
        )));
    }
    let params: &[ValType] = match name {
        "wasi_thread_start" => &[ValType::I32, ValType::I32],
        "_start" | "_initialize" | guest::SETUP | guest::RECOVER => &[],
        _ if INITIALISERS.contains(&name) => &[],
        _ if name.starts_with(guest::TEST_PREFIX) => &[],
        _ => return Ok(()),
    };
    match &export.ty {
        Some((p, r)) if export.kind == ExternalKind::Func && (p != params || !r.is_empty()) => {
            Err(Error::UnsupportedModule(format!(
                "export `{name}` has type {}, but must have type {}",
                signature(p, r),
                signature(params, &[])
            )))
        }
        _ => Ok(()),
    }
}

fn signature(params: &[ValType], results: &[ValType]) -> String {
    let list = |types: &[ValType]| types.iter().map(ValType::to_string).collect::<Vec<_>>().join(", ");
    format!("({}) -> ({})", list(params), list(results))
}

/// Validates under the supported proposals; if the module is valid with all proposals, says that it needs an
/// unsupported one.
fn validate(wasm: &[u8], original: &Original) -> Result<(), Error> {
    let Err(error) = Validator::new_with_features(FEATURES).validate_all(wasm) else { return Ok(()) };
    let what = match error.message().starts_with("legacy_exceptions ") {
        true => LEGACY.to_string(),
        false => format!("{}: build without this proposal", error.message()),
    };
    match Validator::new_with_features(WasmFeatures::all()).validate_all(wasm) {
        Err(_) => Err(error.into()),
        Ok(_) => match original.function_at(error.offset()) {
            Some(function) => Err(Error::Unsupported {
                what,
                function: original.display_name(function),
                location: Location { function, offset: error.offset() as u32 },
            }),
            None => Err(Error::UnsupportedModule(format!("{what} (at offset {:#x})", error.offset()))),
        },
    }
}

fn check_imports(contents: &Contents, options: &Options) -> Result<(), Error> {
    let mut unknown = Vec::new();
    for Import { module, name, ty } in &contents.imports {
        let function = match ty {
            TypeRef::Func(index) | TypeRef::FuncExact(index) => contents.types[*index as usize].as_ref(),
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
            ("env", TypeRef::Tag(tag)) if TAGS.contains(name) => {
                let function = contents.types[tag.func_type_idx as usize].as_ref();
                expect(module, name, function, &[ValType::I32], &[])?;
            }
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

/// Whether a function has the type of AssemblyScript's `abort`: other functions may have the same name.
fn is_abort(ty: Option<&FunctionType>) -> bool {
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
    actual: Option<&FunctionType>,
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
