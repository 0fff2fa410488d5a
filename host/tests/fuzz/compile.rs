//! Programs to modules: many in one, since each is compiled with the library.

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

/// The module of a source.
pub fn compile(source: &str, options: &Options) -> Arc<Artifact> {
    static ENGINE: OnceLock<wasmtime::Engine> = OnceLock::new();
    let compiler = compiler().expect("the caller asked for it");
    let temporary = tempfile::tempdir().unwrap();
    let at = |name: &str| temporary.path().join(name).to_str().unwrap().to_string();
    std::fs::write(at("programs.c"), source).unwrap();
    let mut arguments: Vec<String> = FLAGS.map(str::to_string).into();
    arguments.extend([format!("-I{}", directory().display()), at("programs.c"), "-o".into(), at("module.wasm")]);
    let output = compiler.command(Language::C, &arguments).unwrap().output().unwrap();
    assert!(output.status.success(), "{source}\n{}", String::from_utf8_lossy(&output.stderr));
    let wasm = std::fs::read(at("module.wasm")).unwrap();
    let engine = ENGINE.get_or_init(|| engine(None).unwrap());
    let instrumented = instrument(&wasm, options).unwrap();
    Arc::new(Artifact::compile(engine, wasm.into(), instrumented, options.clone()).unwrap())
}

/// A source with a test for each program.
pub fn source<'a>(programs: impl Iterator<Item = (&'a str, &'a Program)>) -> String {
    let tests = programs.map(|(name, program)| format!("\n{}", program.c(name, "")));
    format!("#include \"fuzz.h\"\n{}", tests.collect::<String>())
}

/// All operations of these points are scheduling points, but what the program keeps. Searches that rest on what
/// steps touch are told; to others that makes no difference.
pub fn options(points: Points) -> Options {
    Options { no_points_in: vec!["keep".into()], points, footprints: true, ..Options::default() }
}
