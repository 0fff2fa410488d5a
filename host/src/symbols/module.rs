//! Reads the module's bytes: names, and the sections of debug information. Stops without an error where they
//! are damaged.

use gimli::{EndianArcSlice, LittleEndian, SectionId};
use std::collections::BTreeMap;
use std::sync::Arc;
use wasmparser::{ExternalKind, KnownCustom, Name, NameSectionReader, Parser, Payload, TypeRef};

#[derive(Default)]
pub(super) struct Module<'a> {
    /// Names of functions by index; as the module has them, empty if unknown.
    pub names: Vec<String>,
    /// Offset of the contents of the code section.
    pub code_start: u32,
    /// The `.debug_*` sections by name.
    debug: BTreeMap<&'a str, &'a [u8]>,
    /// Whether the module was made by a compiler, which could have added lines.
    pub compiled: bool,
}

impl<'a> Module<'a> {
    pub fn read(wasm: &'a [u8]) -> Module<'a> {
        let mut module = Module::default();
        let mut name_section = Vec::new();
        for payload in Parser::new(0).parse_all(wasm) {
            let Ok(payload) = payload else { break };
            match payload {
                Payload::ImportSection(imports) => {
                    for import in imports.into_imports().flatten() {
                        if matches!(import.ty, TypeRef::Func(_) | TypeRef::FuncExact(_)) {
                            module.names.push(format!("{}.{}", import.module, import.name));
                        }
                    }
                }
                Payload::FunctionSection(functions) => {
                    // Counted one by one: a damaged count must not become an allocation.
                    let defined = functions.into_iter().flatten().count();
                    module.names.resize(module.names.len() + defined, String::new());
                }
                Payload::ExportSection(exports) => {
                    for export in exports.into_iter().flatten() {
                        if export.kind == ExternalKind::Func {
                            name_section.push((export.index, export.name));
                        }
                    }
                }
                Payload::CodeSectionStart { range, .. } => {
                    module.code_start = range.start.try_into().unwrap_or(0);
                }
                Payload::CustomSection(section) => match section.as_known() {
                    KnownCustom::Name(names) => name_section.extend(function_names(names)),
                    _ if section.name() == "producers" => module.compiled = true,
                    _ if section.name().starts_with(".debug_") => {
                        module.debug.insert(section.name(), section.data());
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        // The name section comes after the exports and wins over them; both win over imports.
        for (index, name) in name_section {
            if let Some(known) = module.names.get_mut(index as usize) {
                *known = name.to_owned();
            }
        }
        module
    }

    /// The sections in gimli's form, copied; `None` if there is no `.debug_info`.
    pub fn dwarf(&self) -> Option<gimli::Dwarf<EndianArcSlice<LittleEndian>>> {
        self.debug.get(SectionId::DebugInfo.name())?;
        gimli::Dwarf::load(|id| {
            let bytes = self.debug.get(id.name()).copied().unwrap_or_default();
            Ok::<_, gimli::Error>(EndianArcSlice::new(Arc::from(bytes), LittleEndian))
        })
        .ok()
    }
}

fn function_names(names: NameSectionReader<'_>) -> Vec<(u32, &str)> {
    let mut found = Vec::new();
    for subsection in names {
        match subsection {
            Ok(Name::Function(map)) => {
                found.extend(map.into_iter().flatten().map(|naming| (naming.index, naming.name)));
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    found
}
