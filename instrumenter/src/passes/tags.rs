//! Turns the tags that toolchains import into tags of the module.
//!
//! LLVM makes every object file of C++ and Rust import its tag, so that modules that are linked at run time
//! share one. A guest is a single module, which has no other one to share it with.
//!
//! ```wat
//! ;; before
//! (import "env" "__cpp_exception" (tag (param i32)))
//! ;; after
//! (tag (param i32))
//! ```

use crate::analysis::Analyses;
use crate::{Draft, Error};
use walrus::{ImportKind, TagKind};

pub fn run(draft: &mut Draft, _: &mut Analyses) -> Result<(), Error> {
    let imports: Vec<_> =
        draft.module.imports.iter().map(|import| (import.id(), import.kind.clone())).collect();
    for (import, kind) in imports {
        if let ImportKind::Tag(tag) = kind {
            draft.module.tags.get_mut(tag).kind = TagKind::Local;
            draft.module.imports.delete(import);
        }
    }
    Ok(())
}
