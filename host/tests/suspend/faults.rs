//! Planted bugs of the pass: each must be noticed, or the differential test proves nothing.

use crate::corpora::{self, Corpus};
use crate::differential::engine;
use coyote_instrumenter::suspend::Mutant;

const FAULTS: [Mutant; 9] = [
    Mutant::LoseLocal,
    Mutant::LoseSpill,
    Mutant::WrongArm,
    Mutant::ShareSpills,
    Mutant::LoseBlockParameters,
    Mutant::LoseCalleeIndex,
    Mutant::KeepResume,
    Mutant::CallLiveDead,
    Mutant::ForgetBeginning,
];

/// The round, from 0, in which a corpus notices the mutant.
fn noticed(corpus: Corpus, mutant: Mutant, rounds: u64) -> Option<u64> {
    let engine = engine(true);
    (0..rounds).find(|round| corpus(&engine, *round, Some(mutant)).is_err())
}

#[test]
fn files_notice_every_fault() {
    for mutant in FAULTS.into_iter().chain([Mutant::WrongTag]) {
        assert_eq!(noticed(corpora::files, mutant, 1), Some(0), "{mutant:?}");
    }
}

/// The generator is an oracle of its own: it must not lean on what the files happen to have.
#[test]
fn generated_modules_notice_every_fault() {
    for mutant in FAULTS {
        let round = noticed(corpora::generated, mutant, 40);
        println!("{mutant:?}: round {round:?}");
        assert!(round.is_some(), "{mutant:?}");
    }
}

#[test]
fn generated_modules_that_throw_notice_every_fault() {
    for mutant in FAULTS.into_iter().chain([Mutant::WrongTag]) {
        let round = noticed(corpora::throwing, mutant, 40);
        println!("{mutant:?} with exceptions: round {round:?}");
        assert!(round.is_some(), "{mutant:?}");
    }
}
