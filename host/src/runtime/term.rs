//! The terms whose sums are digests.

use xxhash_rust::xxh3::Xxh3;

/// A part of the state: terms of different parts have different seeds.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum Part {
    Worker = 1,
    Mutex,
    Timeout,
    Clock,
    Rwlock,
    Reader,
    Semaphore,
    Barrier,
    Rest,
    Monitor,
    WeakMemory,
    MemoryRefused,
}

/// A hash of what `fill` writes.
pub(super) fn term(part: Part, fill: &dyn Fn(&mut Xxh3)) -> u128 {
    let mut hasher = Xxh3::with_seed(part as u64);
    fill(&mut hasher);
    hasher.digest128()
}
