//! What every strategy of the catalog keeps to.

use super::programs::program;
use super::sampling::{profile, run};
use coyote_strategies::catalog::{SAMPLERS, table};
use coyote_strategies::{
    Context, Faults, Iteration, Operation, Pending, Pick, Status, Strategy, Sweep, View, Watchers, WorkerId,
    WorkerState, by_name,
};

pub const CONTEXT: Context = Context { unfair_steps_max: 10_000 };

/// Every strategy with its defaults, and some combinations.
pub fn names() -> Vec<String> {
    let mut names: Vec<String> = SAMPLERS.iter().map(|s| s.entry.name.into()).collect();
    names.extend(SAMPLERS.iter().map(|s| format!("{}+chess-fair", s.entry.name)));
    let more = ["pct:2@3,then:pos@4,then:random", "[pct:2@5,then:delay:1]+chess-fair", "fair-pct-t:2"];
    names.extend(more.map(String::from));
    names.push("portfolio:[pos,[pct:2@5,then:random]+chess-fair,pos,portfolio:[delay:1,random]]".into());
    names
}

pub fn make(name: &str) -> Box<dyn Strategy> {
    by_name(name, &CONTEXT).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn names_are_understood_and_spelled_out() {
    for name in names() {
        let full = make(&name).name();
        assert_eq!(make(&full).name(), full, "{name}");
    }
    for (short, full) in [
        ("pct", "pct:3"),
        ("pctcp:5", "pct-t:5"),
        ("fair-pct:2", "pct:2@10000,then:random"),
        ("portfolio:[pos,pct@5,then:pos]", "portfolio:[pos,pct:3@5,then:pos]"),
        ("[pct@5,then:pos]+chess-fair@7,then:random", "[pct:3@5,then:pos]+chess-fair@7,then:random"),
    ] {
        assert_eq!(make(short).name(), full);
    }
}

#[test]
fn what_is_wrong_with_a_name_is_said() {
    for (text, wrong) in [
        ("randm", "there is no strategy \"randm\"; did you mean random?"),
        ("clairvoyance", "there is no strategy \"clairvoyance\"; --strategy list shows what there is"),
        ("", "there is no strategy \"\"; --strategy list shows what there is"),
        ("pct:x", "the depth of pct is a number from 1 to 1000, not \"x\""),
        ("pct:0", "the depth of pct is a number from 1 to 1000, not \"0\""),
        ("pct:3:4", "pct has no more parameters: pct[:DEPTH=3]"),
        ("pos@5", "after @5 comes \",then:NAME\": who goes on?"),
        ("pos@many,then:random", "\"many\" is no number of steps"),
        ("portfolio:[pos", "\"]\" is missing: the text ends"),
        ("pos]", "do not understand \"]\""),
        ("pos+fair", "do not understand \"+fair\""),
        ("dpor@5,then:random", "dpor is a search, which stands alone and cannot be combined"),
    ] {
        assert_eq!(by_name(text, &CONTEXT).err().as_deref(), Some(wrong), "{text}");
    }
}

#[test]
fn the_table_says_what_the_strategies_say() {
    for sampler in SAMPLERS {
        let mut strategy = make(sampler.entry.name);
        strategy.begin(Iteration { seed: 0, index: 0 });
        assert_eq!(strategy.independent(), sampler.entry.shardable, "{}", sampler.entry.name);
        match sampler.entry.fair {
            "yes" => assert!(strategy.fair(), "{}", sampler.entry.name),
            "no" => assert!(!strategy.fair(), "{}", sampler.entry.name),
            _ => assert_eq!(sampler.entry.name, "portfolio"),
        }
    }
}

#[test]
fn the_readme_is_the_generated_one() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    if std::env::var_os("COYOTE_BLESS").is_some() {
        std::fs::write(path, table::readme()).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), table::readme(), "COYOTE_BLESS=1 writes it anew");
    for name in SAMPLERS.iter().map(|s| s.entry.name) {
        assert!(table::listing().contains(&format!("\n{name}")) || table::listing().starts_with(name));
    }
}

/// The toy machine checks every pick and value; here, that the same iteration makes the same choices
/// whatever came before it, also without a profiling run.
#[test]
fn the_same_iteration_makes_the_same_choices() {
    let mut ends = [0; 3];
    for name in names() {
        for prepared in [false, true] {
            for seed in 0..40 {
                let program = program(seed);
                let (mut one, mut other) = (make(&name), make(&name));
                if prepared && one.needs_profile() {
                    let profile = profile(&program, seed);
                    one.prepare(&profile);
                    other.prepare(&profile);
                }
                let iterations: Vec<Iteration> = (0..12).map(|index| Iteration { seed, index }).collect();
                let forward: Vec<_> = iterations.iter().map(|i| run(&program, one.as_mut(), *i)).collect();
                for (status, _) in &forward {
                    let which = [Status::Passed, Status::Bug, Status::Abandoned];
                    ends[which.iter().position(|s| s == status).unwrap()] += 1;
                }
                if one.independent() {
                    // Every second one, backwards.
                    for index in (0..12).rev().step_by(2) {
                        let again = run(&program, other.as_mut(), iterations[index]);
                        assert_eq!(forward[index], again, "{name} {seed}");
                    }
                } else {
                    let again: Vec<_> =
                        iterations.iter().map(|i| run(&program, other.as_mut(), *i)).collect();
                    assert_eq!(forward, again, "{name} {seed}");
                }
            }
        }
    }
    // The programs are worth it: they end in more than one way.
    assert!(ends[0] > 1000 && ends[1] > 1000, "{ends:?}");
}

/// Every strategy that draws data uniformly takes every value.
#[test]
fn every_value_comes_up() {
    use coyote_strategies::toy::Instruction::*;
    let program = vec![vec![Choose(6), Store(0, 0)], vec![Load(0)]];
    for name in names() {
        let mut strategy = make(&name);
        let mut seen = std::collections::BTreeSet::new();
        for index in 0..200 {
            strategy.begin(Iteration { seed: 3, index });
            let mut toy = coyote_strategies::toy::Toy::new(program.clone());
            toy.run(strategy.as_mut());
            seen.insert(toy.variables()[0]);
            strategy.end(coyote_strategies::Summary { steps: 3, buggy: false });
        }
        // Uniform: one of six values is missed by 200 draws with probability 1e-15.
        assert_eq!(seen.len(), 6, "{name}: {seen:?}");
    }
}

/// A strategy around another one says the same about iterations, unless it changes that: the runs of one that learns stay
/// in their order, and what is not fair yet is not called fair.
#[test]
fn what_is_around_a_strategy_says_what_it_says() {
    let told = |strategy: &dyn Strategy| {
        (strategy.independent(), strategy.timeouts_from(), strategy.fair_from(), strategy.member())
    };
    for name in names() {
        let begun = |mut strategy: Box<dyn Strategy>| {
            strategy.begin(Iteration { seed: 9, index: 0 });
            strategy
        };
        let plain = told(&*begun(make(&name)));
        let around: [Box<dyn Strategy>; 2] =
            [Box::new(Faults::new(make(&name), 1)), Box::new(Watchers::new(make(&name)))];
        for strategy in around {
            assert_eq!(told(&*begun(strategy)), plain, "{name}");
        }
        let sweep = begun(Box::new(Sweep::new([].into(), make(&name))));
        assert_eq!((sweep.independent(), sweep.fair_from()), (plain.0, None), "{name}");
    }
    assert!(names().iter().any(|name| !make(name).independent()));
}

/// One rule for all of them, from a step on that is 0 for most. Of two timeouts, each fires as often.
#[test]
fn timeouts_fire_at_one_choice_in_sixteen() {
    let pending = |state| Pending { operation: Operation::START, state };
    let workers =
        [WorkerState::Enabled, WorkerState::Enabled, WorkerState::Blocked, WorkerState::Blocked].map(pending);
    let timeouts = &[WorkerId(2), WorkerId(3)];
    for name in names() {
        let mut strategy = make(&name);
        strategy.begin(Iteration { seed: 9, index: 0 });
        let from = strategy.timeouts_from();
        let mut fired = [0; 4];
        for step in from..from + 16_000 {
            let enabled = &[WorkerId(0), WorkerId(1)];
            let view = View {
                enabled,
                timeouts,
                workers: &workers,
                current: None,
                step,
                changes: 0,
                in_section: false,
                fault: None,
            };
            if let Some(Pick::Timeout(worker)) = strategy.pick(&view) {
                fired[worker.index()] += 1;
            }
        }
        // Binomial(16000, 1/16) has deviation 31, and Binomial(16000, 1/32) 22: five deviations miss once in 1.7 million.
        assert!((850..1150).contains(&fired.iter().sum()), "{name}: {fired:?}");
        assert!(fired[2..].iter().all(|each| (390..610).contains(each)), "{name}: {fired:?}");
        // Nobody else can go on.
        let view = View {
            enabled: &[],
            timeouts,
            workers: &workers,
            current: None,
            step: 0,
            changes: 0,
            in_section: false,
            fault: None,
        };
        assert!(matches!(strategy.pick(&view), Some(Pick::Timeout(_))), "{name}");
    }
}
