//! Tests on a module that clang built; see `tests/symbols/bank.cpp` for how.

use super::*;
use coyote_strategies::Iteration;
use coyote_strategies::rng::ChoiceRng;

const BANK: &[u8] = include_bytes!("../../tests/symbols/bank.wasm");

/// Offsets that `wasm-objdump -d bank.wasm` prints.
const INLINED_STORE: Location = Location { function: 1, offset: 0x15c };
const ATOMIC_ADD: Location = Location { function: 1, offset: 0x167 };
const SECOND_CALL: Location = Location { function: 2, offset: 0x180 };

#[track_caller]
fn check(symbols: &Symbols, location: Location, expected: &[&str]) {
    let frames: Vec<String> = symbols.frames(location).iter().map(|f| f.to_string()).collect();
    assert_eq!(frames, expected);
}

fn bank() -> Symbols {
    Symbols::relative_to(BANK, Path::new("/guest"))
}

#[test]
fn each_instruction_has_its_line() {
    check(
        &bank(),
        INLINED_STORE,
        &["bank::add(int) at bank.cpp:10:13", "bank::deposit(int) at bank.cpp:15:5"],
    );
    check(&bank(), ATOMIC_ADD, &["bank::deposit(int) at bank.cpp:16:12"]);
    // One byte long and alone in its row: an address that is off by one misses it.
    let end = Location { function: 1, offset: 0x172 };
    check(&bank(), end, &["bank::deposit(int) at bank.cpp:16:5"]);
    check(&bank(), SECOND_CALL, &["test_two_deposits at bank.cpp:23:5"]);
}

#[test]
fn paths_elsewhere_stay_whole() {
    for base in ["", "/", "/elsewhere", "/gues"] {
        let shown = if base == "/" { "guest/bank.cpp" } else { "/guest/bank.cpp" };
        let frames = Symbols::relative_to(BANK, Path::new(base)).frames(ATOMIC_ADD);
        assert_eq!(frames[0].file.as_deref(), Some(shown), "base {base:?}");
    }
}

#[test]
fn paths_make_no_detours() {
    for (path, short) in [
        ("a/b/../c.rs", "a/c.rs"),
        ("/a/b/../../c.rs", "/c.rs"),
        ("../c.rs", "../c.rs"),
        ("../../a/../c.rs", "../../c.rs"),
        ("wasisdk://v30.0/src/abort.c", "wasisdk:/v30.0/src/abort.c"),
    ] {
        assert_eq!(without_detours(Path::new(path)), Path::new(short));
    }
}

#[test]
fn places_without_a_line_have_their_function() {
    // A function that the linker made: no DWARF.
    check(&bank(), Location { function: 0, offset: 0x14b }, &["__wasm_call_ctors"]);
    check(&bank(), Location { function: 1, offset: 0 }, &["bank::deposit(int)"]);
    check(&bank(), Location { function: 2, offset: u32::MAX }, &["test_two_deposits"]);
    check(&bank(), Location { function: 99, offset: 0 }, &["f99"]);
}

/// Renames sections in place, so that all offsets stay.
fn without(names: &[&str]) -> Symbols {
    let mut wasm = BANK.to_vec();
    for name in names {
        // The name's length comes before it, so that strings elsewhere do not match.
        let field = [&[name.len() as u8], name.as_bytes()].concat();
        let at = wasm.windows(field.len()).rposition(|w| w == field).unwrap();
        wasm[at + 1] = b'?';
    }
    Symbols::relative_to(&wasm, Path::new("/guest"))
}

#[test]
fn each_missing_source_makes_the_answer_poorer() {
    check(&without(&[".debug_line"]), ATOMIC_ADD, &["bank::deposit(int)"]);
    check(&without(&[".debug_info"]), ATOMIC_ADD, &["bank::deposit(int)"]);
    // The export's name is the mangled one.
    check(&without(&[".debug_info", "name"]), ATOMIC_ADD, &["bank::deposit(int)"]);
    check(&without(&["name"]), ATOMIC_ADD, &["bank::deposit(int) at bank.cpp:16:12"]);
    check(&Symbols::new(b"not a module"), ATOMIC_ADD, &["f1"]);
    check(&Symbols::new(b""), ATOMIC_ADD, &["f1"]);
    check(&Symbols::new(b"\0asm\x01\0\0\0"), ATOMIC_ADD, &["f1"]);
}

#[test]
fn imports_have_the_first_indices() {
    // (module (import "wasi" "thread-spawn" (func)) (import "env" "m" (memory 1)) (import "env" "f" (func))
    //   (func) (func) (export "g" (func 3)))
    let wasm = b"\0asm\x01\0\0\0\
        \x01\x04\x01\x60\0\0\
        \x02\x26\x03\x04wasi\x0cthread-spawn\0\0\x03env\x01m\x02\0\x01\x03env\x01f\0\0\
        \x03\x03\x02\0\0\
        \x07\x05\x01\x01g\0\x03\
        \x0a\x07\x02\x02\0\x0b\x02\0\x0b";
    let symbols = Symbols::new(wasm);
    let names: Vec<String> = (0..5).map(|i| symbols.function_name(i)).collect();
    assert_eq!(names, ["wasi.thread-spawn", "env.f", "f2", "g", "f4"]);
}

fn ask_everything(wasm: &[u8]) -> usize {
    let symbols = Symbols::relative_to(wasm, Path::new("/guest"));
    let places = [INLINED_STORE, ATOMIC_ADD, SECOND_CALL];
    places.iter().map(|place| symbols.frames(*place).iter().filter(|f| f.line.is_some()).count()).sum()
}

#[test]
fn every_truncation_is_survived() {
    let found: Vec<usize> = (0..=BANK.len()).map(|length| ask_everything(&BANK[..length])).collect();
    assert_eq!((found[0], found[BANK.len()]), (0, 4));
}

#[test]
fn ten_thousand_damaged_modules_never_panic() {
    let (mut whole, mut poorer) = (0, 0);
    for index in 0..10_000 {
        let mut rng = ChoiceRng::new(Iteration { seed: 3, index });
        let mut wasm = BANK.to_vec();
        for _ in 0..=rng.below(8) {
            let at = rng.below(wasm.len() as u64) as usize;
            wasm[at] ^= 1 << rng.below(8);
        }
        match ask_everything(&wasm) {
            4 => whole += 1,
            _ => poorer += 1,
        }
    }
    assert!(whole > 100 && poorer > 100, "{whole} whole, {poorer} poorer: the test lost its point");
}
