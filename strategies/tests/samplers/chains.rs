//! PCT-t: who is woken goes on with the priority of who woke it.

use super::sampling::run;
use coyote_strategies::toy::Instruction::{SemaphorePost, SemaphoreWait};
use coyote_strategies::{
    Event, Iteration, Operation, Pct, PctT, Pending, Pick, Strategy, View, WorkerId, WorkerState,
};

/// Who of these is picked, all of four workers being there.
fn pick(strategy: &mut dyn Strategy, enabled: &[u32]) -> u32 {
    let pending = Pending { operation: Operation::START, state: WorkerState::Enabled };
    let enabled: Vec<WorkerId> = enabled.iter().copied().map(WorkerId).collect();
    let view = View {
        enabled: &enabled,
        timeout: None,
        workers: &[pending; 4],
        current: None,
        step: 0,
        changes: 0,
        in_section: false,
        fault: None,
    };
    match strategy.pick(&view) {
        Some(Pick::Step(worker)) => worker.0,
        other => panic!("{other:?}"),
    }
}

/// In how many of 200 iterations the choice between 0 and 1 agrees with that between 3, which was woken
/// by 2, which was woken by 0, and 1.
fn agreements(strategy: &mut dyn Strategy) -> usize {
    let agree = |index: &u64| {
        strategy.begin(Iteration { seed: 1, index: *index });
        let first = pick(strategy, &[0, 1]);
        strategy.observe(Event::Woken { by: WorkerId(0), worker: WorkerId(2) });
        strategy.observe(Event::Woken { by: WorkerId(2), worker: WorkerId(3) });
        (first == 0) == (pick(strategy, &[1, 3]) == 3)
    };
    (0..200).filter(agree).count()
}

#[test]
fn the_woken_inherit_the_priority() {
    assert_eq!(agreements(&mut PctT::new(1)), 200);
    // Priorities of three workers: two of three orders agree. Binomial(200, 2/3), 7 deviations.
    let by_worker = agreements(&mut Pct::new(1));
    assert!((87..180).contains(&by_worker), "{by_worker}");
}

#[test]
fn of_a_chain_each_enabled_worker_is_as_likely() {
    let mut strategy = PctT::new(1);
    let mut counts = [0u32; 4];
    for index in 0..3_000 {
        strategy.begin(Iteration { seed: 2, index });
        strategy.observe(Event::Woken { by: WorkerId(1), worker: WorkerId(2) });
        strategy.observe(Event::Woken { by: WorkerId(1), worker: WorkerId(3) });
        counts[pick(&mut strategy, &[1, 2, 3]) as usize] += 1;
    }
    // Binomial(3000, 1/3) has deviation 26.
    assert!(counts[1..].iter().all(|n| (850..1150).contains(n)), "{counts:?}");
}

/// Picks the first worker that is enabled, and keeps what it is told.
#[derive(Default)]
struct Listener(Vec<Event>);

impl Strategy for Listener {
    fn name(&self) -> String {
        "listener".into()
    }
    fn fair(&self) -> bool {
        false
    }
    fn begin(&mut self, _: Iteration) {}
    fn pick(&mut self, view: &View) -> Option<Pick> {
        Some(Pick::Step(view.enabled[0]))
    }
    fn value(&mut self, _: u64, _: &View) -> Option<u64> {
        Some(0)
    }
    fn observe(&mut self, event: Event) {
        self.0.push(event);
    }
}

/// Tasks and actors wait for semaphores.
#[test]
fn a_post_wakes_all_who_wait() {
    let program =
        vec![vec![SemaphoreWait(0)], vec![SemaphoreWait(0)], vec![SemaphorePost(0), SemaphorePost(0)]];
    let mut listener = Listener::default();
    run(&program, &mut listener, Iteration { seed: 0, index: 0 });
    let woken = |worker| Event::Woken { by: WorkerId(2), worker: WorkerId(worker) };
    let heard: Vec<Event> =
        listener.0.into_iter().filter(|event| matches!(event, Event::Woken { .. })).collect();
    // Worker 0 takes what the first post gives, so worker 1 is blocked again.
    assert_eq!(heard, [woken(0), woken(1), woken(1)]);
}
