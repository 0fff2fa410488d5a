//! The check against all orders by brute force, on random histories; planted violations; its speed.

use super::*;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A pseudo-random number below `bound`, always the same.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Read,
    Write(u8),
    /// The first is replaced by the second if it is there.
    Swap(u8, u8),
}

/// A register of small numbers.
struct Register;

impl Model for Register {
    type Call = Access;
    type Return = u8;
    type State = u8;

    fn initial(&self) -> u8 {
        0
    }

    fn step(&self, state: &u8, call: &Access, returned: Option<&u8>) -> Option<u8> {
        let (value, after) = match *call {
            Access::Read => (*state, *state),
            Access::Write(value) => (0, value),
            Access::Swap(from, to) if from == *state => (1, to),
            Access::Swap(..) => (0, *state),
        };
        returned.is_none_or(|returned| *returned == value).then_some(after)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queued {
    Push(u32),
    Pop,
}

struct Fifo;

impl Model for Fifo {
    type Call = Queued;
    type Return = Option<u32>;
    type State = VecDeque<u32>;

    fn initial(&self) -> VecDeque<u32> {
        VecDeque::new()
    }

    fn step(
        &self,
        state: &VecDeque<u32>,
        call: &Queued,
        returned: Option<&Option<u32>>,
    ) -> Option<VecDeque<u32>> {
        let mut after = state.clone();
        let value = match call {
            Queued::Push(value) => {
                after.push_back(*value);
                None
            }
            Queued::Pop => after.pop_front(),
        };
        returned.is_none_or(|returned| *returned == value).then_some(after)
    }
}

type History<M> = Vec<Operation<<M as Model>::Call, <M as Model>::Return>>;

/// Whether some order of some of the operations, with all that returned, explains the history: every one is tried.
fn by_brute_force<M: Model>(model: &M, history: &History<M>) -> bool {
    fn from<M: Model>(model: &M, history: &History<M>, done: &mut Vec<bool>, state: &M::State) -> bool {
        let open = |i: &usize| !done[*i] && history[*i].returned.is_some();
        let earliest = (0..history.len()).filter(open).map(|i| history[i].to).min();
        let Some(earliest) = earliest else { return true };
        for i in 0..history.len() {
            // What was called after another had returned comes after it.
            if done[i] || history[i].from > earliest {
                continue;
            }
            let Some(after) = model.step(state, &history[i].call, history[i].returned.as_ref()) else {
                continue;
            };
            done[i] = true;
            let explained = from(model, history, done, &after);
            done[i] = false;
            if explained {
                return true;
            }
        }
        false
    }
    from(model, history, &mut vec![false; history.len()], &model.initial())
}

/// Whether an order is one: each operation once, all that returned, in the order of time, with these returns.
fn explains<M: Model>(model: &M, history: &History<M>, order: &[usize]) -> bool {
    let mut state = model.initial();
    for (at, index) in order.iter().enumerate() {
        let operation = &history[*index];
        let in_time = order[at + 1..].iter().all(|later| history[*later].to >= operation.from);
        let once = !order[..at].contains(index);
        match model.step(&state, &operation.call, operation.returned.as_ref()) {
            Some(after) if in_time && once => state = after,
            _ => return false,
        }
    }
    (0..history.len()).all(|index| history[index].returned.is_none() || order.contains(&index))
}

/// Up to 7 operations of 3 workers at random times on a register, with returns that are right, nearly or not at all.
fn random_history(random: &mut Random) -> History<Register> {
    let clock = Clock::new();
    let mut logs: Vec<Log<Access, u8>> = (0..3).map(|_| clock.log()).collect();
    let mut open: Vec<Option<(Begun, Option<u8>, Access)>> = vec![None, None, None];
    let mut state = 0;
    for _ in 0..4 + random.below(14) {
        let worker = random.below(3) as usize;
        match open[worker].take() {
            None if logs.iter().map(|log| log.operations.len()).sum::<usize>() < 7 => {
                let (from, to) = (random.below(3) as u8, random.below(3) as u8);
                let call =
                    [Access::Read, Access::Write(to), Access::Swap(from, to)][random.below(3) as usize];
                open[worker] = Some((logs[worker].begin(call), None, call));
            }
            None => {}
            // It takes effect at some time before it returns.
            Some((begun, None, call)) => {
                let value = match call {
                    Access::Read => state,
                    Access::Write(to) => {
                        state = to;
                        0
                    }
                    Access::Swap(from, to) => {
                        let swaps = from == state;
                        if swaps {
                            state = to;
                        }
                        u8::from(swaps)
                    }
                };
                open[worker] = Some((begun, Some(value), call));
            }
            Some((begun, Some(value), _)) => {
                let wrong = random.below(6) == 0;
                logs[worker].end(begun, if wrong { random.below(3) as u8 } else { value });
            }
        }
    }
    logs.into_iter().flat_map(Log::into_operations).collect()
}

#[test]
fn it_agrees_with_brute_force() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut linearizable, mut pending) = (0, 0);
    for number in 0..2_000 {
        let history = random_history(&mut random);
        pending += usize::from(history.iter().any(|operation| operation.returned.is_none()));
        let expected = by_brute_force(&Register, &history);
        match check(&Register, &history) {
            Ok(order) => {
                assert!(expected, "history {number}: {history:?}");
                assert!(explains(&Register, &history, &order), "history {number}: {history:?}: {order:?}");
                linearizable += 1;
            }
            Err(violation) => {
                assert!(!expected, "history {number}: {history:?}");
                assert!(history[violation.stuck].returned.is_some());
                assert!(!violation.explained.contains(&violation.stuck));
                assert!(violation.describe(&history).starts_with("not linearizable: of "));
            }
        }
    }
    // Both answers, and operations that never return, are there in numbers.
    assert!((400..1_800).contains(&linearizable), "{linearizable}");
    assert!(pending > 400, "{pending}");
}

/// Operations of several workers, each at some time of its span.
fn long_history<M: Model>(
    seed: u64,
    operations: u64,
    workers: usize,
    mut call: impl FnMut(u64) -> M::Call,
    mut answer: impl FnMut(&M::Call) -> M::Return,
) -> History<M>
where
    M::Call: Clone,
{
    let mut random = Random(seed);
    let clock = Clock::new();
    let mut logs: Vec<Log<M::Call, M::Return>> = (0..workers).map(|_| clock.log()).collect();
    let mut open: Vec<_> = (0..workers).map(|_| None::<(Begun, M::Call, Option<M::Return>)>).collect();
    let mut begun = 0;
    while begun < operations || open.iter().any(Option::is_some) {
        let worker = random.below(workers as u64) as usize;
        open[worker] = match open[worker].take() {
            None if begun < operations => {
                let call = call(random.below(1 << 20));
                begun += 1;
                Some((logs[worker].begin(call.clone()), call, None))
            }
            None => None,
            Some((begun, call, None)) => {
                let returned = answer(&call);
                Some((begun, call, Some(returned)))
            }
            Some((begun, _, Some(returned))) => {
                logs[worker].end(begun, returned);
                None
            }
        };
    }
    logs.into_iter().flat_map(Log::into_operations).collect()
}

fn queue_history(seed: u64, operations: u64) -> History<Fifo> {
    let mut queue = VecDeque::new();
    let mut next = 0;
    // It stays short: see the module's documentation.
    let call = |random: u64| match random % 5 {
        0 | 1 => {
            next += 1;
            Queued::Push(next)
        }
        _ => Queued::Pop,
    };
    long_history::<Fifo>(seed, operations, 4, call, |call| match call {
        Queued::Push(value) => {
            queue.push_back(*value);
            None
        }
        Queued::Pop => queue.pop_front(),
    })
}

#[test]
fn planted_violations_are_found() {
    // A queue of which two elements are handed out in the wrong order, one is lost, and one twice.
    let correct = queue_history(42, 200);
    assert!(explains(&Fifo, &correct, &check(&Fifo, &correct).unwrap()));
    let pops: Vec<usize> =
        (0..correct.len()).filter(|i| matches!(correct[*i].returned, Some(Some(_)))).collect();
    let far = |from: usize| {
        let late = |i: &&usize| correct[**i].from > correct[pops[from]].to + 20;
        *pops[from..].iter().find(late).unwrap()
    };
    let mut swapped = correct.clone();
    let (one, other) = (pops[3], far(3));
    let returned = swapped[one].returned;
    swapped[one].returned = correct[other].returned;
    swapped[other].returned = returned;
    let mut twice = correct.clone();
    twice[far(5)].returned = correct[pops[5]].returned;
    let mut lost = correct.clone();
    lost[pops[7]].returned = Some(None);
    for (name, history) in [("swapped", swapped), ("twice", twice), ("lost", lost)] {
        let violation = check(&Fifo, &history).expect_err(name);
        assert!(violation.describe(&history).contains("the last of these"), "{name}");
    }
    // A stale read of a register.
    let operation = |call, returned, from, to| Operation { call, returned: Some(returned), from, to };
    let stale = vec![
        operation(Access::Write(1), 0, 0, 1),
        operation(Access::Write(2), 0, 2, 5),
        operation(Access::Read, 2, 3, 4),
        operation(Access::Read, 1, 6, 7),
    ];
    assert_eq!(check(&Register, &stale), Err(Violation { explained: vec![0, 1, 2], stuck: 3 }));
    assert_eq!(check(&Register, &stale[..3]), Ok(vec![0, 1, 2]));
}

/// What never returned may have happened, at any later time, or not.
#[test]
fn what_never_returned_may_have_happened() {
    let begun = Operation { call: Access::Write(1), returned: None, from: 0, to: u64::MAX };
    let read = |value, from| Operation { call: Access::Read, returned: Some(value), from, to: from + 1 };
    for (values, expected) in [([0, 0], true), ([0, 1], true), ([1, 1], true), ([1, 0], false)] {
        let history = vec![begun.clone(), read(values[0], 1), read(values[1], 3)];
        assert_eq!(check(&Register, &history).is_ok(), expected, "{values:?}");
    }
}

/// Of each model, the slowest of several histories.
#[test]
fn a_thousand_operations_of_four_workers() {
    let time = |check: &dyn Fn(u64)| {
        let times = (1..=5).map(|seed| {
            let started = Instant::now();
            check(seed);
            started.elapsed()
        });
        times.max().unwrap()
    };
    let queue = time(&|seed| assert!(check(&Fifo, &queue_history(seed, 1_000)).is_ok()));
    let register = time(&|seed| {
        let mut state = 0;
        let call = |random: u64| match random % 3 {
            0 => Access::Read,
            1 => Access::Write((random / 3 % 5) as u8),
            _ => Access::Swap((random / 3 % 5) as u8, (random / 15 % 5) as u8),
        };
        let history = long_history::<Register>(seed, 1_000, 4, call, |call| {
            let (value, after) = match *call {
                Access::Read => (state, state),
                Access::Write(value) => (0, value),
                Access::Swap(from, to) if from == state => (1, to),
                Access::Swap(..) => (0, state),
            };
            state = after;
            value
        });
        assert!(check(&Register, &history).is_ok());
    });
    println!("1,000 operations of 4 workers: queue {queue:?}, register {register:?}");
    assert!(queue.max(register) < Duration::from_secs(1), "{queue:?}, {register:?}");
}
