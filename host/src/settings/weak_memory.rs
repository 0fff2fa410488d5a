//! Restrictions of weak memory (`--memory weak`).

use super::Settings;
use crate::artifact::Artifact;
use crate::runtime::FaultClass;
use coyote_instrumenter::Points;
use coyote_strategies::OpKind;

fn has_atomics(artifact: &Artifact) -> bool {
    use OpKind::{AtomicLoad, AtomicStore, CompareExchange, Fence, Rmw};
    let is_one = |kind| matches!(kind, AtomicLoad | AtomicStore | Rmw | CompareExchange | Fence);
    artifact.table.sites.iter().any(|site| is_one(site.kind()))
}

impl Settings {
    /// Whether weak memory is enabled: loads may read older stores.
    pub fn weak_memory(&self) -> bool {
        self.faults.has(FaultClass::Stale)
    }

    /// Checks that this module can be executed with weak memory, if it is enabled.
    ///
    /// # Errors
    /// Why it cannot, and what to do.
    pub fn check_memory(&self, artifact: &Artifact) -> Result<(), String> {
        let options = &artifact.options;
        let wrong = match () {
            () if !self.weak_memory() => return Ok(()),
            () if options.points == Points::Sync => {
                "needs scheduling points at atomic accesses: leave --points sync out"
            }
            () if options.follows_owners() => {
                "needs to be told of every atomic access: leave --heap-points shared out"
            }
            () if !options.memory_errors => {
                "needs what is known of blocks of the heap: leave --no-memory-errors out"
            }
            () if !options.weak_memory() => {
                "needs a module that is instrumented with Options::faults = [\"weak\"]"
            }
            () if !has_atomics(artifact) => {
                "changes nothing in this module, which has no atomic instructions: build it with the feature atomics (Rust: \
                 --target wasm32-wasip1-threads)"
            }
            () if self.detectors.watches_all("races") => {
                "cannot be had with the detector races, which takes it that loads read the newest store: look for races \
                 without it"
            }
            () => return Ok(()),
        };
        Err(format!("--memory weak {wrong}"))
    }
}
