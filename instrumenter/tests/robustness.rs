//! No module makes the instrumenter panic, and what it accepts validates.

use coyote_instrumenter::{Error, Options, Parts, Points, instrument};
use std::collections::BTreeSet;
use std::sync::Arc;
use wasmparser::{BinaryReader, FunctionBody, Operator, Validator, WasmFeatures};

/// A reproducible stream (SplitMix64): failures name the seed.
struct Stream(u64);

impl Stream {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Instruments a module. Whatever is wrong with it, the output never is.
fn survives(wasm: &[u8], options: &Options, what: &str) -> bool {
    match instrument(wasm, options) {
        Ok(instrumented) => {
            let section = coyote_instrumenter::SiteTable::from_bytes(&instrumented.table.to_bytes());
            assert_eq!(section.unwrap(), instrumented.table, "{what}");
            parts_are_valid(instrumented.wasm, what);
            true
        }
        Err(Error::Output { message, .. }) => panic!("{what}: {message}"),
        Err(_) => false,
    }
}

/// Each third function is in the root, each other one in a part of its own: all of them validate, and each body is that
/// of the module where it begins there.
fn parts_are_valid(wasm: Vec<u8>, what: &str) {
    let wasm: Arc<[u8]> = wasm.into();
    let parts = Parts::read(wasm.clone()).unwrap().expect("the import is there");
    let in_root: BTreeSet<u32> = (0..parts.functions()).filter(|function| function % 3 == 0).collect();
    let left_out = (0..parts.functions()).filter(|f| !in_root.contains(f) && !parts.is_of_root(*f));
    let cut = left_out.map(|function| (Some(function), parts.part(&BTreeSet::from([function])).unwrap()));
    for (function, part) in cut.chain([(None, parts.root(&in_root))]) {
        let validated = Validator::new_with_features(WasmFeatures::all()).validate_all(&part.wasm);
        validated.unwrap_or_else(|e| panic!("{what}: function {function:?}: {e}"));
        for (begin, whole) in part.begins {
            let number =
                (0..parts.functions()).find(|f| parts.begin(*f) == whole).expect("a function begins there");
            let is_here = match function {
                Some(function) => number == function,
                None => in_root.contains(&number) && number + 1 < parts.functions(),
            };
            if is_here {
                let operators = |wasm: &[u8], begin: u32| names(&wasm[begin as usize..]);
                assert_eq!(
                    operators(&part.wasm, begin),
                    operators(&wasm, whole),
                    "{what}: function {number}"
                );
            }
        }
    }
}

/// The names and offsets of a body's instructions.
fn names(body: &[u8]) -> Vec<(String, usize)> {
    let reader = FunctionBody::new(BinaryReader::new(body, 0)).get_operators_reader().unwrap();
    let mut depth = 1;
    let mut names = vec![];
    for operator in reader.into_iter_with_offsets() {
        let (operator, at) = operator.unwrap();
        let name = format!("{operator:?}");
        let name = name.split([' ', '(']).next().unwrap().to_string();
        match operator {
            Operator::Block { .. }
            | Operator::Loop { .. }
            | Operator::If { .. }
            | Operator::TryTable { .. } => depth += 1,
            Operator::End => depth -= 1,
            _ => {}
        }
        names.push((name, at));
        if depth == 0 {
            break;
        }
    }
    names
}

/// Modules of random code. How many there are: `COYOTE_SMITH`, or enough for a second or two.
#[test]
fn random_modules() {
    let count = std::env::var("COYOTE_SMITH").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let mut accepted = 0;
    for seed in 0..count {
        let mut stream = Stream(seed);
        let bytes: Vec<u8> = (0..512).flat_map(|_| stream.next().to_le_bytes()).collect();
        let config = wasm_smith::Config {
            max_imports: 0,
            max_memories: 1,
            threads_enabled: seed % 3 == 0,
            simd_enabled: true,
            tail_call_enabled: true,
            exceptions_enabled: seed % 4 == 1,
            reference_types_enabled: seed % 2 == 0,
            gc_enabled: seed % 8 == 0,
            memory64_enabled: false,
            bulk_memory_enabled: true,
            multi_value_enabled: true,
            ..wasm_smith::Config::default()
        };
        let mut input = arbitrary::Unstructured::new(&bytes);
        let module = wasm_smith::Module::new(config, &mut input).unwrap().to_bytes();
        let points = [Points::Sync, Points::Atomic, Points::Heap][seed as usize % 3];
        let options = Options { points, ..Options::default() };
        accepted += u64::from(survives(&module, &options, &format!("seed {seed}")));
    }
    // Refused are references across a point, exceptions and what wasm-smith adds one day.
    assert!(accepted * 2 > count, "{accepted} of {count} were accepted");
}

const MODULE: &str = r#"(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (global $__stack_pointer (mut i32) (i32.const 4096))
  (table 2 funcref)
  (elem (i32.const 1) $worker)
  (data "passive")
  (func $worker (param i32) (loop (br_if 0 (i32.load (local.get 0)))))
  (func (export "coyote.test.a")
    (memory.init 0 (i32.const 0) (i32.const 0) (i32.const 3))
    (data.drop 0)
    (drop (call $spawn (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0)))
    (if (i32.atomic.rmw.add (i32.const 4) (i32.const 1))
      (then (call $exit (i32.const 1))))))"#;

#[test]
fn truncated_modules() {
    let wasm = wat::parse_str(MODULE).unwrap();
    assert!(survives(&wasm, &Options::default(), "whole"));
    for length in 0..wasm.len() {
        survives(&wasm[..length], &Options::default(), &format!("first {length} bytes"));
    }
}

#[test]
fn flipped_bits() {
    let wasm = wat::parse_str(MODULE).unwrap();
    for bit in 0..wasm.len() * 8 {
        let mut wasm = wasm.clone();
        wasm[bit / 8] ^= 1 << (bit % 8);
        survives(&wasm, &Options::default(), &format!("bit {bit}"));
    }
}
