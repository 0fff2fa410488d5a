//! Hand-made runtimes on top of `coyote::wait_until`, each with a mistake and without: a lock, a pool of threads, and a
//! library of green threads.

mod green;
mod lock;
mod pool;
