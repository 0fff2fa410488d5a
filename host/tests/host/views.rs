//! The view of strategies: [`View::changes`] tells when states have changed.

use super::examples;
use super::guest;
use coyote_wasm::strategies::{Iteration, Pick, RandomWalk, Strategy, View, WorkerState};

/// Compares states at each choice with those at the previous choice.
#[derive(Default)]
struct Watching {
    walk: RandomWalk,
    /// [`View::changes`] and the states.
    before: Option<(u64, Vec<WorkerState>)>,
}

impl Strategy for Watching {
    fn name(&self) -> String {
        "watching".into()
    }

    fn fair(&self) -> bool {
        true
    }

    fn begin(&mut self, iteration: Iteration) {
        self.walk.begin(iteration);
        self.before = None;
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        let now = (view.changes, view.workers.iter().map(|w| w.state).collect::<Vec<_>>());
        if let Some(before) = self.before.replace(now.clone()) {
            assert!(before.0 != now.0 || before.1 == now.1, "{before:?}, then {now:?}");
        }
        self.walk.pick(view)
    }

    fn value(&mut self, bound: u64, view: &View) -> Option<u64> {
        self.walk.value(bound, view)
    }
}

#[test]
fn standings_are_the_same_while_nothing_says_that_they_changed() {
    let (mut steps, mut changes) = (0, 0);
    for expected in examples::index() {
        let mut settings = guest::settings();
        settings.limits.fair_steps_max = 2_000;
        guest::with(&expected.artifact(), &expected.test, &settings, |execution| {
            for index in 0..10 {
                let watching = Box::new(Watching::default());
                execution.run(watching, Iteration { seed: 5, index }).unwrap();
                let view = execution.runtime().view();
                (steps, changes) = (steps + view.step, changes + view.changes);
            }
        });
    }
    // Most steps change none, otherwise it would be useless.
    assert!(changes > 5_000 && steps > 2 * changes, "{changes} changes in {steps} steps");
}
