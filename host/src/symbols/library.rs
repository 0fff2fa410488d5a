//! Recognises frames of libraries: of the Rust distribution, the C library, libc++, Zig's std, the SDK of guests, and the
//! runtimes of Rust's tasks.

use super::SourceFrame;

/// Beginnings of the names of functions of the Rust distribution and of the C library, for frames without a
/// source file.
const FUNCTIONS: [&str; 8] = [
    "std::",
    "core::",
    "alloc::",
    "test::",
    "pthread_",
    "wasi_thread_start",
    "dlmalloc::",
    "coyote_raw_call_entry",
];

/// Beginnings of names that C reserves for its implementation, but that belong to the guest: compilers' names for
/// `main`, and verification tasks' names for their sections.
const GUESTS: [&str; 3] = ["__main_", "__original_main", "__VERIFIER_"];

/// Parts of the paths of sources of the Rust distribution, of the C library it links, of the SDK and of
/// libc++'s headers: where rustup installs them, std's own name for them, and where the others were built.
/// The rest of the path is enough for a reader.
const SOURCES: [&str; 15] = [
    "/lib/rustlib/src/rust/library/",
    "/rustc/",
    // Crates that std is built from.
    "/rust/deps/",
    "/wasi-libc/",
    "/coyote-sdk/",
    "/c++/v1/",
    "/libcxx/src/",
    "/libcxxabi/src/",
    "libc-bottom-half/",
    "libc-top-half/",
    "dlmalloc/src/",
    "guest-sdk/rust/src/",
    "guest-sdk/c/include/",
    "/coyote-guest-",
    "/lib/std/",
];

/// Packages that run Rust's tasks or jobs, with their drivers and locks. What a task does is in the program's own functions,
/// which these call.
const RUNTIMES: [&str; 25] = [
    "async-executor",
    "async-io",
    "async-std",
    "async-task",
    "blocking",
    "futures-channel",
    "futures-core",
    "futures-executor",
    "futures-task",
    "futures-util",
    "lock_api",
    "mio",
    "parking_lot",
    "parking_lot_core",
    // Macros that write parts of futures.
    "pin-project",
    "pin-project-lite",
    "pin-utils",
    "polling",
    "rayon",
    "rayon-core",
    "smol",
    "tokio",
    "tokio-stream",
    "tokio-util",
    "wasi",
];

/// The folders in which cargo keeps the packages that it has fetched.
const FETCHED: [&str; 2] = ["/registry/src/", "/git/checkouts/"];

/// Whether a file is the source of a package that cargo has fetched.
pub fn is_fetched(file: &str) -> bool {
    FETCHED.iter().any(|folder| file.contains(folder))
}

/// The part of a path that identifies a file of a runtime that cargo has fetched. One that is tested itself is elsewhere.
fn runtime_file(path: &str) -> Option<&str> {
    let (_, fetched) = path.split_once(FETCHED[0])?;
    let (_, file) = fetched.split_once('/')?;
    let (package, _) = file.split_once('/')?;
    let of_version = |(at, _): &(usize, &str)| package[at + 1..].starts_with(|c: char| c.is_ascii_digit());
    let (end, _) = package.match_indices('-').find(of_version)?;
    RUNTIMES.contains(&&package[..end]).then_some(file)
}

/// The part of a path that identifies a file of one of these libraries; `None` for the guest's own files.
pub fn library_file(path: &str) -> Option<&str> {
    standard_file(path).or_else(|| runtime_file(path))
}

fn standard_file(path: &str) -> Option<&str> {
    let (at, sources) = SOURCES.iter().find_map(|s| path.rfind(s).map(|at| (at, *s)))?;
    let rest = &path[at + sources.len()..];
    Some(match sources {
        // It is followed by the commit.
        "/rustc/" => rest.split_once("/library/").map_or(rest, |(_, file)| file),
        "/lib/rustlib/src/rust/library/" => rest,
        // Other languages than Zig have folders of that name, too.
        "/lib/std/" if !path.ends_with(".zig") => return None,
        _ => path[at..].trim_start_matches('/'),
    })
}

/// Whether values that code accesses are its own and mean nothing to others: those of runtimes of tasks, of std's threads and
/// locks and the threads of the C library below them, and of the counts of `Arc` and `Rc`. Other code of these libraries works
/// on values of its callers.
pub fn keeps_values(frame: &SourceFrame) -> bool {
    let is_runtime = |file: &str| {
        runtime_file(file).is_some()
            || standard_file(file).is_some_and(|file| OF_LIBC.iter().any(|own| file.ends_with(own)))
    };
    keeps_values_of_std(frame) || frame.file.as_deref().is_some_and(is_runtime)
}

/// The same for std alone.
pub fn keeps_values_of_std(frame: &SourceFrame) -> bool {
    let file = frame.file.as_deref().and_then(standard_file);
    file.is_some_and(|file| OF_ITS_OWN.iter().any(|own| file.starts_with(own)))
}

/// Whether a frame belongs to std's locks, or to what they call.
pub fn is_of_locks(frame: &SourceFrame) -> bool {
    match frame.file.as_deref().and_then(standard_file) {
        Some(file) => ["core/src/", "std/src/sync/", "std/src/sys/"].iter().any(|of| file.starts_with(of)),
        None => {
            let path = frame.function.trim_start_matches('<');
            frame.file.is_none()
                && ["core::", "std::sync::", "std::sys::"].iter().any(|of| path.starts_with(of))
        }
    }
}

/// Whether a frame belongs to the code of Rust that makes text of values.
pub fn makes_text(frame: &SourceFrame) -> bool {
    let file = frame.file.as_deref().and_then(standard_file);
    file.is_some_and(|file| file.starts_with("core/src/fmt/"))
}

/// Whether a frame belongs to the core library.
pub fn is_of_core(frame: &SourceFrame) -> bool {
    frame.file.as_deref().and_then(standard_file).is_some_and(|file| file.starts_with("core/src/"))
}

/// Files of wasi-libc's threads.
const OF_LIBC: [&str; 3] = [
    "musl/src/thread/pthread_create.c",
    "musl/src/thread/pthread_detach.c",
    "musl/src/thread/pthread_join.c",
];

const OF_ITS_OWN: [&str; 3] = ["std/src/", "alloc/src/sync.rs", "alloc/src/rc.rs"];

/// Whether a frame belongs to one of these libraries, or to the function that Rust's test harness adds to a crate.
pub fn is_library(frame: &SourceFrame) -> bool {
    if is_harness(frame) {
        return true;
    }
    match &frame.file {
        Some(file) => library_file(file).is_some(),
        None => is_library_function(&frame.function),
    }
}

/// Whether a frame is the main function that the compiler makes for tests: it calls the harness, and has the place of the
/// crate's first line, without a column.
pub fn is_harness(frame: &SourceFrame) -> bool {
    frame.function.ends_with("::main") && frame.line == Some(1) && frame.column.is_none()
}

/// The function of the Rust distribution that calls the code of a thread. Compilers inline that code into it; without
/// lines, its name is all that is known.
const CARRIER: &str = "std::sys::backtrace::__rust_begin_short_backtrace";

/// Whether a function belongs to one of these libraries by its name. Names that C and C++ reserve for their
/// implementation begin with two underscores, or with one and a capital.
pub fn is_library_function(name: &str) -> bool {
    let capital = |rest: &str| rest.starts_with(|c: char| c.is_ascii_uppercase() || c == '_');
    if name.strip_prefix('_').is_some_and(capital) {
        return !GUESTS.iter().any(|guest| name.starts_with(guest));
    }
    // `<&mut T as Trait>::method` belongs to the library of T.
    let path = name.trim_start_matches(['<', '&', '*']);
    let path = path.strip_prefix("mut ").unwrap_or(path);
    is_of_runtime(path)
        || FUNCTIONS.iter().any(|function| path.starts_with(function)) && !path.starts_with(CARRIER)
}

/// Whether a path begins with the crate of a runtime.
fn is_of_runtime(path: &str) -> bool {
    let Some((root, _)) = path.split_once("::") else { return false };
    RUNTIMES.iter().any(|package| package.replace('-', "_") == root)
}

/// Whether a frame belongs to a function that stands for one access: an atomic instruction, one of a `Cell`, or one through
/// a pointer.
pub fn wraps_access(frame: &SourceFrame) -> bool {
    const OF_RUST: [&str; 4] =
        ["core/src/sync/atomic.rs", "core/src/cell.rs", "core/src/mem/mod.rs", "core/src/ptr/"];
    const OF_OTHERS: [&str; 2] = ["std/atomic.zig", "coyote-sdk/include/coyote.h"];
    frame.file.as_deref().is_some_and(|file| {
        OF_RUST.iter().any(|of| standard_file(file).is_some_and(|file| file.starts_with(of)))
            || OF_OTHERS.iter().any(|f| file.ends_with(f))
            || file.contains("/c++/v1/") && file.contains("atomic")
    })
}

#[cfg(test)]
mod tests {
    use super::{CARRIER, is_library, is_library_function, keeps_values, library_file, makes_text};
    use crate::symbols::SourceFrame;

    #[test]
    fn values_of_runtimes_and_threads_are_their_own() {
        let frame = |file: &str| SourceFrame {
            function: String::new(),
            file: Some(file.into()),
            line: None,
            column: None,
        };
        assert!(makes_text(&frame("/rustc/0123456789/library/core/src/fmt/mod.rs")));
        assert!(!makes_text(&frame("/rustc/0123456789/library/alloc/src/string.rs")));
        assert!(!makes_text(&frame("core/src/fmt/mod.rs")));
        for (file, own) in [
            ("/home/.cargo/registry/src/index/tokio-1.54.1/src/runtime/task/state.rs", true),
            ("/home/.rustup/toolchains/stable/lib/rustlib/src/rust/library/std/src/thread/mod.rs", true),
            ("/rustc/0123456789/library/alloc/src/sync.rs", true),
            ("/rustc/0123456789/library/core/src/cell.rs", false),
            ("/rustc/0123456789/library/alloc/src/vec/mod.rs", false),
            ("/home/tokio/tokio/src/runtime/task/state.rs", false),
            ("src/std/src/lib.rs", false),
        ] {
            assert_eq!(keeps_values(&frame(file)), own, "{file}");
        }
    }

    #[test]
    fn the_main_function_of_a_harness_belongs_to_nobody() {
        let frame = |function: &str, line, column| SourceFrame {
            function: function.into(),
            file: Some("src/lib.rs".into()),
            line: Some(line),
            column,
        };
        assert!(is_library(&frame("app::main", 1, None)));
        for own in [frame("app::main", 1, Some(13)), frame("app::main", 3, None), frame("main", 1, None)] {
            assert!(!is_library(&own), "{own}");
        }
    }

    #[test]
    fn functions_of_libraries_are_told_by_their_names() {
        for name in [
            "std::thread::spawn",
            "<alloc::sync::Arc<my::Thing> as core::ops::Drop>::drop",
            "<&mut std::io::Stdout as core::fmt::Write>::write_str",
            "__pthread_create",
            "_Exit",
            "pthread_mutex_lock",
            // The function around it that the instrumenter makes has no lines.
            "tokio::runtime::task::raw::poll",
            "<futures_executor::local_pool::LocalPool>::run",
        ] {
            assert!(is_library_function(name), "{name}");
        }
        for name in [
            "stock::take",
            "<stock::Stock as core::ops::Drop>::drop",
            "stdin_reader",
            "tokio_like::poll",
            "mio",
            "_start",
            CARRIER,
            "_private",
            "__main_void",
            "__original_main",
            "__VERIFIER_atomic_take",
        ] {
            assert!(!is_library_function(name), "{name}");
        }
    }

    #[test]
    fn frames_of_libraries_are_told_by_their_files() {
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
            ("./dlmalloc/src/dlmalloc.c", "dlmalloc/src/dlmalloc.c"),
            ("build/libc-bottom-half/crt/crt1-command.c", "libc-bottom-half/crt/crt1-command.c"),
            ("/coyote-sdk/lib/pthread.c", "coyote-sdk/lib/pthread.c"),
            ("guest-sdk/rust/src/sync/mutex.rs", "guest-sdk/rust/src/sync/mutex.rs"),
            (
                "/home/me/.cargo/registry/src/index/coyote-guest-0.1.0/src/worker.rs",
                "coyote-guest-0.1.0/src/worker.rs",
            ),
            ("/opt/zig/lib/std/Thread.zig", "lib/std/Thread.zig"),
            (
                "/home/me/.cargo/registry/src/index.crates.io-01/tokio-1.54.1/src/runtime/park.rs",
                "tokio-1.54.1/src/runtime/park.rs",
            ),
            (
                "/home/me/.cargo/registry/src/index.crates.io-01/async-task-5.0.0-rc.1/src/raw.rs",
                "async-task-5.0.0-rc.1/src/raw.rs",
            ),
        ] {
            assert_eq!(library_file(file), Some(short), "{file}");
        }
        for file in [
            "src/main.rs",
            "/home/me/.cargo/registry/src/index/flume-0.11.0/src/lib.rs",
            "src/rustc.rs",
            "/home/me/lib/std/queue.c",
            "/home/me/.cargo/registry/src/index.crates.io-01/tokio-rustls-0.26.0/src/lib.rs",
            "/home/me/tokio/tokio/src/runtime/park.rs",
        ] {
            assert_eq!(library_file(file), None, "{file}");
        }
    }
}
