//! What the pass refuses, with the place; and what a plain module must still be.

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
