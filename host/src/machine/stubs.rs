//! Imports that the user declared with `--stub` without an answer: a call is a bug.

use super::gate::settled;
use super::host::Host;
use crate::artifact::Artifact;
use crate::evidence::{Evidence, Trap};
use crate::outcome::BugKind;
use wasmtime::{Linker, Result};

/// Defines the stubs. An import that is already defined becomes a stub.
pub fn define(linker: &mut Linker<Host>, artifact: &Artifact) -> Result<()> {
    linker.allow_shadowing(true);
    for import in artifact.module().imports() {
        let name = format!("{}.{}", import.module(), import.name());
        if artifact.options.stub(import.module(), import.name()).is_none() {
            continue;
        }
        if let Some(ty) = import.ty().func() {
            linker.func_new(import.module(), import.name(), ty.clone(), move |mut guest, _, _| {
                let trap = Evidence::Trap(Trap::Stub(name.clone()));
                Err(settled(&mut guest).stop(BugKind::Trap, trap).into())
            })?;
        }
    }
    Ok(())
}
