//! Sites, frames and instrumented code refer to the right places of the original module.

use coyote_instrumenter::{Entry, Instrumented, Options, SiteTable, instrument};
use wasmparser::{Operator, Parser, Payload};

const MODULE: &str = r#"(module
  (import "coyote" "mutex_lock" (func $lock (param i32 i64) (result i32)))
  (memory 1)
  (table 1 funcref)
  (func $small (param i32) (drop (i32.load (local.get 0))))
  (func $malloc (export "malloc") (param i32) (result i32)
    (loop (br_if 0 (call $inside (local.get 0))))
    (local.get 0))
  (func $inside (param i32) (result i32) (i32.load (local.get 0)))
  (func (export "coyote.test.a")
    (drop (call $lock (i32.const 0) (i64.const -1)))
    (call $small (call $malloc (i32.const 8)))
    (i64.store offset=16 (i32.const 0) (i64.const 5))
    (memory.fill (i32.const 0) (i32.const 0) (i32.const 0)))
  (func (export "_start"))
  (func (export "coyote.setup")))"#;

fn instrumented() -> (Vec<u8>, Instrumented) {
    let wasm = wat::parse_str(MODULE).unwrap();
    let instrumented = instrument(&wasm, &Options::default()).unwrap();
    (wasm, instrumented)
}

/// Operators by offset.
fn operators(wasm: &[u8]) -> Vec<(u32, Operator<'_>)> {
    let mut found = Vec::new();
    for payload in Parser::new(0).parse_all(wasm) {
        if let Payload::CodeSectionEntry(body) = payload.unwrap() {
            for operator in body.get_operators_reader().unwrap().into_iter_with_offsets() {
                let (operator, offset) = operator.unwrap();
                found.push((offset as u32, operator));
            }
        }
    }
    found
}

fn name_at(wasm: &[u8], offset: u32) -> String {
    let all = operators(wasm);
    let at =
        all.iter().find(|(at, _)| *at == offset).unwrap_or_else(|| panic!("no instruction at {offset:#x}"));
    format!("{:?}", at.1).split([' ', '{']).next().unwrap().to_string()
}

#[test]
fn sites_are_the_announced_instructions() {
    let (wasm, Instrumented { table, .. }) = instrumented();
    let actual: Vec<_> = table
        .sites
        .iter()
        .map(|site| {
            let function = &table.functions[site.location.function as usize].name;
            format!("{} {} {function}", site.kind().name(), name_at(&wasm, site.location.offset))
        })
        .collect();
    let expected = [
        "lock Call coyote.test.a",
        "load I32Load small",
        "store I64Store coyote.test.a",
        "fill MemoryFill coyote.test.a",
        "loop Loop malloc",
    ];
    assert_eq!(actual, expected);
    assert_eq!((table.sites[2].size, table.sites[2].memory_offset), (8, 16));
}

#[test]
fn frames_are_the_calls_that_are_suspended() {
    let (wasm, Instrumented { table, .. }) = instrumented();
    let mut actual: Vec<_> = table
        .frames
        .iter()
        .map(|frame| {
            let function = &table.functions[frame.location.function as usize];
            // A call that the tool added around a function counts as its beginning.
            let what = if frame.location.offset == function.start {
                "start".into()
            } else {
                name_at(&wasm, frame.location.offset)
            };
            format!("{} {what}", function.name)
        })
        .collect();
    actual.sort();
    let expected = [
        "coyote.test.a Call",
        "coyote.test.a Call",
        "coyote.test.a Call",
        "coyote.test.a I64Store",
        "coyote.test.a MemoryFill",
        "malloc Loop",
        "malloc start",
        "small I32Load",
    ];
    assert_eq!(actual, expected);
}

#[test]
fn instrumented_code_maps_to_the_original() {
    let (wasm, Instrumented { wasm: output, table }) = instrumented();
    assert!(table.code.is_sorted_by_key(|(out, _)| *out));
    let mut stores = 0;
    for (offset, operator) in operators(&output) {
        if matches!(operator, Operator::I64Store { memarg } if memarg.memory == 0) {
            let location = table.original(offset).unwrap();
            assert_eq!(name_at(&wasm, location.offset), "I64Store");
            assert_eq!(table.functions[location.function as usize].name, "coyote.test.a");
            stores += 1;
        }
    }
    assert_eq!(stores, 1);
    let (last, _) = operators(&output).pop().unwrap();
    assert_eq!(table.original(last), None, "`run` has no place in the original");
}

#[test]
fn entries_are_what_the_host_can_start() {
    let (_, Instrumented { table, .. }) = instrumented();
    let exports = ["coyote.test.a", "_start", "coyote.setup"].map(|n| Entry::Export(n.into()));
    assert_eq!(table.entries, [&[Entry::Table], &exports[..]].concat());
}

#[test]
fn equal_input_gives_equal_output() {
    assert_eq!(instrumented(), instrumented());
}

#[test]
fn a_damaged_site_table_is_no_panic() {
    let (_, Instrumented { table, .. }) = instrumented();
    let bytes = table.to_bytes();
    for length in 0..bytes.len() {
        assert!(SiteTable::from_bytes(&bytes[..length]).is_err(), "first {length} bytes");
    }
    for bit in 0..bytes.len() * 8 {
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let _ = SiteTable::from_bytes(&bytes);
    }
}

/// Only what an allocator does with the size of memory means nothing to the program.
#[test]
fn what_tells_the_size_of_memory() {
    let tells = |functions: &str| {
        let module = format!("(module (memory (export \"memory\") 1 9) {functions})");
        let wasm = wat::parse_str(&module).unwrap();
        instrument(&wasm, &Options::default()).unwrap().table.tells_memory_size
    };
    let break_ = "(func $sbrk (param i32) (result i32) (memory.grow (local.get 0)))";
    let malloc = "(func $malloc (export \"malloc\") (param i32) (result i32)
        (drop (memory.size)) (call $sbrk (i32.const 1)))";
    assert!(!tells(&format!("{break_} {malloc}")));
    assert!(tells(break_), "who calls it is not known");
    let user = "(func (export \"test\") (drop (call $sbrk (i32.const 1))))";
    assert!(tells(&format!("{break_} {malloc} {user}")));
    assert!(tells(&format!("{break_} {malloc} (func (export \"test\") (drop (memory.size)))")));
    assert!(!tells("(func (export \"test\") (i32.store (i32.const 8) (i32.const 1)))"));
}
