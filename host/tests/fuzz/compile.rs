//! Programs to modules: many in one, since each is compiled with the library.

use super::ends::{KEPT, THREADS};
use super::program::Program;
use coyote_cc::Language;
use coyote_cc::build::Compiler;
use coyote_cc::toolchain::Toolchain;
use coyote_wasm::artifact::{Artifact, engine};
use coyote_wasm::instrumenter::{Options, Points, instrument};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Where the header is.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz")
}

/// What coyote-cc is called with, beside the source.
pub const FLAGS: [&str; 4] = ["-O1", "-w", "-D_GNU_SOURCE", "-mexec-model=reactor"];

/// The compiler, unless there is no clang with a library for WASI here: then it says so once.
pub fn compiler() -> Option<&'static Compiler> {
    static COMPILER: OnceLock<Option<Compiler>> = OnceLock::new();
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("coyote-cc");
    let found = COMPILER.get_or_init(|| {
        let compiler = Toolchain::find().and_then(|toolchain| Compiler::new(toolchain, &cache));
        compiler.inspect_err(|why| eprintln!("skipped: no C programs can be built here: {why}")).ok()
    });
    found.as_ref()
}

/// A module with a test for each program, all of one language.
pub fn compile(programs: &[(String, &Program)], options: &Options) -> Arc<Artifact> {
    match programs.first().is_some_and(|(_, program)| program.is_wat()) {
        true => artifact(wat::parse_str(wat(programs)).unwrap(), options),
        false => {
            let tests = programs.iter().map(|(name, program)| format!("\n{}", program.c(name, "")));
            compile_c(&format!("#include \"fuzz.h\"\n{}", tests.collect::<String>()), options)
        }
    }
}

/// The module of a C source.
pub fn compile_c(source: &str, options: &Options) -> Arc<Artifact> {
    let compiler = compiler().expect("the caller asked for it");
    let temporary = tempfile::tempdir().unwrap();
    let at = |name: &str| temporary.path().join(name).to_str().unwrap().to_string();
    std::fs::write(at("programs.c"), source).unwrap();
    std::fs::write(at("fuzz.h"), include_str!("fuzz.h")).unwrap();
    let mut arguments: Vec<String> = FLAGS.map(str::to_string).into();
    arguments.extend([at("programs.c"), "-o".into(), at("module.wasm")]);
    let output = compiler.command(Language::C, &arguments).unwrap().output().unwrap();
    assert!(output.status.success(), "{source}\n{}", String::from_utf8_lossy(&output.stderr));
    artifact(std::fs::read(at("module.wasm")).unwrap(), options)
}

fn artifact(wasm: Vec<u8>, options: &Options) -> Arc<Artifact> {
    static ENGINE: OnceLock<wasmtime::Engine> = OnceLock::new();
    let engine = ENGINE.get_or_init(|| engine(None).unwrap());
    let instrumented = instrument(&wasm, options).unwrap();
    Arc::new(Artifact::compile(engine, wasm.into(), instrumented, options.clone()).unwrap())
}

/// A module of text. It has what the observed variables of `fuzz.h` are, at 1024.
pub fn wat(programs: &[(String, &Program)]) -> String {
    let (mut functions, mut threads) = (String::new(), Vec::new());
    for (name, program) in programs {
        functions += &program.wat(name, threads.len());
        threads.extend((1..program.threads.len()).map(|number| format!("${name}_{number}")));
    }
    let unset: String = (0..THREADS * KEPT).map(|_| "\\b3\\ff\\ff\\ff").collect();
    format!(
        r#"(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (memory (export "memory") 2 100)
  (data (i32.const 1024) "coyote-fuzz-ends{unset}")
  (data $text "abcdef")
  (table $threads {count} funcref)
  (elem (table $threads) (i32.const 0) func {threads})
  (table $t 3 10 funcref)
  (elem (table $t) (i32.const 0) func $one $two)
  (elem $list func $two $three)
  (func $one (result i32) (i32.const 1))
  (func $two (result i32) (i32.const 2))
  (func $three (result i32) (i32.const 3))
  (func $keep (param i32 i32 i32)
    (i32.store
      (i32.add (i32.const 1040) (i32.mul (i32.const 4)
        (i32.add (i32.mul (local.get 0) (i32.const {KEPT})) (local.get 1))))
      (local.get 2)))
{functions})"#,
        count = threads.len().max(1),
        threads = threads.join(" "),
    )
}

/// All operations of these points are scheduling points, but what the program keeps. Searches are told what steps
/// touch besides.
pub fn options(points: Points) -> Options {
    // Also where no fault may happen: then it must make no difference.
    let faults = ["io", "alloc", "clock", "random"].map(String::from).into();
    Options { no_points_in: vec!["keep".into()], points, footprints: true, faults, ..Options::default() }
}
