//! What the passes make of functions: each `passes/NAME.wat` beside the expected `passes/NAME.expect`.
//!
//! Options stand in comments at the beginning of the `.wat`, as on the command line. The expectation
//! holds the module before the suspend pass: runtime imports, functions by name, exports that the
//! tool added, and sites. `COYOTE_BLESS=1` writes it anew; read the diff.

use coyote_instrumenter::{HeapPoints, Options, Points, SiteTable, instrument, intermediate};
use std::fmt::Write;
use std::path::Path;

#[test]
fn functions_look_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/passes");
    let bless = std::env::var_os("COYOTE_BLESS").is_some();
    let mut cases: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "wat"))
        .collect();
    cases.sort();
    assert!(!cases.is_empty());
    let mut wrong = Vec::new();
    for case in cases {
        let text = std::fs::read_to_string(&case).unwrap();
        let wasm = wat::parse_str(&text).unwrap_or_else(|e| panic!("{}: {e}", case.display()));
        let options = options_of(&text, &wasm);
        let before = intermediate(&wasm, &options).unwrap_or_else(|e| panic!("{}: {e}", case.display()));
        wasmparser::Validator::new_with_features(wasmparser::WasmFeatures::WASM3)
            .validate_all(&before)
            .unwrap_or_else(|e| panic!("{}: {e}", case.display()));
        let table = instrument(&wasm, &options).unwrap_or_else(|e| panic!("{}: {e}", case.display())).table;
        let actual = describe(&before, &table);
        let expectation = case.with_extension("expect");
        if bless {
            std::fs::write(&expectation, &actual).unwrap();
        }
        let expected = std::fs::read_to_string(&expectation).unwrap_or_default();
        if actual != expected {
            wrong.push(format!("{}:\n{actual}", case.display()));
        }
    }
    assert!(wrong.is_empty(), "differ (COYOTE_BLESS=1 accepts):\n{}", wrong.join("\n"));
}

fn options_of(text: &str, wasm: &[u8]) -> Options {
    let mut options = Options::default();
    for line in text.lines().map_while(|line| line.strip_prefix(";; --")) {
        let (name, value) = line.split_once(' ').expect("--NAME VALUE");
        let value = value.to_string();
        match name {
            "points" if value == "sync" => options.points = Points::Sync,
            "points" if value == "atomic" => options.points = Points::Atomic,
            "heap-points" if value == "shared" => options.heap_points = HeapPoints::Shared,
            "atomic-fn" => options.atomic_fns.push(value),
            "no-points-in" => options.no_points_in.push(value),
            "points-only-in" => options.points_only_in.push(value),
            "stub" => options.stubs.push(value),
            "counted" => options.counted = instructions(wasm, &value),
            "faults" => options.faults.push(value),
            _ => panic!("unknown option --{line}"),
        }
    }
    options
}

/// Offsets of the instructions of these names.
fn instructions(wasm: &[u8], names: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for payload in wasmparser::Parser::new(0).parse_all(wasm) {
        let wasmparser::Payload::CodeSectionEntry(body) = payload.unwrap() else { continue };
        let mut operators = body.get_operators_reader().unwrap();
        while !operators.eof() {
            let (operator, offset) = operators.read_with_offset().unwrap();
            let name = format!("{operator:?}");
            if names.split(' ').any(|wanted| name.split([' ', '{']).next() == Some(wanted)) {
                found.push(offset as u32);
            }
        }
    }
    found
}

/// The parts of a module that the passes decide on, without indices: one added function or type
/// renumbers everything, and functions are sorted by size, so here they are sorted by name.
fn describe(wasm: &[u8], table: &SiteTable) -> String {
    let printed = wasmprinter::print_bytes(wasm).unwrap();
    let mut fields: Vec<String> = Vec::new();
    for line in printed.lines() {
        let line = without_indices(line);
        if line.starts_with("  (") {
            fields.push(String::new());
        }
        if let Some(field) = fields.last_mut()
            && line != ")"
        {
            writeln!(field, "{line}").unwrap();
        }
    }
    let marks = printed.contains("call $__cy_mark");
    let (mut functions, others): (Vec<_>, Vec<_>) =
        fields.into_iter().partition(|field| field.starts_with("  (func $"));
    functions.retain(|function| marks || !function.starts_with("  (func $__cy_mark "));
    functions.sort();
    let wanted = ["(import", "(memory", "(global", "(export \"__cy"];
    let mut out: String = others
        .into_iter()
        .filter(|field| wanted.iter().any(|start| field.trim_start().starts_with(start)))
        .chain(functions)
        .collect();
    for (number, site) in table.sites.iter().enumerate() {
        let function = &table.functions[site.location.function as usize];
        writeln!(
            out,
            "site {number}: {} of {} bytes at +{} in {} at {:#x}",
            site.kind().name(),
            site.size,
            site.memory_offset,
            function.name,
            site.location.offset - function.start,
        )
        .unwrap();
    }
    out
}

/// Without `(;12;)` and `(type 3)`.
fn without_indices(line: &str) -> String {
    let mut line = line.to_string();
    for (open, close) in [(" (;", ";)"), (" (type ", ")")] {
        while let Some(start) = line.find(open) {
            let Some(length) = line[start..].find(close) else { break };
            line.replace_range(start..start + length + close.len(), "");
        }
    }
    line
}
