//! Published figures: the mean number of iterations to the first bug, on this repository's ports of the
//! programs.
//!
//! Sources: the raw data of the artifacts of SURW (ASPLOS 2025) and RFF (ASPLOS 2024), 20 trials each. A mean
//! measured here may be at most three times the larger of the two published ones. Here every access is a
//! scheduling point, and the creation of a worker is one step, so other means are to be expected; three times
//! as many iterations would mean another algorithm.

use super::examples::{Expected, index, iterations_to_bug};

/// A strategy and the larger of its published means.
type Mean = (&'static str, f64);

/// Module and test, and the published means.
const MEANS: &[(&str, &str, [Mean; 3])] = &[
    ("sct_account", "account", [("pos", 4.1), ("pct:3", 8.6), ("surw", 5.8)]),
    ("sct_lazy01", "lazy01", [("pos", 5.2), ("pct:3", 10.0), ("surw", 2.0)]),
    ("sct_stack", "stack", [("pos", 2.0), ("pct:3", 3.2), ("surw", 4.6)]),
    ("sct_twostage", "twostage_2", [("pos", 15.0), ("pct:3", 13.0), ("surw", 7.5)]),
    ("sct_deadlock01", "deadlock01", [("pos", 4.3), ("pct:3", 20.0), ("surw", 1.8)]),
    ("sct_wsq", "wsq", [("pos", 12.0), ("pct:3", 48.0), ("surw", 6.0)]),
];

fn expected(module: &str, test: &str) -> Expected {
    let all = index();
    all.into_iter().find(|e| e.module == module && e.test == test).expect("the index has it")
}

/// The mean over seeds from 0; a bug that is not found within the cap counts as the cap.
fn mean(module: &str, test: &str, strategy: &str, seeds: u64, cap: u64) -> f64 {
    let expected = expected(module, test);
    let sum: u64 = (0..seeds).map(|s| iterations_to_bug(&expected, strategy, s, cap).unwrap_or(cap)).sum();
    sum as f64 / seeds as f64
}

#[test]
fn means_are_those_published() {
    let mut wrong = Vec::new();
    for (module, test, strategies) in MEANS {
        for (strategy, published) in strategies {
            let mean = mean(module, test, strategy, 100, 3_000);
            println!("{test} {strategy}: {mean:.1}, published {published}");
            if mean > 3.0 * published {
                wrong.push(format!("{test} under {strategy}: {mean:.1} iterations, published {published}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Published for reorder_3, 5, 10: POS 86, 2169, never; SURW 7.3, 10, 17, and 6 for reorder_20. POS grows by
/// a factor with each worker, SURW hardly. For twostage_20, POS 156, SURW 5.7.
#[test]
fn growth_with_the_number_of_workers_is_that_published() {
    let reorder = |n: u32, strategy, cap| mean("sct_reorder", &format!("reorder_{n}"), strategy, 20, cap);
    let pos = [3, 5, 10].map(|n| reorder(n, "pos", 10_000));
    assert!(pos[1] > 2.0 * pos[0] && pos[2] > 10.0 * pos[1], "{pos:?}");
    let surw = [3, 10, 20].map(|n| reorder(n, "surw", 1_000));
    assert!(surw.iter().all(|mean| *mean <= 3.0 * 17.0), "{surw:?}");
    let twostage = ["pos", "surw"].map(|strategy| mean("sct_twostage", "twostage_20", strategy, 10, 2_000));
    assert!(twostage[0] > 5.0 * twostage[1], "{twostage:?}");
}
