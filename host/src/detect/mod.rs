//! Detectors, which may report a bug of an execution: one file each, and one row of [`DETECTORS`], which the command
//! line, the options of traces and the library read.
//!
//! - `deadlock`: no worker can go on, or some wait in a circle.
//! - `memory_errors`: accesses and frees that the heap does not allow.
//! - `use_after_return`: accesses of other workers' stack frames that have ended.
//! - `races`: accesses of several workers that nothing orders.
//! - `lock_order`: locks that workers take in opposite orders.
//! - `leaks`: blocks that are lost at the end.
//! - `liveness`: monitors that do not become cold.
//! - `rounds`: rounds of steps that can be repeated for ever.
//! - `clock`: vector clocks, for detectors that use happens-before.
//!
//! A detector reads events ([`crate::observe`]) and never the engine. A detector of the user's own is added
//! with [`Detectors::add`]: `host/examples/custom_detector.rs`.

#[doc(hidden)]
pub mod deadlock;
#[doc(hidden)]
pub mod leaks;
#[doc(hidden)]
pub mod liveness;
#[doc(hidden)]
pub mod lock_order;
#[doc(hidden)]
pub mod memory_errors;
#[doc(hidden)]
pub mod races;
#[doc(hidden)]
pub mod rounds;
#[doc(hidden)]
pub mod use_after_return;

mod clock;

pub use races::{Rules, Suppression, Watched};

use crate::artifact::Artifact;
use crate::observe::{Detector, Observers};
use coyote_instrumenter::{Options, Points};
use rounds::Wanted;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A detector that has a name on the command line.
pub struct DetectorEntry {
    /// Its name, which is part of the trace format.
    pub name: &'static str,
    /// The bugs that it finds, as a clause.
    pub doc: &'static str,
    /// How users turn it on and off.
    pub switch: Switch,
    /// Whether the module must report what orders accesses (`Options::edges`).
    pub needs_edges: bool,
    /// Checks that it can see anything in a module; the error says why not, and what to do.
    check: fn(&Artifact) -> Result<(), String>,
    /// `None`: the detector of another row does its work.
    make: fn(&Detectors) -> Option<Box<dyn Detector>>,
}

/// How a detector is turned on and off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// It is always on.
    Always,
    /// With `Options::memory_errors`, for which the module is instrumented. The detector itself is always
    /// present.
    MemoryErrors,
    /// With [`Detectors::set`].
    Set {
        /// Whether the detector is on by default.
        default: bool,
    },
}

/// Names of detectors that may watch only some executions.
pub(crate) const RACES: &str = "races";
pub(crate) const BLOCK_RACES: &str = "block-races";
pub(crate) const USE_AFTER_RETURN: &str = "use-after-return";

/// All detectors.
pub static DETECTORS: &[DetectorEntry] = &[
    DetectorEntry {
        name: "deadlock",
        doc: "no worker can go on, and one should; or some wait for each other in a circle",
        switch: Switch::Always,
        needs_edges: false,
        check: |_| Ok(()),
        make: |_| Some(Box::new(deadlock::Deadlock)),
    },
    DetectorEntry {
        name: "memory-errors",
        doc: "use of freed memory, double frees, overflows of blocks of the heap",
        switch: Switch::MemoryErrors,
        needs_edges: false,
        check: |_| Ok(()),
        make: |_| Some(Box::new(memory_errors::MemoryErrors)),
    },
    DetectorEntry {
        name: USE_AFTER_RETURN,
        doc: "accesses of local variables of other workers' functions that have returned",
        switch: Switch::Set { default: true },
        needs_edges: false,
        check: |_| Ok(()),
        make: |_| Some(Box::new(use_after_return::UseAfterReturn)),
    },
    DetectorEntry {
        name: RACES,
        doc: "data races: accesses of the same memory that nothing orders, one of them a write and one not atomic",
        switch: Switch::Set { default: true },
        needs_edges: true,
        check: races::check,
        make: |all| Some(Box::new(races::Races::new(all.races.clone(), all.has(BLOCK_RACES)))),
    },
    DetectorEntry {
        name: BLOCK_RACES,
        doc: "data races of accesses of a block with its allocation, or with its being freed: part of races",
        switch: Switch::Set { default: false },
        needs_edges: true,
        check: |_| Ok(()),
        make: |_| None,
    },
    DetectorEntry {
        name: "lock-order",
        doc: "locks that workers take in opposite orders: a note, and a deadlock where steering towards it shows one",
        switch: Switch::Set { default: false },
        needs_edges: false,
        check: |_| Ok(()),
        make: |_| Some(Box::new(lock_order::LockOrder::default())),
    },
    DetectorEntry {
        name: "leaks",
        doc: "blocks of the heap that a test which passed has lost",
        switch: Switch::Set { default: false },
        needs_edges: false,
        check: |_| Ok(()),
        make: |_| Some(Box::new(leaks::Leaks)),
    },
    DetectorEntry {
        name: "liveness",
        doc: "monitors of the program that are hot at the end, or for too long in a fair execution",
        switch: Switch::Always,
        needs_edges: false,
        check: |_| Ok(()),
        make: |_| Some(Box::new(liveness::Liveness)),
    },
    DetectorEntry {
        name: "lassos",
        doc: "fair rounds of steps that workers can repeat for ever, such as to try a lock, fail and retry",
        switch: Switch::Set { default: false },
        needs_edges: false,
        check: rounds::check,
        make: |_| Some(Box::new(rounds::Rounds)),
    },
    DetectorEntry {
        name: "starvation",
        doc: "workers that can be overtaken for ever, though they are enabled again and again",
        switch: Switch::Set { default: false },
        needs_edges: false,
        check: rounds::check,
        make: |_| Some(Box::new(rounds::Rounds)),
    },
    DetectorEntry {
        name: "good-samaritan",
        doc: "workers that can run for ever for nothing, without giving way to others that could go on",
        switch: Switch::Set { default: false },
        needs_edges: false,
        check: rounds::check,
        make: |_| Some(Box::new(rounds::Rounds)),
    },
];

/// The row with a name.
pub fn by_name(name: &str) -> Option<&'static DetectorEntry> {
    DETECTORS.iter().find(|entry| entry.name == name)
}

/// Creates a detector of the user's own, anew for each execution.
pub type MakeDetector = Arc<dyn Fn() -> Box<dyn Detector> + Send + Sync>;

/// The detectors that watch a test.
#[derive(Clone)]
pub struct Detectors {
    on: BTreeSet<&'static str>,
    /// Whether `use-after-return` watches each execution, also if `races` does not.
    stacks: bool,
    /// The treatment of data races.
    pub races: races::Rules,
    /// Number of steps for which a monitor may be hot in a fair execution; 0 for any number, `None` for half of the
    /// bound on steps of fair strategies.
    pub hot_steps_max: Option<u64>,
    own: Vec<MakeDetector>,
}

/// The detectors that are on by default.
impl Default for Detectors {
    fn default() -> Detectors {
        let on = DETECTORS.iter().filter(|entry| entry.switch == Switch::Set { default: true });
        Detectors {
            on: on.map(|entry| entry.name).collect(),
            stacks: false,
            races: Rules { watched: Watched::Some, ..Rules::default() },
            hot_steps_max: None,
            own: Vec::new(),
        }
    }
}

impl DetectorEntry {
    /// Whether there is anything in a module that it could be about.
    pub(crate) fn concerns(&self, artifact: &Artifact) -> bool {
        self.name != USE_AFTER_RETURN || use_after_return::has_stacks(artifact)
    }

    /// The detector that it is a part of.
    pub(crate) fn whole(&self) -> Option<&'static str> {
        (self.name == BLOCK_RACES).then_some(RACES)
    }
}

impl Detectors {
    /// Only the detectors that are always present.
    pub fn none() -> Detectors {
        Detectors {
            on: BTreeSet::new(),
            stacks: false,
            races: races::Rules::default(),
            hot_steps_max: None,
            own: Vec::new(),
        }
    }

    /// Whether a detector with [`Switch::Set`] is on, in some iterations at least.
    pub fn has(&self, name: &str) -> bool {
        self.on.contains(name)
    }

    /// Whether a detector with [`Switch::Set`] watches each execution. Of those that are on, two may watch only some
    /// iterations of samplers: `races`, and `use-after-return`, which watches what `races` does.
    pub fn watches_all(&self, name: &str) -> bool {
        self.has(name)
            && match name {
                RACES => self.races.watched == Watched::All,
                USE_AFTER_RETURN => self.stacks || self.watches_all(RACES),
                _ => true,
            }
    }

    /// The same detectors, of which those that watch only some iterations watch all.
    pub fn in_all(&self) -> Detectors {
        let races = Rules { watched: Watched::All, ..self.races.clone() };
        Detectors { races, ..self.clone() }
    }

    /// The same detectors for a search of this module, which needs `use-after-return` if there are stacks.
    pub(crate) fn in_search(&self, artifact: &Artifact) -> Detectors {
        let stacks = self.has(USE_AFTER_RETURN) && use_after_return::has_stacks(artifact);
        Detectors { stacks: self.stacks || stacks, ..self.clone() }
    }

    /// Without those that watch some iterations alone.
    pub(crate) fn without_sampled(&self) -> Detectors {
        let mut detectors = self.clone();
        detectors.on.retain(|name| self.watches_all(name));
        detectors
    }

    /// The same detectors, with a search for data races in some iterations of samplers.
    pub fn in_some(&self) -> Detectors {
        let mut detectors = self.clone();
        detectors.set(RACES, true);
        detectors.set(BLOCK_RACES, false);
        detectors.races.watched = Watched::Some;
        detectors
    }

    /// These detectors of a trace, with what `given` looks for where data races are concerned, unless the trace's own
    /// iteration was watched for them.
    pub(crate) fn with_races_of(&self, given: &Detectors) -> Detectors {
        if self.has(RACES) {
            return self.clone();
        }
        let mut detectors = self.clone();
        detectors
            .on
            .extend([RACES, BLOCK_RACES, USE_AFTER_RETURN].into_iter().filter(|name| given.has(name)));
        Detectors { races: given.races.clone(), stacks: self.stacks || given.stacks, ..detectors }
    }

    /// The detectors for iterations that are watched for data races, if others are not. None if no data race could be
    /// seen in this module.
    pub(crate) fn sampled(&self, artifact: &Artifact) -> Vec<&'static DetectorEntry> {
        if !self.has(RACES) || !self.misses_races(artifact) {
            return Vec::new();
        }
        DETECTORS.iter().filter(|entry| self.has(entry.name) && !self.watches_all(entry.name)).collect()
    }

    /// Whether a proof assumes that this program has no data races, since not all executions are watched for them.
    pub(crate) fn assumes_no_races(&self, artifact: &Artifact) -> bool {
        !self.watches_all(RACES) && races::may_be(artifact)
    }

    /// Whether data races could be seen in this module, if all executions were watched for them.
    pub(crate) fn misses_races(&self, artifact: &Artifact) -> bool {
        let sees = |races: &DetectorEntry| (races.check)(artifact).is_ok() && races::may_be(artifact);
        !self.watches_all(RACES) && by_name(RACES).is_some_and(sees)
    }

    /// Creates the detector of a row with these rules, if it has one of its own.
    pub(crate) fn create(&self, entry: &DetectorEntry) -> Option<Box<dyn Detector>> {
        (entry.make)(self)
    }

    /// Turns a detector with [`Switch::Set`] on, for all executions, or off. Returns whether there is one with this
    /// name.
    pub fn set(&mut self, name: &str, on: bool) -> bool {
        let switched = |entry: &&DetectorEntry| matches!(entry.switch, Switch::Set { .. });
        let Some(entry) = by_name(name).filter(switched) else { return false };
        match on {
            true => self.on.insert(entry.name),
            false => self.on.remove(entry.name),
        };
        match entry.name {
            RACES => {
                self.races.watched = Watched::All;
                // It is a part of them.
                if !on {
                    self.on.remove(BLOCK_RACES);
                }
            }
            BLOCK_RACES if on => _ = self.set(RACES, true),
            USE_AFTER_RETURN => self.stacks = on,
            _ => {}
        }
        true
    }

    /// Adds a detector of the user's own. No trace names it, so a replay must add it too.
    pub fn add(&mut self, make: impl Fn() -> Box<dyn Detector> + Send + Sync + 'static) {
        self.own.push(Arc::new(make));
    }

    /// The kinds of rounds of steps that are bugs.
    pub fn lassos(&self) -> Wanted {
        Wanted {
            together: self.has("lassos"),
            without: self.has("starvation"),
            alone: self.has("good-samaritan"),
        }
    }

    /// Adds the options with which a module must be instrumented for the detectors that are on.
    pub fn prepare(&self, options: &mut Options) {
        let needs = |entry: &DetectorEntry| entry.needs_edges && self.has(entry.name);
        options.edges |= options.points == Points::Heap && DETECTORS.iter().any(needs);
    }

    /// Checks that the detectors that are on can see anything in this module.
    ///
    /// # Errors
    /// The reason why one of them cannot, and what to do.
    pub fn check(&self, artifact: &Artifact) -> Result<(), String> {
        DETECTORS
            .iter()
            .filter(|entry| self.watches_all(entry.name))
            .try_for_each(|entry| (entry.check)(artifact))
    }

    /// The assumptions of proofs because of these detectors.
    pub fn assumptions(&self) -> Vec<&'static str> {
        self.make().iter().flat_map(|detector| detector.assumptions()).copied().collect()
    }

    fn make(&self) -> Vec<Box<dyn Detector>> {
        let on = |entry: &&DetectorEntry| {
            !matches!(entry.switch, Switch::Set { .. }) || self.watches_all(entry.name)
        };
        let table = DETECTORS.iter().filter(on).filter_map(|entry| (entry.make)(self));
        table.chain(self.own.iter().map(|make| make())).collect()
    }

    pub(crate) fn observers(&self) -> Observers {
        Observers::new(self.make())
    }
}

impl PartialEq for Detectors {
    fn eq(&self, other: &Detectors) -> bool {
        let same = |(a, b): (&MakeDetector, &MakeDetector)| Arc::ptr_eq(a, b);
        self.on == other.on
            && self.stacks == other.stacks
            && self.races == other.races
            && self.hot_steps_max == other.hot_steps_max
            && self.own.len() == other.own.len()
            && self.own.iter().zip(&other.own).all(same)
    }
}

impl Eq for Detectors {}

impl std::fmt::Debug for Detectors {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{:?} and {} of the user's own", self.on, self.own.len())
    }
}
