//! Interprets traps and uncaught exceptions of wasm code.

use super::Machine;
use crate::evidence::{self, Evidence};
use crate::outcome::{Bound, Bug, BugKind, Outcome};
use crate::runtime::panic;
use coyote_abi::rt;
use coyote_strategies::WorkerId;
use wasmtime::Trap;

impl Machine {
    /// The outcome of a trap.
    pub(super) fn trapped(&mut self, trap: Trap) -> Outcome {
        let worker = self.scheduler().running;
        let bug = |kind, evidence| Outcome::Bug(Bug { kind, evidence, worker });
        if trap == Trap::UnreachableCodeReached
            && let Some(message) = panic::last_words(&self.scheduler().runtime.output, worker)
        {
            let limit = worker.and_then(|w| self.limit_of_panic(w, &message));
            let kind = if limit.is_some() { BugKind::Limit } else { BugKind::Panic };
            return bug(kind, Evidence::Said(limit.unwrap_or(message)));
        }
        if trap == Trap::UnreachableCodeReached
            && let Some(limit) = worker.and_then(|w| self.limit_of_unreachable(w))
        {
            return bug(BugKind::Limit, Evidence::Said(limit));
        }
        let evidence = match trap {
            Trap::StackOverflow => {
                self.store.data_mut().parts.overflow();
                return Outcome::Bound(Bound::NativeStack);
            }
            Trap::MemoryOutOfBounds if self.below_stack() => {
                return bug(BugKind::StackOverflow, Evidence::StackTooSmall);
            }
            Trap::UnreachableCodeReached => evidence::Trap::Unreachable,
            Trap::MemoryOutOfBounds => evidence::Trap::Memory,
            Trap::TableOutOfBounds => evidence::Trap::Table,
            Trap::HeapMisaligned => evidence::Trap::MisalignedAtomic,
            Trap::IndirectCallToNull => evidence::Trap::NullFunction,
            Trap::BadSignature => evidence::Trap::FunctionType,
            Trap::IntegerDivisionByZero => evidence::Trap::DivisionByZero,
            Trap::IntegerOverflow => evidence::Trap::IntegerOverflow,
            Trap::BadConversionToInteger => evidence::Trap::Conversion,
            other => evidence::Trap::Other(other.to_string()),
        };
        bug(BugKind::Trap, Evidence::Trap(evidence))
    }

    /// The outcome when an exception leaves the function with which a worker began.
    pub(super) fn uncaught(&mut self) -> Outcome {
        let worker = self.scheduler().running;
        let said = panic::last_words(&self.scheduler().runtime.output, worker);
        self.stop_where_thrown(worker);
        Outcome::Bug(Bug { kind: BugKind::UncaughtException, evidence: Evidence::Uncaught(said), worker })
    }

    /// Revises the outcome of a program that a panic unwound: its message may show a limit of this tool, and the place
    /// of the panic says more than the place where the program ends.
    pub(super) fn look_at_panic(&mut self) {
        let Some(Outcome::Bug(bug)) = &self.scheduler().outcome else { return };
        let (BugKind::Panic, Evidence::Said(message)) = (bug.kind, &bug.evidence) else { return };
        let worker = bug.worker;
        if let Some(limit) = self.limit_of_message(message)
            && let Some(Outcome::Bug(bug)) = &mut self.scheduler_mut().outcome
        {
            *bug = Bug { kind: BugKind::Limit, evidence: Evidence::Said(limit), worker };
        }
        self.stop_where_thrown(worker);
    }

    /// Replaces a worker's stack by the one that it had when it last threw.
    fn stop_where_thrown(&mut self, worker: Option<WorkerId>) {
        let host = self.store.data_mut();
        if let Some(worker) = worker
            && let Some(stack) = host.thrown_at.remove(&worker)
        {
            host.stopped_at = Some((worker, stack));
        }
    }

    /// Whether the running worker's stack pointer has wrapped around below zero: a linker that puts
    /// the stack first makes an overflow look like an access outside of memory.
    fn below_stack(&mut self) -> bool {
        let slot = self.artifact.table.stack_pointer().map(|(slot, _)| slot);
        let name = format!("{}{}", rt::WORKER_GLOBAL_PREFIX, slot.unwrap_or(usize::MAX));
        let Some(global) = self.exports.instance.get_global(&mut self.store, &name) else { return false };
        let high = self.store.data().main_stack.map(|s| s.1);
        global
            .get(&mut self.store)
            .i32()
            .is_some_and(|sp| high.is_some_and(|high| sp as u32 > high && sp < 0))
    }
}
