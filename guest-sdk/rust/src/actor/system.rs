//! The state that all actors of a test share: names, and the function that is called with dropped events.

use super::inbox::ActorRef;
use super::message::Message;
use crate::task::section::{Section, Shared};
use crate::{sys, worker};
use std::panic::Location;
use std::sync::Arc;

type Dropped = dyn Fn(&ActorRef, Message) + Send + Sync;

struct System {
    /// How many actors were created or named.
    actors: u32,
    named: Vec<ActorRef>,
    dropped: Option<Arc<Dropped>>,
    logs: bool,
}

static SYSTEM: Shared<System> =
    Shared::new(System { actors: 0, named: Vec::new(), dropped: None, logs: false });

/// A new test begins, in a process that had others.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn forget_all() {
    let old = SYSTEM.at_once(|system| {
        std::mem::replace(system, System { actors: 0, named: Vec::new(), dropped: None, logs: false })
    });
    drop(old);
}

/// Changes the state in one step, also with `--points sync`.
fn step<R>(change: impl FnOnce(&mut System) -> R) -> R {
    sys::write_point(SYSTEM.address());
    SYSTEM.at_once(change)
}

impl System {
    fn next_number(&mut self) -> u32 {
        self.actors += 1;
        self.actors
    }
}

/// The number of a new actor, in the order of creation. One step.
pub(super) fn next_number() -> u32 {
    step(System::next_number)
}

/// The actor with this name; at the first time, one that does not exist yet. One step.
pub(super) fn named(name: &str, made: &'static Location<'static>) -> ActorRef {
    step(|system| {
        let known = system.named.iter().find(|actor| actor.name() == name);
        known.cloned().unwrap_or_else(|| {
            let actor = ActorRef::new(name.into(), system.next_number(), made);
            system.named.push(actor.clone());
            actor
        })
    })
}

/// Sets a function that is called with every event that is dropped: sent to an actor that has halted, or left
/// in its inbox when it halted. The worker of the sender or of the actor calls it. One step.
pub fn on_dropped(hook: impl Fn(&ActorRef, Message) + Send + Sync + 'static) {
    let hook: Arc<Dropped> = {
        let _section = Section::enter();
        Arc::new(hook)
    };
    let before = step(|system| system.dropped.replace(hook));
    drop(before);
}

/// Calls the function for dropped events. One step.
pub(super) fn dropped(to: &ActorRef, message: Message) {
    log(|| format!("{}: {} is dropped", to.name(), message.name()));
    sys::read_point(SYSTEM.address());
    if let Some(hook) = SYSTEM.at_once(|system| system.dropped.clone()) {
        hook(to, message);
    }
}

/// Writes a line to the log of the iteration whenever an actor takes an event, is in another state, or halts, from now on. The
/// log is shown for iterations that fail.
pub fn log_events() {
    SYSTEM.at_once(|system| system.logs = true);
}

pub(super) fn log(line: impl FnOnce() -> String) {
    if SYSTEM.at_once(|system| system.logs) {
        let _section = Section::enter();
        crate::report::log(format_args!("{}", line()));
    }
}

/// Starts a detached worker, which may wait for ever.
pub(super) fn start(name: String, stack_bytes: usize, main: impl FnOnce() + Send + 'static) {
    let main: worker::Main<'static> = {
        let _section = Section::enter();
        Box::new(main)
    };
    // SAFETY: `'static` is never outlived.
    #[allow(unsafe_code)]
    drop(unsafe { worker::start(Some(name), stack_bytes, main) });
}
