//! Random programs with everything the toy machine has but loops.

use coyote_strategies::Iteration;
use coyote_strategies::rng::ChoiceRng;
use coyote_strategies::toy::{Instruction::*, Program};

/// Up to four workers of up to eight instructions; the same for the same seed. It may deadlock, break an
/// assertion or fail an assumption.
pub fn program(seed: u64) -> Program {
    let mut rng = ChoiceRng::new(Iteration { seed, index: 0 });
    let workers = 2 + rng.below(3) as u8;
    let mut program: Program = (0..workers).map(|_| body(&mut rng)).collect();
    if rng.one_in(2) {
        let spawns = (1..workers).map(Spawn);
        program[0].splice(0..0, spawns);
        program[0].extend((1..workers).map(Join));
    }
    program
}

fn body(rng: &mut ChoiceRng) -> Vec<coyote_strategies::toy::Instruction> {
    let mut body = Vec::new();
    while body.len() < 1 + rng.below(8) as usize {
        let (v, l) = (rng.below(3) as u8, rng.below(2) as u8);
        match rng.below(16) {
            0 | 1 => body.push(Load(v)),
            2 => body.push(Store(v, 1)),
            3 => body.push(Set(v, 2)),
            4 | 5 => body.push(Rmw(v, 1)),
            6 => body.extend([Lock(l), Rmw(v, 1), Unlock(l)]),
            7 => body.extend([TryLock(l), Unlock(l), Yield]),
            8 => body.extend([Lock(l), WaitTimeout(0, l, 3), Unlock(l)]),
            9 => body.extend([Lock(l), Wait(1, l), Unlock(l)]),
            10 => body.push(Broadcast(rng.below(2) as u8)),
            11 => body.push(Signal(rng.below(2) as u8)),
            12 => body.push(Sleep(1 + rng.below(3) as u8)),
            13 => body.push(Choose(4)),
            14 => body.push(SkipUnless(0, 0)),
            _ => body.push(Yield),
        }
    }
    body
}
