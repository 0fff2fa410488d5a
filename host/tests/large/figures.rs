//! What large modules cost: printed, not asserted. `cargo xtask large --measure` sets
//! `COYOTE_LARGE_FIGURES=1`; beside other tests it would measure those too.
//!
//! Each module is prepared and executed once by the command line program in a process of its own,
//! with an empty cache and with a full one.

use super::{directory, modules, modules_in};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn figures() {
    if std::env::var_os("COYOTE_LARGE_FIGURES").is_none() {
        return;
    }
    // Those that are too large to be tested as often as the others.
    let measured = modules_in(&directory().join("measured"));
    for path in modules().into_iter().chain(measured) {
        let cache = tempfile::tempdir().unwrap();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let bytes = std::fs::metadata(&path).unwrap().len();
        for state in ["cold", "warm"] {
            let (time, memory) = measure(&path, cache.path());
            let memory = memory.map_or("?".into(), |kib| format!("{} MiB", kib >> 10));
            println!("{name:24} {bytes:>9} bytes, {state} cache: {time:>8.2?}, peak memory {memory}");
        }
    }
}

/// Time and, on Linux, peak memory in KiB of one iteration.
fn measure(module: &Path, cache: &Path) -> (Duration, Option<u64>) {
    let output = tempfile::tempdir().unwrap();
    let started = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_coyote-wasm"))
        .args(["test", "-i", "1", "-t", "600", "--seed", "1", "--max-steps", "1000000000", "--outdir"])
        .arg(output.path())
        .arg(module)
        .env("COYOTE_CACHE_DIR", cache)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let status_file = format!("/proc/{}/status", child.id());
    let mut peak = None;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        // The peak so far; it disappears with the process.
        let text = std::fs::read_to_string(&status_file).unwrap_or_default();
        let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"));
        peak = line.and_then(|l| l.trim().strip_suffix(" kB")?.parse().ok()).or(peak);
        std::thread::sleep(Duration::from_millis(5));
    };
    let time = started.elapsed();
    // 5: a program of one thread has no choices.
    assert!(matches!(status.code(), Some(0 | 5)), "{}: {status}", module.display());
    (time, peak)
}
