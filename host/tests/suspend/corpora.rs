//! What the differential test runs on: files written by hand, large shapes, random modules of
//! wasm-smith with calls strewn in, and modules of our own generator.

use crate::differential::{Counts, Plan, check_wasm, engine};
use crate::generator;
use crate::random::Random;
use crate::rounds;
use coyote_instrumenter::suspend::Mutant;
use std::fmt::Write;
use wasmtime::Engine;

/// Runs one round of a corpus. `Err` is the first difference found.
pub type Corpus = fn(&Engine, round: u64, Option<Mutant>) -> Result<Counts, String>;

/// All files in `wat/`.
pub fn files(engine: &Engine, round: u64, mutant: Option<Mutant>) -> Result<Counts, String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suspend/wat");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap_or_else(|e| panic!("{folder}: {e}"))
        .map(|entry| entry.expect("a readable folder").path())
        .collect();
    files.sort();
    assert!(files.len() >= 6, "the test files are in {folder}");
    let mut counts = Counts::default();
    for file in files {
        let wasm = wat::parse_file(&file).unwrap_or_else(|e| panic!("{e}"));
        let plan = Plan { seed: round, runs: 24, mutant };
        let found = check_wasm(engine, &wasm, &plan, None);
        counts.add(found.map_err(|e| format!("{}: {e}", file.display()))?);
    }
    Ok(counts)
}

/// Shapes too large to be written down: nesting of 1,000 constructs, a sequence of 3,000 sites.
pub fn shapes(engine: &Engine, round: u64, mutant: Option<Mutant>) -> Result<Counts, String> {
    let mut counts = Counts::default();
    let mut nested = String::from("(func (export \"nested\") (param $a i32) (result i32) (local $s i32)\n");
    for depth in 0..1000 {
        let opener = match depth % 4 {
            0 => "block".to_string(),
            1 => "local.get $s if".to_string(),
            2 => "loop".to_string(),
            _ => format!("local.get $a i32.const {depth} i32.add block"),
        };
        writeln!(nested, "{opener} local.get $s call $v i32.add i32.const 1 i32.or local.set $s").unwrap();
    }
    for depth in (0..1000).rev() {
        let after = if depth % 4 == 3 { "local.get $s i32.xor local.set $s" } else { "" };
        writeln!(nested, "end {after}").unwrap();
    }
    nested.push_str("local.get $s)");
    let mut flat = String::from("(func (export \"flat\") (param $a i32) (result i32)\n local.get $a\n");
    for site in 0..3000 {
        writeln!(flat, "call $v i32.add i32.const {site} i32.const 4 call $p").unwrap();
    }
    flat.push(')');
    for function in [nested, flat] {
        let text = format!(
            "(module (import \"t\" \"v\" (func $v (result i32)))
             (import \"t\" \"p\" (func $p (param i32 i32))) {function})"
        );
        let wasm = wat::parse_str(&text).unwrap_or_else(|e| panic!("{e}"));
        let plan = Plan { seed: round, runs: 2, mutant };
        counts.add(check_wasm(engine, &wasm, &plan, None)?);
    }
    Ok(counts)
}

/// A module of wasm-smith that calls the test's imports, with further calls inserted.
pub fn smith(engine: &Engine, round: u64, mutant: Option<Mutant>) -> Result<Counts, String> {
    let mut random = Random(round ^ 0x517);
    // No suspending import: wasm-smith would take its address, which is refused.
    let imports = wat::parse_str("(module (import \"t\" \"log\" (func (param i32))))").expect("valid");
    let config = wasm_smith::Config {
        available_imports: Some(imports),
        min_funcs: 2,
        max_funcs: 8,
        min_exports: 2,
        max_exports: 6,
        max_instructions: 200,
        max_memories: 2,
        max_memory32_bytes: 1 << 20,
        memory_max_size_required: true,
        min_memories: 1,
        max_tables: 2,
        max_table_elements: 64,
        table_max_size_required: true,
        exceptions_enabled: round.is_multiple_of(2),
        gc_enabled: false,
        memory64_enabled: false,
        threads_enabled: false,
        tail_call_enabled: true,
        simd_enabled: true,
        relaxed_simd_enabled: false,
        reference_types_enabled: round.is_multiple_of(3),
        wide_arithmetic_enabled: false,
        custom_page_sizes_enabled: false,
        custom_descriptors_enabled: false,
        shared_everything_threads_enabled: false,
        export_everything: true,
        allow_start_export: true,
        disallow_traps: round % 2 == 1,
        ..wasm_smith::Config::default()
    };
    let noise = random.bytes(6000);
    let mut unstructured = arbitrary::Unstructured::new(&noise);
    let Ok(mut module) = wasm_smith::Module::new(config, &mut unstructured) else {
        return Ok(Counts::default());
    };
    if module.ensure_termination(300).is_err() {
        return Ok(Counts::default());
    }
    let plan = Plan { seed: round, runs: 3, mutant };
    match check_wasm(engine, &module.to_bytes(), &plan, Some(4)) {
        // References across a site, and what else is documented as not supported.
        Err(e) if e.starts_with("the pass refuses") && e.contains("not supported") => Ok(Counts::default()),
        other => other.map_err(|e| format!("wasm-smith module {round}: {e}")),
    }
}

/// A module of the generator, which stores a lot and does not trap.
pub fn generated(engine: &Engine, round: u64, mutant: Option<Mutant>) -> Result<Counts, String> {
    check_generated(engine, round, mutant, false)
}

/// The same with exceptions, most of which are caught.
pub fn throwing(engine: &Engine, round: u64, mutant: Option<Mutant>) -> Result<Counts, String> {
    check_generated(engine, round, mutant, true)
}

fn check_generated(
    engine: &Engine,
    round: u64,
    mutant: Option<Mutant>,
    exceptions: bool,
) -> Result<Counts, String> {
    let wasm = generator::module(&mut Random(round ^ 0x9e4), exceptions);
    let plan = Plan { seed: round, runs: 4, mutant };
    let insert = [None, Some(3), Some(12)][round as usize % 3];
    check_wasm(engine, &wasm, &plan, insert).map_err(|e| format!("generated module {round}: {e}"))
}

fn run(corpus: Corpus, rounds: u64) -> Counts {
    let engine = engine(false);
    let mut counts = Counts::default();
    for round in 0..rounds {
        counts.add(corpus(&engine, round, None).unwrap_or_else(|e| panic!("{e}")));
    }
    println!("{counts:?}");
    counts
}

// Together more than 100,000 forced rewinds.

#[test]
fn files_written_by_hand() {
    let counts = run(files, 24 * rounds());
    assert!(counts.rewinds > 100_000 && counts.moves > 500 && counts.deepest > 200, "{counts:?}");
}

#[test]
fn large_shapes() {
    let counts = run(shapes, rounds());
    assert!(counts.rewinds > 5_000, "{counts:?}");
}

#[test]
fn wasm_smith_modules() {
    let counts = run(smith, 300 * rounds());
    assert!(counts.rewinds > 10_000 && counts.modules > 100, "{counts:?}");
}

#[test]
fn generated_modules() {
    let counts = run(generated, 100 * rounds());
    assert!(counts.rewinds > 50_000 && counts.traps == 0, "{counts:?}");
}

#[test]
fn generated_modules_that_throw() {
    let counts = run(throwing, 100 * rounds());
    assert!(counts.in_try > 15_000 && counts.traps > 100, "{counts:?}");
}
