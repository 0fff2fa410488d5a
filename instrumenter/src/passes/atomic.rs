//! Brackets atomic functions, so that the host does not switch at memory accesses in the functions that they
//! call. (Their own accesses, and those of functions that only they call, are no scheduling points at all.)
//!
//! ```wat
//! ;; before
//! (func $malloc (param i32) (result i32) ..)
//! ;; after
//! (func $malloc (param i32) (result i32)
//!   call $coyote_rt.atomic_enter
//!   local.get 0 call $"malloc (atomic)"
//!   call $coyote_rt.atomic_exit)
//! (func $"malloc (atomic)" (param i32) (result i32) ..)
//! ```
//!
//! Allocators have other brackets, which also say which block was allocated or freed, if an option needs
//! that: see `allocator`.
//!
//! A function of a C library that takes a path is announced before its brackets: it is one operation on
//! files. So is the call of a function that is atomic by default, except for allocators and for functions
//! whose calls no other worker can observe: other workers can run before it, even if its worker has just
//! executed another operation.
//!
//! With faults of class `alloc`, an allocator first asks whether it fails. If so, it answers that there is no
//! memory, before its call is reported.
//!
//! An exception that leaves the function also passes the exit bracket: see `on_exception`.

use crate::Error;
use crate::Location;
use crate::analysis::Analyses;
use crate::analysis::allocator::Change;
use crate::announce::{announce, ask_for_fault};
use crate::code::Code;
use crate::draft::{Draft, PointPolicy, site_location};
use crate::libraries::AtomicKind;
use crate::on_exception::on_exception;
use coyote_abi::OpKind;
use coyote_abi::rt::{self, FaultHook};
use walrus::ir::{InstrLocId, Return};
use walrus::{LocalId, ValType};

/// The descriptor of a call that names a file by a path. Not that of a stream: calls on streams are no points.
const NO_DESCRIPTOR: i32 = -1;

pub fn run(draft: &mut Draft, _: &mut Analyses) -> Result<(), Error> {
    // Rust's code aborts if an allocation fails.
    let rust = draft.original.functions.iter().any(|function| function.name.contains("rust_panic"));
    for id in draft.guest_functions() {
        let origin = draft.origin(id).expect("it is the guest's");
        let policy = draft.policy(id);
        let announced = match policy {
            PointPolicy::Atomic(AtomicKind::Announced, _) | PointPolicy::Operation => Some(OpKind::Call),
            PointPolicy::FileFunction => Some(OpKind::File),
            PointPolicy::Atomic(..) => None,
            _ => continue,
        };
        let is_atomic = *policy != PointPolicy::Operation;
        let allocator = draft.options.follows_allocators()
            && matches!(policy, PointPolicy::Atomic(AtomicKind::Allocator, _));
        let ty = draft.module.types.get(draft.module.funcs.get(id).ty());
        let (params, results) = (ty.params().to_vec(), ty.results().to_vec());
        let function = &draft.original.functions[origin as usize];
        let change = Change::of(&function.name, &params, &results);
        let start = function.start;
        let failing = FAILING.iter().find(|failing| {
            let is_allocator = matches!(policy, PointPolicy::Atomic(AtomicKind::Allocator, _));
            let named = failing.name == function.name;
            is_allocator
                && named
                && params.get(failing.bytes) == Some(&ValType::I32)
                && draft.options.fails("alloc")
        });
        draft.wrap(id, " (atomic)", |draft, wrapper| {
            let mut code = Code::default();
            if let Some(failing) = failing {
                let place = Location { function: origin, offset: start };
                let site = draft.site(place, OpKind::Fault, 0, 0);
                code.get(wrapper.args[failing.bytes]);
                let hook = (FaultHook::Allocation, u32::from(rust));
                ask_for_fault(draft, &mut code, hook, site, site_location(site));
                let failed = draft.import(rt::ALLOCATION_FAILED, &[], &[]);
                code.if_then(&mut wrapper.body, |code| {
                    code.call(failed).i32(failing.answer).add(Return {});
                });
            }
            if let Some(kind) = announced {
                let place = Location { function: origin, offset: start };
                let site = draft.site(place, kind, 0, 0);
                code.i32(NO_DESCRIPTOR);
                announce(draft, &mut code, site, site_location(site));
            }
            if allocator {
                let enter = draft.import(rt::ALLOCATOR_ENTER, &[ValType::I32], &[]);
                change.push_freed(&mut code, &wrapper.args);
                code.call(enter);
            } else if is_atomic {
                code.call(draft.import(rt::ATOMIC_ENTER, &[], &[]));
            }
            // The offset of the function's beginning is not that of an instruction, so this call can use it.
            let call = wrapper.forward(InstrLocId::new(start));
            on_exception(draft, wrapper, &mut code, call, |draft, code| {
                if allocator {
                    // No block was returned: there was no memory for it.
                    let exit = draft.import(rt::ALLOCATOR_EXIT, &[ValType::I32; 3], &[]);
                    code.i32(0).i32(0).i32(0).call(exit);
                } else if is_atomic {
                    code.call(draft.import(rt::ATOMIC_EXIT, &[], &[]));
                }
            });
            if allocator {
                leave_allocator(draft, &mut code, change, &wrapper.args);
            } else if is_atomic {
                code.call(draft.import(rt::ATOMIC_EXIT, &[], &[]));
            }
            code
        });
    }
    Ok(())
}

/// An allocator that may answer that there is no memory.
struct Failing {
    name: &'static str,
    /// Index of the parameter with the requested size.
    bytes: usize,
    /// The function's result in that case.
    answer: i32,
}

const fn failing(name: &'static str, bytes: usize) -> Failing {
    Failing { name, bytes, answer: 0 }
}

const FAILING: &[Failing] = &[
    failing("malloc", 0),
    failing("calloc", 0),
    failing("realloc", 1),
    failing("reallocarray", 1),
    failing("aligned_alloc", 1),
    failing("memalign", 1),
    // ENOMEM.
    Failing { answer: 48, ..failing("posix_memalign", 2) },
];

/// Reports which block was freed and which one was allocated. The results stay on the stack.
fn leave_allocator(draft: &mut Draft, code: &mut Code, change: Change, args: &[LocalId]) {
    let exit = draft.import(rt::ALLOCATOR_EXIT, &[ValType::I32; 3], &[]);
    let result = change.returns().then(|| draft.module.locals.add(ValType::I32));
    if let Some(result) = result {
        code.tee(result);
    }
    change.push(code, args, result, draft.memory);
    code.call(exit);
}
