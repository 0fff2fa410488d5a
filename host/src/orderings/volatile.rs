//! Functions of C libraries whose plain accesses may be atomic ones.
//!
//! musl, and wasi-libc after it, read and write the words of locks and threads through pointers to `volatile`, which
//! compiles to plain instructions. Accesses in such a function therefore do not count as known to be plain, though some
//! of them are.

/// Prefixes of function names, as in wasi-libc of wasi-sdk 20 to 33, and in rust-std's `self-contained` objects.
const FUNCTIONS: &[&str] = &[
    "pthread_",
    "__pthread_",
    "__private_cond_signal",
    "__timedwait",
    "__wait",
    "__wake",
    "__lock",
    "__unlock",
    "__tl_",
    "__tls_get_",
    "__acquire_ptc",
    "__release_ptc",
    "__inhibit_ptc",
    "__do_orphaned_stdio_locks",
    "__lockfile",
    "__unlockfile",
    "__wasilibc_futex",
    "__wasi_thread",
    "wasi_thread_start",
    "__init_tp",
    "__copy_tls",
    "__vm_",
    "sem_",
    "mtx_",
    "cnd_",
    "thrd_",
    "tss_",
    "call_once",
    "malloc_usable_size",
    "dlmalloc",
    "dlfree",
];

/// Whether a function of this name is such a function, if it is a library's.
pub fn is_one(name: &str) -> bool {
    FUNCTIONS.iter().any(|beginning| name.starts_with(beginning))
}
