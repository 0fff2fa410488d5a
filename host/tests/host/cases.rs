//! Programs with their verdicts: the first comment of each file below `tests/cases` says how it is run and
//! what the result must be. A new case needs nothing else.
//!
//! ```text
//! ;; What the case is about.
//! ;; flags: -O1                                  of the compiler, for C, C++ and Rust
//! ;; run: --test deadlock --strategy dfs         options of `coyote-wasm test`, after --seed 0 --no-experiments
//! ;;                                             and, unless --shrink-time is among them, --no-shrink
//! ;; exit: 2
//! ;; line: bug in test deadlock: deadlock        a line of the report contains this; any number of them
//! ;; absent: invariant                           no line of the report contains this; any number of them
//! ```
//!
//! There may be several runs, each with its expectations. A run that writes a trace is replayed in another
//! process, which must reproduce it. Languages without a compiler on this machine are skipped, with a
//! message.

use super::c_programs::{can, compile};
use super::process::{self, Ended};
use coyote_cc::Language;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The contents of a comment.
#[derive(Debug, Default, PartialEq)]
struct Case {
    flags: Vec<String>,
    runs: Vec<Run>,
}

#[derive(Debug, Default, PartialEq)]
struct Run {
    options: Vec<String>,
    exit: Option<i32>,
    lines: Vec<String>,
    absent: Vec<String>,
}

impl Case {
    /// Reads the comment lines at the beginning of a file.
    fn of(text: &str) -> Case {
        let mut case = Case::default();
        let words = |text: &str| text.split_whitespace().map(str::to_string).collect();
        let comments = text.lines().map_while(|l| l.strip_prefix(";;").or_else(|| l.strip_prefix("//")));
        for comment in comments {
            match comment.trim_start_matches('!').trim().split_once(": ") {
                Some(("flags", flags)) => case.flags = words(flags),
                Some(("run", options)) => {
                    case.runs.push(Run { options: words(options), ..Run::default() });
                }
                Some(("exit", code)) => {
                    let run = case.runs.last_mut().expect("`exit` follows `run`");
                    run.exit = Some(code.parse().expect("an exit code is a number"));
                }
                Some(("line", line)) => {
                    case.runs.last_mut().expect("`line` follows `run`").lines.push(line.to_string());
                }
                Some(("absent", line)) => {
                    case.runs.last_mut().expect("`absent` follows `run`").absent.push(line.to_string());
                }
                _ => {}
            }
        }
        assert!(!case.runs.is_empty(), "no `run` in the comment at the beginning");
        assert!(case.runs.iter().all(|run| run.exit.is_some()), "a `run` without `exit`");
        case
    }
}

/// All files of a language, sorted.
fn files(language: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(language);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{language}");
    files
}

/// Runs the files of a language. `build` makes a module from a source, or says why that is not possible here.
fn run_all(language: &str, build: impl Fn(&Path, &Case, &Path) -> Result<(), String>) {
    let mut wrong = Vec::new();
    for path in files(language) {
        let case = Case::of(&std::fs::read_to_string(&path).unwrap());
        let directory = tempfile::tempdir().unwrap();
        let module = path.with_extension("wasm");
        let module = module.file_name().unwrap().to_str().unwrap();
        if let Err(why) = build(&path, &case, &directory.path().join(module)) {
            eprintln!("skipped: {}: {why}", path.display());
            continue;
        }
        for run in &case.runs {
            let begin = Instant::now();
            let checked = check(run, directory.path(), module);
            let seconds = begin.elapsed().as_secs_f64();
            println!("{seconds:.1} s: {}: {}", path.display(), run.options.join(" "));
            if let Err(why) = checked {
                wrong.push(format!("{}: {}: {why}", path.display(), run.options.join(" ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Checks that a run ends as expected, and that its trace replays.
fn check(run: &Run, directory: &Path, module: &str) -> Result<(), String> {
    let mut arguments = vec!["test", module, "--seed", "0", "--no-experiments"];
    // The tests of shrinking minimise what they need.
    if !run.options.iter().any(|option| option.contains("-shrink")) {
        arguments.push("--no-shrink");
    }
    arguments.extend(run.options.iter().map(String::as_str));
    let ended = process::run(directory, &arguments);
    let differs = |what: String, ended: &Ended| Err(format!("{what}\n{}{}", ended.stdout, ended.stderr));
    if ended.code != run.exit {
        return differs(format!("exit code {:?}, not {:?}", ended.code, run.exit), &ended);
    }
    let says = |line: &String| ended.stdout.contains(line) || ended.stderr.contains(line);
    if let Some(line) = run.lines.iter().find(|line| !says(line)) {
        return differs(format!("no line contains `{line}`"), &ended);
    }
    if let Some(line) = run.absent.iter().find(|line| says(line)) {
        return differs(format!("a line contains `{line}`"), &ended);
    }
    if let Some(trace) = ended.stdout.lines().find_map(|line| line.strip_prefix("  trace:  ")) {
        let replayed = process::run(directory, &["replay", module, trace]);
        if replayed.code != run.exit || !replayed.stdout.contains("\n. Reproduced: ") {
            return differs(format!("the replay ends with {:?}", replayed.code), &replayed);
        }
    }
    Ok(())
}

#[test]
fn wat() {
    run_all("wat", |source, _, module| {
        std::fs::write(module, wat::parse_file(source).map_err(|e| e.to_string()).unwrap()).unwrap();
        Ok(())
    });
}

#[test]
fn c() {
    run_all("c", |source, case, module| {
        let cpp = source.extension().is_some_and(|extension| extension == "cpp");
        let language = if cpp { Language::Cpp } else { Language::C };
        if !can(language) {
            return Err(format!("{language:?} cannot be compiled here"));
        }
        let flags: Vec<&str> = case.flags.iter().map(String::as_str).collect();
        compile(language, source, module, &flags).unwrap_or_else(|log| panic!("{}\n{log}", source.display()));
        Ok(())
    });
}

#[test]
fn rust() {
    const TARGET: &str = "wasm32-wasip1-threads";
    let libraries = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    let libraries = libraries.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string());
    let found = libraries.is_ok_and(|directory| Path::new(&directory).is_dir());
    run_all("rust", |source, case, module| {
        if !found {
            return Err(format!("rustup target add {TARGET}"));
        }
        let built = Command::new("rustc")
            .args(["--edition", "2024", "-O", "-C", "debuginfo=1", "--target", TARGET, "-o"])
            .args([module, source])
            .args(&case.flags)
            .output()
            .expect("rustc starts");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        Ok(())
    });
}

#[test]
fn a_comment_is_read() {
    let text = "// About it.\n//! flags: -O1 -w\n// run: -s dpor\n// exit: 0\n// run: -i 3\n// exit: 2\n\
                // line: bug in test main: x\n// absent: y\nint main() {}\n// run: too late\n";
    let list = |lines: &[&str]| lines.iter().map(|line| line.to_string()).collect();
    let run = |options: &str, exit, lines: &[&str], absent: &[&str]| Run {
        options: options.split(' ').map(str::to_string).collect(),
        exit: Some(exit),
        lines: list(lines),
        absent: list(absent),
    };
    let runs = vec![run("-s dpor", 0, &[], &[]), run("-i 3", 2, &["bug in test main: x"], &["y"])];
    assert_eq!(Case::of(text), Case { flags: vec!["-O1".into(), "-w".into()], runs });
}
