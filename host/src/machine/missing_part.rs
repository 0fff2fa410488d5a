//! A stub has been called whose function is in no instance.

use super::host::Host;
use coyote_abi::rt;
use wasmtime::{Caller, Instance, Result};

/// Makes an instance of a part that has the function.
///
/// # Errors
/// The part cannot be compiled or instantiated.
pub fn need(caller: &mut Caller<Host>, function: u32) -> Result<()> {
    if !caller.data().parts.has_exports() {
        let names = (0..).map(|number| format!("{}{number}", rt::PART_PREFIX));
        let exports = names.map_while(|name| caller.get_export(&name)).collect();
        caller.data_mut().parts.set_exports(exports);
    }
    let instances = &caller.data().parts;
    let part = instances.code().expect("an instance has code").part(function)?;
    let imports = instances.linked(&part.imports);
    Instance::new(caller, &part.module, &imports)?;
    Ok(())
}
