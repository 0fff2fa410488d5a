//! The line tables of a module, by offsets in its bytes.

use super::module::Module;
use gimli::{AttributeValue, DW_AT_producer, EndianArcSlice, LittleEndian};
use std::ops::Range;

type Section = EndianArcSlice<LittleEndian>;

/// The place of an instruction in the source: for inlined code, the line of the innermost function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    /// The file, as the compiler named it.
    pub file: &'a str,
    /// The line, from 1. `None` for code that belongs to no line, such as an instruction that the optimiser
    /// made of two.
    pub line: Option<u32>,
}

/// A compilation unit. Texts are empty if they are not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The compiler, as it names itself: `clang LLVM (rustc version 1.95.0 (59807616e 2026-04-14))`.
    pub producer: String,
    /// The directory in which it was compiled.
    pub directory: String,
    /// Its source, as it was passed to the compiler.
    pub source: String,
}

/// See the module's documentation. Units are parsed when first asked for.
pub struct Lines {
    /// Offset of the contents of the code section, from which DWARF counts.
    code_start: u32,
    /// `None` without usable DWARF.
    dwarf: Option<addr2line::Context<Section>>,
}

impl Lines {
    /// Reads the original module. Never fails.
    pub fn read(original_wasm: &[u8]) -> Lines {
        Lines::of(&Module::read(original_wasm))
    }

    pub(super) fn of(module: &Module) -> Lines {
        let dwarf = module.dwarf().and_then(|dwarf| addr2line::Context::from_dwarf(dwarf).ok());
        Lines { code_start: module.code_start, dwarf }
    }

    /// Whether there is usable debug information at all.
    pub fn any(&self) -> bool {
        self.dwarf.is_some()
    }

    /// The row of an instruction; `None` if no line table has one.
    pub fn row(&self, offset: u32) -> Option<Row<'_>> {
        let place = self.dwarf.as_ref()?.find_location(self.address(offset)?).ok()??;
        Some(Row { file: place.file?, line: place.line.filter(|line| *line != 0) })
    }

    /// The offsets at which rows between two offsets begin, ascending; the first row may begin before them.
    pub(super) fn row_starts(&self, range: Range<u32>) -> Vec<u32> {
        let addresses = self.address(range.start).zip(self.address(range.end));
        let found = self
            .dwarf
            .as_ref()
            .zip(addresses)
            .and_then(|(dwarf, (low, high))| dwarf.find_location_range(low, high).ok());
        let starts = found.into_iter().flatten().map(|(start, ..)| start as u32 + self.code_start);
        let mut starts: Vec<u32> = starts.collect();
        starts.sort_unstable();
        starts
    }

    /// The unit that an instruction was compiled in.
    pub fn unit(&self, offset: u32) -> Option<Unit> {
        let context = self.dwarf.as_ref()?;
        let unit = context.find_dwarf_and_unit(self.address(offset)?).skip_all_loads()?;
        let mut entries = unit.entries();
        let producer = entries.next_dfs().ok()??.attr_value(DW_AT_producer);
        let producer = producer.and_then(|value: AttributeValue<Section>| unit.attr_string(value).ok());
        let text = |bytes: Option<&Section>| {
            bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default()
        };
        Some(Unit {
            producer: text(producer.as_ref()),
            directory: text(unit.comp_dir.as_ref()),
            source: text(unit.name.as_ref()),
        })
    }

    /// The functions at an instruction, innermost first.
    pub(super) fn frames(&self, offset: u32) -> Option<addr2line::FrameIter<'_, Section>> {
        self.dwarf.as_ref()?.find_frames(self.address(offset)?).skip_all_loads().ok()
    }

    fn address(&self, offset: u32) -> Option<u64> {
        Some(offset.checked_sub(self.code_start)?.into())
    }
}
