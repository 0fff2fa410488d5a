//! A queue whose elements can be handed out twice is not linearizable; taken under one lock it is. The check is no part of
//! the schedule. (This crate has the SDK's module in it, and its name.)
//! flags: --crate-name coyote
//! run: -i 2000
//! exit: 2
//! line: bug in test main: panic: not linearizable: of 6 operations
//! run: -i 300 --env FIXED=1
//! exit: 0
//! run: -i 20 --env LONG=1 --max-steps 20000
//! exit: 0
#[allow(dead_code)]
#[path = "../../../../guest-sdk/rust/src/linearize/mod.rs"]
mod linearize;

use linearize::{Clock, Log, Model};
use std::collections::VecDeque;
use std::sync::Mutex;

#[derive(Clone, Debug)]
enum Call {
    Push(u32),
    Pop,
}

struct Fifo;

impl Model for Fifo {
    type Call = Call;
    type Return = Option<u32>;
    type State = VecDeque<u32>;

    fn initial(&self) -> VecDeque<u32> {
        VecDeque::new()
    }

    fn step(
        &self,
        state: &VecDeque<u32>,
        call: &Call,
        returned: Option<&Option<u32>>,
    ) -> Option<VecDeque<u32>> {
        let mut after = state.clone();
        let value = match call {
            Call::Push(value) => {
                after.push_back(*value);
                None
            }
            Call::Pop => after.pop_front(),
        };
        returned.is_none_or(|returned| *returned == value).then_some(after)
    }
}

struct Queue {
    elements: Mutex<VecDeque<u32>>,
    fixed: bool,
}

impl Queue {
    fn push(&self, value: u32) -> Option<u32> {
        self.elements.lock().unwrap().push_back(value);
        None
    }

    fn pop(&self) -> Option<u32> {
        if self.fixed {
            return self.elements.lock().unwrap().pop_front();
        }
        let value = self.elements.lock().unwrap().front().copied();
        self.elements.lock().unwrap().pop_front();
        value
    }
}

static CLOCK: Clock = Clock::new();

fn main() {
    let is_set = |name| std::env::var_os(name).is_some();
    let queue = Queue { elements: Mutex::default(), fixed: is_set("FIXED") || is_set("LONG") };
    let rounds = if is_set("LONG") { 50 } else { 1 };
    let logs: Vec<Log<Call, Option<u32>>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..3)
            .map(|worker| {
                let queue = &queue;
                scope.spawn(move || {
                    let mut log = CLOCK.log();
                    for round in 0..rounds {
                        let value = 10 * round + worker;
                        log.record(Call::Push(value), || queue.push(value));
                        log.record(Call::Pop, || queue.pop());
                    }
                    log
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    linearize::assert(&Fifo, logs);
}
