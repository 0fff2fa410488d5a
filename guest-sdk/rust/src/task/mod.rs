//! Tasks: futures that the tool schedules. Same shape as tokio's, with ordinary `async` and `await`.
//!
//! ```no_run
//! use coyote::task::{self, sync::mpsc};
//!
//! #[coyote::test]
//! fn a_message() {
//!     task::block_on(async {
//!         let (sender, mut receiver) = mpsc::channel(1);
//!         let task = task::spawn(async move { sender.send(7).await });
//!         assert_eq!(receiver.recv().await, Some(7));
//!         task.await.expect("nobody aborts it").expect("the receiver is there");
//!     });
//! }
//! ```
//!
//! Each task is a worker with a name and a handle. The tool schedules it like a thread: in any order, and
//! with switches at its scheduling points. A task that is never woken is a deadlock, whose report says what
//! the task awaits and where. As with threads, a detached task may still wait when the test ends.
//!
//! Any future can run as a task, also those of other crates, if it calls its waker. Futures of [`sync`] take
//! one step for each operation; those of other crates one for each access of shared memory.
//!
//! - `handle`: starting, joining and aborting tasks.
//! - `combine`: several futures in one task; `time`: virtual time.
//! - [`sync`]: locks, semaphores and channels.
//! - `park`: where a worker waits for its task to be woken; `alarm`: what lets time pass for one that wakes itself.
//! - `current`: which task a worker polls; `section`: steps; `counted`: references that are counted without steps.

mod alarm;
mod combine;
pub(crate) mod counted;
mod current;
mod handle;
pub(crate) mod park;
pub(crate) mod section;
pub mod sync;
mod time;

pub use combine::{Either, join_all, select, select_biased};
pub use handle::{AbortHandle, Builder, JoinError, JoinHandle, STACK_BYTES, block_on, spawn};
pub use time::{Elapsed, Sleep, sleep, timeout, yield_now};
