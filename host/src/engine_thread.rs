//! Threads that run guests.

use crate::artifact::THREAD_STACK_BYTES;

/// Runs a function on a thread with enough native stack for a guest.
pub fn on_engine_thread<R: Send>(function: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(THREAD_STACK_BYTES)
            .spawn_scoped(scope, function)
            .expect("threads can be started")
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
