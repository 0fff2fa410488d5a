//! Fair strategies let nobody wait for ever; those made fair end programs that spin.

use super::contract::{make, names};
use coyote_strategies::toy::{Instruction::*, Program, Toy};
use coyote_strategies::{Iteration, Pick, Status, Strategy, System};

/// The longest that an enabled worker waited, in picks.
fn longest_wait(program: &Program, strategy: &mut dyn Strategy, seed: u64, steps: u64) -> u64 {
    strategy.begin(Iteration { seed, index: 0 });
    let mut toy = Toy::new(program.clone());
    let mut events = Vec::new();
    let (mut waits, mut longest) = (vec![0u64; 8], 0);
    while toy.status() == Status::Ready && toy.view().step < steps {
        let pick = strategy.pick(&toy.view()).unwrap();
        for worker in toy.view().enabled {
            let wait = &mut waits[worker.index()];
            *wait = if pick == Pick::Step(*worker) { 0 } else { *wait + 1 };
            longest = longest.max(*wait);
        }
        toy.step(pick);
        toy.take_events(&mut events);
        events.drain(..).for_each(|event| strategy.observe(event));
    }
    longest
}

/// Loops that never end, as they look in a guest.
fn endless() -> Vec<Program> {
    let forever = |body: &[_]| [body, &[BackUnless(99, body.len() as u8)]].concat();
    let reads = forever(&[Load(0)]);
    let writes = forever(&[Rmw(1, 1)]);
    let locks = forever(&[Lock(0), Load(0), Unlock(0)]);
    vec![
        vec![reads.clone(), reads.clone(), vec![Set(3, 1)]],
        vec![writes.clone(), writes.clone(), reads.clone(), vec![Load(3), Set(3, 1)]],
        vec![locks.clone(), writes, vec![Set(3, 1), Set(3, 2)]],
        vec![reads, vec![Lock(0), Set(3, 1), Unlock(0)], locks],
    ]
}

#[test]
fn fair_strategies_pass_over_an_enabled_worker_finitely_often() {
    // Of `random` the worst is a wait of n picks with probability (3/4)^n; `probabilistic:3` has (31/32)^n.
    // With chess-fair it is four workers' patience, twice each. A portfolio is as its member says.
    for name in names() {
        for (n, program) in endless().iter().enumerate() {
            for seed in 0..3 {
                let mut strategy = make(&name);
                strategy.begin(Iteration { seed, index: 0 });
                if !strategy.fair() {
                    continue;
                }
                // The unfair prefix of a fair variant counts, too.
                let bound = if name.starts_with("fair") { 10_000 + 2_000 } else { 8_000 };
                let wait = longest_wait(program, strategy.as_mut(), seed, 40_000);
                assert!(wait < bound, "{name} on program {n}: {wait}");
            }
        }
    }
    // The test sees what is not fair.
    assert!(longest_wait(&endless()[0], make("pct:2").as_mut(), 1, 40_000) > 30_000);
}

/// A worker waits for a flag in each of several ways.
fn spinning(wait: &[coyote_strategies::toy::Instruction]) -> Program {
    let polls = [wait, &[BackUnless(1, wait.len() as u8)]].concat();
    vec![[polls, vec![Load(1)]].concat(), vec![Rmw(2, 1), Rmw(2, 1), Lock(0), Set(0, 1), Unlock(0)]]
}

#[test]
fn spins_end_under_chess_fair_and_only_then() {
    let ways: [&[_]; 4] =
        [&[Load(0)], &[Yield, Load(0)], &[Lock(0), Load(0), Unlock(0)], &[Load(2), Yield, Load(0)]];
    for way in ways {
        let program = spinning(way);
        for name in ["pct:1", "pct:3", "pos", "delay:0", "delay:2"] {
            for seed in 0..50 {
                let steps = |name: &str| {
                    let mut toy = Toy::new(program.clone());
                    let mut strategy = make(name);
                    strategy.begin(Iteration { seed, index: 0 });
                    while toy.status() == Status::Ready && toy.view().step < 2_000 {
                        let pick = strategy.pick(&toy.view()).unwrap();
                        toy.step(pick);
                    }
                    toy.view().step
                };
                // Each of the other's five steps, and each wait for one, takes a round or two.
                let fair = steps(&format!("{name}+chess-fair"));
                assert!(fair < 150, "{name}: {fair} steps, {way:?}");
            }
        }
        let endless =
            (0..50).filter(|seed| longest_wait(&program, make("pct:1").as_mut(), *seed, 2_000) > 1_900);
        assert!(endless.count() > 10);
    }
}

#[test]
fn loops_that_write_while_they_wait_end_under_chess_fair() {
    // As code that is not optimised: what was read is stored before it is looked at. The other one has far to go.
    let poll = [Load(0), Set(5, 1), Set(6, 1), Load(0)];
    let waits = [&poll[..], &[BackUnless(1, 4), Load(1)]].concat();
    let works: Vec<_> = (0..60).map(|_| Rmw(2, 1)).chain([Set(0, 1)]).collect();
    let program: Program = vec![waits, works];
    for name in ["pct:1", "pct:3", "delay:0", "delay:2"] {
        for seed in 0..50 {
            let mut toy = Toy::new(program.clone());
            let mut strategy = make(&format!("{name}+chess-fair"));
            strategy.begin(Iteration { seed, index: 0 });
            while toy.status() == Status::Ready && toy.view().step < 20_000 {
                let pick = strategy.pick(&toy.view()).unwrap();
                toy.step(pick);
            }
            // Twice the patience, then a round or two for each step of the other. By patience alone: 60,000.
            assert!(toy.view().step < 4_000, "{name}, seed {seed}: {} steps", toy.view().step);
        }
    }
}
