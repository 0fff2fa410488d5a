//! `cargo xtask guests`: builds the example guests and commits to their bytes.
//!
//! `examples/wasm` contains the modules that the sources in `examples` compile to, so that tests run without
//! any toolchain. Builds give the same bytes in every directory; with `--check` they are compared with the
//! committed ones, if the compiler is the same as for these.
//!
//! - [`assemblyscript`], [`c`], [`musl`], [`rust`], [`wat`], [`zig`]: build a module from sources, one language
//!   each.
//! - [`crates`]: programs of published crates.
//! - [`debug_info`]: removes the debug information of libraries.
//! - [`manifest`]: the sources and compilers of the committed modules.
//! - [`index`]: the expected result of each test, `examples/expected.json`.

mod assemblyscript;
pub mod c;
pub mod crates;
pub mod debug_info;
pub mod index;
mod manifest;
mod musl;
pub mod rust;
mod wat;
mod zig;

use crate::files;
use anyhow::{Context, Result, bail};
use manifest::{Entry, Manifest};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Output};

const WASM: &str = "examples/wasm";

/// Builds the example guests from source into examples/wasm
#[derive(clap::Args)]
pub struct Arguments {
    /// Change nothing; fail if a committed guest is not what its sources compile to
    #[arg(long)]
    check: bool,
    /// Build only these guests
    #[arg(value_name = "GUEST")]
    only: Vec<String>,
}

/// A guest before it is built.
pub struct Guest {
    /// Name of the module, without extension.
    name: String,
    language: Language,
    /// All files that its bytes depend on, besides compilers.
    sources: Vec<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Language {
    AssemblyScript,
    C,
    Musl,
    /// Rust, with published crates.
    Crate,
    /// An ordinary program in C.
    Program,
    Rust(rust::Target),
    Wat,
    Zig,
}

impl Language {
    /// Whether the other guests can be built without this one's compiler: contributors are not asked to
    /// install it.
    fn optional(self) -> bool {
        matches!(self, Language::AssemblyScript | Language::Crate | Language::Musl | Language::Zig)
    }
}

/// The toolchain of a language on this machine.
pub enum Toolchain {
    /// The version, as compilers print it.
    Found(String),
    /// What is missing, and the package that contains it.
    Missing(String),
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let mut guests = find()?;
    if let Some(unknown) = arguments.only.iter().find(|name| guests.iter().all(|g| g.name != **name)) {
        let names: Vec<_> = guests.iter().map(|g| g.name.as_str()).collect();
        bail!("there is no guest `{unknown}`; there are {}", names.join(", "));
    }
    let all = arguments.only.is_empty();
    guests.retain(|g| all || arguments.only.contains(&g.name));
    let builder = Builder::new(&guests)?;
    if arguments.check { check(&guests, &builder, all) } else { build(&guests, &builder, all) }
}

/// All guests, sorted by name.
fn find() -> Result<Vec<Guest>> {
    let mut guests = assemblyscript::find()?;
    guests.extend(c::find()?);
    guests.extend(musl::find()?);
    guests.extend(crates::find()?);
    guests.extend(rust::find()?);
    guests.extend(wat::find()?);
    guests.extend(zig::find()?);
    guests.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(pair) = guests.windows(2).find(|pair| pair[0].name == pair[1].name) {
        bail!("two guests are called `{}`", pair[0].name);
    }
    Ok(guests)
}

/// Guests that consist of one file each, in a directory.
fn one_file_each(directory: &str, extension: &str, language: Language) -> Result<Vec<Guest>> {
    let mut guests = Vec::new();
    for path in files::list(&files::root().join(directory))? {
        if path.extension().is_some_and(|e| e == extension) {
            let name = path.file_stem().context("a source file has a name")?.to_string_lossy().into_owned();
            guests.push(Guest { name, language, sources: vec![path] });
        }
    }
    Ok(guests)
}

/// The toolchains of this machine.
struct Builder {
    clang: Result<c::Clang, String>,
    toolchains: BTreeMap<Language, Toolchain>,
}

impl Builder {
    fn new(guests: &[Guest]) -> Result<Builder> {
        let clang = c::Clang::find()?;
        let mut toolchains = BTreeMap::new();
        for language in guests.iter().map(|g| g.language) {
            if toolchains.contains_key(&language) {
                continue;
            }
            let toolchain = match language {
                Language::AssemblyScript => assemblyscript::toolchain(),
                Language::C | Language::Program => match &clang {
                    Ok(clang) => Toolchain::Found(clang.version.clone()),
                    Err(missing) => Toolchain::Missing(missing.clone()),
                },
                Language::Musl => musl::toolchain(&clang)?,
                Language::Crate => crates::toolchain(guests)?,
                Language::Rust(target) => target.toolchain()?,
                // A dependency of this crate: its version follows from Cargo.lock, and so do the bytes.
                Language::Wat => Toolchain::Found("wat".into()),
                Language::Zig => zig::toolchain(),
            };
            toolchains.insert(language, toolchain);
        }
        let builder = Builder { clang, toolchains };
        let names: Vec<_> = guests.iter().filter(|g| builder.compiler(g).is_ok()).collect();
        rust::build(&names)?;
        crates::build(&names)?;
        Ok(builder)
    }

    /// The version of a guest's compiler, or what is missing.
    fn compiler(&self, guest: &Guest) -> Result<&str, &str> {
        match &self.toolchains[&guest.language] {
            Toolchain::Found(version) => Ok(version),
            Toolchain::Missing(what) => Err(what),
        }
    }

    /// Builds the finished module.
    fn module(&self, guest: &Guest) -> Result<Vec<u8>> {
        let wasm = match guest.language {
            Language::AssemblyScript => assemblyscript::compile(guest)?,
            Language::C | Language::Program => {
                self.clang.as_ref().map_err(|e| anyhow::anyhow!("{e}"))?.compile(guest)?
            }
            Language::Musl => musl::compile(self.clang.as_ref().map_err(|e| anyhow::anyhow!("{e}"))?, guest)?,
            Language::Crate => files::read(&rust::Target::Threads.output(&guest.name))?,
            Language::Rust(target) => files::read(&target.output(&guest.name))?,
            Language::Wat => wat::assemble(guest)?,
            Language::Zig => zig::compile(guest)?,
        };
        let wasm = debug_info::strip_libraries(&wasm)?;
        wasmparser::Validator::new_with_features(wasmparser::WasmFeatures::all())
            .validate_all(&wasm)
            .with_context(|| format!("the build of `{}` is not valid", guest.name))?;
        Ok(wasm)
    }
}

fn build(guests: &[Guest], builder: &Builder, all: bool) -> Result<()> {
    let former = Manifest::read()?;
    let mut missing = Vec::new();
    let mut skipped = Vec::new();
    for guest in guests {
        let Err(what) = builder.compiler(guest) else { continue };
        if guest.language.optional() && compare(guest, builder, former.guests.get(&guest.name))?.is_skipped()
        {
            skipped.push(guest.name.as_str());
        } else {
            missing.push(what);
        }
    }
    missing.sort();
    missing.dedup();
    if !missing.is_empty() {
        bail!("{}", missing.join("\n"));
    }
    let mut manifest = if all { Manifest::default() } else { Manifest::read()? };
    for guest in guests {
        if skipped.contains(&guest.name.as_str()) {
            println!("{:24} kept: {}", guest.name, builder.compiler(guest).expect_err("it is missing"));
            manifest
                .guests
                .extend(former.guests.get_key_value(&guest.name).map(|(k, v)| (k.clone(), v.clone())));
            continue;
        }
        let wasm = builder.module(guest)?;
        let compiler = builder.compiler(guest).expect("nothing is missing").to_string();
        files::write(&committed(guest), &wasm)?;
        println!("{:24} {:>7} bytes", guest.name, wasm.len());
        manifest.guests.insert(guest.name.clone(), Entry::new(guest, compiler, &wasm)?);
    }
    if all {
        for path in strangers(guests)? {
            std::fs::remove_file(&path).with_context(|| format!("{} cannot be removed", path.display()))?;
        }
    }
    manifest.write()?;
    index::check()
}

fn check(guests: &[Guest], builder: &Builder, all: bool) -> Result<()> {
    let manifest = Manifest::read()?;
    let mut stale = 0;
    for guest in guests {
        let verdict = compare(guest, builder, manifest.guests.get(&guest.name))?;
        stale += usize::from(matches!(verdict, Verdict::Stale(_)));
        match verdict {
            Verdict::Current => println!("{:24} current", guest.name),
            Verdict::Skipped(why) => println!("{:24} skipped: {why}", guest.name),
            Verdict::Stale(why) => println!("{:24} STALE: {why}", guest.name),
        }
    }
    if all {
        for path in strangers(guests)? {
            println!("{} STALE: has no source", path.display());
            stale += 1;
        }
    }
    if stale > 0 {
        bail!("{stale} committed guests are not what their sources compile to: run `cargo xtask guests`");
    }
    index::check()
}

enum Verdict {
    Current,
    /// No difference is known, but it could not be built and compared.
    Skipped(String),
    Stale(String),
}

impl Verdict {
    fn is_skipped(&self) -> bool {
        matches!(self, Verdict::Skipped(_))
    }
}

fn compare(guest: &Guest, builder: &Builder, entry: Option<&Entry>) -> Result<Verdict> {
    let stale = |why: &str| Ok(Verdict::Stale(why.into()));
    let Some(entry) = entry else { return stale("it is not in MANIFEST.json") };
    if manifest::hash_of_sources(guest)? != entry.sources {
        return stale("its sources have changed since it was built");
    }
    if !committed(guest).exists() {
        return stale("it was not committed");
    }
    let wasm = files::read(&committed(guest))?;
    if manifest::hash(&wasm) != entry.wasm {
        return stale("it is not the module that MANIFEST.json speaks of");
    }
    match builder.compiler(guest) {
        Err(missing) => Ok(Verdict::Skipped(missing.into())),
        Ok(version) if version != entry.compiler => {
            Ok(Verdict::Skipped(format!("built with another compiler version ({})", entry.compiler)))
        }
        Ok(_) if builder.module(guest)? == wasm => Ok(Verdict::Current),
        Ok(_) => stale("the same compiler makes something else of its sources"),
    }
}

fn committed(guest: &Guest) -> PathBuf {
    files::root().join(WASM).join(&guest.name).with_extension("wasm")
}

/// Modules in `examples/wasm` that no guest compiles to.
fn strangers(guests: &[Guest]) -> Result<Vec<PathBuf>> {
    let mut paths = files::list(&files::root().join(WASM))?;
    paths.retain(|path| {
        path.extension().is_some_and(|e| e == "wasm") && guests.iter().all(|g| committed(g) != *path)
    });
    Ok(paths)
}

/// Runs a command; if it fails, its output is part of the error.
pub fn output(command: &mut Command) -> Result<Output> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("{program} cannot be run"))?;
    if !output.status.success() {
        bail!(
            "{program} failed ({}):\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
    }
    Ok(output)
}
