//! Leaks: blocks of the heap to which nothing points at the end of a test that passed.
//!
//! A word with the address of a block, or of a place in it, is a pointer, as for other conservative collectors; so a
//! lost block may count as reachable. Cost: memory is read once at the end of an iteration.
//! An iteration in which a node crashed is not judged.

use crate::evidence::Evidence;
use crate::observe::{Detector, Ending, Finding, Interest};
use crate::outcome::{Bug, BugKind};
use crate::runtime::heap::BlockRef;

/// See the module's documentation. It has no state.
pub struct Leaks;

impl Detector for Leaks {
    fn interest(&self) -> Interest {
        Interest::ENDS | Interest::ROOTS
    }

    fn end(&mut self, ending: &Ending<'_>) -> Option<Finding> {
        let roots = ending.roots.as_ref()?;
        let state = ending.state;
        // What a node had when it crashed is lost, and that is no mistake of the program.
        if state.runtime.crashes.iter().any(|crash| crash.node.is_some()) {
            return None;
        }
        let leaks = state.runtime.heap.leaks(state.memory, roots.dead, roots.words, roots.stacks);
        let first = leaks.first()?;
        let bytes = leaks.iter().map(|leak| u64::from(leak.bytes)).sum();
        let evidence = Evidence::Leak { blocks: leaks.len(), bytes, first_bytes: first.bytes };
        let block = BlockRef::new(BugKind::Leak, *first, None);
        Some(Finding { bug: Bug { kind: BugKind::Leak, evidence, worker: None }, block: Some(block) })
    }
}
