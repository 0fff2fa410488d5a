//! What a pass is.

use crate::analysis::Analyses;
use crate::{Draft, Error};

/// A step on the way from the guest's module to an instrumented one. The tool's own steps are passes too.
pub trait Pass: Send + Sync {
    /// By which the pass is found in the pipeline.
    fn name(&self) -> &str;

    /// What the pass does, in a few words.
    fn doc(&self) -> &str {
        ""
    }

    /// Whether the functions that were there before the pass call the same functions after it, but for
    /// imports. If not, the call graph is computed anew.
    fn keeps_calls(&self) -> bool {
        false
    }

    /// Changes the module. Locations of added instructions are optional: [`walrus::ir::InstrLocId::default`]
    /// means that there is no place in the original.
    ///
    /// # Errors
    /// The module or an option is not what the pass can work with: no verdict on the guest.
    fn run(&self, draft: &mut Draft, analyses: &mut Analyses) -> Result<(), Error>;
}
