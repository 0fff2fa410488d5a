//! Random programs.

use super::action::Action::{self, *};
use super::program::Program;
use coyote_wasm::strategies::rng::ChoiceRng;

/// The actions that workers of a program may have.
#[derive(Clone, Copy, Debug)]
pub struct Pool {
    pub channel: Option<Option<usize>>,
    pub first: &'static [Action],
    pub other: &'static [Action],
    /// The maximal number of calls of each worker.
    pub calls_max: u64,
}

fn draw(rng: &mut ChoiceRng, actions: &[Action], calls_max: u64) -> Vec<Action> {
    let count = 2 + rng.below(calls_max - 1);
    let mut drawn: Vec<Action> =
        (0..count).map(|_| actions[rng.below(actions.len() as u64) as usize]).collect();
    // A dropped sender or receiver is not used again.
    if let Some(at) = drawn.iter().position(|a| matches!(a, DropSender(_) | DropReceiver(_))) {
        drawn.truncate(at + 1);
    }
    drawn
}

/// A program with the first worker and this many others.
pub fn generate(rng: &mut ChoiceRng, pool: Pool, others: usize) -> Program {
    let first = draw(rng, pool.first, pool.calls_max);
    let others: Vec<Vec<Action>> = (0..others).map(|_| draw(rng, pool.other, pool.calls_max)).collect();
    let others: Vec<&[Action]> = others.iter().map(Vec::as_slice).collect();
    Program::new(&first, &others).with_channels(pool.channel.as_slice())
}

/// One worker that ends, in a scope or not; the first one may join it.
pub fn generate_ending(rng: &mut ChoiceRng) -> Program {
    let scope = rng.one_in(2);
    let mut first = Vec::from([Scope, Spawn(1)]);
    first.extend(draw(rng, &[Load(0), IsFinished(1), Add(1, 1), Load(0)], 3));
    first.extend(if rng.one_in(2) { vec![Join(1), Load(0)] } else { vec![] });
    first.extend([EndScope, Load(0)]);
    if !scope {
        first.retain(|action| !matches!(action, Scope | EndScope));
    }
    let other = draw(rng, &[Add(0, 1), Load(1), SetLocal(0), SetLocal(1)], 3);
    Program::ending(&first, &[&other])
}

const fn same(actions: &'static [Action], calls_max: u64) -> Pool {
    Pool { channel: None, first: actions, other: actions, calls_max }
}

pub const ATOMICS: Pool = same(
    &[Load(0), Load(1), Store(0, 1), Store(1, 2), Add(0, 1), Add(1, 3), Swap(0, 5), Exchange(0, 1, 7)],
    4,
);

pub const MUTEXES: Pool =
    same(&[Lock(0), Lock(0), Unlock(0), Unlock(0), TryLock(0), TryLock(1), Lock(1), Unlock(1), Add(0, 1)], 4);

pub const RWLOCKS: Pool = same(
    &[
        Read(0),
        Read(0),
        Write(0),
        TryRead(0),
        TryWrite(0),
        ReadUnlock(0),
        WriteUnlock(0),
        WriteUnlock(0),
        Downgrade(0),
        Add(0, 1),
    ],
    4,
);

pub const CONDVARS: Pool = same(
    &[
        Lock(0),
        Lock(0),
        Unlock(0),
        Wait(0, 0),
        WaitFor(0, 0, 5),
        WaitWhile(0, 0, 0),
        NotifyOne(0),
        NotifyAll(0),
        Store(0, 1),
    ],
    4,
);

pub const BARRIERS: Pool = same(&[Arrive(0), Arrive(0), Add(0, 1), Load(0)], 4);

pub const ONCES: Pool = same(
    &[
        CallOnce(0, 1),
        CallOnce(0, 1),
        IsCompleted(0),
        WaitOnce(0),
        Get(0),
        Set(0, 1),
        GetOrInit(0, 2),
        Force(0),
        Load(0),
        Load(1),
    ],
    4,
);

pub const PARKING: Pool = Pool {
    channel: None,
    first: &[Park, ParkFor(5), Unpark(1), Unpark(1), Load(0), Store(0, 1)],
    other: &[Park, ParkFor(9), Unpark(0), Unpark(0), Load(0), Store(0, 2)],
    calls_max: 4,
};

/// Programs with a channel; `try_send` does not exist for the unbounded one.
pub const fn channel(bound: Option<usize>) -> Pool {
    Pool {
        channel: Some(bound),
        first: &[Recv(0), Recv(0), TryRecv(0), TryRecv(0), RecvFor(0, 5), DropReceiver(0), Add(0, 1)],
        other: match bound {
            None => &[Send(0, 1), Send(0, 2), DropSender(0), Add(0, 1)],
            Some(_) => &[Send(0, 1), Send(0, 2), TrySend(0, 3), DropSender(0), Add(0, 1)],
        },
        calls_max: 3,
    }
}
