//! WASI's clocks, polls, randomness and sockets, as wasm sees them.

use super::guest::{self, settings};
use super::process;
use coyote_wasm::outcome::Outcome;
use coyote_wasm::strategies::{Iteration, RandomWalk};

/// A test's body between imports and helpers. `(call $is A B)` traps unless its 64-bit arguments are equal.
fn run(data: &str, body: &str) -> Outcome {
    let text = format!(
        r#"(module
          (import "wasi_snapshot_preview1" "clock_time_get" (func $time (param i32 i64 i32) (result i32)))
          (import "wasi_snapshot_preview1" "clock_res_get" (func $res (param i32 i32) (result i32)))
          (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
          (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
          (import "wasi_snapshot_preview1" "proc_raise" (func $raise (param i32) (result i32)))
          (memory (export "memory") 1)
          {data}
          (func $is (param i64 i64) (if (i64.ne (local.get 0) (local.get 1)) (then unreachable)))
          (func $ok (param i32 i32) (call $is (i64.extend_i32_u (local.get 0)) (i64.extend_i32_u (local.get 1))))
          (func $now (param i32) (result i64)
            (call $ok (call $time (local.get 0) (i64.const 0) (i32.const 8)) (i32.const 0))
            (i64.load (i32.const 8)))
          (func $least (param i64 i64) (if (i64.lt_u (local.get 0) (local.get 1)) (then unreachable)))
          (func (export "coyote.test.t") {body}))"#
    );
    guest::with(&guest::from_text(&text), "t", &settings(), |execution| {
        execution.run(Box::new(RandomWalk::default()), Iteration { seed: 0, index: 0 }).unwrap().0
    })
}

fn passes(data: &str, body: &str) {
    assert_eq!(run(data, body), Outcome::Passed, "{body}");
}

const YEAR_2000_NS: u64 = 946_684_800_000_000_000;

#[test]
fn clocks_differ_by_a_constant() {
    let body = format!(
        "(call $is (call $now (i32.const 1)) (i64.const 0))
         (call $least (call $now (i32.const 0)) (i64.const {YEAR_2000_NS}))
         (call $least (i64.const {}) (call $now (i32.const 0)))
         (call $least (i64.const 1000000000) (call $now (i32.const 2)))
         (call $least (i64.const 1000000000) (call $now (i32.const 3)))
         (call $ok (call $time (i32.const 4) (i64.const 0) (i32.const 8)) (i32.const 28))
         (call $ok (call $res (i32.const 4) (i32.const 8)) (i32.const 28))
         (call $ok (call $res (i32.const 0) (i32.const 8)) (i32.const 0))
         (call $is (i64.load (i32.const 8)) (i64.const 1000))
         (call $ok (call $raise (i32.const 1)) (i32.const 58))",
        YEAR_2000_NS + 1_000_000_000
    );
    passes("", &body);
}

/// A subscription at an address: to a clock, or with another tag to a descriptor.
fn subscription(at: u32, userdata: u64, tag: u8, id: u32, timeout: u64, flags: u16) -> String {
    let mut bytes = [0; 48];
    bytes[..8].copy_from_slice(&userdata.to_le_bytes());
    bytes[8] = tag;
    bytes[16..20].copy_from_slice(&id.to_le_bytes());
    bytes[24..32].copy_from_slice(&timeout.to_le_bytes());
    bytes[40..42].copy_from_slice(&flags.to_le_bytes());
    let text: String = bytes.iter().map(|b| format!("\\{b:02x}")).collect();
    format!("(data (i32.const {at}) \"{text}\")")
}

#[test]
fn polls_wait_for_clocks_alone() {
    const SECONDS_5: u64 = 5_000_000_000;
    let data = [
        subscription(0x100, 1, 0, 0, YEAR_2000_NS + SECONDS_5, 1),
        subscription(0x130, 2, 1, 0, 0, 0),
        subscription(0x160, 3, 2, 77, 0, 0),
        subscription(0x200, 4, 0, 1, 2 * SECONDS_5, 1),
        subscription(0x300, 5, 0, 9, 1, 0),
        subscription(0x400, 6, 0, 1, 1, 2),
        subscription(0x500, 7, 3, 1, 1, 0),
    ]
    .concat();
    let poll = |from: u32, count: u32| {
        format!("(call $poll (i32.const {from}) (i32.const 0x800) (i32.const {count}) (i32.const 0x20))")
    };
    let body = [
        // Descriptors first: standard input is at its end, and 77 is not open.
        format!(
            "(call $ok {} (i32.const 0)) (call $ok (i32.load (i32.const 0x20)) (i32.const 2))",
            poll(0x100, 3)
        ),
        "(call $is (i64.load (i32.const 0x800)) (i64.const 2))
         (call $ok (i32.load (i32.const 0x808)) (i32.const 0x10000))
         (call $is (i64.load (i32.const 0x810)) (i64.const 0))
         (call $ok (i32.load16_u (i32.const 0x818)) (i32.const 1))
         (call $is (i64.load (i32.const 0x820)) (i64.const 3))
         (call $ok (i32.load (i32.const 0x828)) (i32.const 0x20008))"
            .into(),
        // Points in time, of both clocks.
        format!(
            "(call $ok {} (i32.const 0)) (call $ok (i32.load (i32.const 0x20)) (i32.const 1))",
            poll(0x100, 1)
        ),
        format!("(call $least (call $now (i32.const 1)) (i64.const {SECONDS_5}))"),
        "(call $least (i64.const 6000000000) (call $now (i32.const 1)))".into(),
        format!("(call $ok {} (i32.const 0))", poll(0x200, 1)),
        format!("(call $least (call $now (i32.const 1)) (i64.const {}))", 2 * SECONDS_5),
        // None, no such clock, flags, tag.
        [poll(0x100, 0), poll(0x300, 1), poll(0x400, 1), poll(0x500, 1)]
            .map(|poll| format!("(call $ok {poll} (i32.const 28))"))
            .concat(),
    ]
    .concat();
    passes(&data, &body);
}

#[test]
fn bad_addresses_are_bugs_that_name_the_call() {
    let data = subscription(0x100, 1, 0, 0, 1, 0);
    for (call, name) in [
        (
            "$time (i32.const 0) (i64.const 0) (i32.const 0x10000)",
            "clock_time_get is given an address outside",
        ),
        ("$time (i32.const 0) (i64.const 0) (i32.const 12)", "clock_time_get is given a misaligned"),
        ("$res (i32.const 0) (i32.const -8)", "clock_res_get is given an address outside"),
        ("$random (i32.const 0xffff) (i32.const 2)", "random_get is given an address outside"),
        (
            "$poll (i32.const 0x101) (i32.const 8) (i32.const 1) (i32.const 0)",
            "poll_oneoff is given a misaligned",
        ),
        (
            "$poll (i32.const 0x100) (i32.const 8) (i32.const -1) (i32.const 0)",
            "poll_oneoff is given an address",
        ),
        (
            "$poll (i32.const 0x100) (i32.const 0xfff0) (i32.const 1) (i32.const 0)",
            "poll_oneoff is given an address",
        ),
        (
            "$poll (i32.const 0x100) (i32.const 8) (i32.const 1) (i32.const 0xfffe)",
            "poll_oneoff is given a mis",
        ),
    ] {
        let Outcome::Bug(bug) = run(&data, &format!("(drop (call {call}))")) else { panic!("{call}") };
        assert!(bug.message().starts_with(name), "{}", bug.message());
    }
}

/// A program that calls a function of sockets without one continues, and the verdict mentions the call.
#[test]
fn what_is_no_socket_is_refused_with_a_note() {
    let text = r#"(module
      (import "wasi_snapshot_preview1" "sock_shutdown" (func $s (param i32 i32) (result i32)))
      (import "coyote" "choose_bool" (func $choose (result i32)))
      (memory (export "memory") 1)
      (func (export "coyote.test.t")
        call $choose drop
        i32.const 4 i32.const 1 call $s i32.const 8 i32.ne if unreachable end))"#;
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("s.wat"), text).unwrap();
    let ended = process::run(directory.path(), &["test", "s.wat", "-i", "10"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stdout.contains(
            "The guest called sock_shutdown with a descriptor that is no socket: --listen N makes one"
        ),
        "{ended:?}"
    );
}
