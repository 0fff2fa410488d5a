//! Stacks as a reader wants them: the guest's own functions, with short names.

use crate::symbols::{SourceFrame, Symbols};
use coyote_instrumenter::Location;

/// Frames of one stack that are shown.
const FRAMES_MAX: usize = 20;

/// Crates of the Rust distribution and functions of the C SDK, whose frames are seldom what a reader looks
/// for.
const LIBRARIES: [&str; 5] = ["std::", "core::", "alloc::", "__rustc::", "__coyote_"];

/// Where the sources of the Rust distribution, of the C library it links, of the C SDK and of libc++'s
/// headers are: where rustup installs them, std's own name for them, and where the others were built. What
/// follows says enough to a reader.
const LIBRARY_SOURCES: [&str; 7] = [
    "/lib/rustlib/src/rust/library/",
    "/rustc/",
    "/wasi-libc/",
    "/coyote-sdk/",
    "/c++/v1/",
    "libc-bottom-half/",
    "libc-top-half/",
];

/// The part of a path that tells files of one of these libraries apart; `None` for the guest's own.
fn library_file(path: &str) -> Option<&str> {
    let (at, sources) = LIBRARY_SOURCES.iter().find_map(|s| path.rfind(s).map(|at| (at, *s)))?;
    let rest = &path[at + sources.len()..];
    Some(match sources {
        // Behind it stands the commit.
        "/rustc/" => rest.split_once("/library/").map_or(rest, |(_, file)| file),
        "/lib/rustlib/src/rust/library/" => rest,
        _ => path[at..].trim_start_matches('/'),
    })
}

/// Whether a frame belongs to one of these.
fn is_library(frame: &SourceFrame) -> bool {
    match &frame.file {
        Some(file) => library_file(file).is_some(),
        None => LIBRARIES.iter().any(|l| frame.function.starts_with(l)),
    }
}

/// A stack with the functions of its places, innermost first.
pub fn of(stack: &[Location], symbols: &Symbols) -> Vec<SourceFrame> {
    stack.iter().flat_map(|location| symbols.frames(*location)).collect()
}

/// The frames that belong to the guest itself.
pub fn own(stack: &[SourceFrame]) -> impl Iterator<Item = &SourceFrame> {
    stack.iter().filter(|frame| !is_library(frame))
}

/// A stack in lines, innermost first. Frames of libraries are left out unless there is nothing else.
pub fn lines(stack: &[SourceFrame]) -> Vec<String> {
    let own: Vec<_> = own(stack).collect();
    let shown = if own.is_empty() { stack.iter().collect() } else { own };
    let mut lines: Vec<String> = shown.iter().take(FRAMES_MAX).map(|f| format!("at {}", line(f))).collect();
    if shown.len() > FRAMES_MAX {
        lines.push(format!("... and {} more", shown.len() - FRAMES_MAX));
    }
    lines
}

/// Places in lines, as `lines` has them.
pub fn stack(stack: &[Location], symbols: &Symbols) -> Vec<String> {
    lines(&of(stack, symbols))
}

/// A place in one line, from all functions there: the innermost one that belongs to the guest itself, and whose line
/// is known if that of any is. (The line of code that the compiler added, as for a destructor, is not.) In a library
/// it is the outermost one: that a lock waits says more than that an atomic is loaded.
pub fn one_line(frames: &[SourceFrame]) -> String {
    let frame = own(frames).find(|f| f.line.is_some()).or_else(|| own(frames).next()).or(frames.last());
    frame.map_or_else(String::new, line)
}

fn line(frame: &SourceFrame) -> String {
    let function = without_generics(&frame.function);
    let file = frame.file.as_deref().map(|file| library_file(file).unwrap_or(file));
    match (file, frame.line) {
        (Some(file), Some(line)) => format!("{function} ({file}:{line})"),
        (Some(file), None) => format!("{function} ({file})"),
        _ => function,
    }
}

/// A function's name without its generic arguments, which can be longer than everything else.
/// `<T as Trait>::method` keeps what stands in front, `<T>::method` becomes `T::method`.
fn without_generics(name: &str) -> String {
    if let Some(plain) = without_brackets(name) {
        return without_generics(&plain);
    }
    let mut short = String::new();
    let mut depth = 0;
    let mut before = ' ';
    for (at, c) in name.char_indices() {
        match c {
            '<' if at == 0 || (depth == 0 && name[..at].ends_with("operator")) => short.push(c),
            '<' if !short.starts_with('<') => depth += 1,
            '>' if depth > 0 && before != '-' => depth -= 1,
            _ if depth == 0 => short.push(c),
            _ => {}
        }
        before = c;
    }
    short.replace("::::", "::").trim_end_matches("::").to_string()
}

/// `T::method` for `<T>::method`.
fn without_brackets(name: &str) -> Option<String> {
    let rest = name.strip_prefix('<')?;
    let mut depth = 1;
    let close = rest.char_indices().find_map(|(at, c)| {
        match c {
            '<' => depth += 1,
            '>' if !rest[..at].ends_with('-') => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    })?;
    let (ty, method) = (&rest[..close], &rest[close + 1..]);
    let path = !ty.contains(" as ") && !ty.starts_with(['[', '(', '&', '*']) && method.starts_with("::");
    path.then(|| format!("{ty}{method}"))
}

#[cfg(test)]
mod tests {
    use super::{library_file, without_generics};

    #[test]
    fn frames_of_the_distribution_are_told_by_their_files() {
        for (file, short) in [
            (
                "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src/sync/atomic.rs",
                "core/src/sync/atomic.rs",
            ),
            (
                "/home/me/.rustup/toolchains/stable/lib/rustlib/src/rust/library/core/src/sync/atomic.rs",
                "core/src/sync/atomic.rs",
            ),
            (
                "wasisdk:/v30.0/build/wasi-libc-build/wasisdk:/v30.0/src/wasi-libc/libc-bottom-half/abort.c",
                "wasi-libc/libc-bottom-half/abort.c",
            ),
            ("build/libc-bottom-half/crt/crt1-command.c", "libc-bottom-half/crt/crt1-command.c"),
            ("/coyote-sdk/lib/pthread.c", "coyote-sdk/lib/pthread.c"),
        ] {
            assert_eq!(library_file(file), Some(short), "{file}");
        }
        for file in
            ["src/main.rs", "/home/me/.cargo/registry/src/index/flume-0.11.0/src/lib.rs", "src/rustc.rs"]
        {
            assert_eq!(library_file(file), None, "{file}");
        }
    }

    #[test]
    fn names_lose_their_generic_arguments_alone() {
        let cases = [
            ("main", "main"),
            ("core::sync::atomic::atomic_load::<u32>", "core::sync::atomic::atomic_load"),
            ("<std::thread::Thread>::park", "std::thread::Thread::park"),
            ("<alloc::RawVec<std::System>>::grow", "alloc::RawVec::grow"),
            ("std::thread::scoped::<impl std::Builder>::spawn_scoped", "std::thread::scoped::spawn_scoped"),
            ("<[T]>::sort", "<[T]>::sort"),
            ("call_once<Box<dyn FnOnce<(), Output=()>>, ()>", "call_once"),
            ("scope<(), run::{closure_env#0}>", "scope"),
            ("map<fn(u32) -> u32>::next", "map::next"),
            ("<Vec<u8> as Drop>::drop", "<Vec<u8> as Drop>::drop"),
            ("{closure#0}", "{closure#0}"),
            ("std::vector<int>::push_back(int)", "std::vector::push_back(int)"),
        ];
        for (name, short) in cases {
            assert_eq!(without_generics(name), short);
        }
    }
}
