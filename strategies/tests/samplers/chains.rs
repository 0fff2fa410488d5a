//! PCT-t: who is woken goes on with the priority of who woke it.

use super::contract::make;
use super::sampling::{profile, run};
use coyote_strategies::toy::Instruction::{SemaphorePost, SemaphoreWait};
use coyote_strategies::{
    Event, Iteration, Operation, Pct, PctT, Pending, Pick, Profile, Strategy, View, WorkerId, WorkerPath,
    WorkerState,
};

/// Who of these is picked, all of four workers being there.
fn pick(strategy: &mut dyn Strategy, enabled: &[u32]) -> u32 {
    let pending = Pending { operation: Operation::START, state: WorkerState::Enabled };
    let enabled: Vec<WorkerId> = enabled.iter().copied().map(WorkerId).collect();
    let view = View {
        enabled: &enabled,
        timeouts: &[],
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

/// In the others they fire by the rule of all samplers.
#[test]
fn in_half_of_the_iterations_timeouts_wait() {
    let pending = |state| Pending { operation: Operation::START, state };
    let workers = [WorkerState::Enabled, WorkerState::Blocked].map(pending);
    let fires = |strategy: &mut dyn Strategy, enabled: &[WorkerId], step| {
        let timeouts = &[WorkerId(1)][..];
        let (current, changes, in_section, fault) = (None, 0, false, None);
        let view = View { enabled, timeouts, workers: &workers, current, step, changes, in_section, fault };
        strategy.pick(&view) == Some(Pick::Timeout(WorkerId(1)))
    };
    for name in ["pct-t:1", "pct-t:1+chess-fair"] {
        let mut strategy = make(name);
        strategy.prepare(&Profile { steps: 1_000, ..Profile::default() });
        let mut patient = 0;
        for index in 0..200 {
            strategy.begin(Iteration { seed: 4, index });
            let until = strategy.timeouts_from();
            assert!(until == 0 || until == 1_000);
            assert_eq!(strategy.fair_from(), strategy.fair().then_some(until));
            patient += u32::from(until > 0);
            assert!(!(0..until).any(|step| fires(strategy.as_mut(), &[WorkerId(0)], step)));
            // 1 - (15/16)^500: no iteration of 200 misses.
            assert!((until..until + 500).any(|step| fires(strategy.as_mut(), &[WorkerId(0)], step)));
            // Whoever else would have to go on.
            assert!(fires(strategy.as_mut(), &[], 0));
        }
        // Binomial(200, 1/2), 5 deviations.
        assert!((65..135).contains(&patient), "{patient}");
    }
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

/// Workers that continue each other one by one are counted, and not those that one worker wakes, or that are woken twice.
#[test]
fn a_profile_counts_continuations() {
    let link = |i| vec![SemaphoreWait(i), SemaphorePost(i + 1)];
    let relay = vec![link(0), link(1), link(2), vec![SemaphorePost(0)]];
    let gate = vec![vec![SemaphoreWait(0)], vec![SemaphoreWait(0)], vec![SemaphorePost(0), SemaphorePost(0)]];
    // The first one is woken twice, and the second one once.
    let twice = vec![
        vec![SemaphoreWait(0), SemaphorePost(1), SemaphoreWait(0)],
        vec![SemaphorePost(0), SemaphoreWait(1), SemaphorePost(0)],
    ];
    for (program, continuations) in [(relay, 3), (gate, 0), (twice, 1)] {
        assert_eq!(profile(&program, 1).continuations, continuations, "{program:?}");
    }
}

/// Only where most workers continue others has the default portfolio PCT-t.
#[test]
fn the_default_portfolio_follows_chains_of_many_tasks() {
    for (workers, continuations, chains) in [(20, 15, false), (20, 16, true), (60, 29, false), (60, 30, true)]
    {
        let steps = (0..workers).map(|worker| (WorkerPath(vec![worker]), 1));
        let profile = Profile { continuations, workers: steps.collect(), ..Profile::default() };
        for (name, members) in [("portfolio", chains), ("portfolio:[random,pct:2+chess-fair]", false)] {
            let mut portfolio = make(name);
            portfolio.prepare(&profile);
            portfolio.begin(Iteration { seed: 1, index: 1 });
            let pct = if members { "pct-t:1" } else { "pct:2+chess-fair" };
            assert_eq!(portfolio.member().as_deref(), Some(pct), "{name} {workers} {continuations}");
            assert_eq!(portfolio.name(), name);
        }
    }
}
