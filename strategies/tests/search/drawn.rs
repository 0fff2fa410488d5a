//! Machines without a program: states, steps and heats are drawn.

use coyote_strategies::rng::ChoiceRng;
use coyote_strategies::system::Expected;
use coyote_strategies::{
    Access, Event, Iteration, Operation, Pending, Pick, Status, System, View, WorkerId, WorkerState,
};
use std::sync::Arc;

/// Where a step leads, if there is one, and whether the monitor becomes cold within it.
type Drew = Option<(usize, bool)>;

/// A machine whose states, steps and monitor are drawn: more entangled than programs are.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// For each state and worker, its step.
    steps: Arc<Vec<Vec<Drew>>>,
    /// For each state, whether the monitor is hot, if it is not cold.
    heats: Arc<Vec<Option<bool>>>,
    at: usize,
    since: u64,
    step: u64,
    workers: Vec<Pending>,
    enabled: Vec<WorkerId>,
}

const DRAWN_WORKERS: usize = 4;

impl Drawn {
    pub fn new(index: u64) -> Drawn {
        let mut rng = ChoiceRng::new(Iteration { seed: 83, index });
        let states = 3 + rng.below(9) as usize;
        let mut steps = Vec::new();
        for state in 0..states {
            let draw = |rng: &mut ChoiceRng| match rng.below(5) {
                0..3 => None,
                _ => Some((rng.below(states as u64) as usize, rng.one_in(6))),
            };
            let mut of: Vec<_> = (0..DRAWN_WORKERS).map(|_| draw(&mut rng)).collect();
            // The last state is an end, and can be reached.
            match state + 1 == states {
                true => of.fill(None),
                false => of[rng.below(DRAWN_WORKERS as u64) as usize] = Some((state + 1, false)),
            }
            steps.push(of);
        }
        let heats = (0..states).map(|_| [None, Some(false), Some(true), Some(true)][rng.below(4) as usize]);
        let mut drawn = Drawn {
            steps: Arc::new(steps),
            heats: Arc::new(heats.collect()),
            at: 0,
            since: 0,
            step: 0,
            workers: vec![],
            enabled: vec![],
        };
        drawn.refresh();
        drawn
    }

    fn refresh(&mut self) {
        let can = |worker: usize| self.steps[self.at][worker].is_some();
        let operation = Operation::START;
        let state = |on| if on { WorkerState::Enabled } else { WorkerState::Blocked };
        self.workers = (0..DRAWN_WORKERS).map(|w| Pending { operation, state: state(can(w)) }).collect();
        self.enabled = (0..DRAWN_WORKERS).filter(|w| can(*w)).map(|w| WorkerId(w as u32)).collect();
    }
}

impl System for Drawn {
    type Snapshot = Drawn;

    fn status(&self) -> Status {
        if self.enabled.is_empty() { Status::Passed } else { Status::Ready }
    }

    fn view(&self) -> View<'_> {
        View {
            enabled: &self.enabled,
            timeouts: &[],
            workers: &self.workers,
            current: None,
            step: self.step,
            changes: 0,
            in_section: false,
            fault: None,
        }
    }

    fn step(&mut self, pick: Pick) {
        let (to, cools) = self.steps[self.at][pick.worker().index()].expect("it is enabled");
        self.step += 1;
        if cools || self.heats[self.at].is_none() {
            self.since = self.step;
        }
        self.at = to;
        self.refresh();
    }

    fn choose(&mut self, _: u64) {
        unreachable!("there are no values");
    }

    fn expected(&self) -> Vec<Expected> {
        let heat = self.heats[self.at];
        heat.map(|waits| Expected { id: 0, waits, since: self.since }).into_iter().collect()
    }

    fn restart(&mut self) {
        (self.at, self.since, self.step) = (0, 0, 0);
        self.refresh();
    }

    fn footprint(&self) -> &[Access] {
        &[]
    }

    fn announced(&self, _: Pick, _: &mut Vec<Access>) {}

    fn take_events(&mut self, _: &mut Vec<Event>) {}

    fn can_snapshot(&self) -> bool {
        true
    }

    fn snapshot(&mut self) -> Drawn {
        self.clone()
    }

    fn restore(&mut self, snapshot: &Drawn) {
        self.clone_from(snapshot);
    }

    fn fingerprint(&mut self) -> u128 {
        // The hash selects a part of what was seen by its upper half.
        (self.at as u128) << 64 | self.at as u128
    }
}
