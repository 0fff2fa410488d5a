//! What digests are sums of.

use xxhash_rust::xxh3::Xxh3;

/// A hash of what `fill` writes, for each class of state another one.
pub(super) fn term(class: u8, fill: &dyn Fn(&mut Xxh3)) -> u128 {
    let mut hasher = Xxh3::with_seed(u64::from(class));
    fill(&mut hasher);
    hasher.digest128()
}
