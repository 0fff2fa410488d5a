//! The debugger: forwards and backwards to equal states; the writers of memory; sessions word for word.

use super::examples::{artifact, module_path};
use super::guest::{find, root};
use super::{golden, guest, process};
use coyote_wasm::artifact::Artifact;
use coyote_wasm::debug::Debugger;
use coyote_wasm::debug::motion::{Direction, Stop};
use coyote_wasm::engine_thread::on_engine_thread;
use coyote_wasm::execution::{Execution, Settings};
use coyote_wasm::outcome::Outcome;
use coyote_wasm::record::{self, Origin};
use coyote_wasm::replay::replay;
use coyote_wasm::strategies::rng::ChoiceRng;
use coyote_wasm::strategies::sample::follow::Follow;
use coyote_wasm::strategies::{Decision, Iteration, RandomWalk, Status, Strategy, System};
use coyote_wasm::trace::Trace;
use std::path::Path;
use std::sync::Arc;

/// Different kinds of bugs and objects; `table_mutation` cannot be saved during a run, `std_threads` builds
/// locks from futexes.
const TESTS: [(&str, &str); 10] = [
    ("racy_counter", "racy"),
    ("bounded_buffer", "minimal"),
    ("bounded_buffer", "random_config"),
    ("account", "overdraft"),
    ("dining_philosophers", "left_first"),
    ("sct_queue", "queue"),
    ("std_threads", "main"),
    ("lost_wakeup", "lost"),
    ("table_mutation", "changes"),
    ("files", "counter"),
];

/// A trace of a test: of a bug, if the random walk finds one within this many iterations.
pub fn trace_of(artifact: &Arc<Artifact>, test: &str, seed: u64) -> Trace {
    guest::with(artifact, test, &settings(), |execution| {
        let mut walk: Box<dyn Strategy> = Box::new(RandomWalk::default());
        let mut index = 0;
        loop {
            let (outcome, used) = execution.run(walk, Iteration { seed, index }).unwrap();
            walk = used;
            if outcome.is_bug() || index == 50 {
                let options = record::bounds(execution);
                let origin = Origin { strategy: "random".into(), seed, iteration: index, options };
                return record::trace(execution, &outcome, origin);
            }
            index += 1;
        }
    })
}

fn settings() -> Settings {
    let mut settings = guest::settings();
    settings.limits.fair_steps_max = 2_000;
    settings
}

/// The only test of a module whose name begins like this; modules name them differently.
fn test_name(artifact: &Artifact, start: &str) -> String {
    let all = coyote_wasm::execution::Test::all(&artifact.table);
    let named =
        all.iter().find(|test| test.name == start).or(all.iter().find(|test| test.name.starts_with(start)));
    named.or(all.first()).expect("a module has a test").name.clone()
}

fn debugger(artifact: &Arc<Artifact>, module: &str, trace: &Trace) -> Debugger {
    let test = find(artifact, &trace.header.test);
    Debugger::new(artifact, &module_path(module), &test, &settings(), trace, false).unwrap()
}

/// The states of a trace, executed from its beginning to its end without any snapshot, as a naive comparison.
fn states(artifact: &Arc<Artifact>, trace: &Trace) -> Vec<u128> {
    guest::with(artifact, &trace.header.test, &settings(), |execution: &mut Execution| {
        replay(execution, trace, false).unwrap();
        let path: Vec<Decision> = execution.choices().iter().map(|choice| Decision::from(*choice)).collect();
        let mut states = Vec::new();
        execution.begin().unwrap();
        states.push(execution.fingerprint());
        let mut each = |execution: &mut Execution| {
            if !matches!(execution.status(), Status::Choosing { .. }) {
                states.push(execution.fingerprint());
            }
        };
        execution
            .run_stepwise(&mut Follow::new(path, true), Iteration { seed: 0, index: 0 }, &mut each)
            .unwrap();
        states
    })
}

/// On every path to a position, the state is the same as after executing forwards to it.
#[test]
fn each_way_to_a_position_leads_to_the_same_state() {
    let mut visited = 0;
    for (module, test) in TESTS {
        let artifact = artifact(module);
        let test = test_name(&artifact, test);
        for seed in 0..20 {
            let trace = trace_of(&artifact, &test, seed);
            let expected = states(&artifact, &trace);
            visited += on_engine_thread(|| {
                let mut debugger = debugger(&artifact, module, &trace);
                let end = debugger.end();
                // If a schedule was abandoned, the last entry is the end.
                assert!(
                    expected.len() > end,
                    "{module} {test} {seed}: {} states, {end} steps",
                    expected.len()
                );
                let mut rng = ChoiceRng::new(Iteration { seed, index: 0 });
                for round in 0..60 {
                    match rng.below(6) {
                        0 => debugger.go_to(rng.below(end as u64 + 1) as usize).unwrap(),
                        1 => drop(debugger.step(Direction::Back, 1 + rng.below(5) as usize).unwrap()),
                        2 => drop(debugger.step(Direction::Forward, 1 + rng.below(5) as usize).unwrap()),
                        3 => drop(debugger.to_switch(Direction::Back).unwrap()),
                        4 => drop(debugger.to_switch(Direction::Forward).unwrap()),
                        _ => {
                            let worker = debugger.current();
                            let back = rng.below(2) == 0;
                            let direction = if back { Direction::Back } else { Direction::Forward };
                            drop(debugger.to_line(worker, false, direction).unwrap());
                        }
                    }
                    let at = debugger.position();
                    let state = debugger.fingerprint();
                    assert_eq!(
                        state, expected[at],
                        "{module} {test}, seed {seed}, round {round}, position {at}"
                    );
                }
                60
            });
        }
    }
    assert_eq!(visited, 10 * 20 * 60);
}

/// A watchpoint that goes back from the end stops at the last write of the variable, and then at the one
/// before. These are the writes that a naive comparison of all successive states finds.
#[test]
fn watchpoints_find_every_write_from_both_ends() {
    let mut found = 0;
    for (module, test, variable) in [("racy_counter", "racy", "x"), ("sct_account", "account", "balance")] {
        let artifact = artifact(module);
        for seed in 0..20 {
            let trace = trace_of(&artifact, test, seed);
            found += on_engine_thread(|| {
                let mut debugger = debugger(&artifact, module, &trace);
                let place = debugger.find(variable, None).unwrap();
                let mut writes = Vec::new();
                for position in 0..debugger.end() {
                    debugger.go_to(position).unwrap();
                    let before = debugger.show(&place);
                    let operates = debugger.schedule.steps[position].writes(place.address, place.bytes);
                    debugger.go_to(position + 1).unwrap();
                    if operates || debugger.show(&place) != before {
                        writes.push(position);
                    }
                }
                debugger.watch(variable, None).unwrap();
                let mut back = Vec::new();
                while let Stop::Changed(change) = debugger.run(Direction::Back).unwrap() {
                    assert_eq!(debugger.position(), change.position, "the write comes next");
                    back.push(change.position);
                }
                assert_eq!(debugger.position(), 0);
                let mut forward = Vec::new();
                while let Stop::Changed(change) = debugger.run(Direction::Forward).unwrap() {
                    assert_eq!(debugger.position(), change.position + 1, "the write was executed");
                    forward.push(change.position);
                }
                assert_eq!(debugger.position(), debugger.end());
                assert_eq!(forward, writes, "{module}, seed {seed}");
                back.reverse();
                assert_eq!(back, writes, "{module}, seed {seed}");
                writes.len()
            });
        }
    }
    assert!(found >= 40, "{found}");
}

/// Steps have the numbers of reports, and a breakpoint stops each worker that reaches its line.
#[test]
fn steps_and_breakpoints_are_those_of_the_schedule() {
    let artifact = artifact("racy_counter");
    for seed in 0..20 {
        let trace = trace_of(&artifact, "racy", seed);
        on_engine_thread(|| {
            let mut debugger = debugger(&artifact, "racy_counter", &trace);
            assert_eq!(debugger.reproduces, matches!(debugger.replayed.outcome, Outcome::Bug(_)));
            let steps = debugger.schedule.steps.iter().map(|step| step.number);
            assert!(steps.eq(1..=debugger.end() as u64), "no timeout fires in this test");
            // Both workers load and store at this line.
            let line = debugger.break_at_line("racy_counter.c", 14).unwrap().positions.clone();
            assert_eq!(line.len(), 4);
            let entered = debugger.break_at_function("add").unwrap().positions.len();
            assert_eq!(entered, 2);
            let mut stopped = Vec::new();
            while let Stop::Breakpoint(_) = debugger.run(Direction::Forward).unwrap() {
                stopped.push(debugger.position());
            }
            assert_eq!(stopped, line);
            let mut back = Vec::new();
            while let Stop::Breakpoint(_) = debugger.run(Direction::Back).unwrap() {
                back.push(debugger.position());
            }
            back.reverse();
            assert_eq!(back, line);
            let refused = debugger.break_at_line("racy_counter.c", 15).unwrap_err();
            assert!(refused.contains("it does at line 14 before it"), "{refused}");
            assert!(debugger.break_at_line("nothing.c", 1).is_err());
        });
    }
}

/// A debugger session for the bug that a run with this seed finds.
fn session(module: &str, test: &str, commands: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = module_path(module);
    let path = path.to_str().unwrap();
    let found = process::run(
        directory.path(),
        &["test", path, "--test", test, "--races", "off", "--seed", "1", "-j", "1"],
    );
    assert_eq!(found.code, Some(2), "{found:?}");
    let trace = std::fs::read_dir(directory.path().join("coyote-output")).unwrap();
    let mut traces =
        trace.map(|entry| entry.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "trace"));
    let trace = traces.next().expect("the bug has a trace");
    std::fs::rename(trace, directory.path().join("bug.trace")).unwrap();
    std::fs::write(directory.path().join("commands"), commands).unwrap();
    let ended = process::run(directory.path(), &["replay", path, "bug.trace", "--commands", "commands"]);
    golden::text(&ended).replace(&format!("{}/", root().display()), "")
}

/// Finds the store that corrupted a counter: the write of a value that it already had.
#[test]
fn the_store_that_corrupted_a_counter_is_found_backwards() {
    let commands = "# from the end\n\ngoto end\nwatch x\nrcontinue\nlist 4\nstack\nsource\nprint x\n\
                    rcontinue\nrcontinue\nrcontinue\n";
    let text = session("racy_counter", "racy", commands);
    assert!(text.contains("which was there already") || text.contains("changes x"), "{text}");
    golden::check("debug_racy_counter", &text);
}

#[test]
fn a_deadlock_is_looked_into() {
    let commands = "goto end\nworkers\nlocks\nstack all\nrswitch\nlist\nback 3\nworker reader 1\nstack\nswitch\n\
                    break take\npoints\ncontinue\ncontinue\nrcontinue\nnext\nprevious\nfinish\nbug\nglobals\nquit\nstep\n";
    golden::check("debug_bounded_buffer", &session("bounded_buffer", "minimal", commands));
}

#[test]
fn data_structures_are_shown() {
    let commands = "globals\ngoto end\nglobals\nprint lock\nmemory 0x10000 32\nmemory x 4\nprint 0x10000:4\nprint 0x10000\n\
                    print *x\nprint x.y\nprint x[0]\nprint 0xfffffff0:4\nmemory 0xfffffff0\n";
    golden::check("debug_sct_account", &session("sct_account", "account", commands));
}

/// Every mistake is answered in one line, and none ends the session.
#[test]
fn mistakes_are_answered() {
    let commands = "nothing\nstep 0\nstep x\nback -1\ngoto\ngoto 99999\nbreak\nbreak racy_counter.c:15\n\
                    break other.c:1\nbreak nowhere\nwatch nowhere\nwatch 0xfffffff0:4\nwatch 0xz\ndelete 7\nlist x\n\
                    worker 9\nworker\nstack 9\nsource nowhere\nsource nowhere.c:1\nprint\nmemory\nmemory x y\n\
                    globals nowhere\npoints\nhelp nothing\nhelp step\nworkers please\nlocks\nwhere\n";
    golden::check("debug_mistakes", &session("racy_counter", "racy", commands));
}

#[test]
fn options_that_contradict_a_session_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        process::run(directory.path(), &[&["replay", "a.wasm", "b.trace"], arguments].concat())
    };
    for other in [
        &["--interactive", "--page", "x"][..],
        &["--interactive", "--commands", "x"],
        &["--commands", "x", "-v"],
    ] {
        let ended = run(other);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.starts_with("error: the argument"), "{ended:?}");
    }
    let module = module_path("racy_counter");
    let missing = process::run(directory.path(), &["replay", module.to_str().unwrap()]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.stderr.ends_with("is no bundle: give a module and a trace\n"), "{missing:?}");
    assert!(!Path::new("racy_counter.trace").exists());
}
