//! The rule by which all samplers let timeouts fire.

use crate::rng::ChoiceRng;
use crate::{Pick, View};

/// While other workers are enabled, a pending timeout fires at one choice in this many. Timeouts are meant to
/// be exceptions, but a race against one should occur within some tens of iterations.
const ONE_IN: u64 = 16;

/// The pending timeout, if it fires now: always if no worker is enabled, otherwise rarely.
#[inline]
pub(super) fn fires(view: &View, rng: &mut ChoiceRng) -> Option<Pick> {
    let worker = view.timeout?;
    (view.enabled.is_empty() || rng.one_in(ONE_IN)).then_some(Pick::Timeout(worker))
}
