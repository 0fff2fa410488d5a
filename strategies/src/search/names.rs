//! Searches by name.

use super::bounding::Cost;
use super::caching::Caching;
use super::catalog::SEARCHES;
use super::dfs::Dfs;
use super::dpor::Dpor;
use super::{Item, Search, stratified};
use crate::System;
use crate::entry::Entry;

/// The row of the table that this text selects.
fn row(spec: &str) -> Option<&'static Entry> {
    let name = spec.split([':', '+']).next().unwrap_or_default();
    let full = spec.split(':').next().unwrap_or_default();
    let by = |wanted: &str| SEARCHES.iter().find(|entry| entry.name == wanted);
    by(full).or_else(|| by(name))
}

/// Whether this text selects a search, rather than a sampler.
pub fn is_search(spec: &str) -> bool {
    row(spec).is_some()
}

/// Whether several jobs can share the search's work. Not if the search relies on one cache.
pub fn shardable(spec: &str) -> bool {
    row(spec).is_some_and(|entry| entry.shardable)
}

/// Whether the search's work can be divided into parts that know nothing of each other ([`super::division`]). Not if it
/// samples, nor if it remembers what it has seen within a bound: a part could reach a state at a higher level first.
pub fn divisible(spec: &str) -> bool {
    let name = spec.split(':').next().unwrap_or_default();
    remembers(spec) || matches!(name, "dfs" | "dpor" | "preemption-bounding" | "delay-bounding")
}

/// Whether parts of the search begin with what was visited before ([`super::visited`]).
pub fn remembers(spec: &str) -> bool {
    matches!(spec, "stateful" | "dfs+states" | "dfs+hb")
}

/// Whether the search relies on the footprints of steps ([`System::footprint`]): if a footprint is
/// incomplete, the search may claim a proof that is wrong.
pub fn rests_on_footprints(spec: &str) -> bool {
    let name = spec.split(':').next().unwrap_or_default();
    is_search(spec) && (name == "dpor" || name.ends_with("+hb"))
}

/// The search that a user selects by this text; with items, one that does exactly their work. Random choices
/// of searches depend on `seed`. The error says what is wrong with the text.
///
/// # Errors
/// A sentence for the user: the name does not exist, or its bound or cache is not one that the search has.
pub fn by_name<S: System + 'static>(
    spec: &str,
    seed: u64,
    items: Option<Vec<Item>>,
) -> Result<Box<dyn Search<S>>, String> {
    if stratified::knows(spec) {
        return stratified::by_name(spec, seed, items);
    }
    let (name, max) = match spec.split_once(':') {
        Some((name, max)) => (name, Some(max)),
        None => (spec, None),
    };
    let (name, cache) = match name.split_once('+') {
        Some((name, cache)) => (name, Some(cache)),
        None => (name, None),
    };
    let caching = match cache {
        None => Caching::Nothing,
        Some("states") => Caching::States,
        Some("hb") => Caching::Classes,
        Some(other) => return Err(format!("{name}+{other}: what is kept is states or hb (happens-before)")),
    };
    let cost = match (name, cache) {
        ("preemption-bounding", _) => Cost::Preemptions,
        ("delay-bounding", _) => Cost::Delays,
        ("dpor" | "stateful" | "dfs", _) if max.is_some() => {
            return Err(format!("{spec}: {name} has no bound"));
        }
        ("dfs", _) => Cost::Nothing,
        ("stateful", None) => {
            return Ok(Box::new(Dfs::new(Cost::Nothing, None, Caching::States, items)));
        }
        ("dpor", None) => return Ok(Box::new(Dpor::new(items))),
        ("dpor" | "stateful", _) => return Err(format!("{spec}: {name} is not combined with a cache")),
        _ => return Err(format!("there is no search {spec}")),
    };
    let max = match max.map(str::parse) {
        None => None,
        Some(Ok(max)) => Some(max),
        Some(Err(_)) => return Err(format!("{spec}: the bound is a number")),
    };
    Ok(Box::new(Dfs::new(cost, max, caching, items)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::Toy;

    #[test]
    fn names_come_back() {
        for spec in [
            "dfs",
            "dfs+hb",
            "stateful",
            "dpor",
            "preemption-bounding",
            "preemption-bounding+states:3",
            "delay-bounding:0",
            "delay-bounding+hb:2",
        ] {
            assert!(is_search(spec), "{spec}");
            let search = by_name::<Toy>(spec, 0, None).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(search.name(), spec);
            assert_eq!(search.save(), [Item::default()], "{spec}");
        }
        assert_eq!(by_name::<Toy>("dfs+states", 0, None).map(|s| s.name()), Ok("stateful".into()));
    }

    #[test]
    fn what_can_be_divided() {
        for spec in ["dfs", "dpor", "preemption-bounding", "preemption-bounding:2", "delay-bounding:0"] {
            assert!(divisible(spec) && !remembers(spec), "{spec}");
        }
        for spec in ["dfs+hb", "dfs+states", "stateful"] {
            assert!(divisible(spec) && remembers(spec), "{spec}");
        }
        for spec in ["preemption-bounding+states:2", "delay-bounding+hb", "ses", "ss", "ses-ss", "random"] {
            assert!(!divisible(spec), "{spec}");
        }
    }

    #[test]
    fn what_rests_on_footprints() {
        for spec in ["dpor", "dfs+hb", "delay-bounding+hb:2", "preemption-bounding+hb"] {
            assert!(rests_on_footprints(spec), "{spec}");
        }
        for spec in ["dfs", "stateful", "preemption-bounding+states:3", "ses", "ses:round-robin:3", "random"]
        {
            assert!(!rests_on_footprints(spec), "{spec}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_name() {
        let error = |spec| by_name::<Toy>(spec, 0, None).err().unwrap_or_default();
        assert_eq!(error("dpor:2"), "dpor:2: dpor has no bound");
        assert_eq!(error("dpor+states"), "dpor+states: dpor is not combined with a cache");
        assert_eq!(error("dfs+x"), "dfs+x: what is kept is states or hb (happens-before)");
        assert_eq!(error("delay-bounding:x"), "delay-bounding:x: the bound is a number");
        assert_eq!(error("bfs"), "there is no search bfs");
    }
}
