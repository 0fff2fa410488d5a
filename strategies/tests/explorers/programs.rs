//! Random programs, and some that pass messages.

use coyote_strategies::Iteration;
use coyote_strategies::rng::ChoiceRng;
use coyote_strategies::toy::{Instruction, Instruction::*, Program, generate};

/// A generated program that gives hints, too.
pub fn random(index: u64) -> Program {
    let mut rng = ChoiceRng::new(Iteration { seed: 77, index });
    let mut program = generate(&mut rng, 8);
    for code in &mut program {
        if rng.one_in(4) {
            code.insert(rng.below(code.len() as u64 + 1) as usize, Hint(rng.below(3) as i8 - 1));
        }
    }
    program
}

/// Waits for a message in mailbox `m`: a lock, a condvar and the number of messages, all number `m`.
fn receive(m: u8) -> Vec<Instruction> {
    vec![Lock(m), Load(m), SkipUnless(0, 2), Wait(m, m), BackUnless(99, 3), Rmw(m, -1), Unlock(m)]
}

fn send(m: u8) -> Vec<Instruction> {
    vec![Lock(m), Rmw(m, 1), Signal(m), Unlock(m)]
}

/// Programs that pass messages, each with a bug.
pub fn protocols() -> Vec<(&'static str, Program)> {
    vec![("overtaking", overtaking()), ("two failures", two_failures())]
}

/// A message goes from worker 0 through 1 and 2 to 3; a later one goes to 3 directly. That it comes first
/// is not expected.
fn overtaking() -> Program {
    let forward = |from, to| [receive(from), vec![Set(to + 4, 1)], send(to)].concat();
    let first = [send(1), send(3)].concat();
    let last = [receive(3), vec![Load(7), Assert(1)]].concat();
    vec![first, forward(1, 2), forward(2, 3), last]
}

/// The case study of the paper, in little. Servers 0 to 2 start up and tell the master, worker 3, which then
/// lets worker 4 make two neighbours fail. The bug: the second one fails while the master repairs the
/// first failure. Master and failures hint that they matter after the start only.
fn two_failures() -> Program {
    let server = |m: u8| [receive(m), send(3)].concat();
    let master = [
        &[Hint(1)][..],
        &send(0),
        &send(1),
        &send(2),
        &receive(3),
        &receive(3),
        &receive(3),
        &[Hint(-1)],
        &send(4),
        &receive(3),
        &[Load(5), SkipUnless(0, 4), Rmw(6, 1), Rmw(6, 1), Load(5), Assert(0)],
    ];
    let failures = [&[Hint(1)][..], &receive(4), &[Hint(-1)], &send(3), &[Set(5, 1)]];
    vec![server(0), server(1), server(2), master.concat(), failures.concat()]
}
