//! What is refused, in the words that the user reads.

use coyote_instrumenter::{Error, Options, dump, instrument};

fn refusal(text: &str) -> String {
    refusal_with(text, &Options::default())
}

fn refusal_with(text: &str, options: &Options) -> String {
    let wasm = wat::parse_str(text).unwrap();
    instrument(&wasm, options).expect_err("it should be refused").to_string()
}

#[test]
fn bytes_that_are_no_core_module() {
    let cases: [(&[u8], &str); 3] = [
        (b"", r#"not a valid wasm module: it does not begin with "\0asm" (at offset 0x0)"#),
        (b"int main() {}", r#"not a valid wasm module: it does not begin with "\0asm" (at offset 0x0)"#),
        (b"\0asm\x01\0\0\0\x01\x05\x01", "not a valid wasm module: unexpected end-of-file (at offset 0xa)"),
    ];
    for (bytes, expected) in cases {
        assert_eq!(instrument(bytes, &Options::default()).unwrap_err().to_string(), expected);
    }
    assert_eq!(
        refusal("(component)"),
        "this is a component, not a core module; instrument the core module it was made from"
    );
}

#[test]
fn invalid_code() {
    let wasm = wat::parse_str("(module (func (result i32) i64.const 0))").unwrap();
    let error = instrument(&wasm, &Options::default()).unwrap_err();
    assert!(matches!(error, Error::Invalid { offset: 0x1a, .. }), "{error}");
    assert_eq!(
        error.to_string(),
        "not a valid wasm module: type mismatch: expected i32, found i64 (at offset 0x1a)"
    );
}

#[test]
fn instrumented_modules() {
    let wasm = wat::parse_str("(module (memory 1))").unwrap();
    let once = instrument(&wasm, &Options::default()).unwrap().wasm;
    assert_eq!(
        instrument(&once, &Options::default()).unwrap_err().to_string(),
        "the module is already instrumented; give the original module instead"
    );
    assert_eq!(
        refusal(r#"(module (import "coyote_rt" "tick" (func (param i32))))"#),
        "the module is already instrumented; give the original module instead"
    );
}

#[test]
fn memories_and_tables() {
    let cases = [
        ("(module (memory i64 1))", "a 64-bit memory is not supported: build for wasm32"),
        ("(module (table i64 1 funcref))", "64-bit tables are not supported: build for wasm32"),
        (
            "(module (memory 1) (memory 1))",
            "more than one memory is not supported: link the module into one memory",
        ),
        (
            r#"(module (import "js" "memory" (memory 1)))"#,
            "the imported memory `js.memory` is not supported: define it in the module or import it as \
             `env.memory`",
        ),
        (
            r#"(module (import "env" "count" (global (mut i32))))"#,
            "the imported global `env.count` is not supported: define it in the module",
        ),
        (
            r#"(module (import "env" "table" (table 1 funcref)))"#,
            "the imported table `env.table` is not supported: define it in the module",
        ),
        (
            r#"(module (func (export "__cy_run")))"#,
            "export `__cy_run`: names that begin with `__cy_` are the tool's: rename it",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refusal(text), format!("{expected}; this is no verdict on the guest"));
    }
}

#[test]
fn imports() {
    let cases = [
        (
            r#"(module (import "env" "puts" (func)))"#,
            "import `env.puts` is neither coyote's nor WASI's: provide it, remove it, or declare it with \
             --stub MODULE.NAME (a call is a bug) or --stub MODULE.NAME=ANSWER",
        ),
        (
            r#"(module (import "env" "puts" (func)) (import "env" "gets" (func)))"#,
            "imports `env.puts`, `env.gets` are neither coyote's nor WASI's: provide them, remove them, \
             or declare each with --stub MODULE.NAME (a call is a bug) or --stub MODULE.NAME=ANSWER",
        ),
        (
            r#"(module (import "coyote" "mutex_lok" (func (param i32))))"#,
            "import `coyote.mutex_lok` does not exist; there is `mutex_lock`",
        ),
        (
            r#"(module (import "coyote" "mutex_lock" (func (param i64))))"#,
            "import `coyote.mutex_lock` has type (i64) -> (), but must have type (i32, i64) -> (i32)",
        ),
        (
            r#"(module (import "wasi" "thread-spawn" (func (param i32))))"#,
            "import `wasi.thread-spawn` has type (i32) -> (), but must have type (i32) -> (i32)",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refusal(text), expected);
    }
}

#[test]
fn entries_have_the_type_that_the_host_calls() {
    assert_eq!(
        refusal(r#"(module (func (export "coyote.test.a") (param i32)))"#),
        "export `coyote.test.a` has type (i32) -> (), but must have type () -> (); this is no verdict on \
         the guest"
    );
}

#[test]
fn workers_need_a_stack_pointer() {
    let module = |name: &str, more: &str| {
        format!(
            r#"(module
                (import "coyote" "spawn" (func (param i32 i32 i32 i32) (result i32)))
                (global {name} (mut i32) (i32.const 4096))
                (func $f
                  (global.set 0 (i32.sub (global.get 0) (i32.const 16)))
                  (global.set 0 (i32.add (global.get 0) (i32.const 16))))
                {more})"#
        )
    };
    assert_eq!(
        refusal(&module("", "")),
        "the module starts workers, but it cannot be told which global is its stack pointer: link with \
         `-Wl,--export=__stack_pointer` (Rust: `-C link-arg=--export=__stack_pointer`) or keep the name \
         section; this is no verdict on the guest"
    );
    let pointers = |text: &str| {
        let wasm = wat::parse_str(text).unwrap();
        let globals = instrument(&wasm, &Options::default()).unwrap().table.worker_globals;
        globals.into_iter().filter(|g| g.stack_pointer).map(|g| (g.name, g.initial)).collect::<Vec<_>>()
    };
    let named = [("__stack_pointer".to_string(), 4096)];
    assert_eq!(pointers(&module("$__stack_pointer", "")), named);
    assert_eq!(pointers(&module("$sp", r#"(export "__stack_pointer" (global 0))"#)), named);
    // LLVM's linker makes it global 0.
    let by_convention = [("global[0]".to_string(), 4096)];
    assert_eq!(pointers(&module("", r#"(@producers (processed-by "clang" "19"))"#)), by_convention);
    assert_eq!(pointers(&module("", r#"(func (export "_start"))"#)), by_convention);
    // What is called otherwise is something else.
    assert_eq!(pointers(&module("$count", "")), []);
}

#[test]
fn legacy_exceptions() {
    // (func (try (do) (catch_all))), which the text format no longer has.
    let mut wasm = wat::parse_str("(module (func $f (block nop nop)))").unwrap();
    let code = wasm.windows(6).position(|w| w == [0x02, 0x40, 0x01, 0x01, 0x0b, 0x0b]).unwrap();
    wasm[code] = 0x06;
    wasm[code + 3] = 0x19;
    assert_eq!(
        instrument(&wasm, &Options::default()).unwrap_err().to_string(),
        "the legacy exception instructions (try, catch, rethrow) are not supported: build for those of today \
         (rustc: -C llvm-args=-wasm-use-legacy-eh=false, clang: -mllvm -wasm-use-legacy-eh=false), or translate \
         the module with `wasm-opt --translate-to-exnref` (in f, at offset 0x17); this is no verdict on the guest"
    );
}

/// Only the tags that LLVM imports can be made the module's own.
#[test]
fn imported_tags() {
    let refused = |import: &str| {
        let wasm = wat::parse_str(format!("(module (import {import}))")).unwrap();
        instrument(&wasm, &Options::default()).unwrap_err().to_string()
    };
    assert_eq!(
        refused("\"env\" \"other\" (tag (param i32))"),
        "the imported tag `env.other` is not supported: define it in the module; this is no verdict on the guest"
    );
    assert_eq!(
        refused("\"env\" \"__cpp_exception\" (tag (param i64))"),
        "import `env.__cpp_exception` has type (i64) -> (), but must have type (i32) -> ()"
    );
}

#[test]
fn patterns_and_names() {
    let options = Options { atomic_fns: vec!["a[b".into()], ..Options::default() };
    assert_eq!(
        refusal_with("(module)", &options),
        "`a[b` is not a pattern for function names: unclosed character class; missing ']'"
    );
    let wasm = wat::parse_str("(module (func $push) (func $pop))").unwrap();
    assert_eq!(
        dump(&wasm, &Options::default(), "psh").unwrap_err().to_string(),
        "no function is called `psh`; there is `push`"
    );
    assert_eq!(
        dump(&wasm, &Options::default(), "elsewhere").unwrap_err().to_string(),
        "no function is called `elsewhere`"
    );
}
