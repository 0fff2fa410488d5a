//! How a module was built, as far as it matters to its atomics.

use wasmparser::{Parser, Payload, TypeRef};

/// See the module's documentation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Build {
    /// A compiler made it, and not a person from text.
    pub compiled: bool,
    /// It was built for threads: the linker refuses shared memory to objects without atomic instructions.
    pub shared_memory: bool,
    /// Some of its objects were compiled with the feature `atomics`. Others, as those of Rust's standard library for
    /// wasm32-unknown-unknown, may be without.
    pub atomics: bool,
}

impl Build {
    /// Reads the sections of a module. Stops without complaint where they are damaged.
    pub fn of(wasm: &[u8]) -> Build {
        let mut build = Build::default();
        for payload in Parser::new(0).parse_all(wasm).map_while(Result::ok) {
            match payload {
                Payload::ImportSection(imports) => {
                    for import in imports.into_imports().flatten() {
                        if let TypeRef::Memory(memory) = import.ty {
                            build.shared_memory |= memory.shared;
                        }
                    }
                }
                Payload::MemorySection(memories) => {
                    build.shared_memory |= memories.into_iter().flatten().any(|memory| memory.shared);
                }
                Payload::CustomSection(section) => match section.name() {
                    "target_features" => {
                        const ATOMICS: &[u8] = b"+\x07atomics";
                        build.compiled = true;
                        build.atomics = section.data().windows(ATOMICS.len()).any(|bytes| bytes == ATOMICS);
                    }
                    "producers" => build.compiled = true,
                    name if name.starts_with(".debug_") => build.compiled = true,
                    _ => {}
                },
                _ => {}
            }
        }
        build
    }

    /// Whether all that is atomic in the source is an atomic instruction.
    pub fn tells_atomics_apart(&self) -> bool {
        self.shared_memory || !self.compiled
    }

    /// Whether nothing is: atomics are plain accesses, and fences are gone.
    pub fn lowers_all(&self) -> bool {
        !self.tells_atomics_apart() && !self.atomics
    }
}
