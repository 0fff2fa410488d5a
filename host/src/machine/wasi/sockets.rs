//! Sockets, which are refused. A program that only asks whether there are sockets can go on; the verdict has
//! a note.

use super::MODULE;
use crate::machine::gate::settled;
use crate::machine::host::Host;
use crate::preview1::SOCKETS;
use crate::runtime::files::Errno;
use wasmtime::{Linker, Module, Result, Val, ValType};

pub fn define(linker: &mut Linker<Host>, module: &Module) -> Result<()> {
    for import in module.imports().filter(|i| i.module() == MODULE) {
        let Some(name) = SOCKETS.iter().find(|name| **name == import.name()) else { continue };
        let Some(ty) = import.ty().func().cloned() else { continue };
        if ty.results().all(|r| matches!(r, ValType::I32)) {
            linker.func_new(MODULE, name, ty, |mut guest, _, results| {
                settled(&mut guest).refused_calls.insert(name);
                results.iter_mut().for_each(|r| *r = Val::I32(Errno::NOTSUP.into()));
                Ok(())
            })?;
        }
    }
    Ok(())
}
