//! The text of a function before and after instrumentation.

use crate::names::names_of;
use crate::nearest::nearest;
use crate::original::Original;
use crate::pipeline::{Pipeline, Stage};
use crate::{Error, Options, check, instrument};
use wasmparser::{KnownCustom, Name, Parser, Payload};

/// The text of a function in the original and in the instrumented module.
///
/// # Errors
/// As [`instrument`], and `Option` with near matches if no function has this name, mangled or
/// demangled.
pub fn dump(wasm: &[u8], options: &Options, function: &str) -> Result<String, Error> {
    let original = check::check(wasm, options)?;
    let index = find(&original, function)?;
    let instrumented = instrument(wasm, options)?.wasm;
    let before = text(wasm, &[index])?;
    let after = text_of(&instrumented, &original.display_name(index))?;
    Ok(format!(";; before\n{before}\n;; after\n{after}\n"))
}

/// The text of the module, or of one of its functions, after a pass of this name. Between passes the module
/// may be invalid.
///
/// # Errors
/// As [`instrument`], and `Option` with near matches if no function or no pass has this name.
pub fn dump_after(
    wasm: &[u8],
    options: &Options,
    pass: &str,
    function: Option<&str>,
) -> Result<String, Error> {
    let pipeline = Pipeline::new();
    pipeline.position(pass)?;
    let original = check::check(wasm, options)?;
    let index = function.map(|function| find(&original, function)).transpose()?;
    let mut module = Vec::new();
    pipeline.run(wasm, &original, options, &mut |stage| {
        if let Stage::Pass(name, draft) = stage
            && name == pass
        {
            module = draft.module.emit_wasm();
        }
    })?;
    match index {
        Some(index) => Ok(text_of(&module, &original.display_name(index))? + "\n"),
        None => Ok(print(&module)? + "\n"),
    }
}

/// The index of the function with this name, mangled or demangled.
fn find(original: &Original, function: &str) -> Result<u32, Error> {
    let index = (0..original.functions.len() as u32)
        .filter(|i| original.functions[*i as usize].start != 0)
        .find(|i| names_of(&original.display_name(*i)).iter().any(|n| n == function));
    index.ok_or_else(|| {
        let all: Vec<String> =
            original.functions.iter().flat_map(|f| names_of(&f.name)).filter(|n| !n.is_empty()).collect();
        let close: Vec<_> =
            nearest(function, all.iter().map(String::as_str)).iter().map(|n| format!("`{n}`")).collect();
        Error::Option(match close.is_empty() {
            true => format!("no function is called `{function}`"),
            false => format!("no function is called `{function}`; there is {}", close.join(", ")),
        })
    })
}

/// The text of a function of a module between passes, with the wrapper around it.
fn text_of(wasm: &[u8], name: &str) -> Result<String, Error> {
    text(wasm, &indices_of(wasm, &[name, &format!("{name} (atomic)")])?)
}

/// The text of a module.
fn print(wasm: &[u8]) -> Result<String, Error> {
    wasmprinter::print_bytes(wasm).map_err(|e| Error::Option(format!("the module cannot be printed: {e:#}")))
}

/// Indices of the functions with these names.
fn indices_of(wasm: &[u8], wanted: &[&str]) -> Result<Vec<u32>, Error> {
    let mut found = Vec::new();
    for payload in Parser::new(0).parse_all(wasm) {
        let Payload::CustomSection(section) = payload? else { continue };
        let KnownCustom::Name(names) = section.as_known() else { continue };
        for subsection in names {
            if let Name::Function(map) = subsection? {
                for naming in map {
                    let naming = naming?;
                    if wanted.contains(&naming.name) {
                        found.push(naming.index);
                    }
                }
            }
        }
    }
    Ok(found)
}

/// The text of functions, without the common indentation.
fn text(wasm: &[u8], indices: &[u32]) -> Result<String, Error> {
    let whole = print(wasm)?;
    let mut printed = Vec::new();
    let mut inside = false;
    for line in whole.lines() {
        if line.starts_with("  (func ") {
            inside = indices.iter().any(|i| line.contains(&format!("(;{i};)")));
        } else if !line.starts_with("   ") && line != "  )" {
            inside = false;
        }
        if inside {
            printed.push(&line[2..]);
        }
    }
    Ok(printed.join("\n"))
}
