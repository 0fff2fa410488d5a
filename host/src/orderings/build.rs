//! Properties of a module's build that are relevant to its atomics.

use coyote_abi::guest;
use wasmparser::{Parser, Payload, TypeRef};

/// See the module's documentation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Build {
    /// Whether a compiler made it, and it was not written as text, as far as traces of the compiler were left.
    pub compiled: bool,
    /// Whether a compiler for C, C++, Rust or a similar language, such as Zig, left sections in it. AssemblyScript leaves
    /// none.
    pub has_sections: bool,
    /// Whether it was built for threads: linkers then refuse objects without atomic instructions.
    pub shared_memory: bool,
    /// Whether coyote-cc linked it, which does not refuse such objects: the system's libraries are of this kind.
    pub unchecked: bool,
    /// Whether some of its objects were compiled with the feature `atomics`. Others may be without, such as those of
    /// Rust's standard library for wasm32-unknown-unknown.
    pub atomics: bool,
}

impl Build {
    /// Reads the sections of a module. Stops without an error where they are damaged.
    pub fn of(wasm: &[u8]) -> Build {
        let mut build = Build::default();
        for payload in Parser::new(0).parse_all(wasm).map_while(Result::ok) {
            match payload {
                Payload::ImportSection(imports) => {
                    for import in imports.into_imports().flatten() {
                        if let TypeRef::Memory(memory) = import.ty {
                            build.shared_memory |= memory.shared;
                        }
                        let of_library = [guest::CALL_ENTRY, guest::CALL_MAIN].contains(&import.name);
                        build.unchecked |= import.module == guest::MODULE && of_library;
                    }
                }
                Payload::MemorySection(memories) => {
                    build.shared_memory |= memories.into_iter().flatten().any(|memory| memory.shared);
                }
                Payload::ExportSection(exports) => {
                    let linked =
                        |name: &str| name.starts_with("__") || name == "_start" || name == "_initialize";
                    build.compiled |= exports.into_iter().flatten().any(|export| linked(export.name));
                }
                Payload::CustomSection(section) => match section.name() {
                    "target_features" => {
                        const ATOMICS: &[u8] = b"+\x07atomics";
                        build.has_sections = true;
                        build.atomics = section.data().windows(ATOMICS.len()).any(|bytes| bytes == ATOMICS);
                    }
                    "producers" => build.has_sections = true,
                    name if name.starts_with(".debug_") => build.has_sections = true,
                    _ => {}
                },
                _ => {}
            }
        }
        build.compiled |= build.has_sections;
        build
    }

    /// Whether everything that is atomic in the source is an atomic instruction.
    pub fn tells_atomics_apart(&self) -> bool {
        self.shared_memory && !self.unchecked || !self.compiled
    }

    /// Whether no atomic of the source is an atomic instruction: atomics are plain accesses, and fences are gone.
    pub fn lowers_all(&self) -> bool {
        !self.tells_atomics_apart() && !self.atomics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Build {
        Build::of(&wat::parse_str(text).unwrap())
    }

    /// A module without traces of its compiler may have been stripped, unless its memory is for threads.
    #[test]
    fn how_a_module_was_built_is_not_always_known() {
        let by_hand = of("(module (memory (export \"memory\") 1) (func (export \"coyote.test.t\")))");
        assert!(!by_hand.compiled && by_hand.tells_atomics_apart());
        for linked in ["__heap_base", "_start", "_initialize"] {
            let stripped = of(&format!("(module (memory 1) (func (export \"{linked}\")))"));
            assert!(
                stripped.compiled && !stripped.has_sections && !stripped.tells_atomics_apart(),
                "{linked}"
            );
        }
        for section in ["producers", "target_features", ".debug_info"] {
            let compiled = of(&format!("(module (memory 1) (@custom \"{section}\" \"\"))"));
            assert!(compiled.has_sections && compiled.compiled, "{section}");
        }
        let threads = of("(module (memory 1 2 shared) (func (export \"_start\")))");
        assert!(threads.compiled && threads.tells_atomics_apart());
        let unchecked = of("(module (import \"coyote\" \"call_entry\" (func (param i32 i32) (result i32))) (memory 1 2 shared)
          (func (export \"_start\")))");
        assert!(unchecked.compiled && !unchecked.tells_atomics_apart());
    }
}
