//! What the user can choose. Part of cache keys and of traces, so it is plain data.

use serde::{Deserialize, Serialize};

/// Which operations are scheduling points. Each level contains the ones before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Points {
    /// Calls of synchronisation imports, futexes and thread creation. Unsound for programs that
    /// synchronise through atomics or have data races.
    Sync,
    /// Also atomic memory accesses. Unsound for programs that have data races.
    Atomic,
    /// Also plain memory accesses.
    #[default]
    Heap,
}

/// Which memory accesses are scheduling points at the level [`Points::Heap`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HeapPoints {
    /// Those of memory that several workers access, as far as is known by then.
    Shared,
    #[default]
    All,
}

/// How to instrument a module. Patterns are globs on function names, mangled or demangled.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    pub points: Points,
    pub heap_points: HeapPoints,
    /// Functions that run without a scheduling point at memory accesses, they and what they call.
    pub atomic_fns: Vec<String>,
    /// Whether the parts of libraries in [`ALLOCATORS`], [`PATHS`], [`STDIO`] and [`UNGUARDED`] are atomic too.
    pub atomic_defaults: bool,
    /// Whether the host is told what allocators do. Only for those that are atomic by default.
    pub memory_errors: bool,
    /// Functions whose own memory accesses are no scheduling points.
    pub no_points_in: Vec<String>,
    /// If not empty: only these functions' own memory accesses are scheduling points.
    pub points_only_in: Vec<String>,
    /// Whether the host is told what steps touch that is no scheduling point: for searches that rest on that.
    /// Changes neither points nor sites.
    pub footprints: bool,
    /// Imports that nobody is to provide: `module.name`, whose call is a bug, or `module.name=ANSWER`. The
    /// answer is empty for a function that returns nothing, a number, a list of numbers with commas or
    /// `choose:N`, and of several the strategy chooses one.
    pub stubs: Vec<String>,
    /// A planted bug, so that tests can show that they would notice it.
    #[doc(hidden)]
    #[serde(skip)]
    pub mutant: Option<Mutant>,
}

/// Planted bugs of the passes.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutant {
    /// An access that passes as its owner's resets the countdown.
    PassingResetsCountdown,
    /// The owner's pass looks at the first granule alone.
    PassesStraddling,
}

impl Options {
    /// Whether the host is told what allocators do.
    pub fn follows_allocators(&self) -> bool {
        self.memory_errors || self.follows_owners() || self.footprints
    }

    /// Whether an access is a scheduling point only where memory is shared.
    pub fn follows_owners(&self) -> bool {
        self.points == Points::Heap && self.heap_points == HeapPoints::Shared
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            points: Points::default(),
            heap_points: HeapPoints::default(),
            atomic_fns: Vec::new(),
            atomic_defaults: true,
            memory_errors: true,
            no_points_in: Vec::new(),
            points_only_in: Vec::new(),
            footprints: false,
            stubs: Vec::new(),
            mutant: None,
        }
    }
}

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
pub const UNTOLD: &[&str] = &["__coyote_{prepare,thread,finish,bury,retire,mutex}", "__wasm_init_tls"];

/// A function of wasi-libc that stores through a null pointer, which its callers pass: localtime and its kin
/// would be memory errors.
pub const EXCUSED: &[&str] = &["__secs_to_zone"];

/// Functions that SV-COMP's rules make atomic. Those of the C library that begin and end a section have
/// other names within a module.
pub const SECTIONS: &[&str] = &["__VERIFIER_atomic_*"];
