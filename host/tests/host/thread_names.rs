//! The name that Rust's standard library gives to a thread is its worker's name.

use super::guest::{self, settings};
use coyote_wasm::strategies::{Iteration, RandomWalk, WorkerId};

/// Starts three threads as std does: with a name, without one, and again with one. In between it makes a
/// handle for a thread that is never started.
const PROGRAM: &str = r#"(module
  (import "wasi" "thread-spawn" (func $spawn (param i32) (result i32)))
  (import "env" "memory" (memory 1 1 shared))
  (data (i32.const 8) "\06\00\00\00\20\00\00\00\06\00\00\00")
  (data (i32.const 20) "\00\00\00\80\20\00\00\00\06\00\00\00")
  (data (i32.const 32) "reader")
  (func $_RNvMs_NtNtCs1cbpOjQgv0Q_3std6thread6threadNtB4_6Thread3new (param i64 i32) (result i32)
    (local.get 1))
  (func $start (param i32)
    (drop (call $_RNvMs_NtNtCs1cbpOjQgv0Q_3std6thread6threadNtB4_6Thread3new (i64.const 1) (local.get 0)))
    (drop (call $spawn (i32.const 0))))
  (func (export "wasi_thread_start") (param i32 i32))
  (func (export "_start")
    (call $start (i32.const 8))
    (drop (call $_RNvMs_NtNtCs1cbpOjQgv0Q_3std6thread6threadNtB4_6Thread3new (i64.const 1) (i32.const 8)))
    (call $start (i32.const 20))
    (call $start (i32.const 8))
    (drop (call $spawn (i32.const 0)))))"#;

#[test]
fn they_are_in_titles() {
    let titles = guest::with(&guest::from_text(PROGRAM), "main", &settings(), |execution| {
        execution.run(Box::new(RandomWalk::default()), Iteration { seed: 0, index: 0 }).unwrap();
        let runtime = execution.runtime();
        (0..runtime.workers().len()).map(|id| runtime.title(WorkerId(id as u32))).collect::<Vec<_>>()
    });
    let expected = ["worker 0", "worker 0.0 (reader)", "worker 0.1", "worker 0.2 (reader)", "worker 0.3"];
    assert_eq!(titles, expected);
}
