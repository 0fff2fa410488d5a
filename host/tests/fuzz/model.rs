//! A naive interpreter of modelled programs, sequentially consistent, which shares no code with the host.

use super::actions::{Action, Variable};
use super::ends::{KEPT, THREADS};
use super::program::{Program, Statement};
use std::collections::BTreeSet;

/// How an execution ends: whether in a deadlock, what was kept, and the variables.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Modelled {
    pub deadlock: bool,
    /// Whether threads wait for each other; then the rest is left out, since others may go on.
    pub circle: bool,
    pub kept: [[i32; KEPT]; THREADS],
    pub variables: [i32; 2],
}

/// One atomic step of a thread.
enum Step {
    Load {
        from: usize,
        keep: usize,
    },
    Store {
        to: usize,
        value: i32,
    },
    /// To and from the thread's register.
    Take {
        from: usize,
    },
    Give {
        to: usize,
        plus: i32,
    },
    AtomicAdd {
        to: usize,
        value: i32,
        keep: usize,
    },
    CompareExchange {
        to: usize,
        expected: i32,
        value: i32,
        keep: usize,
    },
    /// Goes on at `or` unless the variable has the value.
    If {
        is: usize,
        value: i32,
        or: usize,
    },
    Lock {
        mutex: usize,
    },
    Unlock {
        mutex: usize,
    },
    TryLock {
        mutex: usize,
        keep: usize,
        or: usize,
    },
    Wait {
        semaphore: usize,
    },
    TryWait {
        semaphore: usize,
        keep: usize,
    },
    Post {
        semaphore: usize,
    },
    Choose {
        bound: u32,
        keep: usize,
    },
    IfChosen {
        or: usize,
    },
    Assume {
        is: usize,
        value: i32,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    at: [usize; THREADS],
    register: [i32; THREADS],
    kept: [[i32; KEPT]; THREADS],
    variables: [i32; 2],
    holder: [Option<usize>; 2],
    permits: [u32; 2],
}

/// EBUSY of WASI.
const BUSY: i32 = 10;

/// All ends; those of executions in which an assumption failed are none.
pub fn ends(program: &Program) -> BTreeSet<Modelled> {
    let threads: Vec<Vec<Step>> = program.threads.iter().map(|thread| steps(thread)).collect();
    let start = State {
        at: [0; THREADS],
        register: [0; THREADS],
        kept: [[-77; KEPT]; THREADS],
        variables: [0; 2],
        holder: [None; 2],
        permits: [0, 1],
    };
    let (mut ends, mut seen, mut left) = (BTreeSet::new(), BTreeSet::new(), vec![start]);
    while let Some(state) = left.pop() {
        if !seen.insert(state.clone()) {
            continue;
        }
        if state.has_circle(&threads) {
            ends.insert(Modelled { deadlock: true, circle: true, ..Modelled::default() });
            continue;
        }
        let (mut blocked, mut ended) = (true, true);
        for (thread, steps) in threads.iter().enumerate() {
            let Some(step) = steps.get(state.at[thread]) else { continue };
            ended = false;
            if let Some(next) = state.after(thread, step) {
                blocked = false;
                left.extend(next);
            }
        }
        if blocked {
            let (kept, variables) = (state.kept, state.variables);
            ends.insert(Modelled { deadlock: !ended, circle: false, kept, variables });
        }
    }
    ends
}

impl State {
    /// Whether a thread waits for a mutex that it has, or for one whose holder waits, and so on, back to it.
    fn has_circle(&self, threads: &[Vec<Step>]) -> bool {
        let next = |thread: usize| match threads[thread].get(self.at[thread]) {
            Some(Step::Lock { mutex }) => self.holder[*mutex],
            _ => None,
        };
        (0..threads.len()).any(|first| {
            let mut at = next(first);
            for _ in 0..THREADS {
                if at == Some(first) {
                    return true;
                }
                at = at.and_then(next);
            }
            false
        })
    }

    /// What can follow when a thread takes a step; `None` if it is blocked.
    fn after(&self, thread: usize, step: &Step) -> Option<Vec<State>> {
        let mut next = self.clone();
        next.at[thread] += 1;
        let kept = &mut next.kept[thread];
        match *step {
            Step::Load { from, keep } => kept[keep] = self.variables[from],
            Step::Store { to, value } => next.variables[to] = value,
            Step::Take { from } => next.register[thread] = self.variables[from],
            Step::Give { to, plus } => {
                next.variables[to] = self.register[thread] + plus;
                next.register[thread] = 0;
            }
            Step::AtomicAdd { to, value, keep } => {
                kept[keep] = self.variables[to];
                next.variables[to] += value;
            }
            Step::CompareExchange { to, expected, value, keep } => {
                let found = self.variables[to];
                kept[keep] = found + 10 * i32::from(found == expected);
                if found == expected {
                    next.variables[to] = value;
                }
            }
            Step::If { is, value, or } => {
                if self.variables[is] != value {
                    next.at[thread] = or;
                }
            }
            Step::Lock { mutex } => match self.holder[mutex] {
                None => next.holder[mutex] = Some(thread),
                Some(_) => return None,
            },
            Step::Unlock { mutex } => next.holder[mutex] = None,
            Step::TryLock { mutex, keep, or } => match self.holder[mutex] {
                None => {
                    kept[keep] = 0;
                    next.holder[mutex] = Some(thread);
                }
                Some(_) => {
                    kept[keep] = BUSY;
                    next.at[thread] = or;
                }
            },
            Step::Wait { semaphore } => next.permits[semaphore] = self.permits[semaphore].checked_sub(1)?,
            Step::TryWait { semaphore, keep } => match self.permits[semaphore].checked_sub(1) {
                Some(permits) => {
                    kept[keep] = 0;
                    next.permits[semaphore] = permits;
                }
                None => kept[keep] = -1,
            },
            Step::Post { semaphore } => next.permits[semaphore] += 1,
            Step::Choose { bound, keep } => {
                let chosen = |value| {
                    let mut next = next.clone();
                    next.kept[thread][keep] = value as i32;
                    next
                };
                return Some((0..bound).map(chosen).collect());
            }
            Step::IfChosen { or } => {
                let mut not = next.clone();
                not.at[thread] = or;
                return Some(vec![next, not]);
            }
            // It goes no further, and the execution has no verdict, whatever others do.
            Step::Assume { is, value } => {
                if self.variables[is] != value {
                    return Some(Vec::new());
                }
            }
        }
        Some(vec![next])
    }
}

fn steps(statements: &[Statement]) -> Vec<Step> {
    let mut steps = Vec::new();
    append(statements, &mut steps);
    steps
}

fn append(statements: &[Statement], into: &mut Vec<Step>) {
    for statement in statements {
        let Statement::Action(action) = statement else { unreachable!("the program is modelled") };
        let number = |variable: Variable| variable as usize;
        match action {
            Action::Load { from, keep } => into.push(Step::Load { from: number(*from), keep: *keep }),
            Action::Store { to, value } => into.push(Step::Store { to: number(*to), value: *value }),
            Action::Add { to, value } => {
                into.extend([Step::Take { from: number(*to) }, Step::Give { to: number(*to), plus: *value }])
            }
            Action::Copy { to } => into
                .extend([Step::Take { from: number(to.other()) }, Step::Give { to: number(*to), plus: 0 }]),
            Action::AtomicAdd { to, value, keep } => {
                into.push(Step::AtomicAdd { to: number(*to), value: *value, keep: *keep });
            }
            Action::CompareExchange { to, expected, value, keep } => {
                let (expected, value, keep) = (*expected, *value, *keep);
                into.push(Step::CompareExchange { to: number(*to), expected, value, keep });
            }
            Action::If { is, value, body } => {
                let (is, value) = (number(*is), *value);
                conditional(body, None, into, |or| Step::If { is, value, or });
            }
            Action::Lock { mutex, body } => {
                into.push(Step::Lock { mutex: *mutex });
                append(body, into);
                into.push(Step::Unlock { mutex: *mutex });
            }
            Action::TryLock { mutex, keep, body } => {
                let (mutex, keep) = (*mutex, *keep);
                let unlock = Some(Step::Unlock { mutex });
                conditional(body, unlock, into, |or| Step::TryLock { mutex, keep, or });
            }
            Action::Wait { semaphore } => into.push(Step::Wait { semaphore: *semaphore }),
            Action::TryWait { semaphore, keep } => {
                into.push(Step::TryWait { semaphore: *semaphore, keep: *keep });
            }
            Action::Post { semaphore } => into.push(Step::Post { semaphore: *semaphore }),
            Action::Choose { bound, keep } => into.push(Step::Choose { bound: *bound, keep: *keep }),
            Action::IfChosen { body } => conditional(body, None, into, |or| Step::IfChosen { or }),
            Action::Assume { is, value } => into.push(Step::Assume { is: number(*is), value: *value }),
        }
    }
}

/// A step, then what follows if it succeeds.
fn conditional(body: &[Statement], last: Option<Step>, into: &mut Vec<Step>, step: impl Fn(usize) -> Step) {
    let at = into.len();
    into.push(step(0));
    append(body, into);
    into.extend(last);
    into[at] = step(into.len());
}
