//! The condvars of Rust's std, which are futexes: their functions, by which their operations are told as those of condvars.
//!
//! By library/std/src/sys/sync/condvar/futex.rs.

use super::lock_words::{LockWord, method_of};
use super::recorder::RawStep;
use crate::symbols::SourceFrame;
use coyote_strategies::OpKind;

/// Whether code is within a wait for a condvar, and for nothing else.
pub fn is_wait(frames: &[SourceFrame]) -> bool {
    LockWord::of(frames).is_none() && is_within_wait(frames)
}

/// Whether code takes the mutex again with which a wait for a condvar ends.
pub fn is_wait_of_mutex(frames: &[SourceFrame]) -> bool {
    LockWord::of(frames).is_some() && is_within_wait(frames)
}

fn is_within_wait(frames: &[SourceFrame]) -> bool {
    let waits = |frame| method_of(frame, CONDVAR).is_some_and(|method| WAITS.contains(&method));
    frames.iter().any(waits)
}

const CONDVAR: &str = "::condvar::futex::Condvar";
const WAITS: [&str; 3] = ["wait", "wait_timeout", "wait_optional_timeout"];

/// The kind of a step as one of a condvar. `frames`: where the step is, innermost first. A step in which a wait ends is like
/// the second half of one of our condvars.
pub fn kind(step: &RawStep, frames: &[SourceFrame]) -> Option<OpKind> {
    let futex = step.operation.kind;
    if !matches!(futex, OpKind::FutexWait | OpKind::FutexNotify) || LockWord::of(frames).is_some() {
        return None;
    }
    match (futex, frames.iter().find_map(|frame| method_of(frame, CONDVAR))?) {
        (OpKind::FutexNotify, "notify_one") => Some(OpKind::Signal),
        (OpKind::FutexNotify, "notify_all") => Some(OpKind::Broadcast),
        (OpKind::FutexWait, method) if WAITS.contains(&method) => {
            Some(if step.waits { OpKind::Wait } else { OpKind::Relock })
        }
        _ => None,
    }
}
