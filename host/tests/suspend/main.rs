//! The suspend pass against itself switched off: a module with plain imports, and the same module
//! unwound and rewound at random sites, must not be told apart by results, memories, globals, traps
//! or the calls they make.
//!
//! `COYOTE_SUSPEND_ROUNDS=100` multiplies the number of rounds of each corpus, for soaking.

mod corpora;
mod differential;
mod faults;
mod generator;
mod module;
mod random;
mod refusals;

/// How many times the usual number of rounds to run.
fn rounds() -> u64 {
    std::env::var("COYOTE_SUSPEND_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}
