//! Searches by name.

use super::dpor::Dpor;
use super::{Item, Search, stratified};
use crate::System;
use crate::catalog::SEARCHES;

/// Whether this text selects a search, rather than a sampler.
pub fn is_search(spec: &str) -> bool {
    let name = spec.split(':').next().unwrap_or_default();
    SEARCHES.iter().any(|entry| entry.name == name)
}

/// The search that a user selects by this text; with items, one that does what they say and no more.
/// Searches that choose at random do so from `seed`. The error says what is wrong with the text.
pub fn by_name<S: System + 'static>(
    spec: &str,
    seed: u64,
    items: Option<Vec<Item>>,
) -> Result<Box<dyn Search<S>>, String> {
    if stratified::knows(spec) {
        return stratified::by_name(spec, seed, items);
    }
    match spec {
        "dpor" => Ok(Box::new(Dpor::new(items))),
        _ => Err(format!("there is no search {spec}")),
    }
}
