//! Random programs.

use super::program::Action::{self, *};
use super::program::Program;
use coyote_wasm::strategies::rng::ChoiceRng;

/// The actions that workers of a program may have.
#[derive(Clone, Copy, Debug)]
pub struct Pool {
    /// Actions of the first worker before it starts others.
    pub before: &'static [Action],
    pub actions: &'static [Action],
}

/// Two or three workers with two to four actions each; the first one starts the others, executes some actions
/// too, and joins them.
pub fn generate(rng: &mut ChoiceRng, pool: Pool) -> Program {
    let draw = |rng: &mut ChoiceRng, count: u64| -> Vec<Action> {
        (0..count).map(|_| pool.actions[rng.below(pool.actions.len() as u64) as usize]).collect()
    };
    let three = rng.one_in(3);
    let (others, most) = if three { (2, 2) } else { (1, 4) };
    let mut main = pool.before.to_vec();
    main.extend((1..=others).map(|w| if rng.one_in(6) { SpawnDetached(w) } else { Spawn(w) }));
    let count = if three { rng.below(2) } else { 2 + rng.below(2) };
    main.extend(draw(rng, count));
    main.extend((1..=others).filter(|_| !rng.one_in(4)).map(Join));
    let others = (0..others).map(|_| {
        let count = 2 + rng.below(most - 1);
        draw(rng, count)
    });
    let others: Vec<Vec<Action>> = others.collect();
    std::iter::once(main).chain(others).collect()
}

pub const MUTEXES: Pool = Pool {
    before: &[],
    actions: &[
        Lock(0),
        Lock(0),
        Unlock(0),
        Unlock(0),
        TryLock(0),
        LockFor(0, 5),
        LockFor(0, 9),
        MutexDestroy(0),
        MutexDiscard(0),
    ],
};

pub const RECURSIVE: Pool = Pool {
    before: &[MutexInit(2, 1)],
    actions: &[
        Lock(2),
        Lock(2),
        Unlock(2),
        Unlock(2),
        TryLock(2),
        LockFor(2, 5),
        MutexDestroy(2),
        MutexDiscard(2),
        MutexInit(2, 3),
    ],
};

pub const ERROR_CHECKING: Pool = Pool {
    before: &[MutexInit(2, 2)],
    actions: &[Lock(2), Lock(2), Unlock(2), Unlock(2), TryLock(2), LockFor(2, 5), MutexInit(2, 2)],
};

pub const RWLOCKS: Pool = Pool {
    before: &[],
    actions: &[
        Read(0),
        Read(0),
        Write(0),
        RwUnlock(0),
        RwUnlock(0),
        RwUnlock(0),
        TryRead(0),
        TryWrite(0),
        ReadFor(0, 5),
        WriteFor(0, 5),
        RwDestroy(0),
    ],
};

pub const SEMAPHORES: Pool = Pool {
    before: &[SemaphoreInit(0, 1)],
    actions: &[Down(0), Down(0), Up(0), Up(0), TryDown(0), DownFor(0, 5), Value(0), SemaphoreDestroy(0)],
};

pub const BARRIERS: Pool = Pool {
    before: &[BarrierInit(0, 2)],
    actions: &[
        Arrive(0),
        Arrive(0),
        Arrive(0),
        Arrive(0),
        Store(0, 1),
        Load(0),
        BarrierDestroy(0),
        BarrierInit(0, 2),
    ],
};

pub const CONDVARS: Pool = Pool {
    before: &[],
    actions: &[
        Lock(0),
        Lock(0),
        Unlock(0),
        Wait(0, 0),
        Wait(0, 0),
        WaitFor(0, 0, 5),
        Signal(0),
        Broadcast(0),
        CondvarDestroy(0),
        MutexDestroy(0),
    ],
};

pub const RECURSIVE_CONDVARS: Pool = Pool {
    before: &[MutexInit(2, 1), Lock(2)],
    actions: &[
        Lock(2),
        Lock(2),
        Unlock(2),
        Wait(0, 2),
        Wait(0, 2),
        WaitFor(0, 2, 5),
        Signal(0),
        Broadcast(0),
    ],
};

pub const FUTEXES: Pool = Pool {
    before: &[],
    actions: &[
        FutexWait(0, 0),
        FutexWaitFor(0, 0, 5),
        FutexNotify(0, 1),
        FutexNotify(0, 2),
        Store(0, 1),
        Store(0, 0),
    ],
};

pub const PREDICATES: Pool = Pool {
    before: &[],
    actions: &[
        Until(0, 0),
        Until(0, 1),
        UntilBoth(0, 1),
        UntilBoth(1, 0),
        Take(0),
        Take(0),
        Store(0, 0),
        Store(0, 1),
        Store(1, 1),
        Store(1, 0),
        Load(0),
    ],
};

pub const POINTS: Pool = Pool {
    before: &[],
    actions: &[ReadPoint(0), ReadPoint(1), WritePoint(0), Interleave, Until(0, 1), Store(0, 1), Load(0)],
};
