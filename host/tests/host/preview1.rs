//! The functions of WASI preview 1 as `docs/guests.md` lists them: all exist, and differences from wasmtime
//! are as documented. (`host/src/machine/wasi/differential.rs` compares the others.)

use super::guest::{self, settings};
use coyote_abi::Type;
use coyote_abi::file::CALLS;
use coyote_wasm::execution::Settings;
use coyote_wasm::outcome::Outcome;
use coyote_wasm::preview1;
use coyote_wasm::strategies::{Iteration, RandomWalk};
use coyote_wasm::world::World;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

/// Functions without descriptors or paths, with their types.
const OTHERS: &[(&str, &str)] = &[
    ("args_get", "(param i32 i32) (result i32)"),
    ("args_sizes_get", "(param i32 i32) (result i32)"),
    ("clock_res_get", "(param i32 i32) (result i32)"),
    ("clock_time_get", "(param i32 i64 i32) (result i32)"),
    ("environ_get", "(param i32 i32) (result i32)"),
    ("environ_sizes_get", "(param i32 i32) (result i32)"),
    ("poll_oneoff", "(param i32 i32 i32 i32) (result i32)"),
    ("proc_exit", "(param i32)"),
    ("proc_raise", "(param i32) (result i32)"),
    ("random_get", "(param i32 i32) (result i32)"),
    ("sched_yield", "(result i32)"),
];

/// A module that imports all of them. `(call $is A B)` traps unless its arguments are equal.
fn module(more: &str, body: &str) -> String {
    let mut text = String::from(
        "(module (import \"coyote\" \"spawn\" (func $spawn (param i32 i32 i32 i32) (result i32)))
           (import \"coyote\" \"join\" (func $join (param i32)))\n",
    );
    let types = |name| CALLS.iter().find(|c| c.name == name).unwrap().types();
    let of_call = |name| {
        let params: String = types(name).map(|t| if t == Type::I32 { " i32" } else { " i64" }).collect();
        format!("(param{params}) (result i32)")
    };
    let calls = CALLS.iter().map(|call| (call.name, of_call(call.name)));
    for (name, ty) in calls.chain(OTHERS.iter().map(|(name, ty)| (*name, ty.to_string()))) {
        writeln!(text, "(import \"wasi_snapshot_preview1\" \"{name}\" (func ${name} {ty}))").unwrap();
    }
    text + &format!(
        "(memory (export \"memory\") 1)
         (func $is (param i32 i32) (if (i32.ne (local.get 0) (local.get 1)) (then unreachable)))
         {more}
         (func (export \"coyote.test.t\") {body}))"
    )
}

/// The outcome of an iteration, and its standard output.
fn run_with(settings: &Settings, text: &str, index: u64) -> (Outcome, Vec<u8>) {
    guest::with(&guest::from_text(text), "t", settings, |execution| {
        let walk = Box::new(RandomWalk::default());
        let outcome = execution.run(walk, Iteration { seed: 0, index }).unwrap().0;
        let output = execution.runtime().output.iter().flat_map(|o| o.text.clone()).collect();
        (outcome, output)
    })
}

fn passes(more: &str, body: &str) {
    let outcome = run_with(&settings(), &module(more, body), 0).0;
    assert_eq!(outcome, Outcome::Passed, "{body}");
}

#[test]
fn the_page_lists_what_there_is() {
    let path = guest::root().join("docs/support.json");
    let support: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let sections = support["sections"].as_array().unwrap();
    let section = sections.iter().find(|s| s["title"] == "WASI preview 1").expect("there is the section");
    let rows = section["rows"].as_array().unwrap();
    let listed: Vec<&str> = rows
        .iter()
        .flat_map(|row| row["what"].as_str().unwrap().split(", "))
        .map(|name| name.strip_prefix('`').and_then(|name| name.strip_suffix('`')).expect("a name in `..`"))
        .collect();
    let set: BTreeSet<&str> = listed.iter().copied().collect();
    assert_eq!(set.len(), listed.len(), "a function stands there twice");
    assert_eq!(set, preview1::functions().collect());
    assert_eq!(set, CALLS.iter().map(|c| c.name).chain(OTHERS.iter().map(|(name, _)| *name)).collect());
    // They can all be imported.
    passes("", "nop");
}

#[test]
fn arguments_and_environment_are_handed_out() {
    let settings = settings();
    let world = World {
        arguments: vec!["p".into(), "a b".into()],
        environment: vec!["N=1".into()],
        ..(*settings.world).clone()
    };
    let settings = Settings { world: Arc::new(world), ..settings };
    // Sizes at 0x10 and 0x14, pointers from 0x20 on, texts from 0x40 on.
    let list = |name: &str, count: u32, bytes: u32, last: u32| {
        format!(
            "(call $is (call ${name}_sizes_get (i32.const 0x10) (i32.const 0x14)) (i32.const 0))
             (call $is (i32.load (i32.const 0x10)) (i32.const {count}))
             (call $is (i32.load (i32.const 0x14)) (i32.const {bytes}))
             (call $is (call ${name}_get (i32.const 0x20) (i32.const 0x40)) (i32.const 0))
             (call $is (i32.load (i32.load (i32.const {}))) (i32.const {last}))",
            0x20 + 4 * (count - 1)
        )
    };
    let word = |text: &[u8; 4]| u32::from_le_bytes(*text);
    let body = list("args", 2, 6, word(b"a b\0")) + &list("environ", 1, 4, word(b"N=1\0"));
    assert_eq!(run_with(&settings, &module("", &body), 0).0, Outcome::Passed);
}

/// Two workers get different ones, which are the same in all schedules.
#[test]
fn random_numbers_do_not_depend_on_the_schedule() {
    let more = "(table 1 funcref) (elem (i32.const 0) $take)
        (data (i32.const 0x10) \"\\00\\09\\00\\00\\10\\00\\00\\00\")
        (func $take (param i32)
          (call $is (call $random_get (local.get 0) (i32.const 4)) (i32.const 0))
          (call $is (call $random_get (i32.add (local.get 0) (i32.const 4)) (i32.const 4)) (i32.const 0)))";
    let spawn = |at: u32| format!("(call $spawn (i32.const 0) (i32.const {at}) (i32.const 0) (i32.const 0))");
    let body = format!(
        "(local i32 i32) (local.set 0 {}) (local.set 1 {}) (call $join (local.get 0)) (call $join (local.get 1))
         (call $is (call $fd_write (i32.const 1) (i32.const 0x10) (i32.const 1) (i32.const 0x20)) (i32.const 0))",
        spawn(0x900),
        spawn(0x908)
    );
    let text = module(more, &body);
    let mut seen = BTreeSet::new();
    for index in 0..20 {
        let (outcome, output) = run_with(&settings(), &text, index);
        assert_eq!(outcome, Outcome::Passed);
        let parts: BTreeSet<&[u8]> = output.chunks(4).collect();
        assert_eq!((output.len(), parts.len()), (16, 4), "{output:?}");
        seen.insert(output);
    }
    assert_eq!(seen.len(), 1, "{seen:?}");
}

#[test]
fn who_yields_lets_others_run() {
    let more = "(table 1 funcref) (elem (i32.const 0) $set)
        (func $set (param i32) (i32.store (i32.const 0x900) (i32.const 1)))";
    let body = "(drop (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
        (loop
          (call $is (call $sched_yield) (i32.const 0))
          (br_if 0 (i32.eqz (i32.load (i32.const 0x900)))))";
    passes(more, body);
}

/// The rows about single functions in the table of docs/wasi.md.
#[test]
fn functions_of_files_differ_as_documented() {
    // Lists of two buffers of one byte: to be written and to be read. Names.
    let more = r#"(data (i32.const 0x10) "\80\00\00\00\01\00\00\00\81\00\00\00\01\00\00\00")
        (data (i32.const 0x20) "\90\00\00\00\01\00\00\00\91\00\00\00\01\00\00\00")
        (data (i32.const 0x80) "xy")
        (data (i32.const 0xa0) "f/") (data (i32.const 0xa8) "d/") (data (i32.const 0xb0) "new/")
        (global $year i64 (i64.const 946684800000000000))
        (func $ok (param i32) (call $is (local.get 0) (i32.const 0)))
        (func $open (param $name i32) (param $oflags i32) (param $rights i64) (param $fdflags i32) (result i32)
          (call $ok (call $path_open (i32.const 3) (i32.const 0) (local.get $name) (i32.const 1)
            (local.get $oflags) (local.get $rights) (i64.const 0) (local.get $fdflags) (i32.const 0x40)))
          (i32.load (i32.const 0x40)))
        ;; A time is of the virtual clock: within a second of its beginning.
        (func $virtual (param i32)
          (call $is (i64.lt_u (i64.sub (i64.load (local.get 0)) (global.get $year)) (i64.const 1000000000))
            (i32.const 1)))"#;
    let parts = [
        // A file opened for synchronous writes, which wasmtime cannot open.
        "(local $f i32) (local $d i32) (local.set $f (call $open (i32.const 0xa0) (i32.const 1) (i64.const 0x42) (i32.const 16)))",
        // Extends the file, which wasmtime cannot do.
        "(call $ok (call $fd_allocate (local.get $f) (i64.const 0) (i64.const 100)))
         (call $ok (call $fd_filestat_get (local.get $f) (i32.const 0x100)))
         (call $is (i32.load offset=32 (i32.const 0x100)) (i32.const 100))",
        // Virtual times, a small inode; a directory's size.
        "(call $virtual (i32.const 0x128)) (call $virtual (i32.const 0x130)) (call $virtual (i32.const 0x138))
         (call $is (i64.lt_u (i64.load offset=8 (i32.const 0x100)) (i64.const 10)) (i32.const 1))
         (call $ok (call $path_create_directory (i32.const 3) (i32.const 0xa8) (i32.const 1)))
         (call $ok (call $path_filestat_get (i32.const 3) (i32.const 0) (i32.const 0xa8) (i32.const 1)
           (i32.const 0x100)))
         (call $is (i32.load offset=32 (i32.const 0x100)) (i32.const 4096))",
        // All buffers are used.
        "(call $ok (call $fd_write (local.get $f) (i32.const 0x10) (i32.const 2) (i32.const 0x40)))
         (call $is (i32.load (i32.const 0x40)) (i32.const 2))
         (call $ok (call $fd_pwrite (local.get $f) (i32.const 0x10) (i32.const 2) (i64.const 0) (i32.const 0x40)))
         (call $is (i32.load (i32.const 0x40)) (i32.const 2))
         (call $ok (call $fd_pread (local.get $f) (i32.const 0x20) (i32.const 2) (i64.const 0) (i32.const 0x40)))
         (call $is (i32.load (i32.const 0x40)) (i32.const 2))
         (call $is (i32.load16_u (i32.const 0x90)) (i32.load16_u (i32.const 0x80)))
         (call $ok (call $fd_read (local.get $f) (i32.const 0x20) (i32.const 2) (i32.const 0x40)))
         (call $is (i32.load (i32.const 0x40)) (i32.const 2))
         (call $ok (call $fd_pread (local.get $f) (i32.const 0x20) (i32.const 0) (i64.const 0) (i32.const 0x40)))
         (call $is (i32.load (i32.const 0x40)) (i32.const 0))",
        // The directory that the program was started with has times, and all rights for its contents.
        "(call $ok (call $fd_filestat_set_times (i32.const 3) (i64.const 1) (i64.const 1) (i32.const 5)))
         (call $ok (call $fd_fdstat_get (i32.const 3) (i32.const 0x100)))
         (call $is (i32.and (i32.load offset=16 (i32.const 0x100)) (i32.const 64)) (i32.const 64))",
        // The second entry of d is its parent: the root, by its inode.
        "(local.set $d (call $open (i32.const 0xa8) (i32.const 2) (i64.const 2) (i32.const 0)))
         (call $ok (call $fd_filestat_get (i32.const 3) (i32.const 0x100)))
         (call $ok (call $fd_readdir (local.get $d) (i32.const 0x200) (i32.const 0x100) (i64.const 0)
           (i32.const 0x40)))
         (call $is (i32.load16_u offset=49 (i32.const 0x200)) (i32.const 0x2e2e))
         (call $is (i32.load offset=33 (i32.const 0x200)) (i32.load offset=8 (i32.const 0x100)))",
        // A slash at the end means a directory, as on Linux: ENOTDIR, ENOENT.
        "(call $is (call $path_unlink_file (i32.const 3) (i32.const 0xa0) (i32.const 2)) (i32.const 54))
         (call $is (call $path_filestat_get (i32.const 3) (i32.const 0) (i32.const 0xa0) (i32.const 2)
           (i32.const 0x100)) (i32.const 54))
         (call $is (call $path_readlink (i32.const 3) (i32.const 0xa0) (i32.const 2) (i32.const 0x100)
           (i32.const 9) (i32.const 0x40)) (i32.const 54))
         (call $is (call $path_rename (i32.const 3) (i32.const 0xa0) (i32.const 1) (i32.const 3)
           (i32.const 0xb0) (i32.const 4)) (i32.const 54))
         (call $is (call $path_link (i32.const 3) (i32.const 0) (i32.const 0xa0) (i32.const 1) (i32.const 3)
           (i32.const 0xb0) (i32.const 4)) (i32.const 44))
         (call $is (call $path_symlink (i32.const 0xa0) (i32.const 1) (i32.const 3) (i32.const 0xb0)
           (i32.const 4)) (i32.const 44))
         (call $is (call $path_filestat_set_times (i32.const 3) (i32.const 0) (i32.const 0xa0) (i32.const 2)
           (i64.const 1) (i64.const 1) (i32.const 5)) (i32.const 54))
         (call $ok (call $path_remove_directory (i32.const 3) (i32.const 0xa8) (i32.const 2)))",
    ];
    passes(more, &parts.concat());
}
