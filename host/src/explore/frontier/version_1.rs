//! Frontiers of version 1: JSON, every item with its whole prefix, without a checksum.

use super::{Done, Frontier, Identity};
use crate::results::{Incidents, IterationNotes};
use coyote_strategies::Decision;
use coyote_strategies::search::division::Work;
use coyote_strategies::search::{self, Branch, Counts};
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    #[serde(rename = "tool")]
    _tool: String,
    module: String,
    test: String,
    strategy: String,
    seed: u64,
    options: Vec<(String, String)>,
    counts: Counts,
    items: Vec<Item>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    prefix: Vec<Decision>,
    branches: Vec<Branch>,
}

pub fn frontier(path: &Path, bytes: &[u8]) -> Result<Frontier, String> {
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    let Version { version } = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
    if version != 1 {
        return Err(format!("it has version {version}, this tool reads 1 and 2"));
    }
    let file: File = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
    debug_assert_eq!(file.version, version);
    let (module, test, strategy, seed) = (file.module, file.test, file.strategy, file.seed);
    let identity = Identity { build: None, module, test, strategy, seed, options: file.options };
    // A search with several items must have met a choice; nothing else is known, so a verdict assumes what it may need.
    let incidents = Incidents {
        asked_random: true,
        spurious_left_out: true,
        clock_looked_at: true,
        ..Incidents::default()
    };
    let notes = IterationNotes { incidents, ..IterationNotes::default() };
    let done = Done { counts: file.counts, any_choice: true, notes, unprotected: true, ..Done::default() };
    let items = file.items.into_iter();
    let items =
        items.map(|Item { prefix, branches }| search::Item { prefix: prefix.into(), branches, place: None });
    let work = Work { items: items.collect(), ..Work::default() };
    Ok(Frontier { identity, from: path.into(), done, work, is_part: false, visited_in: None })
}
