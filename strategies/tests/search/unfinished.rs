//! Executions that reach the system's bound on steps: every search counts them apart, and none takes them for
//! ends or for livelocks.

use crate::oracle::decisions;
use coyote_strategies::search::{Advance, Counts, by_name};
use coyote_strategies::toy::{Instruction::*, Program, Toy};
use coyote_strategies::{Access, Event, Pick, Status, System, View};

/// A toy program with a bound on its steps.
struct Bounded {
    toy: Toy,
    steps_max: u64,
}

impl System for Bounded {
    type Snapshot = Toy;

    fn status(&self) -> Status {
        match self.toy.status() {
            Status::Ready if self.toy.view().step >= self.steps_max => Status::Unfinished,
            status => status,
        }
    }
    fn ends_program(&self) -> bool {
        self.toy.ends_program()
    }
    fn view(&self) -> View<'_> {
        self.toy.view()
    }
    fn step(&mut self, pick: Pick) {
        self.toy.step(pick);
    }
    fn choose(&mut self, value: u64) {
        self.toy.choose(value);
    }
    fn restart(&mut self) {
        self.toy.restart();
    }
    fn footprint(&self) -> &[Access] {
        self.toy.footprint()
    }
    fn announced(&self, pick: Pick, into: &mut Vec<Access>) {
        self.toy.announced(pick, into);
    }
    fn take_events(&mut self, into: &mut Vec<Event>) {
        self.toy.take_events(into);
    }
    fn can_snapshot(&self) -> bool {
        true
    }
    fn snapshot(&mut self) -> Toy {
        self.toy.snapshot()
    }
    fn restore(&mut self, snapshot: &Toy) {
        self.toy.restore(snapshot);
    }
    fn fingerprint(&mut self) -> u128 {
        self.toy.fingerprint()
    }
}

/// Schedules that end, those of them with a bug, and those that reach the bound.
fn naive(toy: &Toy, steps_max: u64) -> (u64, u64, u64) {
    match toy.status() {
        Status::Bug => return (1, 1, 0),
        status if status.is_final() => return (1, 0, 0),
        Status::Ready if toy.view().step >= steps_max => return (0, 0, 1),
        _ => {}
    }
    decisions(toy).into_iter().fold((0, 0, 0), |sum, decision| {
        let mut next = toy.clone();
        coyote_strategies::system::decide(&mut next, decision);
        let more = naive(&next, steps_max);
        (sum.0 + more.0, sum.1 + more.1, sum.2 + more.2)
    })
}

/// What a search counts; how many executions it told as unfinished.
fn run(spec: &str, program: &Program, steps_max: u64) -> (Counts, u64) {
    let mut search = by_name::<Bounded>(spec, 0, None).expect("a search");
    let mut system = Bounded { toy: Toy::new(program.clone()), steps_max };
    let mut told = 0;
    loop {
        match search.advance(&mut system, u64::MAX) {
            Advance::Ended(status) => told += u64::from(status == Status::Unfinished),
            Advance::Livelock | Advance::Round => panic!("{spec} calls it a livelock: {program:?}"),
            Advance::Working => panic!("without a limit"),
            Advance::Exhausted => return (search.counts(), told),
        }
    }
}

/// Waits for a flag, and counts how often; then demands what is written after the flag.
fn consumer() -> Vec<coyote_strategies::toy::Instruction> {
    vec![Rmw(2, 1), Load(0), BackUnless(1, 2), Load(1), Assert(1)]
}

#[test]
fn every_search_counts_what_reaches_the_bound() {
    let producer = vec![Set(0, 1), Set(1, 1)];
    for program in [vec![consumer(), producer.clone()], vec![producer, consumer()]] {
        let steps_max = 12;
        let (ended, bugs, unfinished) = naive(&Toy::new(program.clone()), steps_max);
        assert!(bugs > 0 && unfinished > 0);
        for spec in ["dfs", "preemption-bounding", "delay-bounding"] {
            let (counts, told) = run(spec, &program, steps_max);
            assert_eq!(
                (counts.executions, counts.bugs, counts.unfinished),
                (ended, bugs, unfinished),
                "{spec}"
            );
            assert_eq!((told, counts.abandoned), (unfinished, 0), "{spec}");
        }
        // Those that explore less: something of each kind.
        for spec in ["dpor", "dfs+hb", "stateful", "ses", "ses:round-robin", "preemption-bounding+states"] {
            let (counts, told) = run(spec, &program, steps_max);
            assert!(counts.bugs > 0 && counts.executions > counts.bugs, "{spec} {counts:?}\n{program:?}");
            assert!(counts.unfinished > 0 && told == counts.unfinished, "{spec} {counts:?}\n{program:?}");
            assert_eq!(counts.abandoned, 0, "{spec}");
        }
    }
}

/// Whoever could go on at the bound is tried before, though nobody else got so far.
#[test]
fn who_is_enabled_at_the_bound_is_tried() {
    for workers in 1..3 {
        let mut program = vec![consumer(); workers];
        program.push(vec![Set(0, 1), Set(1, 1)]);
        let (counts, _) = run("dpor", &program, if workers == 1 { 24 } else { 14 });
        assert!(counts.bugs > 0 && counts.unfinished > 0, "{counts:?}");
    }
}
