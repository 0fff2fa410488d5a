//! Guests in the text format, `examples/wat/*.wat`, for what no compiler emits.

use super::{Guest, Language};
use anyhow::{Context, Result};

const SOURCES: &str = "examples/wat";

pub fn find() -> Result<Vec<Guest>> {
    super::one_file_each(SOURCES, "wat", Language::Wat)
}

/// Line tables of the text itself are part of the module.
pub fn assemble(guest: &Guest) -> Result<Vec<u8>> {
    let path = &guest.sources[0];
    ::wat::parse_file(path).with_context(|| format!("`{}` cannot be assembled", guest.name))
}
