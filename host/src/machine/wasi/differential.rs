//! The file system in memory against wasmtime's on a real directory: random calls must get equal answers.
//!
//! Paths that end in `/` or `/.` are passed only to `path_open` and `path_create_directory`, since elsewhere wasmtime
//! differs from the Linux below it. The following is not compared, because it differs on purpose (docs/wasi.md) or has
//! no meaning: inode numbers, times, sizes of directories, the order of listings, inherited rights, syncs of
//! directories, and `fd_allocate` and the functions of sockets, which wasmtime does not have.

use crate::machine::directories::Live;
use crate::runtime::Runtime;
use crate::runtime::files::{Answer, Call, Files, Served};
use crate::world::Mapping;
use coyote_abi::file::{CALLS, FileCall, Param};
use coyote_strategies::Iteration;
use coyote_strategies::rng::ChoiceRng;
use std::collections::{BTreeMap, BTreeSet};
use wasmtime::Engine;

/// Calls of one sequence, which begins with an empty directory.
const CALLS_EACH: usize = 150;
const SEQUENCES: u64 = 120;

const PATHS: &[&str] = &[
    "a", "b", "c", "d", "a", "b", "c", "d", "a/b", "b/c", "c/d", "a/b/c", "d/a", "./a", "a/.", "b/..",
    "a/../b", "a/b/../c", "a/", "c/", "a//b", ".", "..", "../a", "a/../..", "/a", "", "c/d/", "a/./b",
    "d/..", "é", "a\0b", "b/.", "c/../d",
];

fn flags(function: &FileCall, index: usize, rng: &mut ChoiceRng) -> u64 {
    let among = |list: &[u64], rng: &mut ChoiceRng| list[rng.below(list.len() as u64) as usize];
    match (function.name, index) {
        ("path_open", 2) => rng.below(17),
        ("path_open", 3) => among(&[2, 64, 66, 66, 66, 0, (1 << 30) - 1, 1 << 30], rng),
        ("path_open", 4) => 0,
        ("path_open", 5) => among(&[0, 0, 0, 1, 4, 5, 32], rng),
        ("fd_fdstat_set_flags", _) => among(&[0, 1, 4, 5, 2, 8, 16, 32], rng),
        ("fd_filestat_set_times" | "path_filestat_set_times", 3 | 4) => 1 + rng.below(17),
        ("fd_seek", 2) | ("fd_advise", 3) => rng.below(7),
        ("path_filestat_get" | "path_filestat_set_times" | "path_link" | "path_open", 1) => {
            among(&[0, 1, 0, 1, 0, 1, 2], rng)
        }
        ("fd_seek", 1) => (rng.below(60) as i64 - 20) as u64,
        ("fd_readdir", _) => 0,
        ("fd_filestat_set_size", _) => among(&[0, 3, 10, 5000], rng),
        _ => rng.below(40),
    }
}

/// Whether wasmtime has the function.
fn is_compared(function: &FileCall) -> bool {
    function.name != "fd_allocate" && !function.name.starts_with("sock_")
}

fn random(rng: &mut ChoiceRng) -> Call {
    // Open descriptors make the other calls interesting.
    let often = ["path_open", "path_open", "path_create_directory", "fd_write", "path_symlink"];
    let function = loop {
        let index = rng.below((CALLS.len() + often.len()) as u64) as usize;
        let name = often.get(index.wrapping_sub(CALLS.len()));
        let function = name.map_or_else(|| &CALLS[index], |n| coyote_abi::file::call(n).unwrap());
        if is_compared(function) {
            break function;
        }
    };
    let mut call = Call { function, numbers: Vec::new(), inputs: Vec::new(), room: 0 };
    for param in function.params {
        match param {
            Param::Descriptor if function.name.starts_with("path") => {
                call.numbers.push([3, 3, 3, 3, 4, 5, 6, rng.below(12)][rng.below(8) as usize]);
            }
            // wasmtime cannot stamp a preopened directory by its descriptor.
            Param::Descriptor if function.name == "fd_filestat_set_times" => {
                call.numbers.push(4 + rng.below(8));
            }
            Param::Descriptor => call.numbers.push(rng.below(12)),
            Param::I32 | Param::I64 => call.numbers.push(flags(function, call.numbers.len(), rng)),
            Param::Text => {
                // With two paths, it is not specified which of two errors is reported first.
                let two = function.params.iter().filter(|p| **p == Param::Text).count() == 2;
                // wasmtime has rules of its own for such names of files and links.
                let as_directory = |p: &str| p.ends_with('/') || p.ends_with("/.");
                let may = matches!(function.name, "path_open" | "path_create_directory");
                let fits = |p: &&str| (!two || !p.contains('\0')) && (may || !as_directory(p));
                let paths: Vec<&str> = PATHS.iter().copied().filter(fits).collect();
                call.inputs.push(paths[rng.below(paths.len() as u64) as usize].as_bytes().to_vec());
            }
            Param::Gather => call.inputs.push((0..rng.below(30)).map(|n| n as u8 + b'a').collect()),
            Param::Scatter => call.room = 1 + rng.below(40) as u32,
            Param::Buffer if function.name == "fd_readdir" => call.room = 1 << 16,
            Param::Buffer => call.room = rng.below(6) as u32,
            Param::Result { .. } => {}
        }
    }
    call
}

/// The parts of an answer that are compared.
fn comparable(call: &Call, mut answer: Answer) -> (u16, Vec<u8>, String) {
    let mut data = format!("{:?}", String::from_utf8_lossy(&answer.data));
    match call.function.name {
        "fd_filestat_get" | "path_filestat_get" if answer.error.is_none() => {
            answer.result[..16].fill(0);
            answer.result[40..].fill(0);
            if answer.result[16] == 3 {
                answer.result[24..40].fill(0);
            }
        }
        "fd_fdstat_get" if answer.error.is_none() => answer.result[16..].fill(0),
        // wasmtime does not report the length of the name.
        "fd_prestat_dir_name" => data = data.replace("\\0", ""),
        "fd_readdir" if answer.error.is_none() => {
            let mut names = BTreeSet::new();
            let mut at = 0;
            while at < answer.data.len() {
                let length = u32::from_le_bytes(answer.data[at + 16..at + 20].try_into().unwrap()) as usize;
                let name = String::from_utf8_lossy(&answer.data[at + 24..at + 24 + length]).into_owned();
                assert!(names.insert((name, answer.data[at + 20])), "a name is listed twice");
                at += 24 + length;
            }
            data = format!("{names:?}");
        }
        _ => {}
    }
    (answer.errno(), answer.result, data)
}

#[test]
fn answers_equal_those_of_wasmtime() {
    let engine = Engine::default();
    let mut differences = BTreeMap::new();
    let mut answers = BTreeMap::new();
    for seed in 0..SEQUENCES {
        let mut rng = ChoiceRng::new(Iteration { seed, index: 0 });
        let directory = tempfile::tempdir().unwrap();
        let given = Mapping { host: directory.path().into(), guest: "/".into() };
        let mut theirs = Live::new(&engine, &[given]).unwrap();
        let mut runtime = Runtime::default();
        runtime.files = Files::new(1 << 30);
        let mut before = Vec::new();
        for _ in 0..CALLS_EACH {
            let call = random(&mut rng);
            let Served::Here(our) = runtime.file_call(None, &call) else { panic!("nobody else is there") };
            let (our, their) = (comparable(&call, our), comparable(&call, theirs.ask(&call).unwrap()));
            *answers.entry((call.function.name, our.0)).or_insert(0) += 1;
            let text = format!("{} {:?} {:?}", call.function.name, call.numbers, call.inputs);
            // wasmtime syncs no directories.
            let synced =
                matches!(call.function.name, "fd_sync" | "fd_datasync") && (our.0, their.0) == (0, 8);
            if our != their && !synced {
                let kind = (call.function.name, our.0, their.0);
                let shown = format!("{text}\n  ours   {our:?}\n  theirs {their:?}\n  after {before:#?}");
                differences.entry(kind).or_insert((0, shown)).0 += 1;
                break;
            }
            if our.0 == 0 && !call.function.name.contains("get") {
                before.push(text);
            }
        }
    }
    if std::env::var_os("COYOTE_SHOW").is_some() {
        println!("{answers:#?}");
    }
    let shown: Vec<_> = differences.values().map(|(count, shown)| format!("{count} times {shown}")).collect();
    assert!(differences.is_empty(), "{}", shown.join("\n"));
    for call in CALLS.iter().filter(|c| is_compared(c)) {
        assert!(answers.keys().any(|(name, _)| *name == call.name), "{} was not called", call.name);
    }
}
