//! How tests are executed. `weak_memory`: what weak memory cannot be had together with.

mod searches;
mod weak_memory;

use crate::artifact::Artifact;
use crate::detect::{Detectors, Suppression};
use crate::machine::scheduler::Limits;
use crate::observe::Detector;
use crate::runtime::files::disk::CrashModel;
use crate::runtime::{AtExit, Faults, Timers};
use crate::trace::Trace;
use crate::world::World;
use std::sync::Arc;

/// The bound on steps for unfair strategies; that for fair ones is [`FAIR_FACTOR`] times as high.
pub const STEPS_MAX: u64 = 10_000;
/// See [`STEPS_MAX`].
pub const FAIR_FACTOR: u64 = 10;
/// Memory that a guest may have.
pub const MEMORY_MIB_MAX: u64 = 512;

/// How tests are executed, whatever explores them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bounds on the steps of an iteration.
    pub limits: Limits,
    /// What becomes of other workers when the first one ends.
    pub at_exit: AtExit,
    /// What may fail on purpose, and how often in an iteration.
    pub faults: Faults,
    /// What may survive a crash, of what was not synced.
    pub crash_model: CrashModel,
    /// When timeouts may fire.
    pub timers: Timers,
    /// Whether it is no bug that a normal mutex is unlocked by who does not hold it.
    pub foreign_unlocks: bool,
    /// What may call an execution a bug.
    pub detectors: Detectors,
    /// Whether searches that rest on footprints also try orders of allocations that only lead to other addresses.
    pub exact_addresses: bool,
    /// What the bytes that the guest gets from `random_get` follow from: the same in every iteration.
    pub random: u64,
    /// Memory that the guest may have.
    pub memory_bytes_max: usize,
    /// Arguments, environment and files of the test.
    pub world: Arc<World>,
}

/// What `coyote-wasm test` uses if it is told nothing.
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
    /// The detector that watches some iterations of samplers alone, if there is one and it can see anything in this module.
    /// Under weak memory the detector of data races cannot.
    pub(crate) fn sampled_detector(&self, artifact: &Artifact) -> Option<Box<dyn Detector>> {
        self.detectors.sampled(artifact).filter(|_| !self.weak_memory())
    }

    /// These settings for an execution whose trace says that such a detector watched it, and which races it passed over.
    pub fn watched_as(&self, trace: &Trace) -> Settings {
        let said = |name: &'static str| {
            let options = trace.header.options.iter().filter(move |(option, _)| option == name);
            options.map(|(_, value)| value.as_str())
        };
        let mut settings = self.clone();
        if said("detect").any(|detector| detector == "races") {
            settings.detectors.set("races", true);
            settings.detectors.races.suppressions = said("suppress").filter_map(Suppression::parse).collect();
        }
        settings
    }
}
