//! The model: workers that take atomic steps on objects, as std's documentation describes them, in every
//! order. It is written to be obviously right. Where std does less than it promises, or promises less than
//! programs can see, a comment names the file of its sources (`library/std/src`) that decides.

use super::action::Action::{self, *};
use super::objects::Objects;
use super::program::Program;
use std::collections::BTreeSet;

/// The results of each worker's calls, up to the last one that returned.
pub type End = Vec<Vec<u8>>;

/// A mistake of the model, so that tests can show that they would notice it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// A wait for a condvar may return without a notification.
    SpuriousWakeups,
    /// `notify_one` never wakes more than one.
    OneIsWoken,
    /// Unparking a worker that does not park has no effect.
    NoToken,
    /// A worker that holds a lock may take it again.
    Reentrant,
    /// A reader gets the lock while a writer holds it.
    ReaderBesideWriter,
    /// Sent values are lost when the last sender is dropped.
    SentIsLost,
    /// A rendezvous does not need a receiver.
    SendsAlone,
    /// A thread that is finished has ended, its variables included.
    FinishedIsEnded,
    /// Workers do not wait for one that initialises.
    NobodyWaits,
    /// A barrier has no leader.
    NoLeader,
    /// A timeout fires only if no other worker can continue.
    PatientTimeouts,
    /// Of timeouts that end at the same time, that of the lower worker fires first.
    LowerFirst,
    /// An addition is a load and a store.
    TornAdditions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Not started.
    Absent,
    /// Before its next call.
    Ready,
    /// Within a call that another worker ends.
    Waiting,
    /// Within a call that another worker or a timeout ended: it returns this.
    Woken(u8),
    /// Within a call that takes several steps: the number of the present step.
    Inside(u8),
    /// Its function has returned.
    Finished,
    /// Its variables are destroyed too.
    Ended,
}

use Stage::*;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Worker {
    pub stage: Stage,
    pub at: usize,
    pub results: Vec<u8>,
    /// The cell of the thread's variable.
    pub local: Option<u8>,
    /// Whether it was unparked.
    pub token: bool,
    pub scoped: bool,
}

/// The result of `try_recv` and `recv_timeout` if there is no value.
pub const NOTHING: u8 = 100;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct State {
    pub workers: Vec<Worker>,
    pub objects: Objects,
    /// Deadline and worker. Only the earliest can fire, but at any time.
    timers: BTreeSet<(u64, usize)>,
    now_ms: u64,
    pub in_scope: bool,
}

/// The rules, and the program that follows them.
pub struct Model<'a> {
    pub program: &'a Program,
    pub mistake: Option<Mistake>,
}

impl State {
    fn new(program: &Program) -> State {
        let worker =
            Worker { stage: Absent, at: 0, results: Vec::new(), local: None, token: false, scoped: false };
        let mut workers = vec![worker; program.workers.len()];
        workers[0].stage = Ready;
        let timers = BTreeSet::new();
        State { workers, objects: Objects::new(program), timers, now_ms: 0, in_scope: false }
    }

    /// Ends the call with a result.
    pub fn done(mut self, w: usize, result: u8) -> Vec<State> {
        let worker = &mut self.workers[w];
        worker.stage = Ready;
        worker.at += 1;
        worker.results.push(result);
        self.timers.retain(|timer| timer.1 != w);
        vec![self]
    }

    pub fn at(mut self, w: usize, stage: Stage) -> Vec<State> {
        self.workers[w].stage = stage;
        vec![self]
    }

    pub fn wait_for(mut self, w: usize, ms: u8) -> Vec<State> {
        self.timers.insert((self.now_ms + u64::from(ms), w));
        self.at(w, Waiting)
    }

    pub fn wake(&mut self, w: usize, result: u8) {
        self.workers[w].stage = Woken(result);
        self.timers.retain(|timer| timer.1 != w);
    }
}

impl Model<'_> {
    pub fn is(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    pub fn action(&self, state: &State, w: usize) -> Option<Action> {
        self.program.workers[w].get(state.workers[w].at).copied()
    }

    /// All ends.
    pub fn ends(&self) -> BTreeSet<End> {
        let mut ends = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut left = vec![State::new(self.program)];
        while let Some(state) = left.pop() {
            if !seen.insert(state.clone()) {
                continue;
            }
            let mut next: Vec<State> =
                (0..state.workers.len()).flat_map(|w| self.steps(state.clone(), w)).collect();
            if next.is_empty() || !self.is(Mistake::PatientTimeouts) {
                next.extend(self.fire(&state));
            }
            if next.is_empty() {
                ends.insert(state.workers.into_iter().map(|worker| worker.results).collect());
            }
            left.extend(next);
        }
        ends
    }

    /// Fires one of the earliest timeouts.
    fn fire(&self, state: &State) -> Vec<State> {
        let earliest = state.timers.first().map(|timer| timer.0);
        let lower_first = if self.is(Mistake::LowerFirst) { 1 } else { usize::MAX };
        let tied = state.timers.iter().filter(|timer| Some(timer.0) == earliest).take(lower_first);
        tied.map(|(deadline, w)| self.fire_of(state.clone(), *deadline, *w)).collect()
    }

    fn fire_of(&self, mut state: State, deadline: u64, w: usize) -> State {
        state.timers.remove(&(deadline, w));
        state.now_ms = state.now_ms.max(deadline);
        state.objects.condvars.values_mut().for_each(|waiters| waiters.retain(|waiter| *waiter != w));
        let result = match self.action(&state, w) {
            Some(WaitFor(..)) => 1,
            Some(RecvFor(..)) => NOTHING,
            _ => 0,
        };
        state.wake(w, result);
        state
    }

    /// Steps of a worker without a next call: its function returns, then its variables are destroyed, then it
    /// ends.
    pub fn ending(&self, mut state: State, w: usize) -> Vec<State> {
        match state.workers[w].stage {
            Ready if self.is(Mistake::FinishedIsEnded) && state.workers[w].local.is_none() => {
                state.at(w, Ended)
            }
            Ready if !self.is(Mistake::FinishedIsEnded) => state.at(w, Finished),
            Ready | Finished => match state.workers[w].local.take() {
                Some(cell) => {
                    state.objects.cells[usize::from(cell)] += 1;
                    vec![state]
                }
                None => state.at(w, Ended),
            },
            _ => Vec::new(),
        }
    }
}
