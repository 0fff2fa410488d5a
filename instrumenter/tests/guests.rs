//! Modules as compilers make them: every level of points is accepted, and what was done to each
//! function is as written beside them. `COYOTE_BLESS=1` writes the expectation anew. How a guest was
//! built stands in its source.

use coyote_instrumenter::{Options, Points, dump, explain, instrument};
use std::path::PathBuf;

fn guests() -> Vec<(PathBuf, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/guests");
    let mut guests: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "wasm"))
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect();
    guests.sort();
    assert!(!guests.is_empty());
    guests
}

#[test]
fn every_level_is_accepted() {
    for (path, wasm) in guests() {
        let mut sites = Vec::new();
        for points in [Points::Sync, Points::Atomic, Points::Heap] {
            let options = Options { points, ..Options::default() };
            let instrumented =
                instrument(&wasm, &options).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            sites.push(instrumented.table.sites.len());
        }
        assert!(sites[0] < sites[1] && sites[1] < sites[2], "{}: {sites:?}", path.display());
    }
}

#[test]
fn explanations_are_as_expected() {
    for (path, wasm) in guests() {
        let explanations = explain(&wasm, &Options::default()).unwrap();
        let actual: String = explanations.iter().map(|e| format!("{}: {}\n", e.function, e.reason)).collect();
        let expectation = path.with_extension("expect");
        if std::env::var_os("COYOTE_BLESS").is_some() {
            std::fs::write(&expectation, &actual).unwrap();
        }
        assert_eq!(actual, std::fs::read_to_string(&expectation).unwrap(), "{}", path.display());
    }
}

#[test]
fn a_dump_shows_a_function_before_and_after() {
    for (_, wasm) in guests() {
        let text = dump(&wasm, &Options::default(), "coyote.test.counter")
            .or_else(|_| dump(&wasm, &Options::default(), "counter_test"))
            .unwrap();
        let (before, after) = text.split_once("\n;; after\n").unwrap();
        assert!(before.starts_with(";; before\n(func $"), "{before}");
        assert!(!before.contains("coyote_rt"), "{before}");
        assert!(after.starts_with("(func $") && after.contains("call $coyote_rt.spawn"), "{after}");
        assert_eq!(after.matches("(func $").count(), 1, "{after}");
    }
}
