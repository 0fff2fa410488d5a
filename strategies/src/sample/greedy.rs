//! Greedy: picks the worker whose step led to the state seen least often, as far as this is known.
//!
//! The ablation of Q-learning in P#'s evaluation (Mukherjee et al., OOPSLA 2020): looks one step ahead only.
//! A step that was never made in this state counts as leading to a new one; ties are broken at random. States
//! are those of [`super::q_learning`]. Data values are chosen in the same way if there are at most 16, and
//! uniformly otherwise. Not fair, and not independent: an iteration depends on all before it.

use super::learned::{ByAction, Numbers, States};
use super::timeout;
use crate::rng::ChoiceRng;
use crate::{Event, Iteration, Pick, Strategy, View, mix};

/// Choices among more values are not counted.
const VALUES_MAX: u64 = 16;

/// See the module's documentation.
#[derive(Clone, Debug, Default)]
pub struct Greedy {
    rng: ChoiceRng,
    places: States,
    states: Numbers,
    /// How often each state was seen, by its number.
    seen: Vec<u64>,
    /// For each action that was taken in a state, the state that it last led to; by the state's number.
    led: Vec<Vec<(usize, usize)>>,
    /// The last state and action of this iteration.
    last: Option<(usize, usize)>,
    seen_after: ByAction<u64>,
}

impl Greedy {
    /// Records the present state, and chooses the best of some actions in it.
    fn choose(&mut self, state: u64, actions: impl Iterator<Item = usize>) -> usize {
        let state = self.states.of(state);
        if self.seen.len() <= state {
            self.seen.push(0);
            self.led.push(Vec::new());
        }
        self.seen[state] += 1;
        if let Some((from, action)) = self.last {
            match self.led[from].iter_mut().find(|(known, _)| *known == action) {
                Some((_, to)) => *to = state,
                None => self.led[from].push((action, state)),
            }
        }
        let Greedy { rng, seen, led, seen_after, .. } = self;
        let known = led[state].iter().map(|(action, to)| (*action, seen[*to]));
        let best = seen_after.with(known, |seen_after| {
            let (mut best, mut least, mut ties) = ((0, 0), u64::MAX, 0);
            for (i, action) in actions.enumerate() {
                let seen = seen_after(action);
                if seen > least {
                    continue;
                }
                // Among equal ones, the n-th replaces the choice with probability 1/n, so that each is
                // equally likely.
                ties = if seen < least { 1 } else { ties + 1 };
                if rng.one_in(ties) {
                    (best, least) = ((i, action), seen);
                }
            }
            best
        });
        self.last = Some((state, best.1));
        best.0
    }
}

impl Strategy for Greedy {
    fn name(&self) -> String {
        "greedy".into()
    }

    fn fair(&self) -> bool {
        false
    }

    fn independent(&self) -> bool {
        false
    }

    fn begin(&mut self, iteration: Iteration) {
        self.rng = ChoiceRng::new(iteration);
        self.places.restart();
        self.last = None;
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        if let Some(pick) = timeout::fires(view, &mut self.rng) {
            return Some(pick);
        }
        let state = self.places.hash(view);
        let places = std::mem::take(&mut self.places);
        let chosen = self.choose(state, view.enabled.iter().map(|w| places.worker(*w)));
        self.places = places;
        let worker = view.enabled[chosen];
        self.places.picked(worker);
        Some(Pick::Step(worker))
    }

    fn value(&mut self, bound: u64, view: &View) -> Option<u64> {
        if bound > VALUES_MAX {
            return Some(self.rng.below(bound));
        }
        let state = mix(self.places.hash(view) ^ bound);
        let value = self.choose(state, 0..bound as usize) as u64;
        self.places.chose(value);
        Some(value)
    }

    fn observe(&mut self, event: Event) {
        self.places.observe(event);
    }
}
