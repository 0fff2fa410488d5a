//! Leaves out the debug information of libraries: std's alone is 1.5 MB in a module of 26 KB of code.
//!
//! What stays is every unit whose source file is in this repository, with all that it says, also of
//! library code that was compiled as a part of it (generic or inline functions).

use crate::files;
use anyhow::{Context, Result};
use gimli::write::{Address, EndianVec, Sections};
use gimli::{EndianSlice, LittleEndian, Section};
use std::collections::BTreeMap;
use wasmparser::{Parser, Payload};

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// The module with debug information of our own code only; other sections are copied as they are.
pub fn strip_libraries(wasm: &[u8]) -> Result<Vec<u8>> {
    let mut stripped = wasm.get(..8).context("a module begins with a header")?.to_vec();
    let mut debug: BTreeMap<&str, &[u8]> = BTreeMap::new();
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload?;
        if let Payload::CustomSection(section) = &payload
            && section.name().starts_with(".debug_")
        {
            debug.insert(section.name(), section.data());
        } else if let Some((id, range)) = payload.as_section() {
            append(&mut stripped, id, &wasm[range]);
        }
    }
    for (name, data) in own(&debug)? {
        let mut contents = Vec::new();
        leb(&mut contents, name.len());
        contents.extend_from_slice(name.as_bytes());
        contents.extend_from_slice(&data);
        append(&mut stripped, 0, &contents);
    }
    Ok(stripped)
}

/// The debug sections of our own units, rewritten so that nothing unused is in them.
fn own(debug: &BTreeMap<&str, &[u8]>) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let section = |id: gimli::SectionId| debug.get(id.name()).copied().unwrap_or_default();
    let load = |info: &[u8]| {
        gimli::DwarfSections::load(|id| -> gimli::Result<Vec<u8>> {
            Ok(if id == gimli::SectionId::DebugInfo { info.to_vec() } else { section(id).to_vec() })
        })
    };
    let all = load(section(gimli::SectionId::DebugInfo))?;
    let kept = own_units(&all.borrow(|bytes| EndianSlice::new(bytes, LittleEndian)))?;
    if kept.is_empty() {
        return Ok(Vec::new());
    }
    let kept = load(&kept)?;
    let kept = kept.borrow(|bytes| EndianSlice::new(bytes, LittleEndian));
    let mut rewritten = gimli::write::Dwarf::from(&kept, &|address| Some(Address::Constant(address)))?;
    let mut sections = Sections::new(EndianVec::new(LittleEndian));
    rewritten.write(&mut sections)?;
    let mut written = Vec::new();
    sections.for_each_mut(|id, data| {
        if !data.slice().is_empty() {
            written.push((id.name(), data.take()));
        }
        Ok::<_, gimli::Error>(())
    })?;
    Ok(written)
}

/// `.debug_info` with our own units. They refer to other sections, which stay where they are, and not
/// to each other.
fn own_units(dwarf: &gimli::Dwarf<Slice>) -> Result<Vec<u8>> {
    let info = dwarf.debug_info.reader().slice();
    let mut kept = Vec::new();
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        let unit = dwarf.unit(header)?;
        let start = header.offset().as_debug_info_offset().context("units are in .debug_info")?.0;
        let length = header.length_including_self();
        let text = |slice: Option<Slice>| slice.map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        if is_own(&text(unit.comp_dir), &text(unit.name)) {
            kept.extend_from_slice(&info[start..start + length]);
        }
    }
    Ok(kept)
}

/// Whether a unit's source file is in this repository. Builds map the repository to `.`, as builds of
/// some libraries do with theirs. rustc appends its own name of the unit: `src/lib.rs/@/name-cgu.0`.
fn is_own(directory: &str, name: &str) -> bool {
    let name = name.split("/@/").next().unwrap_or_default();
    let relative = if name.starts_with('/') { name.to_string() } else { format!("{directory}/{name}") };
    !relative.starts_with('/') && files::root().join(relative).is_file()
}

fn append(module: &mut Vec<u8>, id: u8, contents: &[u8]) {
    module.push(id);
    leb(module, contents.len());
    module.extend_from_slice(contents);
}

/// An unsigned number in LEB128.
fn leb(bytes: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_units_are_told_from_those_of_libraries() {
        assert!(is_own(".", "examples/c/racy_counter.c"));
        assert!(is_own(".", "guest-sdk/rust/src/lib.rs/@/coyote.0123456789abcdef-cgu.0"));
        assert!(!is_own(".", "./dlmalloc/src/dlmalloc.c"));
        assert!(!is_own("/rustc/0123456789abcdef", "library/std/src/lib.rs/@/std.0123456789abcdef-cgu.0"));
    }

    #[test]
    fn a_module_without_debug_information_stays_as_it_is() {
        let wasm =
            ::wat::parse_str("(module (func (export \"f\")) (@custom \"text\" \"contents\"))").unwrap();
        assert_eq!(strip_libraries(&wasm).unwrap(), wasm);
    }
}
