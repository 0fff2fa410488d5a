//! Random programs for the toy machine, small enough to enumerate all their schedules.

use super::{Instruction, Program};
use crate::rng::ChoiceRng;

/// A program of two to four workers with up to four instructions each, and at most `instructions_max` in all,
/// not counting those that spawn and join. It uses every kind of instruction except loops; locks are mostly,
/// but not always, released.
pub fn generate(rng: &mut ChoiceRng, instructions_max: usize) -> Program {
    generate_with(rng, instructions_max, &ANY)
}

/// The same with an emphasis on timers: locks and waits with timeouts, sleeps, and operations that compete
/// with them.
pub fn generate_timed(rng: &mut ChoiceRng, instructions_max: usize) -> Program {
    generate_with(rng, instructions_max, &TIMED)
}

/// Numbers of phrases, each as often as its probability requires.
const ANY: [u8; 28] = {
    let mut all = [0; 28];
    let mut i = 0;
    while i < all.len() {
        all[i] = i as u8;
        i += 1;
    }
    all
};
const TIMED: [u8; 11] = [5, 7, 10, 12, 13, 13, 14, 15, 16, 20, 20];
const SECTIONS: [u8; 20] = [0, 3, 4, 4, 5, 5, 7, 10, 13, 14, 16, 18, 20, 22, 25, 26, 28, 28, 28, 28];
const TIMED_SECTIONS: [u8; 14] = [5, 7, 10, 12, 13, 14, 15, 16, 20, 20, 20, 28, 28, 28];

/// The same with atomic sections, and fewer other kinds of phrases.
pub fn generate_sections(rng: &mut ChoiceRng, instructions_max: usize) -> Program {
    generate_with(rng, instructions_max, &SECTIONS)
}

/// The same with atomic sections in which timers begin and are given up.
pub fn generate_timed_sections(rng: &mut ChoiceRng, instructions_max: usize) -> Program {
    generate_with(rng, instructions_max, &TIMED_SECTIONS)
}

fn generate_with(rng: &mut ChoiceRng, instructions_max: usize, phrases: &[u8]) -> Program {
    let workers = 2 + [0, 0, 0, 1, 1, 2][rng.below(6) as usize];
    let mut program: Program = Vec::new();
    let mut left = instructions_max;
    for worker in 0..workers {
        let fair = left / (workers - worker);
        let length = (1 + rng.below(4) as usize).min(fair.max(1));
        let mut code = Vec::new();
        while code.len() < length {
            phrase(rng, &mut code, phrases);
        }
        code.truncate(length);
        left -= length.min(left);
        program.push(code);
    }
    if rng.one_in(4) {
        spawn(rng, &mut program);
    }
    program
}

/// Makes the first worker start the others, and maybe wait for some.
fn spawn(rng: &mut ChoiceRng, program: &mut Program) {
    let workers = program.len() as u8;
    for worker in 1..workers {
        let at = rng.below(program[0].len() as u64 + 1) as usize;
        program[0].insert(at, Instruction::Spawn(worker));
        if rng.one_in(3) {
            program[0].push(Instruction::Join(worker));
        }
    }
}

/// Appends an instruction, or several that belong together.
fn phrase(rng: &mut ChoiceRng, code: &mut Vec<Instruction>, phrases: &[u8]) {
    use Instruction::*;
    let variable = rng.below(2) as u8;
    let lock = u8::from(rng.one_in(4));
    let small = rng.below(2) as i8;
    match phrases[rng.below(phrases.len() as u64) as usize] {
        0..3 => code.push(Load(variable)),
        3 => code.push(Store(variable, 1)),
        4 => code.push(Set(variable, small)),
        5..7 => code.push(Rmw(variable, 1)),
        7..10 => bracket(rng, code, phrases, Lock(lock), Unlock(lock)),
        10 => code.extend([TryLock(lock), Unlock(lock)]),
        11 => {
            code.push(TryLock(lock));
            phrase(rng, code, phrases);
        }
        12 => code.extend([Lock(lock), Wait(0, lock), Unlock(lock)]),
        13 => code.extend([Lock(lock), WaitTimeout(0, lock, 1 + small as u8), Unlock(lock)]),
        14 => code.push(Signal(0)),
        15 => code.push(Broadcast(0)),
        16 => code.push(Sleep(1 + rng.below(3) as u8)),
        17 => code.push(Choose(2 + small as u8)),
        18 => code.push([Assert(small), Assume(small), AssumeNot(small)][rng.below(3) as usize]),
        19 => code.push([Yield, SkipUnless(small, 1)][rng.below(2) as usize]),
        20 => bracket(rng, code, phrases, LockTimeout(lock, 1 + small as u8), Unlock(lock)),
        21 => bracket(rng, code, phrases, ReadLock(lock), RwUnlock(lock)),
        22 => bracket(rng, code, phrases, WriteLock(lock), RwUnlock(lock)),
        23 => code.extend([[TryReadLock, TryWriteLock][rng.below(2) as usize](lock), RwUnlock(lock)]),
        24 => code.push(SemaphoreWait(lock)),
        25 => code.push(SemaphoreTryWait(lock)),
        26 => code.push(SemaphorePost(lock)),
        27 => code.push(SetOneOf(2, small)),
        _ => code.push(Section(1 + rng.below(3) as u8)),
    }
}

/// Appends an acquisition, mostly with a phrase after it and mostly with a release.
fn bracket(
    rng: &mut ChoiceRng,
    code: &mut Vec<Instruction>,
    phrases: &[u8],
    take: Instruction,
    give_back: Instruction,
) {
    code.push(take);
    if !rng.one_in(3) {
        phrase(rng, code, phrases);
    }
    if !rng.one_in(8) {
        code.push(give_back);
    }
}
