//! Faults of the host and mistakes of the model: each changes the ends of a program, and so would be noticed.

use super::action::Action::{self, *};
use super::comparison::{Search, compare, ends};
use super::model::Mistake;
use super::program::Program;
use coyote_wasm::runtime::{Faults, Mutant};

fn program(first: &[Action], others: &[&[Action]]) -> Program {
    Program::new(first, others)
}

#[test]
fn faults_of_the_host_are_found() {
    let locks = [Lock(0), Unlock(0), Load(0)];
    let waits = |cell| [Lock(0), Store(cell, 1), Wait(0, 0), Unlock(0)];
    let saw = [Lock(0), Load(0), Load(1), NotifyOne(0), Unlock(0)];
    let sampled = Search::Sampled(1_500);
    let cases = [
        (Mutant::FutexValueUnseen, program(&locks, &[&locks]), Search::States),
        (Mutant::FutexValueUnseen, program(&[CallOnce(0, 0)], &[&[CallOnce(0, 0)]]), Search::States),
        (Mutant::OneForAll, program(&[CallOnce(0, 0)], &[&[CallOnce(0, 0)], &[WaitOnce(0)]]), sampled),
        (Mutant::TimedOutUnseen, program(&[Lock(0), WaitFor(0, 0, 5)], &[&[]]), Search::States),
        (Mutant::SignalIsLost, program(&saw, &[&waits(0), &waits(1)]), sampled),
    ];
    for (mutant, program, search) in cases {
        compare(&program, search);
        let faults = Faults::default().with_mutant(mutant);
        assert!(ends(&program, search, faults, None).is_err(), "{mutant:?} is not noticed by {program:?}");
    }
}

#[test]
fn mistakes_of_the_model_are_found() {
    let waits = [Lock(0), Wait(0, 0), Unlock(0)];
    let on_channel = |first: &[Action], other: &[Action], bound| {
        (program(first, &[other]).with_channels(&[bound]), Search::Preemptions(2))
    };
    let states = |first: &[Action], other: &[Action]| (program(first, &[other]), Search::States);
    let ending = |first: &[Action], other: &[Action]| (Program::ending(first, &[other]), Search::States);
    let cases = [
        (Mistake::SpuriousWakeups, states(&waits, &[])),
        (Mistake::OneIsWoken, (program(&[NotifyOne(0)], &[&waits, &waits]), Search::Sampled(1_500))),
        (Mistake::NoToken, states(&[Park], &[Unpark(0)])),
        (Mistake::Reentrant, states(&[Lock(0), Lock(0)], &[])),
        (Mistake::ReaderBesideWriter, states(&[Write(0), Load(0)], &[Read(0), Store(0, 1)])),
        (
            Mistake::SentIsLost,
            on_channel(&[Load(0), Recv(0)], &[Send(0, 1), DropSender(0), Store(0, 1)], None),
        ),
        (Mistake::SendsAlone, on_channel(&[Load(0), Recv(0)], &[Send(0, 1), Store(0, 1)], Some(0))),
        (Mistake::FinishedIsEnded, ending(&[Spawn(1), IsFinished(1), Load(0)], &[SetLocal(0)])),
        (Mistake::NobodyWaits, states(&[CallOnce(0, 0), Load(0)], &[CallOnce(0, 0)])),
        (Mistake::NoLeader, states(&[Arrive(0)], &[Arrive(0)])),
        (Mistake::PatientTimeouts, states(&[Lock(0), WaitFor(0, 0, 5), Load(0)], &[Store(0, 1)])),
        (
            Mistake::LowerFirst,
            states(
                &[Lock(0), Store(0, 1), WaitFor(0, 0, 5)],
                &[Lock(0), Load(0), WaitFor(1, 0, 5), NotifyOne(0), Unlock(0)],
            ),
        ),
        (Mistake::TornAdditions, states(&[Add(0, 1), Load(0)], &[Add(0, 1)])),
    ];
    for (mistake, (program, search)) in cases {
        compare(&program, search);
        let noticed = ends(&program, search, Faults::default(), Some(mistake)).is_err();
        assert!(noticed, "{mistake:?} is not noticed by {program:?}");
    }
}
