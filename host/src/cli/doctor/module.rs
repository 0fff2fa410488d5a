//! Findings about a built module.

use super::{Finding, Severity};
use crate::cli::{load, select};
use crate::execution::{Settings, Test};
use crate::libtest;
use crate::orderings::{Counts, OnDemand};
use crate::plural::counted;
use crate::preview1;
use crate::uses::Uses;
use anyhow::{Result, bail};
use coyote_instrumenter::{Options, SiteTable};
use std::io::Read;
use std::path::Path;
use wasmparser::{KnownCustom, Name, Parser, Payload};

/// The size of code from which on compiling takes noticeably long.
const CODE_BYTES_MAX: usize = 8 << 20;

/// What the module's sections show.
#[derive(Default)]
struct Sections {
    imports: Vec<(String, String)>,
    functions_named: bool,
    lines: bool,
    /// Whether the compiler was told to use atomics; `None` if the module does not say.
    atomics: Option<bool>,
    code_bytes: usize,
    /// Whether it was built for threads.
    shared_memory: bool,
    /// Whether it contains tokio's runtime.
    tokio: bool,
    /// Whether it can throw C++'s exceptions.
    throws: bool,
}

/// Whether a file is a module, by how it begins.
pub fn is_wasm(path: &Path) -> bool {
    let mut magic = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && magic == *b"\0asm"
}

/// All findings about a test binary of cargo, and the names of its tests. `command`: the command that explores them.
///
/// # Errors
/// The module cannot be read or prepared.
pub fn of_tests(path: &Path, command: &str) -> Result<(Vec<Finding>, Vec<String>)> {
    let mut findings = inspect(path)?;
    if findings.iter().any(|finding| finding.severity == Severity::Error) {
        return Ok((findings, Vec::new()));
    }
    let artifact = load::artifact(path, &Options::default(), true)?;
    if !artifact.table.libtest {
        return Ok((findings, select::all_names(&artifact, &Settings::default())?));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let listed = libtest::list(&artifact, &Settings::default(), &[])?;
    let (mut ignored, mut panicking) = (0, 0);
    for test in &listed {
        // An ignored test counts as such, whatever else it is.
        if test.ignored.is_some() {
            ignored += 1;
        } else if libtest::refused(&artifact, &Settings::default(), &libtest::test(&test.name))?.is_some() {
            panicking += 1;
        }
    }
    let names = listed.iter().map(|test| test.name.clone()).collect();
    if listed.is_empty() {
        let help = "if it should have some: are they left out by #[cfg], or marked for another harness?";
        findings.push(Finding::new(Severity::Note, name, "it has no test on this target", help));
        return Ok((findings, names));
    }
    let tests = counted((listed.len() - ignored - panicking) as u64, "test");
    let mut why = format!("{tests} can be explored, {ignored} ignored");
    if panicking > 0 {
        why += &format!(", {panicking} with #[should_panic] not run: docs/unwinding.md");
    }
    findings.push(Finding::new(Severity::Note, name, why, command));
    Ok((findings, names))
}

/// All findings about a module.
pub fn inspect(path: &Path) -> Result<Vec<Finding>> {
    let wasm = load::read(path)?;
    let sections = Sections::of(&wasm).or_else(|error| {
        let why = coyote_instrumenter::instrument(&wasm, &Options::default()).err();
        bail!("{}: {}", path.display(), why.map_or(error.to_string(), |why| why.to_string()))
    })?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut findings = sections.findings(&name);
    match coyote_instrumenter::instrument(&wasm, &Options::default()) {
        Ok(instrumented) => {
            findings.extend(of_table(&name, &instrumented.table));
            // Without line tables nearly nothing is known, as the note about them says.
            if sections.lines {
                let orderings = OnDemand::new(wasm.into(), instrumented.table.into());
                findings.extend(of_orderings(&name, orderings.own_counts()));
            }
        }
        Err(error) => findings.push(Finding::new(
            Severity::Error,
            &name,
            format!("it cannot be instrumented: {error}"),
            "this is no verdict on the guest; build it without what the message names",
        )),
    }
    Ok(findings)
}

impl Sections {
    fn of(wasm: &[u8]) -> Result<Sections> {
        let mut sections = Sections { tokio: Uses::of(wasm).tokio, ..Sections::default() };
        for payload in Parser::new(0).parse_all(wasm) {
            match payload? {
                Payload::ImportSection(imports) => {
                    for import in imports.into_imports() {
                        let import = import?;
                        if let wasmparser::TypeRef::Memory(memory) = import.ty {
                            sections.shared_memory |= memory.shared;
                        }
                        sections.imports.push((import.module.into(), import.name.into()));
                    }
                }
                Payload::MemorySection(memories) => {
                    for memory in memories {
                        sections.shared_memory |= memory?.shared;
                    }
                }
                Payload::CodeSectionStart { range, .. } => sections.code_bytes = range.len(),
                Payload::CustomSection(custom) => match custom.as_known() {
                    KnownCustom::Name(names) => {
                        for name in names.into_iter().flatten() {
                            let Name::Function(functions) = name else { continue };
                            sections.functions_named = true;
                            sections.throws |=
                                functions.into_iter().flatten().any(|f| f.name == "__cxa_throw");
                        }
                    }
                    _ if custom.name() == ".debug_line" => sections.lines = true,
                    _ if custom.name() == "target_features" => {
                        let has = |text: &[u8]| custom.data().windows(text.len()).any(|w| w == text);
                        sections.atomics = Some(has(b"+\x07atomics"));
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        Ok(sections)
    }

    fn imports(&self, module: &str, name: &str) -> bool {
        self.imports.iter().any(|(m, n)| m == module && n == name)
    }

    fn findings(&self, subject: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut add =
            |severity, why: &str, help: &str| findings.push(Finding::new(severity, subject, why, help));
        let starts = self.imports("wasi", "thread-spawn") || self.imports("coyote", "spawn");
        if !starts && self.tokio {
            let help = "nothing: its schedules are the orders in which tokio polls tasks (docs/tokio.md)";
            add(Severity::Note, "nothing in it starts a thread", help);
        } else if !starts && self.shared_memory {
            let help = "nothing: its tests have one worker each, and are executed once";
            add(Severity::Note, "nothing in it starts a thread, though it was built for threads", help);
        } else if !starts {
            add(
                Severity::Warning,
                "it cannot create workers, so there is no schedule to explore",
                "Rust: cargo build --target wasm32-wasip1-threads\nC: compile with guest-sdk/c's pthread.h or coyote.h",
            );
        } else if self.atomics == Some(false) {
            add(
                Severity::Warning,
                "it was compiled without atomics: its atomic operations are plain loads and stores, and races \
                 will be reported that the program does not have",
                "Rust: -C target-feature=+atomics,+bulk-memory\nC: -matomics -mbulk-memory",
            );
        }
        for (_, name) in self.imports.iter().filter(|(m, n)| m == preview1::MODULE && !preview1::knows(n)) {
            let why = format!("WASI preview 1 has no function {name}");
            add(Severity::Error, &why, "build for wasm32-wasip1-threads, not for a later WASI");
        }
        if !self.functions_named {
            add(
                Severity::Warning,
                "it has no function names: allocators and test harnesses are not recognised, and reports show \
                 numbers",
                "[profile.test]\nstrip = \"none\"",
            );
        }
        if !self.lines {
            let help = "Rust: [profile.test]\n      debug = \"line-tables-only\"\nC: -g";
            add(Severity::Note, "it has no debug information: reports show no source lines", help);
        }
        if self.throws {
            let help = "an execution that reaches a throw has no verdict: docs/c.md, \"What there is not\"";
            add(Severity::Note, "it can throw exceptions of C++, and nothing catches them", help);
        }
        if self.code_bytes > CODE_BYTES_MAX {
            let why = format!("it has {} MB of code, which takes a while to compile", self.code_bytes >> 20);
            add(Severity::Note, &why, "[profile.test]\nopt-level = 1");
        }
        findings
    }
}

/// A note on accesses whose ordering or atomicity is not known, so that data races may be missed.
fn of_orderings(subject: &str, counts: Counts) -> Option<Finding> {
    let Counts { atomic, without_ordering, plain, unknown } = counts;
    let blind = plain == 0 && unknown > 0;
    if without_ordering == 0 && !blind {
        return None;
    }
    let unordered =
        format!("the memory ordering of {without_ordering} of {atomic} atomic accesses is not known");
    let unsorted = format!("whether {unknown} accesses are atomic is not known, and {plain} are plain");
    Some(Finding::new(
        Severity::Note,
        subject,
        format!("{unordered}; {unsorted}: --detect races takes them for sequentially consistent"),
        "compile all code with line tables, and C and C++ with coyote-cc or coyote-cxx: docs/races.md",
    ))
}

/// Findings from the instrumenter's site table.
fn of_table(subject: &str, table: &SiteTable) -> Vec<Finding> {
    let mut findings = Vec::new();
    if Test::all(table).is_empty() {
        findings.push(Finding::new(
            Severity::Error,
            subject,
            "it has no test",
            "export a function with COYOTE_TEST or #[coyote::test], or build a program with _start",
        ));
    }
    if !table.sites.iter().any(|site| site.kind().accesses_memory()) {
        findings.push(Finding::new(
            Severity::Warning,
            subject,
            "none of its memory accesses is a scheduling point",
            "coyote-wasm instrument MODULE --explain says why for each function",
        ));
    }
    findings
}
