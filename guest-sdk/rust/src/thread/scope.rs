//! Workers that borrow from the function that started them.
#![allow(unsafe_code)] // Lifetimes are erased; that the scope joins every worker makes it sound.

use super::Builder;
use super::packet::{self, Packet};
use crate::worker::{self, Worker};
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

/// Runs `body` and then waits for every worker that was started in the scope.
///
/// Unlike std's, a scope belongs to the worker that opened it: other workers cannot start workers in it,
/// and handles stay in the worker that made them. Open a new scope inside of a worker instead.
pub fn scope<'env, T>(body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T) -> T {
    let scope = Scope { workers: RefCell::default(), scope: PhantomData, env: PhantomData };
    // Joins on drop: also when a build with unwinding leaves `body` by a panic.
    let _joined = JoinAll(&scope.workers);
    body(&scope)
}

/// The workers of a scope; `None` once joined.
type Workers = RefCell<Vec<Rc<Cell<Option<Worker>>>>>;

struct JoinAll<'a>(&'a Workers);

impl Drop for JoinAll<'_> {
    fn drop(&mut self) {
        for worker in self.0.take() {
            if let Some(worker) = worker.take() {
                worker.join();
            }
        }
        worker::have_joined();
    }
}

/// A scope in which workers can borrow. See [`scope`].
pub struct Scope<'scope, 'env: 'scope> {
    workers: Workers,
    /// Both lifetimes are invariant, as in std: a worker must not get a shorter one for a longer.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

impl<'scope> Scope<'scope, '_> {
    /// Starts a worker that may borrow what outlives the scope.
    pub fn spawn<T: Send + 'scope>(
        &'scope self,
        main: impl FnOnce() -> T + Send + 'scope,
    ) -> ScopedJoinHandle<'scope, T> {
        self.start(Builder::new(), main)
    }

    pub(super) fn start<T: Send + 'scope>(
        &'scope self,
        builder: Builder,
        main: impl FnOnce() -> T + Send + 'scope,
    ) -> ScopedJoinHandle<'scope, T> {
        let packet = Arc::new(Packet::new());
        // SAFETY: the worker goes into `self.workers`, all of which `scope` joins before it returns,
        // and nothing of lifetime `'scope` ends earlier. A handle only joins it sooner.
        let worker = unsafe { packet::start_unchecked(builder, &packet, main) };
        let worker = Rc::new(Cell::new(Some(worker)));
        self.workers.borrow_mut().push(Rc::clone(&worker));
        ScopedJoinHandle { worker, packet, scope: PhantomData }
    }
}

/// A worker of a scope. Dropping the handle does not detach the worker: the scope waits for it.
pub struct ScopedJoinHandle<'scope, T> {
    worker: Rc<Cell<Option<Worker>>>,
    packet: Arc<Packet<T>>,
    scope: PhantomData<&'scope mut &'scope ()>,
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Blocks until the worker has ended and returns its value.
    pub fn join(self) -> T {
        if let Some(worker) = self.worker.take() {
            worker.join();
            worker::have_joined();
        }
        Packet::open(self.packet)
    }
}

impl<T> std::fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("ScopedJoinHandle").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}
