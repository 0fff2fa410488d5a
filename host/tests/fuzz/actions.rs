//! What the model knows: memory, mutexes, semaphores, choices.

use super::program::Statement;
use coyote_wasm::strategies::rng::ChoiceRng;

/// A shared variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variable {
    X,
    Y,
}

/// `keep`: the place of what it returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Load {
        from: Variable,
        keep: usize,
    },
    Store {
        to: Variable,
        value: i32,
    },
    /// A load and a store.
    Add {
        to: Variable,
        value: i32,
    },
    /// A load and a store.
    Copy {
        to: Variable,
    },
    /// In one step: what it was before.
    AtomicAdd {
        to: Variable,
        value: i32,
        keep: usize,
    },
    /// In one step: 10 if it was as expected, plus what it was.
    CompareExchange {
        to: Variable,
        expected: i32,
        value: i32,
        keep: usize,
    },
    If {
        is: Variable,
        value: i32,
        body: Vec<Statement>,
    },
    Lock {
        mutex: usize,
        body: Vec<Statement>,
    },
    TryLock {
        mutex: usize,
        keep: usize,
        body: Vec<Statement>,
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
        body: Vec<Statement>,
    },
    Assume {
        is: Variable,
        value: i32,
    },
}

impl Variable {
    fn c(self) -> &'static str {
        match self {
            Variable::X => "o.x",
            Variable::Y => "o.y",
        }
    }

    pub fn other(self) -> Variable {
        match self {
            Variable::X => Variable::Y,
            Variable::Y => Variable::X,
        }
    }
}

impl Action {
    pub fn body(&self) -> Option<&Vec<Statement>> {
        match self {
            Action::If { body, .. }
            | Action::Lock { body, .. }
            | Action::TryLock { body, .. }
            | Action::IfChosen { body } => Some(body),
            _ => None,
        }
    }

    pub fn body_mut(&mut self) -> Option<&mut Vec<Statement>> {
        match self {
            Action::If { body, .. }
            | Action::Lock { body, .. }
            | Action::TryLock { body, .. }
            | Action::IfChosen { body } => Some(body),
            _ => None,
        }
    }

    /// What stands before its body, and behind.
    pub fn c(&self) -> (String, String) {
        let alone = |text: String| (text, String::new());
        match self {
            Action::Load { from, keep } => alone(format!("K({keep}, {});", from.c())),
            Action::Store { to, value } => alone(format!("{} = {value};", to.c())),
            Action::Add { to, value } => alone(format!("{} += {value};", to.c())),
            Action::Copy { to } => alone(format!("{} = {};", to.c(), to.other().c())),
            Action::AtomicAdd { to, value, keep } => {
                alone(format!("K({keep}, __atomic_fetch_add(&{}, {value}, 5));", to.c()))
            }
            Action::CompareExchange { to, expected, value, keep } => {
                alone(format!("K({keep}, compare_exchange(&{}, {expected}, {value}));", to.c()))
            }
            Action::If { is, value, .. } => (format!("if ({} == {value}) {{", is.c()), "}".into()),
            Action::Lock { mutex, .. } => {
                let unlock = format!("pthread_mutex_unlock(&mutex[{mutex}]);");
                (format!("pthread_mutex_lock(&mutex[{mutex}]);"), unlock)
            }
            Action::TryLock { mutex, keep, .. } => (
                format!("if (K({keep}, pthread_mutex_trylock(&mutex[{mutex}])) == 0) {{"),
                format!("  pthread_mutex_unlock(&mutex[{mutex}]); }}"),
            ),
            Action::Wait { semaphore } => alone(format!("sem_wait(&sem[{semaphore}]);")),
            Action::TryWait { semaphore, keep } => {
                alone(format!("K({keep}, sem_trywait(&sem[{semaphore}]));"))
            }
            Action::Post { semaphore } => alone(format!("sem_post(&sem[{semaphore}]);")),
            Action::Choose { bound, keep } => alone(format!("K({keep}, coyote_choose_int({bound}));")),
            Action::IfChosen { .. } => ("if (coyote_choose_bool()) {".into(), "}".into()),
            Action::Assume { is, value } => alone(format!("coyote_assume({} == {value});", is.c())),
        }
    }
}

/// Draws one without a body of its own: the caller fills it. `keep` is the next place.
pub type Draw = fn(&mut ChoiceRng, &mut usize) -> Action;

fn variable(rng: &mut ChoiceRng) -> Variable {
    if rng.one_in(2) { Variable::X } else { Variable::Y }
}

fn value(rng: &mut ChoiceRng) -> i32 {
    1 + rng.below(3) as i32
}

fn next(keep: &mut usize) -> usize {
    *keep += 1;
    *keep - 1
}

pub fn memory(rng: &mut ChoiceRng, keep: &mut usize) -> Action {
    match rng.below(8) {
        0..3 => Action::Load { from: variable(rng), keep: next(keep) },
        3..5 => Action::Store { to: variable(rng), value: value(rng) },
        5 => Action::Add { to: variable(rng), value: value(rng) },
        6 => Action::Copy { to: variable(rng) },
        _ => Action::If { is: variable(rng), value: value(rng), body: Vec::new() },
    }
}

pub fn atomics(rng: &mut ChoiceRng, keep: &mut usize) -> Action {
    match rng.below(4) {
        0 => Action::Load { from: variable(rng), keep: next(keep) },
        1 => Action::AtomicAdd { to: variable(rng), value: value(rng), keep: next(keep) },
        _ => Action::CompareExchange {
            to: variable(rng),
            expected: rng.below(3) as i32,
            value: value(rng),
            keep: next(keep),
        },
    }
}

pub fn mutexes(rng: &mut ChoiceRng, keep: &mut usize) -> Action {
    let mutex = rng.below(2) as usize;
    match rng.below(5) {
        0..2 => Action::Lock { mutex, body: Vec::new() },
        2..4 => Action::TryLock { mutex, keep: next(keep), body: Vec::new() },
        _ => memory(rng, keep),
    }
}

pub fn semaphores(rng: &mut ChoiceRng, keep: &mut usize) -> Action {
    let semaphore = rng.below(2) as usize;
    match rng.below(5) {
        0 => Action::Wait { semaphore },
        1 => Action::TryWait { semaphore, keep: next(keep) },
        2..4 => Action::Post { semaphore },
        _ => memory(rng, keep),
    }
}

pub fn choices(rng: &mut ChoiceRng, keep: &mut usize) -> Action {
    match rng.below(5) {
        0 => Action::Choose { bound: 2 + rng.below(2) as u32, keep: next(keep) },
        1 => Action::IfChosen { body: Vec::new() },
        2 => Action::Assume { is: variable(rng), value: value(rng) - 1 },
        _ => memory(rng, keep),
    }
}
