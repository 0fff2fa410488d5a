//! Use after return: accesses of another worker's stack where no frame is, or the frame of a function that gives its
//! address to no other code.
//!
//! A function's accesses of such a frame are no scheduling points (`analysis/escape.rs` of the instrumenter). So without
//! this detector nothing would show that another worker changes the frame, and no search could rely on it: a search
//! always has this detector, and the footprints of steps have the frames that they begin and end
//! (`machine/changed_frames.rs`).
//! Samplers have it in the iterations that they watch for data races.
//!
//! # What is not found
//! - Accesses of the frame of another function in the same place, if that function gives its address away.
//! - A worker's accesses of its own frames that have ended.
//! - Accesses of the stack of a worker that has ended, once it was joined, and of one outside of the heap.
//! - Accesses of a stack whose bounds are not known: of the first worker's, if the linker put it behind other data. Of
//!   the frames that are in use, those outside of one whose size is not known (`analysis/frame_size.rs` of the
//!   instrumenter).
//!
//! Cost: it is asked about every access.

use super::memory_errors::{USE_OF_OBJECT, by_host, touched, unannounced};
use crate::artifact::Artifact;
use crate::evidence::{Evidence, StackAccess};
use crate::observe::{Attempt, Detector, Finding, GuestState, Interest, StackPlace, uses_object};
use crate::outcome::{Bug, BugKind};
use coyote_strategies::WorkerId;

/// See the module's documentation. It has no state.
pub struct UseAfterReturn;

/// Whether a module has stacks in its memory. In another one there is nothing to find.
pub(super) fn has_stacks(artifact: &Artifact) -> bool {
    artifact.table.stack_pointer().is_some()
}

impl Detector for UseAfterReturn {
    fn interest(&self) -> Interest {
        Interest::VETOES
    }

    fn veto(&self, state: &GuestState<'_>, worker: WorkerId, attempt: &Attempt<'_>) -> Option<Finding> {
        let ended_at = |what, address, bytes| ended_at(state, worker, what, address, bytes);
        // An access of no bytes is none.
        let accessed = |what, address, bytes| if bytes > 0 { ended_at(what, address, bytes) } else { None };
        match *attempt {
            // The worker that ends a wait may return from the function whose variable the object is.
            Attempt::Operation(operation) if uses_object(operation.kind) => {
                let begins = !state.runtime.worker(worker).waiting;
                if begins { ended_at(operation.kind.name(), operation.object, 0) } else { None }
            }
            Attempt::Operation(operation) => touched(state, worker, operation)
                .find_map(|range| accessed(operation.kind.name(), range.address, range.bytes)),
            Attempt::Unannounced(access) => accessed(unannounced(access), access.object, access.size),
            Attempt::Host(access) => accessed(by_host(access), access.object, access.size),
            Attempt::Object { address } => ended_at(USE_OF_OBJECT, address.into(), 0),
            Attempt::Free { .. } => None,
        }
    }
}

/// The finding if a worker must not access these bytes of another one's stack.
fn ended_at(
    state: &GuestState<'_>,
    worker: WorkerId,
    what: &'static str,
    address: u64,
    bytes: u32,
) -> Option<Finding> {
    let first = u32::try_from(address).ok()?;
    // The bounds of the first worker's stack are not known to the runtime.
    let known = state.runtime.stack_at(first).or_else(|| state.runtime.left_stack_at(first));
    let owner = known.unwrap_or(state.runtime.first());
    let place = if owner == worker { StackPlace::Other } else { state.stack_place(owner, first) };
    if place == StackPlace::Other {
        return None;
    }
    let evidence = Evidence::StackAccess(StackAccess {
        what: what.into(),
        address,
        bytes,
        owner: state.runtime.title(owner).to_string(),
        reused: place != StackPlace::Ended,
    });
    Some(Bug { kind: BugKind::UseAfterReturn, evidence, worker: Some(worker) }.into())
}
