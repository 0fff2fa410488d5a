//! Programs on which searches differed once, each with its number of ends.
//!
//! A file of `found` begins with a comment of what it shows and `ends: N`, and `points: atomic` if these are the points
//! that it needs. Its tests are `COYOTE_TEST(name)`.

use super::compare::{Effort, compare};
use super::compile::{compile_c, compiler, directory, options};
use super::ends::Limits;
use coyote_wasm::instrumenter::Points;
use coyote_wasm::runtime::Faults;
use std::collections::BTreeMap;

const EFFORT: Effort = Effort {
    iterations: 200,
    limits: Limits { executions_max: 10_000, steps_max: 1_000_000 },
    enumeration: Limits { executions_max: 1_000, steps_max: 100_000 },
};

/// What stands behind a word of the comment, up to the end of the line.
fn claim<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let line = text.lines().find_map(|line| line.trim_start_matches([' ', '*']).strip_prefix(word))?;
    Some(line.trim_end_matches("*/").trim())
}

#[test]
fn what_differed_once_does_not_differ() {
    if compiler().is_none() {
        return;
    }
    let mut paths: Vec<_> =
        std::fs::read_dir(directory().join("found")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut wrong = String::new();
    let texts: Vec<String> = paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    // What asks for the size of memory makes requests for it depend on each other, in all of its module.
    let module = |text: &str| (text.contains("__builtin_wasm_memory_"), claim(text, "points:").is_some());
    let artifact = |asks: bool, atomic: bool| {
        let of: String =
            texts.iter().map(String::as_str).filter(|text| module(text) == (asks, atomic)).collect();
        compile_c(&of, &options(if atomic { Points::Atomic } else { Points::Heap }))
    };
    let mut artifacts = BTreeMap::new();
    for (path, text) in paths.iter().zip(&texts) {
        let ends: usize = claim(text, "ends:").expect("it has a number of ends").parse().unwrap();
        let tests = text.lines().filter_map(|line| line.strip_prefix("COYOTE_TEST(")?.split(')').next());
        for test in tests {
            // Every search that is tried in turn.
            for turn in 0..5 {
                let (asks, atomic) = module(text);
                let artifact = artifacts.entry((asks, atomic)).or_insert_with(|| artifact(asks, atomic));
                let comparison = compare(artifact, test, Faults::default(), turn, &EFFORT);
                if comparison.all.len() != ends || !comparison.agrees() {
                    wrong += &format!("{}: {test}, of {ends} ends:\n{comparison}\n", path.display());
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
