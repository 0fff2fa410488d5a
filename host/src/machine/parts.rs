//! Instances of parts, in the store of the root's instance.

use crate::code::Code;
use coyote_instrumenter::PartImport;
use std::sync::Arc;
use wasmtime::{AsContextMut, Extern, Linker};

/// What parts import from the root's instance. A part's instance is not kept: it lives as long as the store, and its
/// functions are in the root's table.
#[derive(Clone, Default)]
pub struct Instances {
    code: Option<Arc<Code>>,
    /// What the root imports.
    imports: Vec<Extern>,
    /// The root's exports for parts, from the first part on.
    exports: Vec<Extern>,
    /// The native stack was exhausted while there were parts.
    overflowed: bool,
}

impl Instances {
    /// For an instance of a root that is about to be made.
    pub fn new<T: 'static>(
        code: &Arc<Code>,
        linker: &Linker<T>,
        mut store: impl AsContextMut<Data = T>,
    ) -> Instances {
        let imports = match code.is_on_demand() {
            // An import that is missing is an error of the root's instantiation.
            true => code.first().imports().filter_map(|i| linker.get_by_import(&mut store, &i)).collect(),
            false => vec![],
        };
        Instances { code: Some(code.clone()), imports, exports: vec![], overflowed: false }
    }

    /// Records that the native stack is exhausted: without parts it might not be.
    pub fn overflow(&mut self) {
        self.overflowed = !self.exports.is_empty();
    }

    /// Whether the native stack was exhausted while there were parts.
    pub fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// The code of the instance.
    pub fn code(&self) -> Option<&Arc<Code>> {
        self.code.as_ref()
    }

    /// Whether parts have the root's exports. As long as there is no part, the root calls.
    pub fn has_exports(&self) -> bool {
        !self.exports.is_empty()
    }

    /// Sets the root's exports for parts, before the first part.
    pub fn set_exports(&mut self, exports: Vec<Extern>) {
        self.exports = exports;
    }

    /// What a part imports.
    pub fn linked(&self, imports: &[PartImport]) -> Vec<Extern> {
        let linked = imports.iter().map(|import| match *import {
            PartImport::Import(number) => self.imports[number as usize].clone(),
            PartImport::Root(number) => self.exports[number as usize].clone(),
        });
        linked.collect()
    }
}
