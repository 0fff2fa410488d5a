//! Workers. Same shape as `std::thread`, but for panics: one ends the iteration as a bug, so
//! [`JoinHandle::join`] returns the value itself.

mod packet;
mod scope;

pub use scope::{Scope, ScopedJoinHandle, scope};

use crate::{sys, worker};
use packet::Packet;
use std::sync::Arc;
use std::time::Duration;

/// Size of a worker's stack in bytes unless [`Builder::stack_size`] says otherwise.
pub const STACK_BYTES: usize = coyote_abi::guest::STACK_BYTES as usize;

/// Starts a worker.
pub fn spawn<T: Send + 'static>(main: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    Builder::new().spawn(main)
}

/// Lets other workers run.
pub fn yield_now() {
    sys::yield_now();
}

/// Blocks for a span of virtual time. This takes no real time; other workers may run before and after.
pub fn sleep(span: Duration) {
    sys::sleep(i64::try_from(span.as_nanos()).unwrap_or(i64::MAX));
}

/// The number of the calling worker, 0 for the one that the test started in. Equal schedules give
/// equal numbers.
pub fn current_id() -> u32 {
    sys::current() as u32
}

/// Configures a worker before it starts: name and stack size.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    name: Option<String>,
    stack_bytes: Option<usize>,
}

impl Builder {
    /// A worker without a name and with a stack of [`STACK_BYTES`].
    pub fn new() -> Builder {
        Builder::default()
    }

    /// The worker's name in reports.
    pub fn name(mut self, name: impl Into<String>) -> Builder {
        self.name = Some(name.into());
        self
    }

    /// Size of the worker's stack in bytes.
    pub fn stack_size(mut self, bytes: usize) -> Builder {
        self.stack_bytes = Some(bytes);
        self
    }

    /// Starts the worker.
    pub fn spawn<T: Send + 'static>(self, main: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        let packet = Arc::new(Packet::new());
        let worker = packet::start(self, &packet, main);
        JoinHandle { worker, packet }
    }

    /// Starts a worker that may borrow what outlives the scope.
    pub fn spawn_scoped<'scope, 'env, T: Send + 'scope>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        main: impl FnOnce() -> T + Send + 'scope,
    ) -> ScopedJoinHandle<'scope, T> {
        scope.start(self, main)
    }
}

/// A worker that can be joined. Dropping the handle detaches the worker: it continues, its value is
/// dropped when it ends, and its stack is leaked for the rest of the iteration.
pub struct JoinHandle<T> {
    worker: worker::Worker,
    packet: Arc<Packet<T>>,
}

impl<T> JoinHandle<T> {
    /// Blocks until the worker has ended and returns its value.
    pub fn join(self) -> T {
        self.worker.join();
        crate::worker::have_joined();
        Packet::open(self.packet)
    }
}

impl<T> std::fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}
