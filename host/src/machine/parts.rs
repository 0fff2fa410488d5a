//! Instances of parts, in the store of the root's instance.

use super::host::Host;
use crate::code::Code;
use coyote_abi::rt;
use coyote_instrumenter::PartImport;
use std::sync::Arc;
use wasmtime::{AsContextMut, Caller, Extern, Instance, Linker, Result};

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
    pub fn new(
        code: &Arc<Code>,
        linker: &Linker<Host>,
        mut store: impl AsContextMut<Data = Host>,
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
}

/// A stub has been called whose function is in no instance: makes one of a part that has it.
///
/// # Errors
/// The part cannot be compiled or instantiated.
pub(super) fn need(caller: &mut Caller<Host>, function: u32) -> Result<()> {
    if caller.data().parts.exports.is_empty() {
        // As long as there is no part, the root calls.
        let names = (0..).map(|number| format!("{}{number}", rt::PART_PREFIX));
        let exports = names.map_while(|name| caller.get_export(&name)).collect();
        caller.data_mut().parts.exports = exports;
    }
    let instances = &caller.data().parts;
    let part = instances.code.as_ref().expect("an instance has code").part(function)?;
    let extern_of = |import: &PartImport| match *import {
        PartImport::Import(number) => instances.imports[number as usize].clone(),
        PartImport::Root(number) => instances.exports[number as usize].clone(),
    };
    let imports: Vec<Extern> = part.imports.iter().map(extern_of).collect();
    Instance::new(caller, &part.module, &imports)?;
    Ok(())
}
