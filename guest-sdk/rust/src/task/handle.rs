//! Starting tasks, waiting for their ends, and aborting them.

use super::park::{self, ParkRef};
use super::section::{Section, Shared};
use crate::worker::{self, Worker};
use std::fmt;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Default size in bytes of the stack on which a task is polled (see [`Builder::stack_size`]): half of that
/// of a thread, since the future itself is not on the stack, and so that ten thousand tasks fit into memory.
pub const STACK_BYTES: usize = crate::thread::STACK_BYTES / 2;

/// Starts a task: a worker that runs the future. Its name in reports is the place of this call.
#[track_caller]
pub fn spawn<F: Future<Output: Send> + Send + 'static>(future: F) -> JoinHandle<F::Output> {
    Builder::new().spawn(future)
}

/// Runs a future in the calling worker, which blocks until it is ready.
///
/// Within a task it blocks that task as a whole.
pub fn block_on<F: Future>(future: F) -> F::Output {
    ParkRef::new().run(std::pin::pin!(future), || false).expect("nobody can cancel it")
}

/// Configures a task before it starts: name and stack size.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    name: Option<String>,
    stack_bytes: Option<usize>,
}

impl Builder {
    /// A task whose name is the place where it is started, and with a stack of [`STACK_BYTES`].
    pub fn new() -> Builder {
        Builder::default()
    }

    /// The task's name in reports.
    pub fn name(mut self, name: impl Into<String>) -> Builder {
        self.name = Some(name.into());
        self
    }

    /// Size in bytes of the stack on which the task is polled.
    pub fn stack_size(mut self, bytes: usize) -> Builder {
        self.stack_bytes = Some(bytes);
        self
    }

    /// Starts the task.
    #[track_caller]
    pub fn spawn<F: Future<Output: Send> + Send + 'static>(self, future: F) -> JoinHandle<F::Output> {
        let spawned = Location::caller();
        let (park, task, name, main) = {
            // No other worker knows the task yet: everything is one step.
            let _section = Section::enter();
            let place = || format!("task {}:{}", file_name(spawned.file()), spawned.line());
            let park = ParkRef::new();
            let task = Arc::new(Task(Shared::new(State::Running { aborted: false, joiner: None })));
            let main: worker::Main<'static> = {
                let (park, task, future) = (park.clone(), Arc::clone(&task), Box::pin(future));
                Box::new(move || run(&park, &task, future))
            };
            (park, task, self.name.unwrap_or_else(place), main)
        };
        // SAFETY: `'static` is never outlived.
        #[allow(unsafe_code)]
        let worker = unsafe { worker::start(Some(name), self.stack_bytes.unwrap_or(STACK_BYTES), main) };
        JoinHandle { worker: Some(worker), park, task, spawned }
    }
}

/// A file without its folders.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// The state that a task and its handles share.
struct Task<T>(Shared<State<T>>);

enum State<T> {
    Running {
        aborted: bool,
        /// Who is to be told when it has ended.
        joiner: Option<Waker>,
    },
    Ended(Result<T, JoinError>),
    /// A handle has taken its value.
    Joined,
}

/// Runs a task in its worker.
fn run<F: Future>(park: &ParkRef, task: &Task<F::Output>, mut future: Pin<Box<F>>) {
    // To ask is a part of the step in which the task starts or is woken.
    let aborted = || task.0.at_once(|state| matches!(state, State::Running { aborted: true, .. }));
    let value = park.run(future.as_mut(), aborted);
    // What the future held is released before others learn that the task has ended.
    drop(future);
    let ended = State::Ended(value.ok_or(JoinError(())));
    let before = task.0.step(|state| std::mem::replace(state, ended));
    if let State::Running { joiner: Some(joiner), .. } = before {
        joiner.wake();
    }
}

impl<T> Task<T> {
    /// Says that the task is to be aborted. Returns whether that was news.
    fn abort(&self) -> bool {
        self.0.step(|state| match state {
            State::Running { aborted, .. } => !std::mem::replace(aborted, true),
            State::Ended(_) | State::Joined => false,
        })
    }

    fn is_finished(&self) -> bool {
        self.0.look(|state| !matches!(state, State::Running { .. }))
    }
}

/// A task that can be joined, by awaiting the handle or by [`JoinHandle::join`]. Dropping the handle detaches
/// the task: it continues, and its value is dropped.
///
/// Awaiting is cancellation safe: a handle that was polled can be awaited again.
pub struct JoinHandle<T> {
    /// `None` once its end was seen.
    worker: Option<Worker>,
    park: ParkRef,
    task: Arc<Task<T>>,
    spawned: &'static Location<'static>,
}

impl<T: Send> JoinHandle<T> {
    /// Blocks the calling worker until the task has ended.
    ///
    /// # Errors
    /// The task was aborted.
    pub fn join(self) -> Result<T, JoinError> {
        block_on(self)
    }
}

impl<T> JoinHandle<T> {
    /// Asks the task to end. Its future is dropped where it waits, or where it waits next, and never while it is
    /// polled. If the task ends before that, the request has no effect.
    pub fn abort(&self) {
        if self.task.abort() {
            self.park.wake();
        }
    }

    /// A handle that can abort the task and does not join it.
    pub fn abort_handle(&self) -> AbortHandle
    where
        T: Send + 'static,
    {
        let task: Arc<dyn Abort + Send + Sync> = Arc::clone(&self.task) as _;
        AbortHandle { park: self.park.clone(), task }
    }

    /// Whether the task has ended. A scheduling point.
    pub fn is_finished(&self) -> bool {
        self.task.is_finished()
    }
}

impl<T: Send> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    /// # Panics
    /// The task's value was taken already.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<Self::Output> {
        let ended = self.task.0.step(|state| match std::mem::replace(state, State::Joined) {
            State::Running { aborted, .. } => {
                *state = State::Running { aborted, joiner: Some(park::keep(context.waker())) };
                None
            }
            State::Ended(result) => Some(result),
            State::Joined => panic!("a JoinHandle was polled after it was ready"),
        });
        let Some(result) = ended else {
            park::tell("task", self.spawned, self.task.0.address());
            return Poll::Pending;
        };
        if let Some(worker) = self.worker.take() {
            // It has nothing left to do but to end.
            worker.join();
            worker::have_joined();
        }
        Poll::Ready(result)
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

trait Abort {
    fn abort(&self) -> bool;
    fn is_finished(&self) -> bool;
}

impl<T> Abort for Task<T> {
    fn abort(&self) -> bool {
        Task::abort(self)
    }

    fn is_finished(&self) -> bool {
        Task::is_finished(self)
    }
}

/// Aborts a task: see [`JoinHandle::abort_handle`].
#[derive(Clone)]
pub struct AbortHandle {
    park: ParkRef,
    task: Arc<dyn Abort + Send + Sync>,
}

impl AbortHandle {
    /// As [`JoinHandle::abort`].
    pub fn abort(&self) {
        if self.task.abort() {
            self.park.wake();
        }
    }

    /// As [`JoinHandle::is_finished`].
    pub fn is_finished(&self) -> bool {
        self.task.is_finished()
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("AbortHandle").finish_non_exhaustive()
    }
}

/// Why a task has no value: it was aborted. (One that panics ends the iteration as a bug.)
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct JoinError(());

impl JoinError {
    /// Whether the task was aborted: always.
    pub fn is_cancelled(&self) -> bool {
        true
    }

    /// Whether the task panicked: never, since a panic ends the iteration.
    pub fn is_panic(&self) -> bool {
        false
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("task was cancelled")
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("JoinError::Cancelled")
    }
}

impl std::error::Error for JoinError {}
