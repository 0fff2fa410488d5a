//! The rule by which all samplers let timeouts fire, and by which PCT-t lets them fire late.

use crate::rng::ChoiceRng;
use crate::{Iteration, Pick, View};

/// While other workers are enabled, a pending timeout fires at one choice in this many. Timeouts are meant to
/// be exceptions, but a race against one should occur within some tens of iterations.
const ONE_IN: u64 = 16;

/// A pending timeout, if one fires now: always if no worker is enabled, otherwise rarely. Each of several is as likely.
#[inline]
pub(super) fn fires(view: &View, rng: &mut ChoiceRng) -> Option<Pick> {
    let first = *view.timeouts.first()?;
    if !view.enabled.is_empty() && !rng.one_in(ONE_IN) {
        return None;
    }
    let several = view.timeouts.len() as u64;
    let worker = if several > 1 { view.timeouts[rng.below(several) as usize] } else { first };
    Some(Pick::Timeout(worker))
}

/// Distinguishes this draw from the choices of the iteration.
const STREAM: u64 = 0x7061_7469_656e_6365;

/// How long an iteration lets no timeout fire while workers are enabled.
///
/// By the rule above, the earliest timeout fires within some tens of steps. A program of many tasks that sleeps until
/// all of them wait for something needs more than that, and would never get there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Patience {
    /// The step from which on the rule above holds.
    until: u64,
}

impl Patience {
    /// In half of the iterations none, in the others as many steps as an execution has.
    pub fn draw(iteration: Iteration, steps: u64) -> Patience {
        let mut rng = ChoiceRng::new(Iteration { seed: iteration.seed ^ STREAM, ..iteration });
        Patience { until: if rng.one_in(2) { steps } else { 0 } }
    }

    /// See [`crate::Strategy::timeouts_from`].
    pub fn until(self) -> u64 {
        self.until
    }

    /// A pending timeout, if one fires now.
    pub fn fires(self, view: &View, rng: &mut ChoiceRng) -> Option<Pick> {
        if view.step < self.until && !view.enabled.is_empty() { None } else { fires(view, rng) }
    }
}
