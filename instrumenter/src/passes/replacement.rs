//! The replacements of the guest's imports.
//!
//! A call of a file function ([`coyote_abi::file`]) is announced with its descriptor, and then made:
//!
//! ```wat
//! ;; before
//! local.get 0 local.get 1 local.get 2 local.get 3 call $fd_read
//! ;; after
//! local.get 0 local.get 1 local.get 2 local.get 3
//! local.set 6 local.set 5 local.set 4
//! local.tee 7 local.get 7
//! i32.const 1000 global.set $__cy_budget
//! i32.const 2 (; site ;) call $coyote_rt.call
//! local.get 4 local.get 5 local.get 6 call $coyote_rt.fd_read
//! ```
//!
//! In a module that can have sockets, `coyote_rt.socket_call` replaces `coyote_rt.call` where the function may have to wait
//! for a socket, and `poll_oneoff` becomes two calls: one that waits, and one that writes the events. So it does in a module
//! whose threads may wait in a driver that can be woken ([`super::drivers`]).
//!
//! Looks at the clock, `clock_time_get` and `coyote.now`, are announced in the same way: time can pass between them and
//! the step before. The first argument stands for the descriptor.
//!
//! With faults of class `io`, `coyote_rt.fault_hook` replaces `coyote_rt.call`. Calls of `clock_time_get` and
//! `random_get` are treated in the same way with the classes `clock` and `random`, but the former are announced as well. With `crash`, the hook is
//! also called before and after calls at which the program may crash, with another site.

use super::drivers;
use super::stubs::Stub;
use crate::Location;
use crate::announce::{announce, announce_socket_call, ask_for_fault, call_site};
use crate::check::WASI;
use crate::code::Code;
use crate::draft::Draft;
use coyote_abi::rt::{self, FaultHook};
use coyote_abi::{OpKind, Type, file, guest};
use std::collections::BTreeMap;
use walrus::ir::{Call, Drop, InstrLocId};
use walrus::{FunctionId, ImportKind, ValType};

/// Cannot crash before or after the call.
const NEVER: (bool, bool) = (false, false);

/// The replacement of an import of the guest.
pub enum Replacement {
    /// A suspending import that gets the site as an argument.
    Suspending { import: FunctionId, kind: OpKind },
    /// A plain import, announced before it is called as an operation of this kind on an object.
    Announced {
        import: FunctionId,
        kind: OpKind,
        params: Vec<ValType>,
        /// The argument that is the object.
        object: Option<usize>,
        hook: Option<(FaultHook, u32)>,
        /// Whether the program may crash before and after the call.
        crashes: (bool, bool),
        /// The number of a function that may have to wait for a socket, and whether it has a list of buffers.
        waits: Option<(u32, bool)>,
    },
    /// `poll_oneoff` where it may wait for sockets, or be woken: a suspending import, and one that writes the events.
    Poll { wait: FunctionId, events: FunctionId },
    /// No call at all: see `stubs`.
    Stub(Stub),
}

impl Replacement {
    /// The replacement of a function that is not of files.
    fn plain(
        import: FunctionId,
        kind: OpKind,
        params: Vec<ValType>,
        object: Option<usize>,
        hook: Option<(FaultHook, u32)>,
    ) -> Replacement {
        Replacement::Announced { import, kind, params, object, hook, crashes: NEVER, waits: None }
    }

    pub fn kind(&self) -> OpKind {
        match self {
            Replacement::Suspending { kind, .. } | Replacement::Announced { kind, .. } => *kind,
            Replacement::Poll { .. } => OpKind::Sleep,
            Replacement::Stub(stub) => stub.kind(),
        }
    }

    /// Adds the call, whose arguments are on the stack. `at` and `location` are its place.
    pub fn call(
        &self,
        draft: &mut Draft,
        code: &mut Code,
        (site, location): (u32, Location),
        at: InstrLocId,
    ) {
        match self {
            Replacement::Suspending { import, .. } => {
                call_site(draft, code, site);
                code.push(Call { func: *import }, at);
            }
            Replacement::Poll { wait, events } => {
                let arguments: Vec<_> = (0..4).map(|_| draft.module.locals.add(ValType::I32)).collect();
                arguments.iter().rev().for_each(|local| {
                    code.set(*local);
                });
                arguments.iter().for_each(|local| {
                    code.get(*local);
                });
                call_site(draft, code, site);
                code.push(Call { func: *wait }, at);
                let waited = draft.module.locals.add(ValType::I32);
                code.set(waited);
                arguments.iter().chain([&waited]).for_each(|local| {
                    code.get(*local);
                });
                code.call(*events);
            }
            Replacement::Announced { import, kind, params, object, hook, crashes, waits } => {
                // One site for all: traces identify a site by its place.
                let asks = crashes.0 || crashes.1 || hook.is_some() && *kind == OpKind::Clock;
                let fault = if asks { draft.site(location, OpKind::Fault, 0, 0) } else { site };
                if crashes.0 {
                    may_crash(draft, code, fault, at);
                }
                let above: Vec<_> = params[object.map_or(0, |at| at + 1)..].to_vec();
                let above: Vec<_> = above.iter().map(|ty| draft.module.locals.add(*ty)).collect();
                above.iter().rev().for_each(|local| {
                    code.set(*local);
                });
                let object = object.map(|_| draft.module.locals.add(ValType::I32));
                match object {
                    Some(object) => code.tee(object).get(object),
                    None => code.i32(0),
                };
                match (waits, hook) {
                    (Some((what, lists)), _) => {
                        code.i32(*what as i32);
                        if *lists {
                            code.get(above[0]).get(above[1]);
                        } else {
                            code.i32(0).i32(0);
                        }
                        announce_socket_call(draft, code, site, at);
                        code.add(Drop {});
                    }
                    (None, None) => announce(draft, code, site, at),
                    (None, Some(hook)) => {
                        if let (OpKind::Clock, Some(clock)) = (kind, object) {
                            announce(draft, code, site, at);
                            code.get(clock);
                        }
                        ask_for_fault(draft, code, *hook, fault, at);
                        // The host stores the answer and uses it in the call.
                        code.add(Drop {});
                    }
                }
                above.iter().for_each(|local| {
                    code.get(*local);
                });
                code.call(*import);
                if crashes.1 {
                    may_crash(draft, code, fault, at);
                }
            }
            Replacement::Stub(stub) => stub.call(draft, code, site, at),
        }
    }
}

/// Lets the program crash here; does not change the stack.
fn may_crash(draft: &mut Draft, code: &mut Code, site: u32, at: InstrLocId) {
    code.i32(0);
    ask_for_fault(draft, code, (FaultHook::Crash, 0), site, at);
    code.add(Drop {});
}

/// The imports of the guest that are replaced, each with its replacement.
pub fn replacements(draft: &mut Draft) -> BTreeMap<FunctionId, Replacement> {
    const I32: ValType = ValType::I32;
    let imported: Vec<(FunctionId, String, String)> = draft
        .module
        .imports
        .iter()
        .filter_map(|i| match i.kind {
            ImportKind::Function(id) => Some((id, i.module.clone(), i.name.clone())),
            _ => None,
        })
        .collect();
    // Without these, no descriptor is a connection.
    let sockets = imported.iter().any(|(_, module, name)| {
        matches!(
            (module.as_str(), name.as_str()),
            (WASI, "sock_accept") | (guest::MODULE, guest::NET_CONNECT)
        )
    });
    let has_driver = drivers::has_driver(draft);
    let mut replaced = BTreeMap::new();
    for (id, module, name) in imported {
        let stub = Stub::of(draft, &module, &name, id);
        let (import, kind) = match (module.as_str(), name.as_str()) {
            _ if stub.is_some() => {
                replaced.extend(stub.map(|stub| (id, Replacement::Stub(stub))));
                continue;
            }
            // A call is a bug: the import stays.
            (module, name) if draft.options.stub(module, name).is_some() => continue,
            (guest::MODULE, name) => {
                let known = guest::import(name).expect("`check` knows all of them");
                let Some(kind) = known.operation else { continue };
                if kind == OpKind::Clock {
                    if draft.options.clock_points {
                        let import = draft.import(known.name, &[], &[ValType::I64]);
                        replaced.insert(id, Replacement::plain(import, kind, vec![], None, None));
                    }
                    continue;
                }
                let mut params: Vec<_> = known.params.iter().map(|(_, ty)| val_type(*ty)).collect();
                params.push(I32);
                let results: Vec<_> = known.result.iter().map(|ty| val_type(*ty)).collect();
                (draft.suspending(known.name, &params, &results), kind)
            }
            ("wasi", "thread-spawn") => {
                (draft.suspending(rt::THREAD_SPAWN, &[I32; 2], &[I32]), OpKind::Spawn)
            }
            (WASI, "sched_yield") => (draft.suspending(rt::WASI_SCHED_YIELD, &[I32], &[I32]), OpKind::Yield),
            (WASI, "poll_oneoff") if sockets || has_driver => {
                let wait = draft.suspending(rt::SOCKET_POLL, &[I32; 5], &[I32]);
                let events = draft.import(rt::SOCKET_EVENTS, &[I32; 5], &[I32]);
                replaced.insert(id, Replacement::Poll { wait, events });
                continue;
            }
            (WASI, "poll_oneoff") => {
                (draft.suspending(rt::WASI_POLL_ONEOFF, &[I32; 5], &[I32]), OpKind::Sleep)
            }
            (WASI, name) if file::call(name).is_some_and(|c| c.point) => {
                let call = file::call(name).expect("just found");
                let params: Vec<_> = call.types().map(val_type).collect();
                let import = draft.import(call.name, &params, &[I32]);
                let object = Some(call.descriptor());
                let number = file::CALLS.iter().position(|other| other == call).expect("it is in the table");
                let hook = draft.options.fails("io").then_some((FaultHook::File, number as u32));
                let crashes = if draft.options.fails("crash") { file::crashes(name) } else { NEVER };
                let waits = file::waits(name).filter(|_| sockets).map(|lists| (number as u32, lists));
                let kind = OpKind::File;
                let announced = Replacement::Announced { import, kind, params, object, hook, crashes, waits };
                replaced.insert(id, announced);
                continue;
            }
            (WASI, "clock_time_get") if draft.options.fails("clock") || draft.options.clock_points => {
                let params = vec![I32, ValType::I64, I32];
                let import = draft.import("clock_time_get", &params, &[I32]);
                let kind = if draft.options.clock_points { OpKind::Clock } else { OpKind::Fault };
                let hook = draft.options.fails("clock").then_some((FaultHook::Clock, 0));
                replaced.insert(id, Replacement::plain(import, kind, params, Some(0), hook));
                continue;
            }
            (WASI, "random_get") if draft.options.fails("random") => {
                let params = vec![I32; 2];
                let import = draft.import("random_get", &params, &[I32]);
                let hook = Some((FaultHook::Random, 0));
                replaced.insert(id, Replacement::plain(import, OpKind::Fault, params, Some(0), hook));
                continue;
            }
            (WASI, "proc_exit") => (draft.suspending(rt::WASI_PROC_EXIT, &[I32; 2], &[]), OpKind::Exit),
            _ => continue,
        };
        replaced.insert(id, Replacement::Suspending { import, kind });
    }
    replaced
}

fn val_type(ty: Type) -> ValType {
    match ty {
        Type::I32 => ValType::I32,
        Type::I64 => ValType::I64,
    }
}
