//! Memory orderings of atomic accesses, as Rust and C++ name them.

/// The memory ordering of an atomic access or a fence. The numbers are those of C's `memory_order`; `consume`
/// is [`Ordering::Acquire`], as in compilers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Ordering {
    /// Atomic, and orders nothing.
    Relaxed = 0,
    /// A load that sees what came before the release store that it reads.
    Acquire = 2,
    /// A store that publishes what came before it.
    Release = 3,
    /// Acquire and release, for a read-modify-write or a fence.
    AcqRel = 4,
    /// As [`Ordering::AcqRel`], and in one total order with all others of this kind.
    SeqCst = 5,
}

impl Ordering {
    /// Every ordering, from the weakest to the strongest; of `Acquire` and `Release` neither is the stronger one.
    pub const ALL: [Ordering; 5] =
        [Ordering::Relaxed, Ordering::Acquire, Ordering::Release, Ordering::AcqRel, Ordering::SeqCst];

    /// The ordering with this name in Rust.
    pub fn from_name(name: &str) -> Option<Ordering> {
        Self::ALL.into_iter().find(|ordering| ordering.name() == name)
    }

    /// The ordering of a `memory_order` of C.
    pub const fn from_c(value: u32) -> Option<Ordering> {
        match value {
            0 => Some(Ordering::Relaxed),
            1 | 2 => Some(Ordering::Acquire),
            3 => Some(Ordering::Release),
            4 => Some(Ordering::AcqRel),
            5 => Some(Ordering::SeqCst),
            _ => None,
        }
    }

    /// The name in Rust.
    pub const fn name(self) -> &'static str {
        match self {
            Ordering::Relaxed => "Relaxed",
            Ordering::Acquire => "Acquire",
            Ordering::Release => "Release",
            Ordering::AcqRel => "AcqRel",
            Ordering::SeqCst => "SeqCst",
        }
    }

    /// Whether a load with this ordering synchronises with the release store that it reads from.
    pub const fn acquires(self) -> bool {
        matches!(self, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst)
    }

    /// Whether a store with this ordering synchronises with an acquire load that reads it.
    pub const fn releases(self) -> bool {
        matches!(self, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst)
    }

    /// The weakest ordering that is at least as strong as both.
    pub const fn join(self, other: Ordering) -> Ordering {
        match (self, other) {
            (Ordering::SeqCst, _) | (_, Ordering::SeqCst) => Ordering::SeqCst,
            _ => match (self.acquires() || other.acquires(), self.releases() || other.releases()) {
                (true, true) => Ordering::AcqRel,
                (true, false) => Ordering::Acquire,
                (false, true) => Ordering::Release,
                (false, false) => Ordering::Relaxed,
            },
        }
    }

    /// What is left of the ordering of a read-modify-write for the load in it.
    pub const fn of_load(self) -> Ordering {
        match self {
            Ordering::SeqCst => Ordering::SeqCst,
            _ if self.acquires() => Ordering::Acquire,
            _ => Ordering::Relaxed,
        }
    }

    /// What is left of the ordering of a read-modify-write for the store in it.
    pub const fn of_store(self) -> Ordering {
        match self {
            Ordering::SeqCst => Ordering::SeqCst,
            _ if self.releases() => Ordering::Release,
            _ => Ordering::Relaxed,
        }
    }
}
