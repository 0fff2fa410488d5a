//! Facts about a module's code that passes base their decisions on.
//!
//! - [`access`]: what instructions do to memory.
//! - [`brief_spins`]: loops in which a lock waits for a moment before it blocks.
//! - [`calls`]: the call graph.
//! - [`escape`]: accesses to a frame that no other worker can see.
//! - [`flow`]: which instructions can follow which, and where values of locals are used.
//! - [`frame_size`]: the size of a function's frame.
//! - [`round_counts`]: counts of the rounds of a loop of which only the first few can be told apart.
//! - [`scope`]: filters on function names.
//! - [`key_lock`]: the lock of wasi-libc's keys of thread-specific data.
//! - [`thread_list`]: the lock of wasi-libc's list of threads.
//! - [`allocator`]: what allocators do to blocks, by their names and arguments.

pub mod access;
pub mod allocator;
pub mod brief_spins;
pub mod calls;
pub mod escape;
pub mod flow;
pub mod frame_size;
pub mod key_lock;
pub mod round_counts;
pub mod scope;
pub mod thread_list;

use calls::Calls;
use walrus::Module;

/// Analyses that several passes need, computed when the first one asks.
#[derive(Debug, Default)]
pub struct Analyses {
    calls: Option<Calls>,
}

impl Analyses {
    /// The call graph.
    pub fn calls(&mut self, module: &Module) -> &Calls {
        self.calls.get_or_insert_with(|| Calls::new(module))
    }

    /// Discards all results, because the module's functions now call others.
    pub(crate) fn invalidate(&mut self) {
        self.calls = None;
    }
}
