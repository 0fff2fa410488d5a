//! Q-learning (Mukherjee et al., OOPSLA 2020).
//!
//! Learns from iteration to iteration which choices lead to states that were seldom seen. A state is the
//! position of every worker: the sum of hashes of (worker's path, site, kind, state, the value it chose
//! last, the last hint that it gave). By hints, a program tells apart what is the same by position. Choosing action a in state s has probability proportional to exp(Q[s, a]); after the iteration
//! every choice s -a-> s' that was made is updated in order:
//!
//! ```text
//! Q[s, a] = 0.7 Q[s, a] + 0.3 (r + 0.7 max_a' Q[s', a']),  r = -(how often s' was seen in all)
//! ```
//!
//! Data choices are learned too, as actions of separate states. Deviations from Coyote's implementation: the
//! end of an execution counts as staying in its last state for ever, since rewards are negative, and
//! otherwise ending early would be the best result; the softmax subtracts the largest exponent, so that it
//! still chooses after thousands of iterations; the hash of states neither depends on the order of workers
//! nor loses bits; everything is reproducible from the seed on one kind of machine (exponentials may differ
//! between others); and states in which a value is chosen, or a worker is about to choose a boolean, have a bonus: they
//! count as if they had been seen a quarter as often. (Coyote counts those before a fault, which is a boolean choice
//! there, a thousandfold, which avoids them.) Faults of classes are drawn by [`crate::Faults`] and not learned.
//!
//! Not fair, and not independent: an iteration depends on all before it.

use super::learned::{ByAction, Numbers, States};
use super::timeout;
use crate::rng::ChoiceRng;
use crate::{Event, Iteration, OpKind, Pick, Strategy, Summary, View, mix};

const RATE: f64 = 0.3;
const DISCOUNT: f64 = 0.7;
const VALUE_BONUS: f64 = 0.25;

#[derive(Clone, Debug, Default)]
struct State {
    /// How often it was seen.
    seen: u64,
    /// How many actions it has.
    available: u64,
    /// Q of the actions that were taken at least once; all others have 0.
    actions: Vec<(u64, f64)>,
}

impl State {
    fn best(&self) -> f64 {
        let untried = if (self.actions.len() as u64) < self.available { 0.0 } else { f64::NEG_INFINITY };
        self.actions.iter().map(|(_, q)| *q).fold(untried, f64::max)
    }

    fn update(&mut self, action: u64, reward: f64) {
        let learned = |q: f64| (1.0 - RATE) * q + RATE * reward;
        match self.actions.iter_mut().find(|(a, _)| *a == action) {
            Some((_, q)) => *q = learned(*q),
            None => self.actions.push((action, learned(0.0))),
        }
    }
}

/// A choice that was made.
#[derive(Clone, Copy, Debug)]
struct Made {
    /// The state's number.
    state: usize,
    action: u64,
    /// Whether a value is chosen in this state, or a worker is about to choose a boolean.
    chooses: bool,
}

/// See the module's documentation.
#[derive(Clone, Debug, Default)]
pub struct QLearning {
    rng: ChoiceRng,
    places: States,
    numbers: Numbers,
    /// By the states' numbers.
    states: Vec<State>,
    made: Vec<Made>,
    /// Exponents of the present choice, reused memory.
    weights: Vec<f64>,
    qs: ByAction<f64>,
}

/// Draws an index in proportion to exp(q), or `None` for any of `others` further actions with q = 0.
fn softmax(qs: &mut [f64], others: u64, rng: &mut ChoiceRng) -> Option<usize> {
    let start = if others > 0 { 0.0 } else { f64::NEG_INFINITY };
    let largest = qs.iter().copied().fold(start, f64::max);
    // Most are equal: those of actions that were never taken.
    let mut known = (f64::NAN, f64::NAN);
    for q in qs.iter_mut() {
        if *q != known.0 {
            known = (*q, (*q - largest).exp());
        }
        *q = known.1;
    }
    let rest = others as f64 * (0.0 - largest).exp();
    let mut at = rng.unit() * (qs.iter().sum::<f64>() + if others > 0 { rest } else { 0.0 });
    for (i, weight) in qs.iter().enumerate() {
        if at < *weight {
            return Some(i);
        }
        at -= weight;
    }
    // Rounding may leave a remainder though there are no others: it counts for the likeliest index.
    if others > 0 { None } else { (0..qs.len()).max_by(|a, b| qs[*a].total_cmp(&qs[*b])) }
}

impl QLearning {
    /// The number of the state with this hash.
    fn state(&mut self, hash: u64) -> usize {
        let state = self.numbers.of(hash);
        if self.states.len() <= state {
            self.states.push(State::default());
        }
        state
    }

    fn make(&mut self, state: usize, action: u64, available: u64, chooses: bool) {
        let known = &mut self.states[state];
        known.seen += 1;
        known.available = available;
        self.made.push(Made { state, action, chooses });
    }
}

impl Strategy for QLearning {
    fn name(&self) -> String {
        "q-learning".into()
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
        self.made.clear();
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        if let Some(pick) = timeout::fires(view, &mut self.rng) {
            return Some(pick);
        }
        let hash = self.places.hash(view);
        let state = self.state(hash);
        if let [only] = view.enabled {
            // There is no choice, but the state counts as seen.
            self.make(state, self.places.worker(*only) as u64, 1, false);
            self.places.picked(*only);
            return Some(Pick::Step(*only));
        }
        let QLearning { places, states, weights, qs, .. } = self;
        weights.clear();
        let known = states[state].actions.iter().map(|(action, q)| (*action as usize, *q));
        qs.with(known, |q| weights.extend(view.enabled.iter().map(|w| q(places.worker(*w)))));
        let worker = view.enabled[softmax(&mut self.weights, 0, &mut self.rng)?];
        let chooses = view.workers.iter().any(|w| w.operation.kind == OpKind::ChooseBool);
        self.make(state, self.places.worker(worker) as u64, view.enabled.len() as u64, chooses);
        self.places.picked(worker);
        Some(Pick::Step(worker))
    }

    fn value(&mut self, bound: u64, view: &View) -> Option<u64> {
        let hash = mix(self.places.hash(view) ^ bound);
        let state = self.state(hash);
        self.weights.clear();
        // Values that were never chosen have Q = 0 and share one weight.
        let known = &self.states[state].actions;
        self.weights.extend(known.iter().map(|(_, q)| *q));
        let others = bound - known.len() as u64;
        let value = match softmax(&mut self.weights, others, &mut self.rng) {
            Some(i) => known[i].0,
            None => {
                let mut nth = self.rng.below(others);
                let mut taken: Vec<u64> = known.iter().map(|(value, _)| *value).collect();
                taken.sort_unstable();
                taken.iter().for_each(|value| nth += u64::from(*value <= nth));
                nth
            }
        };
        self.make(state, value, bound, true);
        self.places.chose(value);
        Some(value)
    }

    fn observe(&mut self, event: Event) {
        self.places.observe(event);
    }

    fn end(&mut self, _summary: Summary) {
        for pair in self.made.windows(2) {
            let [from, to] = pair else { continue };
            let next = &self.states[to.state];
            let seen = next.seen as f64 * if to.chooses { VALUE_BONUS } else { 1.0 };
            let reward = -seen + DISCOUNT * next.best();
            self.states[from.state].update(from.action, reward);
        }
        // The end counts as staying in the last state for ever.
        if let Some(last) = self.made.last() {
            let state = &mut self.states[last.state];
            state.update(last.action, -(state.seen as f64) / (1.0 - DISCOUNT));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_softmax_chooses_also_among_very_bad_actions() {
        let mut rng = ChoiceRng::default();
        let mut draw = |qs: &[f64], others| softmax(&mut qs.to_vec(), others, &mut rng);
        let mut counts = [0u32; 3];
        for _ in 0..3_000 {
            counts[draw(&[-9000.0, -9000.0, -9001.0], 0).unwrap()] += 1;
        }
        // Weights 1, 1 and 1/e of 2.37: 1267, 1267 and 466, with deviations of 27 and 20.
        assert!(counts[0].abs_diff(1267) < 150 && counts[2].abs_diff(466) < 110, "{counts:?}");
        assert_eq!(draw(&[-9000.0], 5), None);
        assert_eq!(draw(&[f64::MIN], 0), Some(0));
    }
}
