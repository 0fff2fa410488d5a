//! Sends observers the events that happen within calls of the guest, and asks detectors whether to allow
//! them.
//!
//! The scheduler sends the events about steps; it does not have the caller. Events of a host function between two
//! scheduling points are sent here, when it returns, with the stack of the running worker.

use super::gate::settled;
use super::host::{Host, Stopped, original_stack, split};
use super::scheduler::{AccessResult, Asked, Suspended};
use super::stack;
use crate::observe::{Attempt, Finding, GuestState, Observers, Program, ShadowFrame, StackPlace, Stacks};
use coyote_instrumenter::Location;
use coyote_strategies::{Access, Operation, WorkerId};
use wasmtime::{AsContext, AsContextMut, Caller, StoreContext, WasmBacktrace};

/// Stacks while the guest runs.
struct Running<'a>(StoreContext<'a, Host>);

impl Running<'_> {
    /// The workers that do not run.
    fn suspended(&self) -> Suspended<'_> {
        let Host { table, saved_workers, scheduler, main_stack_alone, .. } = self.0.data();
        let main_stack_alone = *main_stack_alone;
        Suspended { table, saved_workers, running: scheduler.running, main_stack_alone }
    }
}

impl Stacks for Running<'_> {
    fn stack(&self, worker: WorkerId) -> Option<Vec<Location>> {
        let host = self.0.data();
        if host.scheduler.running.unwrap_or(WorkerId(0)) == worker {
            let stack = original_stack(&WasmBacktrace::force_capture(&self.0), host);
            if !stack.is_empty() {
                return Some(stack);
            }
        }
        host.saved_workers.get(worker.index()).map(|saved| stack::frames(&host.table, &saved.bytes))
    }

    fn main_stack_alone(&self) -> Option<(u32, u32)> {
        self.suspended().main_stack_alone
    }

    fn place(&self, worker: WorkerId, bounds: (u32, u32), address: u32) -> StackPlace {
        self.suspended().place(worker, bounds, address)
    }

    fn frame(&self, worker: WorkerId, bounds: (u32, u32), address: u32) -> Option<ShadowFrame> {
        self.suspended().frame(worker, bounds, address)
    }
}

/// Calls `function` with the observers and the state that they may read.
pub fn observe<R>(
    store: &mut impl AsContextMut<Data = Host>,
    function: impl FnOnce(&mut Observers, &GuestState<'_>) -> R,
) -> R {
    let mut store = store.as_context_mut();
    let mut observers = std::mem::take(&mut store.data_mut().observers);
    let context = store.as_context();
    let host = context.data();
    let memory = host.memory.map_or(&[][..], |memory| memory.data(&context));
    let stacks = Running(store.as_context());
    let (runtime, bounds) = (&host.scheduler.runtime, host.scheduler.bounds);
    let program = Program { sites: &host.table, orderings: &host.orderings };
    let result = function(&mut observers, &GuestState::new(runtime, memory, bounds, program, &stacks));
    store.data_mut().observers = observers;
    result
}

/// Sends observers the events since the last delivery.
#[inline]
pub fn deliver(caller: &mut Caller<'_, Host>) {
    if !caller.data().scheduler.runtime.stream.is_empty() {
        deliver_events(caller);
    }
}

#[cold]
fn deliver_events(caller: &mut Caller<'_, Host>) {
    let events = caller.data_mut().scheduler.runtime.stream.take();
    let finding = observe(caller, |observers, state| observers.events(state, &events));
    caller.data_mut().scheduler.runtime.stream.recycle(events);
    stop_running(caller, finding);
}

/// Records a finding about the running worker, with its stack. The worker continues up to its next scheduling point.
fn stop_running(caller: &mut Caller<'_, Host>, finding: Option<Finding>) {
    let Some(finding) = finding else { return };
    caller.data_mut().scheduler.stop_at(finding);
    let Some(worker) = caller.data().scheduler.running else { return };
    let stack = original_stack(&WasmBacktrace::force_capture(&*caller), caller.data());
    caller.data_mut().stopped_at.get_or_insert((worker, stack));
}

/// Records the stack of the running worker, which is about to throw.
#[cold]
pub fn thrown(caller: &mut Caller<'_, Host>) {
    let Some(worker) = settled(caller).scheduler.running else { return };
    let stack = original_stack(&WasmBacktrace::force_capture(&*caller), caller.data());
    caller.data_mut().thrown_at.insert(worker, stack);
}

/// Asks detectors about accesses that the host made on the worker's behalf.
#[cold]
pub fn forbid_to_host(caller: &mut Caller<'_, Host>, worker: WorkerId, accesses: &[Access]) {
    let finding = observe(caller, |observers, state| {
        accesses.iter().find_map(|access| observers.veto(state, worker, &Attempt::Host(access)))
    });
    stop_running(caller, finding);
}

/// Asks detectors whether the running worker, or the first one before any runs, may do this.
///
/// # Errors
/// [`Stopped`] if it may not.
#[cold]
pub fn ask_detectors(caller: &mut Caller<'_, Host>, attempt: &Attempt<'_>) -> Result<(), Stopped> {
    let worker = caller.data().running_or_first();
    let finding = observe(caller, |observers, state| observers.veto(state, worker, attempt));
    let Some(finding) = finding else { return Ok(()) };
    caller.data_mut().scheduler.stop_at(finding);
    Err(Stopped)
}

/// The guest's return value for the scheduler's answer to an access: 1 to unwind, else 0.
#[inline]
pub fn accessed(
    caller: &mut Caller<'_, Host>,
    result: AccessResult,
    operation: impl FnOnce(&Host) -> Operation,
) -> i32 {
    match result {
        AccessResult::Execute => 0,
        AccessResult::Unwind => 1,
        AccessResult::Ask(asked) => {
            let operation = operation(caller.data());
            access_asked(caller, operation, asked)
        }
    }
}

#[cold]
fn access_asked(caller: &mut Caller<'_, Host>, operation: Operation, asked: Asked) -> i32 {
    let (bytes, host) = split(caller);
    let running = host.scheduler.running;
    let (scheduler, mut context) = host.context(bytes, running);
    if scheduler.access_asked(operation, asked, &mut context) == AccessResult::Unwind {
        return 1;
    }
    // The access is no scheduling point, but the worker can be stopped at it.
    deliver(caller);
    i32::from(caller.data().scheduler.outcome.is_some())
}
