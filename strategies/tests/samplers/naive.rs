//! What strategies keep from step to step, so as not to compute it anew, changes no choice: the same schedules as
//! with their plain forms.

use super::contract::make;
use super::programs::program;
use super::sampling::run;
use coyote_strategies::rng::ChoiceRng;
use coyote_strategies::toy::{Instruction::*, Program};
use coyote_strategies::{Event, Iteration, OpKind, Pick, Strategy, Summary, View, WorkerId, WorkerState};
use std::collections::BTreeMap;

/// Programs of all kinds, one of many workers, and one of waits that end under fair strategies.
fn programs() -> Vec<Program> {
    let many = |code: Vec<_>| [vec![(1..12).map(Spawn).collect()], vec![code; 11]].concat();
    let polls = vec![Load(0), Yield, BackUnless(1, 2), Rmw(1, 1)];
    let locks = [[Lock(0), Rmw(1, 1), Unlock(0)].repeat(4), vec![Set(0, 1)]].concat();
    let mut programs: Vec<Program> = (0..60).map(program).collect();
    programs.push(many(vec![Rmw(0, 1), Load(1), Choose(3), Store(0, 1)]));
    programs.push(vec![polls.clone(), locks.clone(), polls, locks]);
    programs
}

/// The schedules of the first iterations.
fn schedules(program: &Program, strategy: &mut dyn Strategy) -> Vec<Vec<u32>> {
    (0..40).map(|index| run(program, strategy, Iteration { seed: 3, index }).1).collect()
}

fn agree(fast: impl Fn() -> Box<dyn Strategy>, plain: impl Fn() -> Box<dyn Strategy>) {
    for (n, program) in programs().iter().enumerate() {
        let (fast, plain) = (schedules(program, &mut *fast()), schedules(program, &mut *plain()));
        let first = (0..fast.len()).find(|i| fast[*i] != plain[*i]);
        assert_eq!(first, None, "program {n}: {program:?}");
    }
}

fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn fires(view: &View, rng: &mut ChoiceRng) -> Option<Pick> {
    let timeouts = view.timeouts;
    if timeouts.is_empty() || !view.enabled.is_empty() && !rng.one_in(16) {
        return None;
    }
    let at = if timeouts.len() == 1 { 0 } else { rng.below(timeouts.len() as u64) };
    Some(Pick::Timeout(timeouts[at as usize]))
}

/// Hash of the creation path, children and last value of each worker.
#[derive(Default)]
struct Places {
    workers: Vec<(u64, u64, u64)>,
    picked: usize,
}

impl Places {
    fn cover(&mut self, count: usize) {
        while self.workers.len() < count {
            self.workers.push((mix(self.workers.len() as u64), 0, 0));
        }
    }

    fn observe(&mut self, event: Event) {
        if let Event::Spawned { parent, child } = event {
            self.cover(child.index());
            let (key, children, _) = &mut self.workers[parent.index()];
            *children += 1;
            let key = mix(*key ^ mix(!*children));
            self.workers.push((key, 0, 0));
        }
    }

    fn key(&self, worker: WorkerId) -> u64 {
        self.workers[worker.index()].0
    }

    fn hash(&mut self, view: &View) -> u64 {
        self.cover(view.workers.len());
        let hashes = self.workers.iter().zip(view.workers).map(|((key, _, chosen), pending)| {
            let operation = pending.operation;
            let at = u64::from(operation.site) << 16 | (operation.kind as u64) << 8;
            let place = match pending.state {
                WorkerState::Enabled => at,
                WorkerState::Blocked => at | 1,
                WorkerState::Ended => u64::MAX,
            };
            mix(key ^ mix(place ^ mix(*chosen)))
        });
        hashes.fold(0, u64::wrapping_add)
    }
}

#[derive(Default)]
struct PlainGreedy {
    rng: ChoiceRng,
    places: Places,
    seen: BTreeMap<u64, u64>,
    led: BTreeMap<(u64, u64), u64>,
    last: Option<(u64, u64)>,
}

impl PlainGreedy {
    fn choose(&mut self, state: u64, actions: &[u64]) -> usize {
        *self.seen.entry(state).or_default() += 1;
        if let Some(from) = self.last {
            self.led.insert(from, state);
        }
        let (mut best, mut least, mut ties) = (0, u64::MAX, 0);
        for (i, action) in actions.iter().enumerate() {
            let seen = self.led.get(&(state, *action)).map_or(0, |to| self.seen[to]);
            if seen <= least {
                ties = if seen < least { 1 } else { ties + 1 };
                if self.rng.one_in(ties) {
                    (best, least) = (i, seen);
                }
            }
        }
        self.last = Some((state, actions[best]));
        best
    }
}

impl Strategy for PlainGreedy {
    fn name(&self) -> String {
        "plain greedy".into()
    }
    fn fair(&self) -> bool {
        false
    }
    fn begin(&mut self, iteration: Iteration) {
        (self.rng, self.places, self.last) = (ChoiceRng::new(iteration), Places::default(), None);
    }
    fn pick(&mut self, view: &View) -> Option<Pick> {
        if let Some(pick) = fires(view, &mut self.rng) {
            return Some(pick);
        }
        let state = self.places.hash(view);
        let keys: Vec<u64> = view.enabled.iter().map(|w| self.places.key(*w)).collect();
        let worker = view.enabled[self.choose(state, &keys)];
        self.places.picked = worker.index();
        Some(Pick::Step(worker))
    }
    fn value(&mut self, bound: u64, view: &View) -> Option<u64> {
        let state = mix(self.places.hash(view) ^ bound);
        let value = self.choose(state, &(0..bound).collect::<Vec<_>>()) as u64;
        self.places.workers[self.places.picked].2 = value + 1;
        Some(value)
    }
    fn observe(&mut self, event: Event) {
        self.places.observe(event);
    }
}

#[derive(Default)]
struct PlainQ {
    seen: u64,
    available: u64,
    actions: Vec<(u64, f64)>,
}

impl PlainQ {
    fn q(&self, action: u64) -> f64 {
        self.actions.iter().find(|(a, _)| *a == action).map_or(0.0, |(_, q)| *q)
    }

    fn update(&mut self, action: u64, reward: f64) {
        let learned = |q: f64| 0.7 * q + 0.3 * reward;
        match self.actions.iter_mut().find(|(a, _)| *a == action) {
            Some((_, q)) => *q = learned(*q),
            None => self.actions.push((action, learned(0.0))),
        }
    }

    fn best(&self) -> f64 {
        let untried = if (self.actions.len() as u64) < self.available { 0.0 } else { f64::NEG_INFINITY };
        self.actions.iter().map(|(_, q)| *q).fold(untried, f64::max)
    }
}

#[derive(Default)]
struct PlainQLearning {
    rng: ChoiceRng,
    places: Places,
    states: BTreeMap<u64, PlainQ>,
    made: Vec<(u64, u64, bool)>,
}

impl PlainQLearning {
    fn make(&mut self, state: u64, action: u64, available: usize, fault: bool) {
        let known = self.states.entry(state).or_default();
        known.seen += 1;
        known.available = available as u64;
        self.made.push((state, action, fault));
    }

    /// An index in proportion to exp(q), or `None` for one of `others` with q = 0.
    fn draw(&mut self, qs: Vec<f64>, others: u64) -> Option<usize> {
        let least = if others > 0 { 0.0 } else { f64::NEG_INFINITY };
        let largest = qs.iter().copied().fold(least, f64::max);
        let weights: Vec<f64> = qs.iter().map(|q| (q - largest).exp()).collect();
        let rest = if others > 0 { others as f64 * (0.0 - largest).exp() } else { 0.0 };
        let mut at = self.rng.unit() * (weights.iter().sum::<f64>() + rest);
        for (i, weight) in weights.iter().enumerate() {
            if at < *weight {
                return Some(i);
            }
            at -= weight;
        }
        let likeliest = (0..qs.len()).max_by(|a, b| weights[*a].total_cmp(&weights[*b]));
        likeliest.filter(|_| others == 0)
    }
}

impl Strategy for PlainQLearning {
    fn name(&self) -> String {
        "plain Q-learning".into()
    }
    fn fair(&self) -> bool {
        false
    }
    fn begin(&mut self, iteration: Iteration) {
        (self.rng, self.places) = (ChoiceRng::new(iteration), Places::default());
        self.made.clear();
    }
    fn pick(&mut self, view: &View) -> Option<Pick> {
        if let Some(pick) = fires(view, &mut self.rng) {
            return Some(pick);
        }
        let state = self.places.hash(view);
        let q = |w: &WorkerId| self.states.get(&state).map_or(0.0, |s| s.q(self.places.key(*w)));
        let chosen = match view.enabled.len() {
            1 => 0,
            _ => self.draw(view.enabled.iter().map(q).collect(), 0).unwrap(),
        };
        let worker = view.enabled[chosen];
        let fault =
            view.enabled.len() > 1 && view.workers.iter().any(|w| w.operation.kind == OpKind::ChooseBool);
        self.make(state, self.places.key(worker), view.enabled.len(), fault);
        self.places.picked = worker.index();
        Some(Pick::Step(worker))
    }
    fn value(&mut self, bound: u64, view: &View) -> Option<u64> {
        let state = mix(self.places.hash(view) ^ bound);
        let known = self.states.get(&state).map_or(vec![], |state| state.actions.clone());
        let others = bound - known.len() as u64;
        let value = match self.draw(known.iter().map(|(_, q)| *q).collect(), others) {
            Some(i) => known[i].0,
            None => {
                let nth = self.rng.below(others) as usize;
                (0..bound).filter(|value| known.iter().all(|(k, _)| k != value)).nth(nth).unwrap()
            }
        };
        self.make(state, value, bound as usize, true);
        self.places.workers[self.places.picked].2 = value + 1;
        Some(value)
    }
    fn observe(&mut self, event: Event) {
        self.places.observe(event);
    }
    fn end(&mut self, _: Summary) {
        for pair in self.made.windows(2) {
            let (next, fault) = (&self.states[&pair[1].0], pair[1].2);
            let reward = -(next.seen as f64 * if fault { 0.25 } else { 1.0 }) + 0.7 * next.best();
            self.states.get_mut(&pair[0].0).unwrap().update(pair[0].1, reward);
        }
        if let Some((state, action, _)) = self.made.last() {
            let state = self.states.get_mut(state).unwrap();
            state.update(*action, -(state.seen as f64) / (1.0 - 0.7));
        }
    }
}

#[test]
fn greedy_chooses_as_its_plain_form() {
    agree(|| make("greedy"), || Box::new(PlainGreedy::default()));
}

#[test]
fn q_learning_chooses_as_its_plain_form() {
    agree(|| make("q-learning"), || Box::new(PlainQLearning::default()));
}

/// Says at every choice that states have changed, so that they are looked at.
struct Changing {
    inner: Box<dyn Strategy>,
    changes: u64,
}

impl Strategy for Changing {
    fn name(&self) -> String {
        self.inner.name()
    }
    fn fair(&self) -> bool {
        self.inner.fair()
    }
    fn begin(&mut self, iteration: Iteration) {
        self.inner.begin(iteration);
    }
    fn pick(&mut self, view: &View) -> Option<Pick> {
        self.changes += 1;
        self.inner.pick(&View { changes: self.changes, ..*view })
    }
    fn value(&mut self, bound: u64, view: &View) -> Option<u64> {
        self.inner.value(bound, view)
    }
    fn observe(&mut self, event: Event) {
        self.inner.observe(event);
    }
}

#[test]
fn chess_fair_looks_at_standings_when_they_have_changed() {
    for name in ["pct:3+chess-fair", "delay:2+chess-fair", "[random@5,then:pct:1+chess-fair]+chess-fair"] {
        agree(|| make(name), || Box::new(Changing { inner: make(name), changes: 0 }));
    }
}
