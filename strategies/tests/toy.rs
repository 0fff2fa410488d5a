//! The traits on the toy machine: closed forms for the number of schedules, the random walk's
//! distribution, and replay of what it found.

use coyote_strategies::toy::{Instruction::*, Program, Toy};
use coyote_strategies::{
    Event, Iteration, Lenient, OpKind, Paths, Pick, RandomWalk, Recorded, Replay, Status, Strategy, System,
    View, WorkerPath,
};

/// Every complete schedule, by plain depth-first search over snapshots.
fn schedules(toy: &mut Toy, found: &mut dyn FnMut(&Toy)) {
    match toy.status() {
        Status::Ready => {
            let enabled = toy.view().enabled.to_vec();
            let here = toy.snapshot();
            for worker in enabled {
                toy.step(Pick::Step(worker));
                schedules(toy, found);
                toy.restore(&here);
            }
        }
        Status::Choosing { bound } => {
            let here = toy.snapshot();
            for value in 0..bound {
                toy.choose(value);
                schedules(toy, found);
                toy.restore(&here);
            }
        }
        _ => found(toy),
    }
}

fn count(program: Program) -> u64 {
    let mut n = 0;
    schedules(&mut Toy::new(program), &mut |_| n += 1);
    n
}

#[test]
fn independent_steps_give_the_multinomial() {
    // 9! / (3! 3! 3!) interleavings of three workers with three steps each.
    assert_eq!(count(vec![vec![Load(0); 3], vec![Load(1); 3], vec![Load(2); 3]]), 1680);
    assert_eq!(count(vec![vec![Load(0); 4], vec![Load(1); 4]]), 70);
}

#[test]
fn locks_joins_and_choices_restrict_and_multiply() {
    let critical = vec![Lock(0), Rmw(0, 1), Unlock(0)];
    // Only the order of the two critical sections is free.
    assert_eq!(count(vec![critical.clone(), critical]), 2);
    // The child may run before or after the parent's load; the join orders the rest.
    assert_eq!(count(vec![vec![Spawn(1), Load(0), Join(1)], vec![Rmw(0, 1)]]), 2);
    assert_eq!(count(vec![vec![Choose(3), Choose(4)]]), 12);
}

#[test]
fn a_deadlock_is_a_bug() {
    let program =
        vec![vec![Lock(0), Lock(1), Unlock(1), Unlock(0)], vec![Lock(1), Lock(0), Unlock(0), Unlock(1)]];
    let (mut passed, mut stuck) = (0, 0);
    schedules(&mut Toy::new(program), &mut |t| match t.status() {
        Status::Passed => passed += 1,
        Status::Bug => stuck += 1,
        other => panic!("{other:?}"),
    });
    // By hand: whoever is first takes the second lock too, or is crossed by the other (stuck). In the
    // first case the other's first lock falls before or after the last unlock.
    assert_eq!((passed, stuck), (4, 2));
}

fn racy_counter() -> Program {
    vec![vec![Load(0), Store(0, 1)], vec![Load(0), Store(0, 1)]]
}

#[test]
fn the_random_walk_hits_each_class_as_often_as_it_should() {
    // 6 schedules; first step: 1/2 each; the counter is 2 iff one worker runs both steps before the
    // other starts: 1/2 (stay) of the time.
    let mut strategy = RandomWalk::default();
    let mut lost = 0;
    for index in 0..10_000 {
        let iteration = Iteration { seed: 1, index };
        strategy.begin(iteration);
        let mut toy = Toy::new(racy_counter());
        assert_eq!(toy.run(&mut strategy), Status::Passed);
        lost += u32::from(toy.variables()[0] == 1);
    }
    // Binomial(10000, 1/2): deviation 50, so 5 deviations miss once in 1.7 million.
    assert!((4750..5250).contains(&lost), "{lost}");
}

/// Records what another strategy does.
struct Recorder<S> {
    inner: S,
    replay: Vec<Recorded>,
    paths: Paths,
}

impl<S: Strategy> Strategy for Recorder<S> {
    fn name(&self) -> String {
        self.inner.name()
    }
    fn fair(&self) -> bool {
        self.inner.fair()
    }
    fn begin(&mut self, iteration: Iteration) {
        self.replay.clear();
        self.paths.reset();
        self.inner.begin(iteration);
    }
    fn pick(&mut self, view: &View) -> Option<Pick> {
        let pick = self.inner.pick(view)?;
        let Pick::Step(w) = pick else { return Some(pick) };
        let op = view.workers[w.index()].operation;
        let worker = self.paths.path(w);
        self.replay.push(Recorded::Step { worker, kind: op.kind, site: op.site });
        Some(pick)
    }
    fn value(&mut self, bound: u64, view: &View) -> Option<u64> {
        let value = self.inner.value(bound, view)?;
        self.replay.push(Recorded::Value { value, bound });
        Some(value)
    }
    fn observe(&mut self, event: Event) {
        self.paths.observe(event);
        self.inner.observe(event);
    }
}

fn branching() -> Program {
    vec![
        vec![Spawn(2), Spawn(1), Choose(5), Store(0, 0), Join(1), Join(2), Load(0)],
        vec![Load(0), Store(1, 1), TryLock(0), Unlock(0)],
        vec![Lock(0), Rmw(1, 3), Unlock(0), Choose(2)],
    ]
}

fn record(program: Program, index: u64) -> (Toy, Vec<Recorded>) {
    let mut recorder = Recorder { inner: RandomWalk::default(), replay: vec![], paths: Paths::default() };
    recorder.begin(Iteration { seed: 9, index });
    let mut toy = Toy::new(program);
    toy.run(&mut recorder);
    (toy, recorder.replay)
}

#[test]
fn a_recorded_schedule_replays_to_the_same_state() {
    for index in 0..200 {
        let (mut original, schedule) = record(branching(), index);
        let mut replay = Replay::strict(schedule.clone());
        replay.begin(Iteration { seed: 0, index: 0 });
        let mut again = Toy::new(branching());
        assert_eq!(again.run(&mut replay), original.status());
        assert_eq!(replay.divergence(), None);
        assert_eq!(replay.position(), schedule.len());
        assert_eq!(again.fingerprint(), original.fingerprint());
    }
}

#[test]
fn every_corrupted_choice_is_reported_where_it_stands() {
    let (_, schedule) = record(branching(), 3);
    for at in 0..schedule.len() {
        let mut wrong = schedule.clone();
        wrong[at] = match &wrong[at] {
            Recorded::Step { worker, kind, .. } => {
                Recorded::Step { worker: worker.clone(), kind: *kind, site: 999 }
            }
            Recorded::Value { value, bound } => Recorded::Value { value: *value, bound: bound + 1 },
            Recorded::Timeout { .. } => unreachable!("the toy machine has no timeouts"),
        };
        let mut replay = Replay::strict(wrong);
        replay.begin(Iteration { seed: 0, index: 0 });
        assert_eq!(Toy::new(branching()).run(&mut replay), Status::Abandoned);
        assert_eq!(replay.divergence().map(|d| d.at), Some(at));
    }
}

/// A lenient replay to which all places are alike.
fn kinds_alone(schedule: &[Recorded]) -> Lenient {
    let anywhere = |recorded: &Recorded| match recorded {
        Recorded::Step { worker, kind, .. } => {
            Recorded::Step { worker: worker.clone(), kind: *kind, site: 0 }
        }
        other => other.clone(),
    };
    let schedule = schedule.iter().map(anywhere).collect();
    Lenient::new(schedule, vec![0; 3 << 16], Box::new(RandomWalk::default()))
}

#[test]
fn a_lenient_replay_survives_an_inserted_and_a_removed_instruction() {
    let (_, schedule) = record(branching(), 5);
    let mut inserted = branching();
    inserted[1].insert(1, Rmw(3, 1));
    let mut removed = branching();
    removed[2].remove(1);
    for (program, differ) in [(inserted, (1, 0)), (removed, (0, 1))] {
        // The first attempt shows what the program does, the second goes by that.
        let mut replay = kinds_alone(&schedule);
        for attempt in 0..2 {
            replay.begin(Iteration { seed: 0, index: 0 });
            assert_eq!(Toy::new(program.clone()).run(&mut replay), Status::Passed);
            let left = replay.divergence().expect("the program differs");
            assert!(left.at < schedule.len(), "{left:?}");
            assert_eq!(replay.position(), schedule.len());
            assert!(attempt == 1 || replay.realign());
        }
        assert_eq!((replay.added(), replay.left_out()), differ);
    }
    let mut replay =
        Replay::strict(vec![Recorded::Step { worker: WorkerPath(vec![4]), kind: OpKind::Load, site: 0 }]);
    replay.begin(Iteration { seed: 0, index: 0 });
    assert_eq!(Toy::new(branching()).run(&mut replay), Status::Abandoned);
    assert_eq!(replay.divergence().unwrap().reason, "worker 0.4 does not exist");
}
