//! Rust's tests that need features which the target does not have: no verdict, or a bug with a note.
//!
//! The crate is built here, without any dependency. If the target is not installed, these tests print a
//! message and pass.

use super::process;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const TARGET: &str = "wasm32-wasip1-threads";

const CODE: &str = r#"
    use std::panic::catch_unwind;
    use std::thread;
    fn is_caught(f: fn()) -> bool { catch_unwind(f).is_err() }
    #[test] fn catches() { assert!(is_caught(|| panic!("on purpose"))); }
    #[test] fn catches_in_a_thread() {
        thread::spawn(|| assert!(catch_unwind(|| panic!("on purpose")).is_err())).join().unwrap();
    }
    #[test] fn caught_and_wrong() { assert!(!is_caught(|| ())); panic!("after all"); }
    #[test] fn joins() { assert!(thread::spawn(|| panic!("on purpose")).join().is_err()); }
    #[test] fn finds_a_directory() { assert!(std::env::temp_dir().is_absolute()); }
    #[test] fn starts_a_process() { std::process::Command::new("true").status().unwrap(); }
    #[test] fn reads_a_variable() { std::env::var("NAME").unwrap(); }
    #[test] fn reads_a_file() { std::fs::read("/NAME").unwrap(); }
    #[test] fn aborts() { std::process::abort(); }
    #[test] fn is_wrong() { assert_eq!(1 + 1, 3); }
    #[test] fn starts_threads() {
        let threads: Vec<_> = (0..40).map(|_| thread::spawn(|| ())).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
    #[test] fn allocates() { std::hint::black_box(vec![1u8; 30 << 20]); }
    #[test] fn goes_on_without() {
        assert!(Vec::<u8>::new().try_reserve(30 << 20).is_ok(), "no room");
    }
    #[test] fn sleeps() {
        use std::{sync::atomic::{AtomicBool, Ordering::SeqCst}, time::Duration};
        static DONE: AtomicBool = AtomicBool::new(false);
        let thread = thread::spawn(|| { thread::sleep(Duration::from_millis(10)); DONE.store(true, SeqCst); });
        thread::sleep(Duration::from_millis(100));
        assert!(DONE.load(SeqCst), "the other sleeps a tenth of it");
        thread.join().unwrap();
    }
"#;

/// The test binaries, as `cargo test` and as `cargo coyote test` build them: not optimised, and slightly
/// optimised.
fn binary(level: usize) -> Option<&'static PathBuf> {
    static BINARIES: [OnceLock<Option<PathBuf>>; 2] = [OnceLock::new(), OnceLock::new()];
    let build = || {
        let libraries = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
        let libraries = String::from_utf8(libraries.ok()?.stdout).ok()?;
        if !Path::new(libraries.trim()).is_dir() {
            println!("skipped: rustup target add {TARGET}");
            return None;
        }
        let at = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("rust_limits_{level}"));
        std::fs::create_dir_all(&at).unwrap();
        let (source, module) = (at.join("limits.rs"), at.join("limits.wasm"));
        std::fs::write(&source, CODE).unwrap();
        let built = Command::new("rustc")
            .args(["--test", "--edition", "2021", "-C", "debuginfo=1", "--target", TARGET])
            .args(["-C", &format!("opt-level={level}"), "-o"])
            .args([&module, &source])
            .output()
            .expect("rustc starts");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        Some(module)
    };
    BINARIES[level].get_or_init(build).as_ref()
}

/// Explores a test of the crate, and replays its trace, if it has one.
fn run(level: usize, name: &str, more: &[&str]) -> Option<process::Ended> {
    let module = binary(level)?.to_str().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let arguments = [&["test", module, "--exact", name, "--seed", "0", "-i", "200"], more].concat();
    let ended = process::run(directory.path(), &arguments);
    if let Some(trace) = ended.stdout.lines().find_map(|line| line.strip_prefix("  trace:  ")) {
        let replayed = process::run(directory.path(), &["replay", module, trace]);
        assert_eq!(replayed.code, ended.code, "{replayed:?}");
        replayed.line(". Reproduced: ");
    }
    Some(ended)
}

/// A caught panic or a missing feature of the target is not the program's mistake.
#[test]
fn limits_have_no_verdict() {
    for level in [0, 1] {
        for (test, said) in [
            ("catches", "the program catches this panic, which ends it where panics abort: on purpose ("),
            (
                "catches_in_a_thread",
                "the program catches this panic, which ends it where panics abort: on purpose (",
            ),
            ("finds_a_directory", "std::env::temp_dir() is not there on this target"),
            ("starts_a_process", "this target has no processes, sockets and the like"),
        ] {
            let Some(ended) = run(level, test, &[]) else { return };
            assert_eq!(ended.code, Some(7), "{test}: {ended:?}");
            assert!(ended.line(&format!("no verdict on test {test}: ")).contains(said), "{test}: {ended:?}");
            assert!(ended.stdout.contains("0 passed; 0 failed; 0 ignored"), "{test}: {ended:?}");
        }
    }
}

/// A program that needs more memory than it was given is not wrong; one that continues without it may be.
#[test]
fn memory_that_was_refused() {
    for level in [0, 1] {
        let little = ["--max-memory", "20"];
        for test in ["starts_threads", "allocates"] {
            let Some(ended) = run(level, test, &little) else { return };
            assert_eq!(ended.code, Some(7), "{test}: {ended:?}");
            let said =
                "the program needs more than 20 MiB of memory, which it was refused: raise --max-memory";
            assert!(ended.line(&format!("no verdict on test {test}: ")).contains(said), "{test}: {ended:?}");
            assert_eq!(run(level, test, &[]).unwrap().code, Some(0), "{test}");
        }
        // An injected fault is not such a limit.
        let faulty = run(level, "starts_threads", &["--faults", "thread=1", "-s", "dfs"]).unwrap();
        assert_eq!(faulty.code, Some(2), "{faulty:?}");
        let ended = run(level, "goes_on_without", &little).unwrap();
        assert_eq!(ended.code, Some(2), "{ended:?}");
        ended.line("  note: the program was refused memory before: ");
    }
}

/// A possible mistake of the program stays a bug, with a note if it may be none.
#[test]
fn bugs_stay_bugs() {
    for level in [0, 1] {
        for (test, kind, note) in [
            ("caught_and_wrong", "panic: after all (", None),
            ("is_wrong", "panic: assertion `left == right` failed", None),
            (
                "joins",
                "panic: on purpose (",
                Some("where panics unwind, this one would end worker 0.0 alone"),
            ),
            ("reads_a_variable", "panic: ", Some("no environment variables but those given with --env")),
            ("reads_a_file", "panic: ", Some("no files but those given with --preload")),
            ("aborts", "trap: the guest aborted", Some("compilers put this trap after a call of abort")),
        ] {
            let Some(ended) = run(level, test, &[]) else { return };
            assert_eq!(ended.code, Some(2), "{test}: {ended:?}");
            assert!(ended.line("bug in test ").contains(kind), "{test}: {ended:?}");
            let notes: Vec<&str> = ended.stdout.lines().filter(|line| line.starts_with("  note: ")).collect();
            match note {
                Some(note) => assert!(notes.iter().any(|n| n.contains(note)), "{test}: {ended:?}"),
                None => assert_eq!(notes, [""; 0], "{test}: {ended:?}"),
            }
        }
        let with = run(level, "reads_a_variable", &["--env", "NAME=1"]);
        assert!(with.is_none_or(|ended| ended.code == Some(0)));
    }
}

/// Tests order threads by sleeping; a user can say that this must not be relied on.
#[test]
fn sleeps_are_in_order_under_cargo() {
    for level in [0, 1] {
        let Some(ordered) = run(level, "sleeps", &[]) else { return };
        assert_eq!(ordered.code, Some(0), "{ordered:?}");
        let any = run(level, "sleeps", &["--timers", "any"]).unwrap();
        assert_eq!(any.code, Some(2), "{any:?}");
        assert!(any.line("  note: a timeout of").contains("--timers ordered rules that out"), "{any:?}");
    }
}
