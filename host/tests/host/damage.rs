//! Effects of the environment on a run: its output is not read, the disk is full, its cache is damaged, or
//! there is no time. None of them causes a panic or a wrong verdict.

use super::{guest, process};
use coyote_wasm::artifact::{Artifact, engine};
use coyote_wasm::cache::Cache;
use coyote_wasm::instrumenter::{Options, instrument};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

/// A directory with a guest that has a bug, and the path of a trace of the bug.
fn workplace() -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    fs::copy(guest::wat_file("racy.wat"), directory.path().join("racy.wat")).unwrap();
    let found = process::run(directory.path(), &["test", "racy.wat", "--seed", "0"]);
    assert_eq!(found.code, Some(2), "{found:?}");
    let trace = found.line("  trace:  ").trim_start_matches("  trace:  ").to_string();
    (directory, trace)
}

/// All commands that print, and their exit codes if the output is read.
fn printing(trace: &str) -> Vec<(Vec<&str>, i32)> {
    vec![
        (vec!["test", "racy.wat", "--seed", "0"], 2),
        (vec!["test", "racy.wat", "--seed", "0", "--verbose"], 2),
        (vec!["test", "racy.wat", "--seed", "0", "--format", "json"], 2),
        (vec!["test", "racy.wat", "-s", "dpor", "--seed", "0"], 2),
        (vec!["test", "racy.wat", "--list"], 0),
        (vec!["test", "--strategy", "list"], 0),
        (vec!["replay", "racy.wat", trace], 2),
        (vec!["replay", "racy.wat", trace, "--verbose"], 2),
        (vec!["doctor", "racy.wat"], 0),
        (vec!["doctor", "racy.wat", "--format", "json"], 0),
        (vec!["instrument", "racy.wat", "--explain"], 0),
        (vec!["--help"], 0),
        (vec!["test", "--help"], 0),
    ]
}

fn run_into(directory: &Path, arguments: &[&str], stdout: Stdio, stderr: Stdio) -> Output {
    process::command(&process::cache(), directory, arguments).stdout(stdout).stderr(stderr).output().unwrap()
}

/// A pipe whose reader is closed.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

/// As with `| head -1`: no message, the exit code is that of the verdict, and the trace is written.
#[test]
fn a_closed_pipe_is_a_clean_end() {
    let (directory, trace) = workplace();
    for (arguments, code) in printing(&trace) {
        let ended = run_into(directory.path(), &arguments, closed_pipe(), Stdio::piped());
        assert_eq!(ended.status.code(), Some(code), "{arguments:?}: {ended:?}");
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert!(!stderr.contains("error") && !stderr.contains("panicked"), "{arguments:?}: {stderr}");
        // It does not matter either whether errors and progress are read.
        let ended = run_into(directory.path(), &arguments, closed_pipe(), closed_pipe());
        assert_eq!(ended.status.code(), Some(code), "{arguments:?}: {ended:?}");
    }
    fs::remove_dir_all(directory.path().join("coyote-output")).unwrap();
    let ended =
        run_into(directory.path(), &["test", "racy.wat", "--seed", "0"], closed_pipe(), closed_pipe());
    assert_eq!(ended.status.code(), Some(2));
    assert!(directory.path().join(trace).exists());
    let ended = run_into(directory.path(), &["test", "nothing.wasm"], closed_pipe(), closed_pipe());
    assert_eq!(ended.status.code(), Some(1));
}

/// If the requested output cannot be written, the exit code is 1, with the reason, and found bugs are on
/// disk.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_with_its_reason() {
    let (directory, trace) = workplace();
    for (arguments, _) in printing(&trace) {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let ended = run_into(directory.path(), &arguments, full.into(), Stdio::piped());
        assert_eq!(ended.status.code(), Some(1), "{arguments:?}: {ended:?}");
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert!(!stderr.contains("panicked"), "{arguments:?}: {stderr}");
        let reason = "error: cannot write to standard output: No space left on device";
        assert!(stderr.contains(reason), "{arguments:?}: {stderr}");
    }
    assert!(directory.path().join(&trace).exists());
    // A search that found nothing reports that it cannot write its remaining work.
    let search = ["test", "racy.wat", "-s", "dfs", "--seed", "0", "-i", "1", "-o"];
    let ended = process::run(directory.path(), &[&search[..], &["/proc/none"]].concat());
    assert_eq!(ended.code, Some(1), "{ended:?}");
}

/// The files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Every byte of a cached module changed, removed or cut off: the module is no hit any more, and its
/// replacement is right.
#[test]
fn no_damaged_byte_of_a_cached_module_is_overlooked() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::at(directory.path());
    let original = wat::parse_file(guest::wat_file("racy.wat")).unwrap();
    let options = Options::default();
    let entry = cache.entry(&original, &options);
    assert!(entry.get().is_none());
    let instrumented = instrument(&original, &options).unwrap();
    entry.put(&instrumented);
    let [file] = &files(&directory.path().join("modules"))[..] else { panic!("one module, one file") };
    let whole = fs::read(file).unwrap();
    assert_eq!(entry.get().unwrap().wasm, instrumented.wasm);
    for at in 0..whole.len() {
        let changed = |byte: u8| [&whole[..at], &[byte], &whole[at + 1..]].concat();
        let swapped = match at + 1 < whole.len() && whole[at] != whole[at + 1] {
            true => [&whole[..at], &[whole[at + 1], whole[at]], &whole[at + 2..]].concat(),
            false => Vec::new(),
        };
        let left_out = [&whole[..at], &whole[at + 1..]].concat();
        for damaged in [changed(whole[at] ^ 1), changed(!whole[at]), swapped, left_out, whole[..at].to_vec()]
        {
            fs::write(file, &damaged).unwrap();
            assert!(entry.get().is_none(), "damage at {at} of {}", whole.len());
        }
    }
    // An intact entry under the name of another module is not used for that module.
    let other = cache.entry(&original, &Options { memory_errors: false, ..Options::default() });
    other.put(&instrumented);
    let theirs = files(&directory.path().join("modules")).into_iter().find(|path| path != file).unwrap();
    fs::copy(theirs, file).unwrap();
    assert!(other.get().is_some() && entry.get().is_none());
    entry.put(&instrumented);
    assert_eq!(entry.get().unwrap().wasm, instrumented.wasm);
}

/// Native code is executed directly from its file. A change of any part of it is detected before.
#[test]
fn damaged_native_code_is_made_anew() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::at(directory.path());
    let original = wat::parse_file(guest::wat_file("racy.wat")).unwrap();
    let options = Options::default();
    let entry = cache.entry(&original, &options);
    let instrumented = instrument(&original, &options).unwrap();
    let compile = || {
        let native = entry.native().unwrap();
        let engine = engine(Some(native.cache.clone())).unwrap();
        let artifact =
            Artifact::compile(&engine, original.clone().into(), instrumented.clone(), options.clone());
        native.seal();
        (artifact.unwrap(), native.cache.cache_hits())
    };
    assert_eq!(compile().1, 0, "the cache is empty");
    assert_eq!(compile().1, 1, "it is used");
    let native = directory.path().join("native").join(entry_name(directory.path()));
    let code = files(&native.join("code")).into_iter().find(|path| path.extension().is_none());
    let code = code.expect("wasmtime's file");
    let whole = fs::read(&code).unwrap();
    for part in 0..16 {
        let mut damaged = whole.clone();
        damaged[part * whole.len() / 16] ^= 0x10;
        fs::write(&code, damaged).unwrap();
        assert_eq!(compile().1, 0, "part {part} is damaged");
        assert_eq!(fs::read(&code).unwrap(), whole, "and made anew");
        assert_eq!(compile().1, 1);
    }
    let seal = native.join("seals").join(code.file_name().unwrap());
    fs::write(&seal, "x").unwrap();
    assert_eq!(compile().1, 0, "the seal is broken");
    assert_eq!(compile().1, 1);
    fs::remove_file(&seal).unwrap();
    assert_eq!(compile().1, 0, "there is no seal");
    // What says which functions were compiled first is no code: if it is damaged, others are.
    fs::write(native.join("root"), "1\n99999\nx").unwrap();
    assert_eq!(compile().1, 1);
}

fn entry_name(root: &Path) -> std::ffi::OsString {
    fs::read_dir(root.join("native")).unwrap().next().unwrap().unwrap().file_name()
}

/// The same on the command line: the same output, whatever is wrong with the cache, and a valid cache
/// afterwards.
#[test]
fn runs_with_a_damaged_cache_end_as_others() {
    let (directory, _) = workplace();
    let cache = tempfile::tempdir().unwrap();
    let run = || {
        let arguments = ["test", "racy.wat", "-s", "dpor", "--seed", "0", "-j", "1"];
        process::run_with(cache.path(), directory.path(), &arguments)
    };
    let right = run().timeless();
    for file in files(cache.path()) {
        // wasmtime writes its statistics at arbitrary times.
        let Ok(whole) = fs::read(&file) else { continue };
        for at in (0..whole.len()).step_by((whole.len() / 3).max(1)) {
            let mut damaged = whole.clone();
            damaged[at] ^= 4;
            let _ = fs::write(&file, damaged);
            assert_eq!(run().timeless(), right, "byte {at} of {}", file.display());
        }
        let _ = fs::write(&file, []);
        assert_eq!(run().timeless(), right, "{} empty", file.display());
    }
}

/// Neither an endless execution nor growing states prevent a run from ending when its time is up.
#[test]
fn time_that_is_up_is_up() {
    let hungry = guest::wat_file("hungry.wat");
    let hungry = hungry.to_str().unwrap();
    let directory = tempfile::tempdir().unwrap();
    // This fills the cache.
    assert_eq!(process::run(directory.path(), &["test", hungry, "--list"]).code, Some(0));
    for arguments in [
        &["--test", "grows", "-s", "stateful"][..],
        &["--test", "grows", "-s", "dpor"],
        &["--test", "grows"],
        &["--test", "copies", "-s", "dfs"],
        &["--test", "copies"],
        &["--test", "copies", "-s", "random"],
    ] {
        for time in ["-t", "--total-timeout"] {
            let started = Instant::now();
            let all = [&["test", hungry, "--seed", "0", "-j", "1", time, "1"][..], arguments].concat();
            let ended = process::run(directory.path(), &all);
            let took = started.elapsed();
            // A second or two after the time; the machine may be busy with other tests.
            assert!(took < Duration::from_secs(8), "{arguments:?} {time} took {took:?}: {ended:?}");
            assert!(!matches!(ended.code, Some(2 | 3 | 101) | None), "{arguments:?}: {ended:?}");
            assert!(!ended.stdout.contains("explored, no bug"), "{arguments:?}: {ended:?}");
        }
    }
}

/// A bug whose executions take long is reported without what experiments would have said of it.
#[test]
fn explanations_end_in_time() {
    let hungry = guest::wat_file("hungry.wat");
    let directory = tempfile::tempdir().unwrap();
    let started = Instant::now();
    let arguments = ["test", hungry.to_str().unwrap(), "--test", "races", "--races", "bug", "--seed", "0"];
    let options = ["-j", "1", "-s", "random", "--shrink-time", "1", "--format", "json"];
    let ended = process::run(directory.path(), &[&arguments[..], &options].concat());
    let took = started.elapsed();
    // Twice 10 seconds for experiments, and a second for shrinking.
    assert!(took < Duration::from_secs(40), "{took:?}: {ended:?}");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let bug = &report["tests"][0]["bugs"][0];
    assert_eq!(bug["kind"], "data-race");
    assert_eq!(bug["explanation"]["out_of_time"], true, "{bug}");
    // Too few iterations make no rate.
    let rate = bug["explanation"].get("findability").map(|found| &found["rate"]["of"]);
    assert!(rate.is_none_or(|of| of.as_u64().unwrap() >= 100), "{bug}");
}

/// If there is no more memory for the remaining work, it is written to a file, and this is reported.
#[cfg(target_os = "linux")]
#[test]
fn a_search_that_needs_too_much_memory_stops_with_what_it_has() {
    let directory = tempfile::tempdir().unwrap();
    let counts = super::examples::module_path("counts");
    let base = ["test", counts.to_str().unwrap(), "--test", "rmw_3x4", "-s", "delay-bounding", "--seed", "0"];
    let stopped =
        process::run(directory.path(), &[&base[..], &["-t", "600", "--search-memory", "100"]].concat());
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    let verdict = stopped.line("... Not everything was explored: ");
    assert!(verdict.contains("the search reached its memory bound (--search-memory)"), "{verdict}");
    let frontier = verdict.split_once("--resume ").unwrap().1.trim_end_matches('.');
    let resumed = process::run(directory.path(), &[&base[..], &["-t", "1", "--resume", frontier]].concat());
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert!(resumed.stdout.contains("executions were explored before"), "{resumed:?}");
}
