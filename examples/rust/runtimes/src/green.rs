//! Green threads: each is a worker with a stack of its own, and only the one whose turn it is runs. The others wait, each
//! for a flag of its own, so that a switch wakes nobody else.

use coyote::sync::Mutex;
use coyote::{nondet, thread};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The library.
struct Green {
    /// Whether it is this green thread's turn.
    turns: Vec<AtomicBool>,
    ready: Mutex<Vec<usize>>,
}

impl Green {
    /// Runs green threads, each with its number, until all have ended.
    fn run(threads: Vec<Box<dyn FnOnce(&Green, usize) + Send>>) {
        let numbers = 0..threads.len();
        let turns = numbers.clone().map(|_| AtomicBool::new(false)).collect();
        let green = Arc::new(Green { turns, ready: Mutex::new(numbers.collect()) });
        let start = |(number, main): (usize, Box<dyn FnOnce(&Green, usize) + Send>)| {
            let green = Arc::clone(&green);
            thread::spawn(move || {
                green.wait_for_turn(number);
                main(&green, number);
                green.switch();
            })
        };
        let workers: Vec<_> = threads.into_iter().enumerate().map(start).collect();
        green.switch();
        workers.into_iter().for_each(|worker| worker.join());
    }

    fn wait_for_turn(&self, number: usize) {
        coyote::wait_until(|| self.turns[number].swap(false, Ordering::Acquire));
    }

    /// Gives the turn to one of those that are ready. Which one is for the tool to choose.
    fn switch(&self) {
        let mut ready = self.ready.lock();
        let count = ready.len();
        if count > 0 {
            let next = ready.remove(nondet::int(0..count));
            self.turns[next].store(true, Ordering::Release);
        }
    }

    /// Lets other green threads run.
    fn yield_now(&self, number: usize) {
        self.ready.lock().push(number);
        self.switch();
        self.wait_for_turn(number);
    }
}

/// A queue for green threads. Its lock is only for Rust: no two of them run at once.
#[derive(Default)]
struct Channel(Mutex<VecDeque<u32>>);

impl Channel {
    fn send(&self, value: u32) {
        self.0.lock().push_back(value);
    }

    fn receive(&self, green: &Green, number: usize) -> u32 {
        while self.0.lock().is_empty() {
            green.yield_now(number);
        }
        self.0.lock().pop_front().expect("it is not empty")
    }

    /// Mistake: `if` instead of `while`. Another receiver may have been faster.
    fn receive_once(&self, green: &Green, number: usize) -> u32 {
        if self.0.lock().is_empty() {
            green.yield_now(number);
        }
        self.0.lock().pop_front().expect("it is not empty")
    }
}

fn two_receivers(receive: fn(&Channel, &Green, usize) -> u32) {
    let channel = Arc::new(Channel::default());
    let mut threads: Vec<Box<dyn FnOnce(&Green, usize) + Send>> = Vec::new();
    for _ in 0..2 {
        let channel = Arc::clone(&channel);
        threads.push(Box::new(move |green, number| {
            receive(&channel, green, number);
        }));
    }
    threads.push(Box::new(move |green, number| {
        channel.send(1);
        green.yield_now(number);
        channel.send(2);
    }));
    Green::run(threads);
}

#[coyote::test]
fn green_threads() {
    two_receivers(Channel::receive_once);
}

#[coyote::test]
fn green_threads_fixed() {
    two_receivers(Channel::receive);
}
