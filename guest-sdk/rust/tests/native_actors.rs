//! Generated state machines as actors on threads of the operating system: what they do is what the naive way allows, as it is
//! when the same program is explored (`examples/expected.json`).
//!
//! The program chooses one machine, at random, and compares all that its actor does. So each machine is a process of its own:
//! this one again, with that test alone.

#[path = "../../../examples/rust/actors/src/generated.rs"]
mod generated;

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Machines of each test.
const MACHINES: u32 = 500;

fn do_what_is_allowed(test: &str) {
    let program = std::env::current_exe().expect("it runs");
    let begun = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while begun.fetch_add(1, Ordering::Relaxed) < MACHINES {
                    let mut command = Command::new(&program);
                    let ended = command.args([test, "--exact"]).env_remove("COYOTE_ROUNDS").output();
                    let ended = ended.expect("it can be started again");
                    let output = String::from_utf8_lossy(&ended.stdout).into_owned();
                    assert!(ended.status.success(), "{output}");
                    assert!(output.contains("1 passed"), "there is a test {test}: {output}");
                }
            });
        }
    });
}

#[test]
fn machines_do_what_is_allowed() {
    do_what_is_allowed("generated::generated_machine");
}

#[test]
fn machines_of_two_senders_do_what_is_allowed() {
    do_what_is_allowed("generated::generated_machine_of_two");
}
