//! What all actors of a test share: names, and who is told of events that are lost.

use super::Actor;
use super::inbox::ActorRef;
use super::message::Message;
use crate::task::section::{Section, Shared};
use crate::worker;
use std::sync::Arc;

type Dropped = dyn Fn(&ActorRef, Message) + Send + Sync;

struct System {
    /// How many actors were created or named.
    actors: u32,
    named: Vec<ActorRef>,
    dropped: Option<Arc<Dropped>>,
    logs: bool,
}

static SYSTEM: Shared<System> = Shared::new(System { actors: 0, named: Vec::new(), dropped: None, logs: false });

fn next_number() -> u32 {
    SYSTEM.at_once(|system| {
        system.actors += 1;
        system.actors
    })
}

/// Creates an actor: a worker of this name, which enters its start state.
#[track_caller]
pub fn create<A: Actor>(name: impl Into<String>, actor: A) -> ActorRef {
    let reference = ActorRef::new(name.into(), next_number());
    reference.create(actor);
    reference
}

/// The actor of this name, which may be created later, by [`ActorRef::create`]: the same one whoever asks. Names are for those
/// who must know each other before they exist; [`create`] takes no notice of them.
#[track_caller]
pub fn named(name: &str) -> ActorRef {
    let find = |system: &mut System| system.named.iter().find(|actor| actor.name() == name).cloned();
    if let Some(known) = SYSTEM.step(find) {
        return known;
    }
    let new = ActorRef::new(name.into(), next_number());
    // Somebody else may have come in between.
    SYSTEM.at_once(|system| {
        find(system).unwrap_or_else(|| {
            system.named.push(new.clone());
            new
        })
    })
}

/// Has a function called with every event that is lost: sent to an actor that has halted, or left in its inbox when it did. It
/// is called by the worker that sent it, or that of the actor.
pub fn on_dropped(hook: impl Fn(&ActorRef, Message) + Send + Sync + 'static) {
    let hook: Arc<Dropped> = {
        let _section = Section::enter();
        Arc::new(hook)
    };
    SYSTEM.at_once(|system| system.dropped = Some(hook));
}

pub(super) fn dropped(to: &ActorRef, message: Message) {
    log(|| format!("{}: {} is dropped", to.name(), message.name()));
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

/// Starts a worker that nobody waits for: it may wait for ever.
pub(super) fn start(name: String, stack_bytes: usize, main: impl FnOnce() + Send + 'static) {
    let main: worker::Main<'static> = {
        let _section = Section::enter();
        Box::new(main)
    };
    // SAFETY: `'static` is never outlived.
    #[allow(unsafe_code)]
    drop(unsafe { worker::start(Some(name), stack_bytes, main) });
}
