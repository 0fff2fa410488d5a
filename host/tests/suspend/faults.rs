//! Planted bugs of the pass: each must be noticed, or the differential test proves nothing.

use crate::corpora::{self, Corpus};
use crate::differential::engine;
use coyote_instrumenter::suspend::Fault;

const FAULTS: [Fault; 9] = [
    Fault::LoseLocal,
    Fault::LoseSpill,
    Fault::WrongArm,
    Fault::ShareSpills,
    Fault::LoseBlockParameters,
    Fault::LoseCalleeIndex,
    Fault::KeepResume,
    Fault::CallLiveDead,
    Fault::ForgetBeginning,
];

/// The round, from 0, in which a corpus notices the fault.
fn noticed(corpus: Corpus, fault: Fault, rounds: u64) -> Option<u64> {
    let engine = engine(true);
    (0..rounds).find(|round| corpus(&engine, *round, Some(fault)).is_err())
}

#[test]
fn files_notice_every_fault() {
    for fault in FAULTS {
        assert_eq!(noticed(corpora::files, fault, 1), Some(0), "{fault:?}");
    }
}

/// The generator is an oracle of its own: it must not lean on what the files happen to have.
#[test]
fn generated_modules_notice_every_fault() {
    for fault in FAULTS {
        let round = noticed(corpora::generated, fault, 40);
        println!("{fault:?}: round {round:?}");
        assert!(round.is_some(), "{fault:?}");
    }
}
