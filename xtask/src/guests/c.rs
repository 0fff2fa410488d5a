//! C guests: one file each, `examples/c/*.c`.
//!
//! These are modules of tests that use only `coyote.h`. The files in `examples/c/pthread` are ordinary
//! programs, compiled by coyote-cc. A line `flags: ..` in a file's first comment adds options.

use super::{Guest, Language, output};
use crate::files;
use anyhow::{Context, Result};
use coyote_cc::build::Compiler;
use coyote_cc::sdk::Sdk;
use coyote_cc::toolchain::Toolchain;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCES: &str = "examples/c";
const PROGRAMS: &str = "examples/c/pthread";
const INCLUDE: &str = "guest-sdk/c/include";
const LIBRARY: &str = "guest-sdk/c/lib";

/// Options that coyote-cc uses too. Without -matomics, atomic operations become plain ones.
const TARGET: &[&str] = &[
    "--target=wasm32-wasi",
    "-matomics",
    "-mbulk-memory",
    "-mexec-model=reactor",
    // Proofs need to know how far the stack reaches.
    "-Wl,--stack-first",
];

/// -O1 keeps accesses as they are in the source.
const FLAGS: &[&str] = &["-std=c17", "-O1", "-g", "-Wall", "-Wextra", "-Werror"];

/// Versions of clang to look for; the committed guests were built with the first one.
const VERSIONS: &[u32] = &[19, 22, 21, 20, 18];

pub fn find() -> Result<Vec<Guest>> {
    let root = files::root();
    let mut headers = files::list(&root.join(INCLUDE))?;
    headers.retain(|path| path.extension().is_some_and(|e| e == "h"));
    let mut guests = Vec::new();
    for (directory, language) in [(SOURCES, Language::C), (PROGRAMS, Language::Program)] {
        let library = match language {
            Language::Program => files::list(&root.join(LIBRARY))?,
            _ => Vec::new(),
        };
        let beside = files::list(&root.join(directory))?;
        for path in &beside {
            if path.extension().is_some_and(|e| e == "c") {
                let name =
                    path.file_stem().context("a source file has a name")?.to_string_lossy().into_owned();
                let own = beside.iter().filter(|p| p.extension().is_some_and(|e| e == "h"));
                let sources = std::iter::once(path).chain(own).chain(&headers).chain(&library);
                let sources = sources.cloned().collect();
                guests.push(Guest { name, language, sources });
            }
        }
    }
    Ok(guests)
}

/// A clang that can build for WASI.
pub struct Clang {
    program: PathBuf,
    /// First line of `--version`.
    pub version: String,
    /// An option that stops an installed wasm-opt from changing modules.
    programs: String,
    /// Directories of headers, and the names that debug information gives them.
    renamed: Vec<String>,
}

impl Clang {
    /// The clang of $WASI_SDK_PATH, or the first one in $PATH that works. The error says what to install.
    pub fn find() -> Result<Result<Clang, String>> {
        let candidates: Vec<PathBuf> = match std::env::var_os("WASI_SDK_PATH") {
            Some(sdk) => vec![Path::new(&sdk).join("bin/clang")],
            None => VERSIONS.iter().map(|v| format!("clang-{v}").into()).chain(["clang".into()]).collect(),
        };
        let mut failure = None;
        for program in candidates {
            if Command::new(&program).arg("--version").output().is_err() {
                continue;
            }
            match Clang::new(program.clone()) {
                Ok(clang) => return Ok(Ok(clang)),
                Err(error) => failure = failure.or(Some((program, format!("{error:#}")))),
            }
        }
        let what = match failure {
            Some((program, error)) => {
                format!("{} cannot build for wasm32-wasi: {error}", program.display())
            }
            None => "no clang was found".into(),
        };
        Ok(Err(format!(
            "{what}; C guests need clang with the WASI library: on Debian and Ubuntu `apt-get install clang-19 \
             lld-19 wasi-libc libclang-rt-19-dev-wasm32`; elsewhere set WASI_SDK_PATH to a wasi-sdk"
        )))
    }

    /// Tries the compiler on an empty program, because the linker and the library are separate packages.
    fn new(program: PathBuf) -> Result<Clang> {
        let version = output(Command::new(&program).arg("--version"))?;
        let version = String::from_utf8_lossy(&version.stdout).lines().next().unwrap_or_default().to_string();
        let scratch = scratch();
        files::write(&scratch.join("empty.c"), "int main(void) { return 0; }\n")?;
        let trial = output(
            Command::new(&program)
                .args(TARGET)
                // Also prints the directories of headers.
                .arg("-v")
                .arg(scratch.join("empty.c"))
                .arg("-o")
                .arg(scratch.join("empty.wasm")),
        )?;
        let log = String::from_utf8_lossy(&trial.stderr).into_owned();
        let listed = log.lines().skip_while(|l| !l.starts_with("#include <...>"));
        let headers = listed.skip(1).take_while(|l| l.starts_with(' ')).map(str::trim);
        let renamed = headers.enumerate().map(|(i, path)| format!("{path}=include{i}")).collect();
        let programs = Sdk::unpack(&scratch)?.programs();
        Ok(Clang { program, version, programs, renamed })
    }

    /// The compiler. A module is what its linker writes, without another optimiser.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(&self.programs);
        command
    }

    /// coyote-cc with this compiler: builds a module with the SDK's headers and library, as a user does.
    pub fn coyote_cc(&self, arguments: &[String]) -> Result<Command> {
        let clang = self.program.clone();
        let toolchain = Toolchain { clang, version: self.version.clone(), sysroot: None };
        Ok(Compiler::new(toolchain, &scratch())?.command(coyote_cc::Language::C, arguments)?)
    }

    pub fn compile(&self, guest: &Guest) -> Result<Vec<u8>> {
        let root = files::root();
        let source = &guest.sources[0];
        let text = files::read_text(source)?;
        let wasm = scratch().join(&guest.name).with_extension("wasm");
        // Only relative names: debug information must not depend on the repository's directory.
        let renamed = self.renamed.iter().cloned().chain([format!("{}=.", root.display())]);
        let mut arguments: Vec<String> = FLAGS.iter().copied().map(str::to_string).collect();
        arguments.extend(renamed.map(|renamed| format!("-ffile-prefix-map={renamed}")));
        arguments.extend(flags(&text).into_iter().map(str::to_string));
        let named = |path: &Path| path.to_string_lossy().into_owned();
        arguments.extend(["-o".into(), named(&wasm), named(source.strip_prefix(&root)?)]);
        let mut command = match guest.language {
            Language::Program => self.coyote_cc(&arguments)?,
            _ => {
                let mut command = self.command();
                command.args(TARGET).args(["-I", INCLUDE]).args(arguments);
                command
            }
        };
        output(command.current_dir(&root))?;
        files::read(&wasm)
    }
}

/// Options from the first comment of a source.
fn flags(source: &str) -> Vec<&str> {
    let comment = source.split("*/").next().unwrap_or_default();
    let line =
        comment.lines().find_map(|line| line.trim_start_matches([' ', '*', '/']).strip_prefix("flags:"));
    line.unwrap_or_default().split_whitespace().collect()
}

/// Absolute, because the compiler runs in another directory.
fn scratch() -> PathBuf {
    let directory = files::target().join("guests/c");
    std::path::absolute(&directory).unwrap_or(directory)
}

#[cfg(test)]
mod tests {
    use super::flags;

    #[test]
    fn flags_come_from_the_first_comment() {
        assert_eq!(
            flags("/* A guest.\n *\n * flags: -O0 -Wl,--max-memory=65536 */"),
            ["-O0", "-Wl,--max-memory=65536"]
        );
        assert_eq!(flags("/* A guest. */\n/* flags: -O0 */"), [""; 0]);
    }
}
