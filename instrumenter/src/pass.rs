//! The interface of a pass.

use crate::analysis::Analyses;
use crate::{Draft, Error};

/// A step of the instrumentation. The tool's own steps are passes too.
pub trait Pass: Send + Sync {
    /// The name by which the pass is found in the pipeline.
    fn name(&self) -> &str;

    /// A description of the pass, in a few words.
    fn doc(&self) -> &str {
        ""
    }

    /// Whether the functions that existed before the pass call the same functions after it, apart from
    /// imports. If not, the call graph is computed again.
    fn keeps_calls(&self) -> bool {
        false
    }

    /// Changes the module. Locations of added instructions are optional: [`walrus::ir::InstrLocId::default`]
    /// means that there is no place in the original.
    ///
    /// # Errors
    /// The pass cannot work with the module or with an option: no verdict on the guest.
    fn run(&self, draft: &mut Draft, analyses: &mut Analyses) -> Result<(), Error>;
}
