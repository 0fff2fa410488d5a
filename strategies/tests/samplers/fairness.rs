//! Fair strategies let nobody wait for ever; those made fair end programs that spin.

use super::contract::{make, names};
use coyote_strategies::rng::ChoiceRng;
use coyote_strategies::toy::{Instruction, Instruction::*, Program, Toy};
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
fn spinning(wait: &[Instruction]) -> Program {
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

/// A worker that sets its own variable and looks at the other's, round and round until it sees what it waits for.
fn tries_again(rng: &mut ChoiceRng, own: u8, other: u8) -> Vec<Instruction> {
    let mut code = Vec::new();
    for _ in 0..2 + rng.below(5) {
        match rng.below(4) {
            0 | 1 => code.push(Set(own, rng.below(3) as i8)),
            2 => code.push(Load(other)),
            _ => {
                code.push(Load(other));
                let back = code.len() as u8 - rng.below(code.len() as u64) as u8;
                code.push(BackUnless(rng.below(3) as i8, back));
            }
        }
    }
    code.push(Load(other));
    code.push(BackUnless(rng.below(3) as i8, code.len() as u8));
    code.push(Set(own, rng.below(3) as i8));
    code
}

/// Runs until one of the threads has ended. Returns the number of steps, `steps_max` if none has by then.
fn run_to_an_end(toy: &mut Toy, name: &str, seed: u64, steps_max: u64) -> u64 {
    let mut strategy = make(name);
    strategy.begin(Iteration { seed, index: 0 });
    let begun = toy.view().step;
    while toy.view().enabled.len() > 1 && toy.view().step < begun + steps_max {
        let pick = strategy.pick(&toy.view()).unwrap();
        toy.step(pick);
    }
    toy.view().step - begun
}

/// Two threads that a random walk lets meet, and that a deterministic rotation may keep apart for ever.
#[test]
fn threads_that_try_again_in_step_end_under_chess_fair() {
    let (mut programs, mut in_step, mut stuck) = (0, 0, 0);
    for index in 0..1_500 {
        let mut rng = ChoiceRng::new(Iteration { seed: 77, index });
        let program = vec![tries_again(&mut rng, 0, 1), tries_again(&mut rng, 1, 0)];
        let new = || Toy::new(program.clone());
        if (0..10).any(|seed| run_to_an_end(&mut new(), "random", seed, 400) == 400) {
            continue;
        }
        programs += 1;
        for name in ["pct:1+chess-fair", "delay:0+chess-fair"] {
            for seed in 0..4 {
                let mut toy = new();
                let steps = run_to_an_end(&mut toy, name, seed, 60_000);
                in_step += u64::from(steps > 16_384);
                // A few of these programs can come to a state from which nothing leads on.
                if steps == 60_000 {
                    assert_eq!(run_to_an_end(&mut toy, "random", 1, 60_000), 60_000, "{name}: {program:?}");
                    stuck += 1;
                }
            }
        }
    }
    // Only the random windows of long executions end those.
    assert!(programs > 100 && in_step - stuck > 20, "{programs} programs: {in_step} in step, {stuck} stuck");
    println!("{programs} programs: {in_step} in step, {stuck} stuck");
}
