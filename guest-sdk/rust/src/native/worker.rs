//! Workers that are threads of the operating system.

use super::world::{Over, Place, World, becomes, lock, wait};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A running worker.
pub struct Running {
    handle: i32,
    thread: std::thread::JoinHandle<()>,
}

/// The minimum stack size outside of wasm, where unoptimised code and the standard library need more than in a guest.
const STACK_BYTES_MIN: usize = 512 << 10;

impl Running {
    pub fn start(name: Option<String>, stack_bytes: usize, main: Box<dyn FnOnce() + Send>) -> Running {
        let (handle, test) = {
            let mut world = lock();
            world.live += 1;
            world.workers += 1;
            (world.workers - 1, world.test)
        };
        let builder = std::thread::Builder::new().stack_size(stack_bytes.max(STACK_BYTES_MIN));
        let thread = builder.name(name.unwrap_or_else(|| format!("worker {handle}"))).spawn(move || {
            becomes(handle, test);
            let ended = catch_unwind(AssertUnwindSafe(main));
            let mut world = lock();
            if world.test != test {
                return;
            }
            world.ended.insert(handle);
            match ended {
                Err(payload) if !payload.is::<Over>() => world.fail(payload),
                _ => {}
            }
            world.leave();
        });
        Running { handle, thread: thread.expect("the operating system starts a thread") }
    }

    /// Blocks until the worker has ended, even if the test has ended: the worker may borrow from the caller.
    pub fn join(self) {
        let has_ended = |world: &mut World| world.ended.contains(&self.handle).then_some(());
        let _ = catch_unwind(AssertUnwindSafe(|| wait(lock(), Place::End(self.handle), None, has_ended)));
        let _ = self.thread.join();
    }

    pub fn detach(self) {}
}
