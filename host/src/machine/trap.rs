//! What it means that wasm code trapped.

use super::{Machine, panic};
use crate::outcome::{Bound, Bug, BugKind, Outcome};
use coyote_abi::rt;
use wasmtime::Trap;

impl Machine {
    /// What a trap means.
    pub(super) fn trapped(&mut self, trap: Trap) -> Outcome {
        let worker = self.conductor().running;
        if trap == Trap::UnreachableCodeReached
            && let Some(message) = panic::last_words(&self.conductor().runtime.output, worker)
        {
            return Outcome::Bug(Bug { kind: BugKind::Panic, message, worker });
        }
        let message = match trap {
            Trap::StackOverflow => return Outcome::Bound(Bound::NativeStack),
            Trap::MemoryOutOfBounds if self.below_stack() => {
                let message = "the worker's stack is too small".into();
                return Outcome::Bug(Bug { kind: BugKind::StackOverflow, message, worker });
            }
            Trap::UnreachableCodeReached => "the guest aborted (unreachable code was reached)".into(),
            Trap::MemoryOutOfBounds => "access outside of memory".into(),
            Trap::TableOutOfBounds => "access outside of a table".into(),
            Trap::HeapMisaligned => "misaligned atomic access".into(),
            Trap::IndirectCallToNull => "call through a null function pointer".into(),
            Trap::BadSignature => "call through a function pointer of another type".into(),
            Trap::IntegerDivisionByZero => "integer division by zero".into(),
            Trap::IntegerOverflow => "integer overflow".into(),
            Trap::BadConversionToInteger => "conversion of a float that no integer can hold".into(),
            other => format!("{other}"),
        };
        Outcome::Bug(Bug { kind: BugKind::Trap, message, worker })
    }

    /// Whether the running worker's stack pointer has wrapped around below zero: a linker that puts
    /// the stack first makes an overflow look like an access outside of memory.
    fn below_stack(&mut self) -> bool {
        let slot = self.artifact.table.worker_globals.iter().position(|g| g.stack_pointer);
        let name = format!("{}{}", rt::WORKER_GLOBAL_PREFIX, slot.unwrap_or(usize::MAX));
        let Some(global) = self.ports.instance.get_global(&mut self.store, &name) else { return false };
        let high = self.store.data().main_stack.map(|s| s.1);
        global
            .get(&mut self.store)
            .i32()
            .is_some_and(|sp| high.is_some_and(|high| sp as u32 > high && sp < 0))
    }
}
