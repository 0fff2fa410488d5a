//! Random programs, and some that pass messages.

use coyote_strategies::Iteration;
use coyote_strategies::rng::ChoiceRng;
use coyote_strategies::toy::{Instruction, Instruction::*, Program};

/// A program of two or three workers with up to four instructions each, of every kind that does not loop.
pub fn random(index: u64) -> Program {
    let mut rng = ChoiceRng::new(Iteration { seed: 77, index });
    let workers = 2 + rng.below(2);
    let mut program: Program = (0..workers).map(|w| worker(&mut rng, w as usize)).collect();
    if rng.one_in(3) {
        // Created in any order, the last one perhaps never waited for.
        let mut creations: Vec<Instruction> = (1..workers as u8).map(Spawn).collect();
        if rng.one_in(2) {
            creations.reverse();
        }
        creations.append(&mut program[0]);
        creations.truncate(4);
        creations.push(Join(1));
        program[0] = creations;
    }
    program
}

fn worker(rng: &mut ChoiceRng, _index: usize) -> Vec<Instruction> {
    let mut code = Vec::new();
    let length = 1 + rng.below(3);
    while (code.len() as u64) < length {
        let object = rng.below(2) as u8;
        match rng.below(15) {
            0 | 1 => code.push(Load(object)),
            2 => code.push(Store(object, 1)),
            3 => code.push(Rmw(object, 1)),
            4 | 5 => code.extend([Lock(object), Rmw(object, 1), Unlock(object)]),
            6 => code.extend([TryLock(0), Unlock(0)]),
            7 => code.extend([Lock(0), Wait(0, 0), Unlock(0)]),
            8 => code.extend([Lock(0), WaitTimeout(0, 0, 2), Unlock(0)]),
            9 => code.push(Signal(0)),
            10 => code.push(Broadcast(0)),
            11 => code.push(Sleep(1 + object)),
            12 => code.push(Choose(2 + object)),
            13 => code.push(Hint(object)),
            _ => code.extend([Load(object), Assert(0)]),
        }
    }
    code
}
