//! Removes the debug information of libraries: that of std alone is 1.5 MB in a module with 26 KB of code.
//!
//! Every unit whose source file is in this repository or in a published crate of a guest is kept completely,
//! including its information about library code that was compiled as a part of it (generic or inline
//! functions). Zig makes one unit of a program and everything that it uses; of this unit, the functions and
//! lines are kept, which stacks need.

use super::crates::REGISTRY;
use crate::files;
use anyhow::{Context, Result};
use gimli::write::{Address, AttributeValue, EndianVec, Sections, UnitEntryId};
use gimli::{DwAt, EndianSlice, LittleEndian, Section, constants as dw};
use std::collections::BTreeMap;
use std::path::Path;
use wasmparser::{Parser, Payload};

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// Debug sections by name.
type Debug<'a> = BTreeMap<&'a str, &'a [u8]>;

/// The module with the debug information of its own code only; other sections are copied unchanged.
pub fn strip_libraries(wasm: &[u8]) -> Result<Vec<u8>> {
    replace(wasm, |debug| rewritten(debug, &is_own, |_| {}))
}

/// The module with the debug information of one unit that stacks need: functions, inlined calls and lines.
/// Afterwards the unit's name is the given file in a directory relative to the repository's root.
pub fn lines_only(wasm: &[u8], unit: &str, directory: &str, file: &str) -> Result<Vec<u8>> {
    let pruned = replace(wasm, |debug| {
        rewritten(debug, &|_, name| name == unit, |dwarf| {
            for (_, unit) in dwarf.units.iter_mut() {
                prune(unit, unit.root());
                // The locations of variables.
                unit.locations = Default::default();
                let root = unit.get_mut(unit.root());
                root.set(dw::DW_AT_name, AttributeValue::String(file.into()));
                root.set(dw::DW_AT_comp_dir, AttributeValue::String(directory.into()));
            }
        })
    })?;
    // Written again, without entries that have no references any more.
    replace(&pruned, |debug| rewritten(debug, &|_, _| true, |_| {}))
}

/// Replaces the debug sections of a module.
fn replace(
    wasm: &[u8],
    sections: impl FnOnce(&Debug) -> Result<Vec<(&'static str, Vec<u8>)>>,
) -> Result<Vec<u8>> {
    let mut stripped = wasm.get(..8).context("a module begins with a header")?.to_vec();
    let mut debug = Debug::new();
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
    for (name, data) in sections(&debug)? {
        let mut contents = Vec::new();
        leb(&mut contents, name.len());
        contents.extend_from_slice(name.as_bytes());
        contents.extend_from_slice(&data);
        append(&mut stripped, 0, &contents);
    }
    Ok(stripped)
}

/// Whether to keep a unit with this directory and name.
type Keep<'a> = &'a dyn Fn(&str, &str) -> bool;

/// The edited debug sections of some units, without unused parts.
fn rewritten(
    debug: &Debug,
    keep: Keep,
    edit: impl FnOnce(&mut gimli::write::Dwarf),
) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let section = |id: gimli::SectionId| debug.get(id.name()).copied().unwrap_or_default();
    let load = |info: &[u8]| {
        gimli::DwarfSections::load(|id| -> gimli::Result<Vec<u8>> {
            Ok(if id == gimli::SectionId::DebugInfo { info.to_vec() } else { section(id).to_vec() })
        })
    };
    let all = load(section(gimli::SectionId::DebugInfo))?;
    let kept = kept_units(&all.borrow(|bytes| EndianSlice::new(bytes, LittleEndian)), keep)?;
    if kept.is_empty() {
        return Ok(Vec::new());
    }
    let kept = load(&kept)?;
    let kept = kept.borrow(|bytes| EndianSlice::new(bytes, LittleEndian));
    let mut dwarf = gimli::write::Dwarf::from(&kept, &|address| Some(Address::Constant(address)))?;
    edit(&mut dwarf);
    let mut sections = Sections::new(EndianVec::new(LittleEndian));
    dwarf.write(&mut sections)?;
    let mut written = Vec::new();
    sections.for_each_mut(|id, data| {
        if !data.slice().is_empty() {
            written.push((id.name(), data.take()));
        }
        Ok::<_, gimli::Error>(())
    })?;
    Ok(written)
}

/// Attributes that stacks need: where code came from, and from which call it was inlined.
const NEEDED: &[DwAt] = &[
    dw::DW_AT_name,
    dw::DW_AT_linkage_name,
    dw::DW_AT_low_pc,
    dw::DW_AT_high_pc,
    dw::DW_AT_ranges,
    dw::DW_AT_abstract_origin,
    dw::DW_AT_specification,
    dw::DW_AT_call_file,
    dw::DW_AT_call_line,
    dw::DW_AT_call_column,
    dw::DW_AT_language,
    dw::DW_AT_stmt_list,
];

/// Removes entries that neither are nor contain functions, and attributes that stacks do not need. Returns
/// whether the entry itself is needed.
fn prune(unit: &mut gimli::write::Unit, id: UnitEntryId) -> bool {
    let entry = unit.get_mut(id);
    let function = matches!(entry.tag(), dw::DW_TAG_subprogram | dw::DW_TAG_inlined_subroutine);
    // Blocks refer to other blocks, which may be removed.
    let refers = |name| [dw::DW_AT_abstract_origin, dw::DW_AT_specification].contains(&name);
    let needed = |name| NEEDED.contains(&name) && (function || !refers(name));
    let unneeded: Vec<DwAt> = entry.attrs().map(|a| a.name()).filter(|name| !needed(*name)).collect();
    unneeded.into_iter().for_each(|name| entry.delete(name));
    let children: Vec<UnitEntryId> = entry.children().copied().collect();
    let mut contains = false;
    for child in children {
        if prune(unit, child) {
            contains = true;
        } else {
            unit.get_mut(id).delete_child(child);
        }
    }
    function || contains
}

/// `.debug_info` with the units to keep. They refer to other sections, which are not moved, and not to each
/// other.
fn kept_units(dwarf: &gimli::Dwarf<Slice>, keep: Keep) -> Result<Vec<u8>> {
    let info = dwarf.debug_info.reader().slice();
    let mut kept = Vec::new();
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        let unit = dwarf.unit(header)?;
        let start = header.offset().as_debug_info_offset().context("units are in .debug_info")?.0;
        let length = header.length_including_self();
        let text = |slice: Option<Slice>| slice.map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        if keep(&text(unit.comp_dir), &text(unit.name)) {
            kept.extend_from_slice(&info[start..start + length]);
        }
    }
    Ok(kept)
}

/// Whether a unit's source file is in this repository or in a published crate. Builds map the repository to
/// `.`, and builds of some libraries do the same with their own. rustc appends its name of the unit:
/// `src/lib.rs/@/name-cgu.0`.
fn is_own(directory: &str, name: &str) -> bool {
    let name = name.split("/@/").next().unwrap_or_default();
    if Path::new(name).starts_with(REGISTRY) {
        return true;
    }
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
        assert!(is_own(
            "/registry/flume-0.11.0",
            "/registry/flume-0.11.0/src/lib.rs/@/flume.0123456789abcdef-cgu.0"
        ));
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
