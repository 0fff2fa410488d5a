//! Hand-made runtimes, each with a mistake and without: a lock, a pool of threads, and a library of green threads on top of
//! `coyote::wait_until`; and a port of a library for message passing.

mod green;
mod lock;
mod pool;
mod port;
