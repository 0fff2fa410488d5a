//! One instance runs all workers: memory becomes private to the instance, and each mutable global is shared
//! or a worker's.
//!
//! ```wat
//! ;; before
//! (import "env" "memory" (memory 17 100 shared))
//! ;; after
//! (memory 17 100)
//! ```

use crate::Error;
use crate::analysis::Analyses;
use crate::draft::{Draft, OwnGlobal};
use walrus::{GlobalKind, ValType};

pub fn run(draft: &mut Draft, _: &mut Analyses) -> Result<(), Error> {
    own_memory(draft);
    sort_globals(draft);
    Ok(())
}

/// Makes the guest's memory a private one that the module defines.
fn own_memory(draft: &mut Draft) {
    let memory = draft.module.memories.get_mut(draft.memory);
    memory.shared = false;
    if let Some(import) = memory.import.take() {
        draft.module.imports.delete(import);
    }
}

/// Decides which mutable globals belong to a worker and which are shared. In a wasi-threads module, each
/// thread has an instance, so all of them belong to a worker. In other modules, only the stack pointer, the
/// countdown and the globals of thread-local storage do.
fn sort_globals(draft: &mut Draft) {
    for (index, global) in draft.module.globals.iter().enumerate() {
        let id = global.id();
        if !global.mutable
            || matches!(global.ty, ValType::Ref(_))
            || matches!(global.kind, GlobalKind::Import(_))
        {
            continue;
        }
        let name = draft.original.global_names.get(&(index as u32)).or(global.name.as_ref());
        let name = name.cloned().unwrap_or_else(|| format!("global[{index}]"));
        let stack_pointer = draft.stack_pointer == Some(id);
        let own = draft.original.wasi_threads
            || stack_pointer
            || id == draft.budget
            || (draft.original.spawns && name.starts_with("__tls_"));
        if own {
            draft.own_globals.push(OwnGlobal { id, name, stack_pointer });
        } else {
            draft.shared_globals.push(id);
        }
    }
}
