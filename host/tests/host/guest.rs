//! Guests that run in this process: from modules to artifacts, and from tests to executions.

use coyote_wasm::artifact::{Artifact, engine};
use coyote_wasm::engine_thread::on_engine_thread;
use coyote_wasm::execution::{Execution, Settings, Test};
use coyote_wasm::instrumenter::{Options, instrument};
use coyote_wasm::strategies::search::rests_on_footprints;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use wasmtime::Engine;

/// Whether tests are executed for long, with all that they have.
pub fn soaking() -> bool {
    std::env::var_os("COYOTE_HOST_ITERATIONS").is_some()
}

/// Iterations of each example: `usual`, or as many as the variable that asks for soaking says.
pub fn iterations(usual: u64) -> u64 {
    std::env::var("COYOTE_HOST_ITERATIONS").ok().map_or(usual, |n| n.parse().expect("a number"))
}

/// How much of something is tried: `usual`, or `long` when soaking.
pub fn scaled<N>(usual: N, long: N) -> N {
    if soaking() { long } else { usual }
}

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the repository")
}

/// The path of a text module next to these tests.
pub fn wat_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/host/wat").join(name)
}

/// The default settings of `coyote-wasm test`.
pub fn settings() -> Settings {
    Settings::default()
}

/// Instruments and compiles; the error is the message for the user.
pub fn compile(wasm: &[u8], options: &Options) -> Result<Arc<Artifact>, String> {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    let engine = ENGINE.get_or_init(|| engine(None).expect("the engine can be set up"));
    let instrumented = instrument(wasm, options).map_err(|e| e.to_string())?;
    let artifact = Artifact::compile(engine, wasm.into(), instrumented, options.clone());
    artifact.map(Arc::new).map_err(|e| format!("{e:#}"))
}

/// Default options, with those that a strategy of this name needs.
pub fn options_for(strategy: &str) -> Options {
    Options { footprints: rests_on_footprints(strategy), ..Options::default() }
}

/// A text module that must be valid. It reports footprints, so that any search can explore it.
pub fn from_text(text: &str) -> Arc<Artifact> {
    let wasm = wat::parse_str(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    compile(&wasm, &Options { footprints: true, ..Options::default() }).unwrap()
}

/// A text module in a file next to these tests.
pub fn from_file(name: &str) -> Arc<Artifact> {
    from_text(&std::fs::read_to_string(wat_file(name)).unwrap())
}

/// The test of this name or export.
pub fn find(artifact: &Artifact, name: &str) -> Test {
    let all = Test::all(&artifact.table);
    let test = all.iter().find(|t| t.name == name || t.export == name);
    test.unwrap_or_else(|| panic!("no test {name} in {all:?}")).clone()
}

/// Calls `run` with an execution of a test, on a thread with enough stack.
pub fn with<R: Send>(
    artifact: &Arc<Artifact>,
    test: &str,
    settings: &Settings,
    function: impl FnOnce(&mut Execution) -> R + Send,
) -> R {
    let test = find(artifact, test);
    on_engine_thread(|| {
        let mut execution = Execution::new(artifact, &test, settings).unwrap();
        function(&mut execution)
    })
}
