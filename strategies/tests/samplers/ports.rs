//! Programs with bugs that papers measure strategies by, for the toy machine. Worker 0 starts the others
//! and waits for them, as it does in a guest.

use super::send_messages::send_messages;
use coyote_strategies::toy::{Instruction, Instruction::*, Program};

type Code = Vec<Instruction>;

/// The register never has this value.
const NEVER: i8 = -99;
const FAIL: Instruction = Assert(NEVER);

/// A worker for each body, in this order.
fn started(bodies: Vec<Code>) -> Program {
    let workers = 1..=bodies.len() as u8;
    let main = workers.clone().map(Spawn).chain(workers.map(Join)).collect();
    [vec![main], bodies].concat()
}

fn locked(lock: u8, body: &[Instruction]) -> Code {
    [&[Lock(lock)], body, &[Unlock(lock)]].concat()
}

fn times(n: usize, body: &[Instruction]) -> Code {
    body.repeat(n)
}

/// Cargill's: one slot, two readers of five items, one writer of ten, and a notification that may wake one
/// of the wrong kind.
fn bounded_buffer() -> Program {
    // While the count is what one waits for to change, wait.
    let end = |unwanted, count| {
        let body =
            [Load(0), SkipUnless(unwanted, 2), Wait(0, 0), BackUnless(NEVER, 3), Set(0, count), Signal(0)];
        locked(0, &body)
    };
    let (take, put) = (end(0, 0), end(1, 1));
    started(vec![times(5, &take), times(5, &take), times(10, &put)])
}

fn account() -> Program {
    let check = [Load(1), SkipUnless(1, 3), Load(2), SkipUnless(1, 1), FAIL];
    started(vec![locked(0, &check), locked(0, &[Rmw(0, 2), Set(1, 1)]), locked(0, &[Rmw(0, -4), Set(2, 1)])])
}

fn lazy01() -> Program {
    let check = [Load(0), SkipUnless(3, 1), FAIL];
    started(vec![locked(0, &check), locked(0, &[Rmw(0, 2)]), locked(0, &[Rmw(0, 1)])])
}

fn deadlock01() -> Program {
    let both = |a, b| locked(a, &locked(b, &[Rmw(0, 1)]));
    started(vec![both(0, 1), both(1, 0)])
}

fn reorder(workers: usize) -> Program {
    let set = vec![Set(0, 1), Set(1, -1)];
    let half_set = [Load(1), SkipUnless(0, 1), FAIL, SkipUnless(NEVER, 3)];
    let half_unset = [Load(1), SkipUnless(-1, 1), FAIL];
    let check = [&[Load(0), SkipUnless(1, 4)], &half_set[..], &half_unset].concat();
    started([vec![set; workers - 1], vec![check]].concat())
}

fn twostage(workers: usize) -> Program {
    let write = [locked(0, &[Set(0, 1)]), locked(1, &[Set(1, 2)])].concat();
    let second = locked(1, &[Load(1)]);
    let read = [&locked(0, &[Load(0)])[..], &[SkipUnless(1, 4)], &second, &[Assert(2)]].concat();
    started([vec![write; workers - 1], vec![read]].concat())
}

fn stack() -> Program {
    let push = locked(0, &[Rmw(0, 1), Set(1, 1)]);
    let pop = locked(0, &[Load(1), SkipUnless(1, 4), Load(0), SkipUnless(0, 1), FAIL, Rmw(0, -1)]);
    started(vec![times(10, &push), times(10, &pop)])
}

/// Two critical sections that should be one, among much else: the second worker must come in between.
fn atomicity() -> Program {
    let aside = times(20, &[Rmw(3, 1)]);
    let other = times(20, &[Rmw(4, 1)]);
    let middle = [locked(0, &[Set(0, 1)]), locked(0, &[Load(0), Assert(1)])].concat();
    let first = [aside.clone(), middle, aside].concat();
    let second = [other.clone(), locked(0, &[Set(0, 2)]), other].concat();
    started(vec![first, second])
}

/// A message is announced by a flag that is set too early, and the reader comes at the right moment twice.
fn three_orders() -> Program {
    let aside = times(10, &[Rmw(3, 1)]);
    let first = [aside.clone(), vec![Set(0, 1), Set(1, 1), Set(0, 0)], aside.clone()].concat();
    let read = [Load(0), SkipUnless(1, 3), Load(1), SkipUnless(0, 1), FAIL];
    let second = [times(10, &[Rmw(4, 1)]), read.to_vec()].concat();
    started(vec![first, second, times(10, &[Rmw(5, 1)])])
}

/// Waits for a flag with a read and a yield: unfair strategies spin.
fn flag() -> Program {
    let wait = vec![Load(0), Yield, BackUnless(1, 2), Load(1), Assert(1)];
    started(vec![wait, vec![Load(2), Set(0, 1), Load(2), Load(2), Set(1, 1)]])
}

pub fn ports() -> Vec<(&'static str, Program)> {
    vec![
        ("bounded buffer", bounded_buffer()),
        ("send messages", started(send_messages(false))),
        ("send messages, yields", started(send_messages(true))),
        ("account", account()),
        ("lazy01", lazy01()),
        ("deadlock01", deadlock01()),
        ("reorder 3", reorder(3)),
        ("reorder 5", reorder(5)),
        ("twostage 2", twostage(2)),
        ("stack", stack()),
        ("atomicity", atomicity()),
        ("three orders", three_orders()),
        ("flag", flag()),
    ]
}
