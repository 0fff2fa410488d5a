//! When samplers let a timeout fire: one rule for all of them.

use crate::rng::ChoiceRng;
use crate::{Pick, View};

/// While other workers can run, a pending timeout fires at one choice in this many. A timeout is meant
/// to be the exception, yet a race against it should come up within some tens of iterations.
const ONE_IN: u64 = 16;

/// The pending timeout, if it shall fire now: always if no worker can go on, else rarely.
#[inline]
pub(super) fn fires(view: &View, rng: &mut ChoiceRng) -> Option<Pick> {
    let worker = view.timeout?;
    (view.enabled.is_empty() || rng.one_in(ONE_IN)).then_some(Pick::Timeout(worker))
}
