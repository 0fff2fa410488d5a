//! The user's options. They are part of cache keys and of traces, so they are plain data.

use serde::{Deserialize, Serialize};

/// Which operations are scheduling points. Each level contains the ones before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Points {
    /// Calls of synchronisation imports, futexes and thread creation. Unsound for programs that
    /// synchronise through atomics or have data races.
    Sync,
    /// Also atomic memory accesses. Unsound for programs that have data races.
    Atomic,
    /// Also plain memory accesses.
    #[default]
    Heap,
}

/// Which memory accesses are scheduling points at the level [`Points::Heap`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HeapPoints {
    /// Accesses of memory that several workers access, as far as is known at that time.
    Shared,
    /// Every access that can be a scheduling point by the other options.
    #[default]
    All,
}

/// How to instrument a module. Patterns are globs on function names, mangled or demangled.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Which operations are scheduling points.
    pub points: Points,
    /// Which memory accesses are scheduling points at the level [`Points::Heap`].
    pub heap_points: HeapPoints,
    /// Functions that, with all that they call, run without a scheduling point at memory accesses.
    pub atomic_fns: Vec<String>,
    /// Whether the parts of libraries in [`crate::ALLOCATORS`], [`crate::PATHS`], [`crate::STDIO`] and [`crate::UNGUARDED`] are atomic too.
    pub atomic_defaults: bool,
    /// Whether looks at the clock are scheduling points.
    pub clock_points: bool,
    /// Whether a lock of Rust's std or of musl that waits for a moment before it blocks has scheduling points only in the
    /// first round of this loop, and none where it makes a round last by atomic accesses of its own frame. Not with weak
    /// memory, where each round may read another store.
    pub brief_spins: bool,
    /// Whether a worker has no scheduling points while it holds a lock that wasi-libc has for itself: of its list of
    /// threads, or of the keys of thread-specific data. Not with weak memory.
    pub libc_locks: bool,
    /// Whether counts of rounds that nothing can tell apart grow no further, so that states of loops that wait repeat.
    /// Changes neither points nor sites, nor what the program does.
    pub rounds: bool,
    /// Whether the host is told what allocators do. Applies only to allocators that are atomic by default.
    pub memory_errors: bool,
    /// Functions whose own memory accesses are no scheduling points.
    pub no_points_in: Vec<String>,
    /// If not empty: only these functions' own memory accesses are scheduling points.
    pub points_only_in: Vec<String>,
    /// Whether the host is told which memory a step touches without a scheduling point: for searches that
    /// rely on footprints, and always for modules that import `coyote.wait_until` or `coyote.watch`. Changes neither
    /// points nor sites.
    pub footprints: bool,
    /// Whether the host is told of events that order accesses without being scheduling points: whether a
    /// compare-exchange wrote, and the atomic accesses and fences of functions that the user left out. For
    /// the detector of data races; part of `footprints`. Changes neither points nor sites.
    pub edges: bool,
    /// Imports that are not provided: `module.name`, whose call is a bug, or `module.name=ANSWER`. The answer
    /// is empty for a function that returns nothing, a number, a comma-separated list of numbers, or
    /// `choose:N`. If there are several values, the strategy chooses one.
    pub stubs: Vec<String>,
    /// Classes of calls that may fail by the tool's choice, each with a call that asks: `io`, `clock`,
    /// `random`, `alloc`; and `weak`: the host decides which stores atomic accesses read.
    pub faults: Vec<String>,
    /// Instructions that are counted: their offsets in the original module. Changes neither points nor sites.
    pub counted: Vec<u32>,
    /// A planted bug, so that tests can show that they detect it.
    #[doc(hidden)]
    #[serde(skip)]
    pub mutant: Option<Mutant>,
}

/// Planted bugs of the passes.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutant {
    /// An access that the owner makes without a scheduling point resets the countdown.
    PassingResetsCountdown,
    /// The check for the owner looks only at the first granule of an access.
    PassesStraddling,
}

impl Options {
    /// The options for a module, which may need more: the host compares what predicates access.
    pub(crate) fn for_module(&self, waits_until: bool) -> Options {
        Options { footprints: self.footprints || waits_until, ..self.clone() }
    }

    /// Whether the host is told what allocators do.
    pub fn follows_allocators(&self) -> bool {
        self.memory_errors || self.follows_owners() || self.footprints
    }

    /// Whether the host is told if an access that is a scheduling point turns out to have written.
    pub fn tells_exchanges(&self) -> bool {
        self.footprints || self.edges
    }

    /// Whether calls of this class may fail.
    pub fn fails(&self, class: &str) -> bool {
        self.faults.iter().any(|name| name == class)
    }

    /// Whether the host says what atomic accesses read.
    pub fn weak_memory(&self) -> bool {
        self.fails("weak")
    }

    /// Whether steps may be made under a lease. If the host has to be told of each access, leases are
    /// useless.
    pub(crate) fn gates(&self) -> bool {
        !self.footprints && !self.weak_memory() && !self.follows_owners()
    }

    /// Whether an access is a scheduling point only where memory is shared.
    pub fn follows_owners(&self) -> bool {
        self.points == Points::Heap && self.heap_points == HeapPoints::Shared
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            points: Points::default(),
            heap_points: HeapPoints::default(),
            atomic_fns: Vec::new(),
            atomic_defaults: true,
            clock_points: true,
            brief_spins: true,
            libc_locks: true,
            rounds: true,
            memory_errors: true,
            no_points_in: Vec::new(),
            points_only_in: Vec::new(),
            footprints: false,
            edges: false,
            stubs: Vec::new(),
            faults: Vec::new(),
            counted: Vec::new(),
            mutant: None,
        }
    }
}
