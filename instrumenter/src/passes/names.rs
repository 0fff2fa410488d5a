//! Gives every function a name.
//!
//! Walrus sorts functions by size, so an index in the output has no meaning outside of it. A function without
//! a name is named by its index in the original module.
//!
//! ```wat
//! (func (;7;) ..)              ;; before
//! (func $"func[7]" (;2;) ..)   ;; after
//! ```

use crate::Draft;
use crate::Error;
use crate::analysis::Analyses;

pub fn run(draft: &mut Draft, _: &mut Analyses) -> Result<(), Error> {
    let original = draft.original;
    for (index, function) in draft.module.funcs.iter_mut().enumerate() {
        function.name = Some(original.display_name(index as u32));
    }
    Ok(())
}
