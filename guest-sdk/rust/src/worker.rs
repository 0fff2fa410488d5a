//! How a closure becomes a worker. The rest of the SDK's threads is safe code on top of this.
//!
//! Where std has threads (`wasm32-wasip1-threads`), a worker is one of these, because only std can set
//! up its thread-local storage. Elsewhere the worker is started by the host on a stack that comes from
//! the guest's heap. Outside of wasm see [`native`](crate::native).
#![allow(unsafe_code)] // Closures whose lifetime is erased, and stacks.

#[cfg(target_family = "wasm")]
use crate::sys;
#[cfg(not(std_threads))]
use std::alloc::Layout;

/// The function that a worker runs.
pub(crate) type Main<'a> = Box<dyn FnOnce() + Send + 'a>;

/// Stacks are aligned as the ABI of wasm's C demands.
#[cfg(not(std_threads))]
const STACK_ALIGN: usize = 16;

/// A running worker. Dropping it detaches the worker.
pub(crate) struct Worker {
    /// `None` once joined.
    running: Option<Running>,
}

#[cfg(not(std_threads))]
struct Running {
    handle: i32,
    stack_low: usize,
    stack: Layout,
}

#[cfg(all(std_threads, target_family = "wasm"))]
struct Running(std::thread::JoinHandle<()>);

#[cfg(not(target_family = "wasm"))]
use crate::native::Running;

/// Starts a worker.
///
/// # Safety
/// The worker must have ended before `'a` ends: either it is joined before that, or `'a` is
/// `'static`.
pub(crate) unsafe fn start<'a>(name: Option<String>, stack_bytes: usize, main: Main<'a>) -> Worker {
    // SAFETY: only the lifetime changes, and by the caller's contract it is not outlived.
    let main = unsafe { std::mem::transmute::<Main<'a>, Main<'static>>(main) };
    Worker { running: Some(Running::start(name, stack_bytes, main)) }
}

impl Worker {
    /// Blocks until the worker has ended.
    pub(crate) fn join(mut self) {
        if let Some(running) = self.running.take() {
            running.join();
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.detach();
        }
    }
}

#[cfg(not(std_threads))]
impl Running {
    fn start(name: Option<String>, stack_bytes: usize, main: Main<'static>) -> Running {
        let bytes = stack_bytes.max(STACK_ALIGN).next_multiple_of(STACK_ALIGN);
        let stack = Layout::from_size_align(bytes, STACK_ALIGN).expect("a stack is smaller than memory");
        // SAFETY: the layout's size is not zero.
        let low = unsafe { std::alloc::alloc(stack) };
        if low.is_null() {
            no_memory_for_a_stack();
        }
        let stack_low = low as usize;
        // A thin pointer to the closure's fat one.
        let argument = Box::into_raw(Box::new(main)) as usize;
        let entry: extern "C" fn(i32) = run;
        // SAFETY: `run` takes what `into_raw` made, once. The stack belongs to the worker until `join` frees it.
        let handle = unsafe {
            sys::spawn(entry as usize as i32, argument as i32, stack_low as i32, (stack_low + bytes) as i32)
        };
        if let Some(name) = name {
            set_name(handle, &name);
        }
        Running { handle, stack_low, stack }
    }

    fn join(self) {
        sys::join(self.handle);
        // SAFETY: allocated in `start` with this layout, and the worker that ran on it has ended.
        unsafe { std::alloc::dealloc(self.stack_low as *mut u8, self.stack) };
    }

    /// Leaks the stack: the worker cannot free the stack that it runs on, and no other worker knows
    /// when it ends. Each iteration starts from the snapshot, so leaks do not add up over iterations.
    fn detach(self) {
        sys::detach(self.handle);
    }
}

#[cfg(all(std_threads, target_family = "wasm"))]
impl Running {
    fn start(name: Option<String>, stack_bytes: usize, main: Main<'static>) -> Running {
        let named = name.clone();
        let mut builder = std::thread::Builder::new().stack_size(stack_bytes);
        if let Some(name) = name {
            builder = builder.name(name);
        }
        let thread = builder.spawn(move || {
            // std does not tell us the worker's handle, so the worker names itself.
            if let Some(name) = named {
                set_name(sys::current(), &name);
            }
            main();
        });
        Running(thread.expect("the host starts workers as long as there is memory for their stacks"))
    }

    fn join(self) {
        if self.0.join().is_err() {
            // A panic ends the iteration before the join returns.
            unreachable!("a worker panicked and the panic was not reported");
        }
    }

    fn detach(self) {}
}

/// Reports a limit, which is no bug of the guest: the execution ends without a verdict.
#[cfg(not(std_threads))]
fn no_memory_for_a_stack() -> ! {
    let what = "more memory for stacks than --max-memory allows";
    // SAFETY: address and length of a `str`.
    sys::with_text(what, |text, length| unsafe { sys::unsupported(text, length) });
    unreachable!("the host does not return from a limit")
}

/// To be called after workers were joined. Outside of wasm, unwinds if the test has ended; no effect in a guest.
pub(crate) fn have_joined() {
    #[cfg(not(target_family = "wasm"))]
    crate::native::leave_if_over();
}

#[cfg(not(std_threads))]
extern "C" fn run(argument: i32) {
    // SAFETY: `start` made the pointer with `Box::into_raw` and gave it to this one call.
    let main = unsafe { Box::from_raw(argument as usize as *mut Main<'static>) };
    main();
}

#[cfg(target_family = "wasm")]
fn set_name(handle: i32, name: &str) {
    // SAFETY: address and length of a `str`.
    sys::with_text(name, |text, length| unsafe { sys::set_name(handle, text, length) });
}
