//! The alarm of a task that wakes itself: a worker that waits in the task's place until its next timer is due.
//!
//! A task's next timer is the timeout of the wait for a wake-up (see `park`). A task that wakes itself does not wait, so
//! without an alarm the host would not know of that timeout, and time would stand still as long as the task only yields. The
//! timeout of the alarm fires whenever any other may, also with `--timers ordered`.

use super::counted::Counted;
use super::section::{Section, Shared};
use crate::sys;
use crate::worker::{self, Worker};
use std::sync::atomic::AtomicU8;

/// Size in bytes of the stack of an alarm's worker.
const STACK_BYTES: usize = crate::thread::STACK_BYTES / 2;

/// An alarm that is set. Dropping it waits for the end of its worker, which has nothing left to do then.
pub(super) struct Alarm {
    due_ns: i64,
    bell: Counted<Bell>,
    /// `None` once joined.
    worker: Option<Worker>,
}

/// What an alarm and its worker share.
struct Bell {
    /// Its address is that of a semaphore, which is posted when the alarm is dropped. Nobody reads or writes it.
    place: AtomicU8,
    rang: Shared<bool>,
}

impl Bell {
    fn semaphore(&self) -> i32 {
        sys::address(&self.place)
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        sys::semaphore_destroy(self.semaphore());
    }
}

impl Alarm {
    /// Sets an alarm for a point in virtual time.
    pub(super) fn set(due_ns: i64) -> Alarm {
        let (bell, main) = {
            let _section = Section::enter();
            let bell = Counted::new(Bell { place: AtomicU8::new(0), rang: Shared::new(false) });
            let main: worker::Main<'static> = {
                let bell = bell.clone();
                Box::new(move || {
                    let span = (due_ns - sys::now()).max(0);
                    if sys::semaphore_wait(bell.semaphore(), span) != 0 {
                        bell.rang.step(|rang| *rang = true);
                    }
                })
            };
            (bell, main)
        };
        // SAFETY: `'static` is never outlived.
        #[allow(unsafe_code)]
        let worker = unsafe { worker::start(Some("alarm".into()), STACK_BYTES, main) };
        Alarm { due_ns, bell, worker: Some(worker) }
    }

    pub(super) fn due_ns(&self) -> i64 {
        self.due_ns
    }

    /// Whether its time has come, as a part of the present step.
    pub(super) fn has_rung(&self) -> bool {
        self.bell.rang.at_once(|rang| *rang)
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        sys::semaphore_post(self.bell.semaphore());
        self.worker.take().into_iter().for_each(Worker::join);
    }
}
