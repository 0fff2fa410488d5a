//! Guests in the text format, `examples/wat/*.wat`, for what no compiler emits.

use super::{Guest, Language};
use crate::files;
use anyhow::{Context, Result};

const SOURCES: &str = "examples/wat";

pub fn find() -> Result<Vec<Guest>> {
    let mut guests = Vec::new();
    for path in files::list(&files::root().join(SOURCES))? {
        if path.extension().is_some_and(|e| e == "wat") {
            let name = path.file_stem().context("a source file has a name")?.to_string_lossy().into_owned();
            guests.push(Guest { name, language: Language::Wat, sources: vec![path] });
        }
    }
    Ok(guests)
}

/// Line tables of the text itself are part of the module.
pub fn assemble(guest: &Guest) -> Result<Vec<u8>> {
    let path = &guest.sources[0];
    ::wat::parse_file(path).with_context(|| format!("`{}` cannot be assembled", guest.name))
}
