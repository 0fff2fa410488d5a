//! Functions of libraries that are known by their names, and how their memory accesses are treated. Patterns are globs.

/// Why a function is atomic: it runs without a scheduling point, with all that it calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicKind {
    /// An allocator: the host is told what becomes of which block.
    Allocator,
    /// A part of a library that other workers can tell the time of: its call is a scheduling point.
    Announced,
    /// A part of a library that no other worker can tell the time of.
    Silent,
    /// The user's pattern.
    User,
}

/// What is atomic by default, with threads and without.
pub const ATOMIC: &[(AtomicKind, &[&str])] =
    &[(AtomicKind::Allocator, ALLOCATORS), (AtomicKind::Announced, PATHS), (AtomicKind::Silent, CHECKERS)];

/// What is atomic besides in a module whose libc was built without threads.
pub const ATOMIC_UNGUARDED: &[(AtomicKind, &[&str])] = &[
    (AtomicKind::Announced, STDIO),
    (AtomicKind::Silent, PRINTS),
    (AtomicKind::Announced, UNGUARDED),
    (AtomicKind::Silent, UNNOTICED),
];

/// Allocators. The one of a single-threaded libc breaks when two workers are in it; the one of a
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

/// Checks of our SDKs that come after what they check: they look at what is recorded, and call models, which are pure.
pub const CHECKERS: &[&str] = &["coyote::linearize::check::search*", "coyote_linearize_search"];

/// Rust's test harness, in a program that runs it: what it does is no part of a test.
pub const HARNESS: &[&str] = &["test::*", "<test::*", "getopts::*", "<getopts::*"];

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

/// What such a libc prints with: no other worker can tell when, so that a call is no scheduling point.
pub const PRINTS: &[&str] =
    &["{,v}{,i,small_,__small_}printf", "put{char,s}{,_unlocked}", "{,v}wprintf", "perror"];

/// How wasi-libc finds the directory that a path begins in: also with threads it keeps the current one, and a
/// path that it has made absolute, for all of them.
pub const PATHS: &[&str] = &[
    "__wasilibc_{populate_preopens,register_preopened_fd,find_relpath,find_relpath_alloc,find_abspath}",
    "{chdir,getcwd}",
];

/// What else a libc without threads, and a libc++ on top of it, keep for all threads and would guard: handlers of exit,
/// the locale, whether a weak pointer still points to something. Where a header has the code, it is the
/// program's, and was compiled with threads.
pub const UNGUARDED: &[&str] =
    &["{at,__cxa_at,at_quick_}exit", "setlocale", "std::__[12]::__shared_weak_count::{lock,__release_weak}"];

/// The same, where no other worker can tell when it is called: what stdio consists of, counts of references to what
/// is made once, the environment, random numbers.
pub const UNNOTICED: &[&str] = &[
    "__{fwritex,stdio_exit,stdio_read,stdio_write,stdio_seek,stdio_close,stdout_write}",
    "__{overflow,uflow,towrite,toread,ofl_add,ofl_lock,ofl_unlock}",
    "arc4random{,_buf,_uniform}",
    "__wasilibc_{ensure,initialize,deinitialize,get}_environ",
    "std::__[12]::locale::*",
    "std::__[12]::ios_base::xalloc",
];

/// Functions of the C library of coyote-cc that are one operation which no object of the host stands for: a
/// scheduling point precedes them.
pub const C_SDK_OPERATIONS: &[&str] = &[
    "__coyote_{pthread,thrd}_detach",
    "__coyote_pthread_{key_delete,setspecific}",
    "__coyote_tss_{delete,set}",
    "__coyote_destroy_values",
];

/// What the C library of coyote-cc does for itself: a call of pthread_mutex_lock is one step. What it
/// keeps is ordered by the operations that it announces, or means nothing to the program (which key has
/// which number, which block a finished thread's stack goes back to).
///
/// Besides, the linker's function that fills a new thread's own variables.
pub const C_SDK: &[&str] = &["__coyote_*", "__wasm_init_tls"];

/// Of these, what is no part of what a step touches: functions that prepare and end threads, whose list of
/// finished threads and count of running ones mean nothing to the program, and what says of which kind a mutex
/// is, which is the same whenever it is said.
pub const UNTOLD: &[&str] = &["__coyote_{prepare,thread,finish,bury,retire,tell_mutex}", "__wasm_init_tls"];

/// A function of wasi-libc that stores through a null pointer, which its callers pass: localtime and its kin
/// would be memory errors.
pub const EXCUSED: &[&str] = &["__secs_to_zone"];

/// Functions that SV-COMP's rules make atomic. Those of the C library that begin and end a section have
/// other names within a module.
pub const SECTIONS: &[&str] = &["__VERIFIER_atomic_*"];
