//! The terms whose sums are digests.

use xxhash_rust::xxh3::Xxh3;

/// A hash of what `fill` writes, with a different seed for each class of state.
pub(super) fn term(class: u8, fill: &dyn Fn(&mut Xxh3)) -> u128 {
    let mut hasher = Xxh3::with_seed(u64::from(class));
    fill(&mut hasher);
    hasher.digest128()
}
