//! A function as text, before and after.

use crate::nearest::nearest;
use crate::scope::names_of;
use crate::{Error, Options, check, instrument};
use wasmparser::{KnownCustom, Name, Parser, Payload};

/// The text of a function in the original and in the instrumented module.
///
/// # Errors
/// As [`instrument`], and `Option` with near matches if no function has this name, mangled or
/// demangled.
pub fn dump(wasm: &[u8], options: &Options, function: &str) -> Result<String, Error> {
    let original = check::check(wasm, options)?;
    let index = (0..original.functions.len() as u32)
        .filter(|i| original.functions[*i as usize].start != 0)
        .find(|i| names_of(&original.display_name(*i)).iter().any(|n| n == function));
    let Some(index) = index else {
        let all: Vec<String> =
            original.functions.iter().flat_map(|f| names_of(&f.name)).filter(|n| !n.is_empty()).collect();
        let close: Vec<_> =
            nearest(function, all.iter().map(String::as_str)).iter().map(|n| format!("`{n}`")).collect();
        return Err(Error::Option(match close.is_empty() {
            true => format!("no function is called `{function}`"),
            false => format!("no function is called `{function}`; there is {}", close.join(", ")),
        }));
    };
    let instrumented = instrument(wasm, options)?.wasm;
    let name = original.display_name(index);
    let before = text(wasm, &[index])?;
    let after = text(&instrumented, &indices_of(&instrumented, &[&name, &format!("{name} (atomic)")])?)?;
    Ok(format!(";; before\n{before}\n;; after\n{after}\n"))
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
    let whole = wasmprinter::print_bytes(wasm)
        .map_err(|e| Error::Option(format!("the module cannot be printed: {e:#}")))?;
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
