//! What the pass refuses, with the place; and what a plain module must still be.

use crate::differential::{Plan, check_wasm};
use coyote_instrumenter::Error;
use coyote_instrumenter::suspend::{Config, Suspended, suspend};

/// A module with the imports `next`, `overflow` and `y` (functions 0 to 2); `y` suspends.
fn pass(rest: &str) -> Result<Suspended, Error> {
    let text = format!(
        "(module
           (import \"coyote_rt\" \"next\" (func (param i32) (result i32 i32 i64 i32 i32 i32)))
           (import \"coyote_rt\" \"frames_overflow\" (func))
           (import \"t\" \"y\" (func $y)) {rest})"
    );
    let wasm = wat::parse_str(&text).unwrap_or_else(|e| panic!("{e}"));
    suspend(&wasm, &Config { suspending: vec![2], frames_overflow: 1, ..Config::default() })
}

#[track_caller]
fn refused(rest: &str, message: &str) {
    let error = pass(rest).expect_err("it should be refused").to_string();
    assert_eq!(error, message);
}

#[test]
fn references_across_a_site() {
    refused(
        "(func (param externref) (result externref) (call $y) (local.get 0))",
        "local 0 holds a reference across a call that may suspend, which is not supported; keep the reference \
         in a table (in function 3, at offset 0x5c); this is no verdict on the guest",
    );
    refused(
        "(table 1 externref) (func (result externref) (table.get 0 (i32.const 0)) (call $y))",
        "a reference on the operand stack across a call that may suspend is not supported; keep it in a table \
         (in function 3, at offset 0x65); this is no verdict on the guest",
    );
    refused(
        "(type $f (func)) (func $g (param (ref $f)) (call $y)) (func (param (ref $f)) (call $g (local.get 0)))",
        "a reference that cannot be null, passed to code that may suspend, is not supported; make its type \
         nullable (in function 4, at offset 0x64); this is no verdict on the guest",
    );
}

#[test]
fn exceptions() {
    refused(
        "(tag $e) (func try call $y catch $e end)",
        "legacy exception handling in a function that may suspend is not supported; compile with the standard \
         try_table instructions (in function 3, at offset 0x5c); this is no verdict on the guest",
    );
    refused(
        "(func $f (call $y)) (func (block (try_table (catch_all 0) (return_call $f))))",
        "a tail call of a function that may suspend inside of a try_table is not supported; make it a plain \
         call (in function 4, at offset 0x64); this is no verdict on the guest",
    );
}

#[test]
fn address_of_a_suspending_import() {
    refused(
        "(table funcref (elem $y))",
        "the address of suspending import 2 is taken; call it from a function instead; this is no verdict on \
         the guest",
    );
}

/// A function that cannot suspend is copied byte for byte, whatever it does.
#[test]
fn functions_that_cannot_suspend() {
    let plain = "(tag $e) (func (param externref) (result externref) try catch $e end local.get 0)";
    let output = pass(plain).unwrap();
    assert_eq!((output.stats.functions, output.stats.suspendable, output.stats.sites), (1, 0, 0));
    let body = wat::parse_str(format!("(module {plain})")).unwrap();
    let code: Vec<u8> = wasmparser::Parser::new(0)
        .parse_all(&body)
        .find_map(|p| match p.unwrap() {
            wasmparser::Payload::CodeSectionEntry(body) => Some(body.as_bytes().to_vec()),
            _ => None,
        })
        .unwrap();
    assert!(output.wasm.windows(code.len()).any(|w| w == code));
}

/// A frame says per site what in it is dead: else equal states would look different.
#[test]
fn live_locals_are_those_of_the_site() {
    let function = "(func (export \"f\") (param $a i32) (param $b i64) (param $c v128) (result i32)
        (call $y)
        (drop (local.get $b))
        (call $y)
        (loop
          (call $y)
          (br_if 0 (local.get $a))
          (local.set $a (i32.wrap_i64 (i64.const 1)))
          (local.set $b (i64.const 2))
          (call $y))
        (drop (i32.add (local.get $a) (i32.const 3)) (call $y))
        (local.get $a) (i32.mul (i32.const 5))
        (call $y))";
    let output = pass(function).unwrap();
    let found: Vec<_> = output.frames.iter().map(|f| (f.size, f.dead.as_slice())).collect();
    // $b at 0, the product's spill local and $a at 8 or 12, padding, the site at 20. $c is never live.
    let (b, a, spill, padding) = ((0, 8), (8, 4), (12, 4), (16, 4));
    assert_eq!(found[0], (24, &[(spill.0, spill.1 + padding.1)][..]));
    assert_eq!(found[1], (24, &[b, (spill.0, spill.1 + padding.1)][..]));
    assert_eq!(found[2], found[1]);
    assert_eq!(found[3], found[1]);
    // The sum is on the stack during the call.
    assert_eq!(found[4], (24, &[b, padding][..]));
    assert_eq!(found[5], (24, &[(b.0, b.1 + a.1), padding][..]));
}

/// A worker whose frames do not fit into the frame memory ends with `frames_overflow`.
#[test]
fn frame_memory_has_an_end() {
    let locals = 2000;
    let mut text = String::from(
        "(module (import \"t\" \"v\" (func $v (result i32))) (memory 1)
         (func $f (export \"f\") (param $n i32) (result v128)",
    );
    text += &"(local v128)".repeat(locals);
    for local in 1..=locals {
        text += &format!("(local.set {local} (v128.load offset={local} (local.get $n)))");
    }
    text += "(if (i32.ge_s (local.get $n) (i32.const 2200)) (then (drop (call $v))))
             (if (i32.lt_s (local.get $n) (i32.const 2200)) (then
               (drop (call $f (i32.add (local.get $n) (i32.const 1))))))
             (v128.const i64x2 0 0)";
    for local in 1..=locals {
        text += &format!("(local.get {local}) i64x2.add");
    }
    let wasm = wat::parse_str(text + "))").unwrap_or_else(|e| panic!("{e}"));
    let on_large_stack = std::thread::Builder::new().stack_size(1 << 30).spawn(move || {
        let mut config = wasmtime::Config::new();
        config.wasm_multi_memory(true).max_wasm_stack(900 << 20).async_stack_size(900 << 20);
        let engine = wasmtime::Engine::new(&config).expect("a valid configuration");
        check_wasm(&engine, &wasm, &Plan { seed: 0, runs: 1, mutant: None }, None)
    });
    let found = on_large_stack.expect("memory for a stack").join().expect("no panic");
    let message = found.expect_err("the plain module has no frames to overflow");
    assert!(message.ends_with("it traps with Some(\"frames overflow\") instead of None"), "{message}");
}

/// A heap point whose operands need no saving costs the call, one test and no memory.
#[test]
fn a_point_is_cheap() {
    let output = pass("(memory 1) (func (param i32) (result i32) local.get 0 call $y i32.load)").unwrap();
    assert_eq!(output.frames.len(), 1);
    // The local and the site.
    assert_eq!((output.frames[0].size, &output.frames[0].dead), (8, &vec![]));
    let instructions: Vec<String> = wasmparser::Parser::new(0)
        .parse_all(&output.wasm)
        .find_map(|p| match p.unwrap() {
            wasmparser::Payload::CodeSectionEntry(body) => Some(body.get_operators_reader().unwrap()),
            _ => None,
        })
        .unwrap()
        .into_iter()
        .map(|o| format!("{:?}", o.unwrap()).split(' ').next().unwrap().to_string())
        .collect();
    let point = instructions.iter().position(|i| i == "Call").unwrap();
    let found = instructions[point..point + 12].join(" ");
    assert_eq!(
        found,
        "Call LocalSet Drop I32Const LocalSet LocalGet BrIf End I32Const LocalSet LocalGet I32Load"
    );
}
