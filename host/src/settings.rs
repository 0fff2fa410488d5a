//! How tests are executed. `weak_memory`: options that cannot be combined with weak memory.

mod searches;
mod weak_memory;

use crate::artifact::Artifact;
use crate::detect::{BLOCK_RACES, DetectorEntry, Detectors, RACES, Suppression, USE_AFTER_RETURN};
use crate::machine::scheduler::Limits;
use crate::runtime::files::disk::CrashModel;
use crate::runtime::{AtExit, Faults, Timers};
use crate::trace::Trace;
use crate::world::World;
use std::sync::Arc;

/// The bound on steps for unfair strategies; the bound for fair ones is [`FAIR_FACTOR`] times as high.
pub const STEPS_MAX: u64 = 10_000;
/// See [`STEPS_MAX`].
pub const FAIR_FACTOR: u64 = 10;
/// The default limit of a guest's memory, in MiB.
pub const MEMORY_MIB_MAX: u64 = 512;

/// How tests are executed, under any strategy or search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bounds on the steps of an iteration.
    pub limits: Limits,
    /// What happens to the other workers when the first one ends.
    pub at_exit: AtExit,
    /// Injected faults, and how often each may happen in an iteration.
    pub faults: Faults,
    /// Which unsynced data may survive a crash.
    pub crash_model: CrashModel,
    /// When timeouts may fire.
    pub timers: Timers,
    /// Whether a worker that does not hold a normal mutex may unlock it without a bug.
    pub foreign_unlocks: bool,
    /// The detectors, which may report bugs.
    pub detectors: Detectors,
    /// Whether searches that rely on footprints also try orders of allocations that differ only in addresses.
    pub exact_addresses: bool,
    /// The seed of the bytes that the guest gets from `random_get`: the same in every iteration.
    pub random: u64,
    /// The limit of the guest's memory.
    pub memory_bytes_max: usize,
    /// Arguments, environment and files of the test.
    pub world: Arc<World>,
}

/// The defaults of `coyote-wasm test`.
impl Default for Settings {
    fn default() -> Settings {
        let world = World { arguments: vec!["guest".into()], ..World::default() };
        Settings {
            limits: Limits {
                unfair_steps_max: STEPS_MAX,
                fair_steps_max: STEPS_MAX * FAIR_FACTOR,
                fail_on_steps_max: false,
            },
            at_exit: AtExit::Wait,
            faults: Faults::default(),
            crash_model: CrashModel::default(),
            timers: Timers::default(),
            foreign_unlocks: false,
            detectors: Detectors::default(),
            exact_addresses: false,
            random: 0,
            memory_bytes_max: (MEMORY_MIB_MAX as usize) << 20,
            world: Arc::new(world),
        }
    }
}

impl Settings {
    /// The detectors that watch only some iterations of samplers and can find anything in this module. Under weak memory
    /// the detector of data races finds nothing.
    pub(crate) fn sampled_detectors(&self, artifact: &Artifact) -> Vec<&'static DetectorEntry> {
        if self.weak_memory() { Vec::new() } else { self.detectors.sampled(artifact) }
    }

    /// These settings for a search of this module.
    pub(crate) fn in_search(&self, artifact: &Artifact) -> Settings {
        Settings { detectors: self.detectors.in_search(artifact), ..self.clone() }
    }

    /// These settings for an execution of a trace that names such a detector and the races that it suppressed.
    pub fn watched_as(&self, trace: &Trace) -> Settings {
        let said = |name: &'static str| {
            let options = trace.header.options.iter().filter(move |(option, _)| option == name);
            options.map(|(_, value)| value.as_str())
        };
        let mut settings = self.clone();
        let names = |name: &str| said("detect").any(|detector| detector == name);
        if names(USE_AFTER_RETURN) {
            settings.detectors.set(USE_AFTER_RETURN, true);
        }
        if names(RACES) {
            settings.detectors.set(RACES, true);
            settings.detectors.set(BLOCK_RACES, names(BLOCK_RACES));
            settings.detectors.races.suppressions = said("suppress").filter_map(Suppression::parse).collect();
        }
        settings
    }
}
