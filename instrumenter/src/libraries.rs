//! Library functions that are known by their names, and how their memory accesses are treated. Patterns are
//! globs.

/// Why a function is atomic: it and all that it calls run without a scheduling point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicKind {
    /// An allocator: the host is told which blocks it allocates, moves and frees.
    Allocator,
    /// A part of a library whose calls other workers can observe: a call is a scheduling point.
    Announced,
    /// A part of a library whose calls no other worker can observe.
    Silent,
    /// Matched by a pattern of the user.
    User,
}

/// Functions that are atomic by default, with and without threads.
pub const ATOMIC: &[(AtomicKind, &[&str])] = &[
    (AtomicKind::Allocator, ALLOCATORS),
    (AtomicKind::Announced, PATHS),
    (AtomicKind::Silent, CHECKERS),
    (AtomicKind::Silent, C_SDK_MEMORY),
];

/// Functions that are also atomic in a module whose libc was built without threads.
pub const ATOMIC_UNGUARDED: &[(AtomicKind, &[&str])] = &[
    (AtomicKind::Announced, STDIO),
    (AtomicKind::Silent, PRINTS),
    (AtomicKind::Announced, UNGUARDED),
    (AtomicKind::Silent, UNNOTICED),
];

/// Allocators. That of a single-threaded libc breaks if two workers execute it at the same time; that of a
/// multi-threaded libc takes a spin lock, whose rounds say nothing about the program under test.
pub const ALLOCATORS: &[&str] = &[
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "free",
    "posix_memalign",
    "aligned_alloc",
    "memalign",
    "malloc_usable_size",
    "__libc_{malloc,calloc,realloc,free,memalign}",
    "dl{malloc,calloc,realloc,free,memalign,posix_memalign,malloc_usable_size}",
    "internal_memalign",
    // Rust: mangled with and without a crate path, and the default allocator behind them.
    "{__rustc::,}__rust_{alloc,alloc_zeroed,dealloc,realloc}",
    "{__rustc::,}__rdl_{alloc,alloc_zeroed,dealloc,realloc}",
    "dlmalloc::*",
    "<dlmalloc::*",
];

/// Checks of the SDKs that run after the events that they check: they read what was recorded and call models,
/// which are pure.
pub const CHECKERS: &[&str] = &["coyote::linearize::check::search*", "coyote_linearize_search"];

/// Rust's test harness, in a program that runs it: its own work is no part of a test. Of two crates.
pub const HARNESS: [(&str, &[&str]); 2] =
    [("test", &["test::*", "<test::*"]), ("getopts", &["getopts::*", "<getopts::*"])];

/// The harness by the names of its modules and functions, in a program whose own crate is called `test` too, as is that of
/// `tests/test.rs`.
pub const HARNESS_BESIDE_TEST: &[&str] = &[
    "{,<}test::{bench,cli,console,event,formatters,helpers,options,stats,term,test_result,time,types}::*",
    "test::{test_main,test_main_with_exit_callback,test_main_static,test_main_static_abort}{,::*}",
    "test::{run_test,run_tests,run_test_in_process,run_test_in_spawned_subprocess,spawn_test_subprocess}{,::*}",
    "test::{filter_tests,make_owned_test,convert_benchmarks_to_tests,assert_test_result,fold_err}{,::*}",
    "test::{__rust_begin_short_backtrace,print_merged_doctests_times}{,::*}",
];

/// Stdio of a libc that was built without threads. Not applied to a module that
/// imports `wasi.thread-spawn`: its libc locks, and the locks may block.
pub const STDIO: &[&str] = &[
    "{,v}f{,i}printf",
    "{,v}s{,n}{,i}printf",
    "{,v}{si,fi,sni}printf",
    "{,v}asprintf",
    "{,v}dprintf",
    "__small_{,v}{f,s,sn}printf",
    "{,f,s}scanf",
    "v{,f,s}scanf",
    "{putc,get{c,char,s}}{,_unlocked}",
    "f{put,get}{c,s}{,_unlocked}",
    "{,v}{f,s}w{printf,scanf}",
    "{,v}wscanf",
    "{,f}{put,get}w{c,char,s}",
    "ungetc",
    "f{open,close,reopen,read,write,flush,seek,tell,eof,error}{,_unlocked}",
    "f{seeko,tello,ileno,dopen,purge}",
    "{setvbuf,setbuf,setlinebuf,rewind,clearerr,getline,getdelim}",
];

/// Functions that such a libc prints with. No other worker can observe when they are called, so a call is no
/// scheduling point.
pub const PRINTS: &[&str] =
    &["{,v}{,i,small_,__small_}printf", "put{char,s}{,_unlocked}", "{,v}wprintf", "perror"];

/// Functions by which wasi-libc finds the directory that a path begins in. Also with threads, it keeps one
/// current directory, and one path that it has made absolute, for all threads.
pub const PATHS: &[&str] = &[
    "__wasilibc_{populate_preopens,register_preopened_fd,find_relpath,find_relpath_alloc,find_abspath}",
    "{chdir,getcwd}",
];

/// Other state that a libc without threads, and a libc++ on top of it, share between all threads and would
/// guard: handlers of exit, the locale, random numbers, whether a weak pointer still points to something. Code in a header
/// belongs to the program and was compiled with threads.
pub const UNGUARDED: &[&str] = &[
    "{at,__cxa_at,at_quick_}exit",
    "setlocale",
    "{,s}random",
    "{initstate,setstate}",
    "std::__[12]::__shared_weak_count::{lock,__release_weak}",
];

/// The same for functions whose calls no other worker can observe: what stdio consists of, reference counts
/// of objects that are made once, the environment, random numbers.
pub const UNNOTICED: &[&str] = &[
    "__{fwritex,stdio_exit,stdio_read,stdio_write,stdio_seek,stdio_close,stdout_write}",
    "__{overflow,uflow,towrite,toread,ofl_add,ofl_lock,ofl_unlock}",
    "arc4random{,_buf,_uniform}",
    "__wasilibc_{ensure,initialize,deinitialize,get}_environ",
    "std::__[12]::locale::*",
    "std::__[12]::ios_base::xalloc",
];

/// The function by which coyote-cc's C library allocates what a program does not ask for, and what could therefore not be
/// told that there is no memory: calls of allocators from atomic functions do not fail.
pub const C_SDK_MEMORY: &[&str] = &["__coyote_memory"];

/// Functions of coyote-cc's C library that are one operation without an object of the host: a scheduling
/// point precedes them.
pub const C_SDK_OPERATIONS: &[&str] = &[
    "__coyote_{pthread,thrd}_detach",
    "__coyote_pthread_{key_create,key_delete,setspecific,getconcurrency,setconcurrency}",
    "__coyote_pthread_{getattr,getname,setname}_np",
    "__coyote_tss_{create,delete,set}",
    "__coyote_due",
    "__coyote_{,__cxa_}atexit",
    "__coyote_atomic_*",
];

/// The same in a program that can tell when they happen: one that has another one of these functions.
/// - A join can fail after a detach. It is two operations then: the look whether the thread can be joined, and the wait for
///   its end.
/// - The end of a thread is seen by joins that do not wait.
/// - The last thread that leaves executes the handlers of `exit`.
pub const C_SDK_VISIBLE: [(&str, &[&str]); 3] = [
    ("__coyote_join", &["__coyote_pthread_detach", "__coyote_thrd_detach"]),
    ("__coyote_end", &["__coyote_ends", "__coyote_await_end"]),
    ("__coyote_leave", &["__coyote_atexit", "__coyote___cxa_atexit"]),
];

/// Internal functions of coyote-cc's C library: a call of pthread_mutex_lock is one step. The state that they
/// keep is ordered by the operations that the library announces, or means nothing to the program (which block a
/// finished thread's stack is returned to).
///
/// Also the linker's function that initialises a new thread's thread-local variables.
pub const C_SDK: &[&str] = &["__coyote_*", "__wasm_init_tls"];

/// Those of these functions whose accesses are no part of a step's footprint: functions that prepare and end
/// threads, whose list of finished threads and count of running ones mean nothing to the program (which thread ends
/// last does: `__coyote_leave` is not among them), and the function that tells the host the kind of a mutex, which
/// never changes.
pub const UNTOLD: &[&str] =
    &["__coyote_{prepare,thread,finish,others,bury,retire,tell_mutex}", "__wasm_init_tls"];

/// A function of wasi-libc that stores through a null pointer, which its callers pass: without an exemption,
/// localtime and its relatives would be memory errors.
pub const EXCUSED: &[&str] = &["__secs_to_zone"];

/// Functions that SV-COMP's rules make atomic. Those of the C library that begin and end a section have other
/// names within a module.
pub const SECTIONS: &[&str] = &["__VERIFIER_atomic_*"];
