//! Guests in the text format, `examples/wat/*.wat`, for code that no compiler emits.

use super::{Guest, Language};
use anyhow::{Context, Result};

const SOURCES: &str = "examples/wat";

pub fn find() -> Result<Vec<Guest>> {
    super::one_file_each(SOURCES, "wat", Language::Wat)
}

/// Assembles the text. Line tables that refer to it become part of the module.
pub fn assemble(guest: &Guest) -> Result<Vec<u8>> {
    let path = &guest.sources[0];
    ::wat::parse_file(path).with_context(|| format!("`{}` cannot be assembled", guest.name))
}
