//! What a pass is. The tool's own passes are modules; a user's pass implements this trait.

use crate::{Draft, Error};

/// A step on the way from the guest's module to an instrumented one.
///
/// A user's passes run after `threads` and before `points`: the memory is private, synchronisation
/// imports are runtime imports, and accesses that the pass adds to the guest's functions become
/// scheduling points like any other. Functions that it adds stay as they are. Locations of added instructions are optional; [`walrus::ir::InstrLocId::default`] means
/// that there is no place in the original.
pub trait Pass {
    /// Changes the module. An error is the user's problem, not a verdict on the guest.
    fn run(&self, draft: &mut Draft) -> Result<(), Error>;
}
