//! Functions of a C program that only have the name of one of the C library's, such as a `getline` of its own.
//!
//! A program that defines a function of the library's replaces it, so that its name says nothing. Two things do:
//!
//! - Its type differs from that of the library's function.
//! - Linkers put what comes from archives, as the library does, behind all object files. So a function is the program's
//!   if it comes before one that is certainly the program's (`main`, a test) and that comes before all which are
//!   certainly the library's. With link-time optimisation, the program's come last.
//!
//! A function of the same type behind `main` is taken for the library's.

use crate::draft::Draft;
use coyote_abi::guest;
use std::collections::BTreeSet;
use walrus::{FunctionId, ValType};

/// Functions of the library with the numbers of their parameters and results. All are numbers of 32 bits.
const TYPES: &[(&str, usize, usize)] = &[
    ("atexit", 1, 1),
    ("chdir", 1, 1),
    ("clearerr", 1, 0),
    ("fclose", 1, 1),
    ("fdopen", 2, 1),
    ("feof", 1, 1),
    ("ferror", 1, 1),
    ("fflush", 1, 1),
    ("fgetc", 1, 1),
    ("fgets", 3, 1),
    ("fileno", 1, 1),
    ("fopen", 2, 1),
    ("fputc", 2, 1),
    ("fputs", 2, 1),
    ("fread", 4, 1),
    ("freopen", 3, 1),
    ("fseek", 3, 1),
    ("ftell", 1, 1),
    ("fwrite", 4, 1),
    ("getc", 1, 1),
    ("getchar", 0, 1),
    ("getcwd", 2, 1),
    ("getdelim", 4, 1),
    ("getline", 3, 1),
    ("gets", 1, 1),
    ("perror", 1, 0),
    ("putc", 2, 1),
    ("putchar", 1, 1),
    ("puts", 1, 1),
    ("rewind", 1, 0),
    ("setbuf", 2, 0),
    ("setlinebuf", 1, 0),
    ("setlocale", 2, 1),
    ("setvbuf", 4, 1),
    ("ungetc", 2, 1),
];

/// Beginnings of names that only functions of the library have.
const LIBRARYS: &[&str] =
    &["__wasi_", "__wasilibc_", "__stdio_", "__towrite", "__fwritex", "printf_core", "dlmalloc"];

/// Names of the function that the program begins with.
const MAIN: &[&str] = &["main", "__main_argc_argv", "__original_main"];

/// The program's functions with such names.
pub fn own_functions(draft: &Draft) -> BTreeSet<FunctionId> {
    let functions = &draft.original.functions;
    let name = |index: u32| functions[index as usize].name.trim_start_matches("undefined_weak:");
    let all = draft.guest_functions().into_iter();
    let all: Vec<(FunctionId, u32)> =
        all.map(|id| (id, draft.origin(id).expect("it is the guest's"))).collect();
    // Linkers wrap what a program exports.
    let exported = draft.original.exported_as.iter();
    let tests = exported.filter(|(_, names)| names.iter().any(|name| name.starts_with(guest::TEST_PREFIX)));
    let tests: BTreeSet<&str> =
        tests.map(|(index, _)| name(*index).trim_end_matches(".command_export")).collect();
    let indices = || all.iter().map(|(_, index)| *index);
    let librarys = indices().filter(|index| LIBRARYS.iter().any(|prefix| name(*index).starts_with(prefix)));
    let first = librarys.min().unwrap_or_default();
    let programs = indices().filter(|index| MAIN.contains(&name(*index)) || tests.contains(name(*index)));
    let last = programs.filter(|index| *index < first).max().unwrap_or_default();
    let has_type = |id: FunctionId, params: usize, results: usize| {
        let ty = draft.module.types.get(draft.module.funcs.get(id).ty());
        let numbers = ty.params().iter().chain(ty.results()).all(|ty| *ty == ValType::I32);
        numbers && (ty.params().len(), ty.results().len()) == (params, results)
    };
    let own = all.iter().filter(|(id, index)| {
        let known = TYPES.iter().find(|(known, ..)| *known == name(*index));
        known.is_some_and(|(_, params, results)| *index < last || !has_type(*id, *params, *results))
    });
    own.map(|(id, _)| *id).collect()
}
