//! A recorded schedule as a strategy for another program: one that was edited or rebuilt since the recording.
//!
//! Operations that are not in the record are executed in passing, recorded ones that the program no longer
//! makes are left out, and the switches between workers remain where they were. Which operation corresponds
//! to which cannot be decided while the program runs, so a schedule is followed more than once: the
//! operations of each worker in an attempt are aligned with those in the record, as two texts are compared
//! line by line, and the next attempt uses this alignment ([`Lenient::realign`]).
//!
//! Two operations are alike if they have the same kind and the caller of [`Lenient::new`] gave their places
//! the same number, such as one for each function.

use super::replay::{Divergence, Recorded};
use crate::paths::{Paths, WorkerPath};
use crate::{Event, Iteration, OpKind, Operation, Pick, Strategy, View, WorkerId, WorkerState};
use std::collections::BTreeMap;

/// Steps that a worker may make before it reaches the recorded operation.
const ADDED_MAX: u64 = 10_000;

/// Picks of others for which a worker may have to wait before it can make its step.
const WAITS_MAX: u64 = 1_000;

/// How many operations on either side may differ before both agree again.
const WINDOW: usize = 2_000;

/// How far the first attempt, which has no alignment, looks ahead in the record.
const LOOK_AHEAD: usize = 64;

/// After a difference, this many operations in a row must be alike, or all remaining ones.
const ALIKE: usize = 3;

/// What operations are compared by: kind and number of the place.
type Key = (OpKind, u32);

/// What the alignment says about a recorded step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It is the worker's step of this number, from 0.
    Step(u64),
    /// The program does not make it.
    Gone,
    /// No attempt has reached it so far.
    Unknown,
}

/// See the module's documentation.
pub struct Lenient {
    schedule: Vec<Recorded>,
    /// The fates of the recorded steps according to the last attempts.
    fates: Vec<Fate>,
    /// The number of each place's group.
    groups: Vec<u32>,
    /// Answers where the record does not.
    fallback: Box<dyn Strategy>,
    /// How often [`Lenient::realign`] was called.
    attempts: u64,
    /// Index of the next recorded choice.
    at: usize,
    paths: Paths,
    /// The operations of each worker in this attempt.
    done: BTreeMap<WorkerPath, Vec<Key>>,
    /// Choices made in this attempt.
    made: usize,
    /// Picks for the recorded step at `at` that were not that step.
    added_here: u64,
    waited_here: u64,
    divergence: Option<Divergence>,
    added: u64,
    left_out: u64,
}

/// How to proceed at a recorded step.
enum Answer {
    Step(WorkerId),
    /// The worker makes a step that the record lacks.
    Add(WorkerId),
    /// Another worker makes a step.
    Wait,
    LeaveOut,
}

impl Lenient {
    /// `groups` gives the number of the group for each place of the program; the sites of `schedule` are
    /// numbers of groups.
    pub fn new(schedule: Vec<Recorded>, groups: Vec<u32>, fallback: Box<dyn Strategy>) -> Lenient {
        Lenient {
            fates: vec![Fate::Unknown; schedule.len()],
            schedule,
            groups,
            fallback,
            attempts: 0,
            at: 0,
            paths: Paths::default(),
            done: BTreeMap::new(),
            made: 0,
            added_here: 0,
            waited_here: 0,
            divergence: None,
            added: 0,
            left_out: 0,
        }
    }

    /// The first difference between the execution and the record.
    pub fn divergence(&self) -> Option<&Divergence> {
        self.divergence.as_ref()
    }

    /// How many choices of the execution are not in the record, up to the record's end.
    pub fn added(&self) -> u64 {
        self.added
    }

    /// How many recorded choices the execution left out.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// How many recorded choices were used or left out.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Aligns the operations of the attempt that has ended with the record. Returns whether the next attempt
    /// will differ.
    pub fn realign(&mut self) -> bool {
        self.attempts += 1;
        // If an operation was added next to a similar one, either may be the recorded one: attempts alternate
        // between the first and the last.
        let backwards = self.attempts.is_multiple_of(2);
        let mut fates = vec![Fate::Unknown; self.schedule.len()];
        for (worker, done) in &self.done {
            let is_its = |(at, recorded): (usize, &Recorded)| match recorded {
                Recorded::Step { worker: w, kind, site } if w == worker => Some((at, (*kind, *site))),
                _ => None,
            };
            let (places, keys): (Vec<usize>, Vec<Key>) =
                self.schedule.iter().enumerate().filter_map(is_its).unzip();
            let aligned = if backwards { aligned_from_the_end(&keys, done) } else { aligned(&keys, done) };
            for (at, fate) in places.into_iter().zip(aligned) {
                fates[at] = fate;
            }
        }
        self.fates = fates;
        self.divergence.is_some()
    }

    fn diverge(&mut self, worker: Option<WorkerId>, reason: String) {
        self.divergence.get_or_insert(Divergence { at: self.at, made: self.made, worker, reason });
    }

    fn key(&self, operation: &Operation) -> Key {
        let group = match operation.site {
            Operation::NO_SITE => Operation::NO_SITE,
            site => self.groups.get(site as usize).copied().unwrap_or(Operation::NO_SITE),
        };
        (operation.kind, group)
    }

    /// Proceeds to the next recorded choice.
    fn advance(&mut self) {
        self.at += 1;
        (self.added_here, self.waited_here) = (0, 0);
    }

    /// How to proceed at the recorded step at `at`, and the difference from the record, if there is one.
    fn answer(&self, worker: &WorkerPath, expected: Key, view: &View) -> (Answer, Option<String>) {
        let waits = |why: String| match self.waited_here < WAITS_MAX {
            true => (Answer::Wait, Some(why)),
            false => (Answer::LeaveOut, Some(why)),
        };
        let Some(id) = self.paths.find(worker) else {
            return waits(format!("worker {worker} does not exist"));
        };
        let pending = &view.workers[id.index()];
        let name = pending.operation.kind.name();
        match pending.state {
            WorkerState::Ended => return (Answer::LeaveOut, Some(format!("worker {worker} has ended"))),
            WorkerState::Enabled if view.enabled.contains(&id) => {}
            _ => return waits(format!("worker {worker} is blocked at {name}")),
        }
        let key = self.key(&pending.operation);
        let steps = self.done.get(worker).map_or(0, Vec::len) as u64;
        let differs = || match key.0 == expected.0 {
            true => format!("worker {worker} is at {name} in another place"),
            false => format!("worker {worker} is at {name}, the trace says {}", expected.0.name()),
        };
        let add = |why: String| match self.added_here < ADDED_MAX {
            true => (Answer::Add(id), Some(why)),
            false => (Answer::LeaveOut, Some(why)),
        };
        match self.fates[self.at] {
            Fate::Gone => (Answer::LeaveOut, Some(differs())),
            Fate::Step(number) if number > steps => add(differs()),
            Fate::Step(number) if number < steps => (Answer::LeaveOut, Some(differs())),
            _ if key == expected => (Answer::Step(id), None),
            // The present operation is recorded later: the recorded operations before it are gone.
            _ if self.is_ahead(worker, key) => (Answer::LeaveOut, Some(differs())),
            _ => add(differs()),
        }
    }

    /// Whether such an operation of the worker follows soon in the record.
    fn is_ahead(&self, worker: &WorkerPath, key: Key) -> bool {
        let ahead = &self.schedule[self.at..(self.at + LOOK_AHEAD).min(self.schedule.len())];
        ahead.iter().any(|recorded| {
            matches!(recorded, Recorded::Step { worker: w, kind, site } if w == worker && (*kind, *site) == key)
        })
    }

    /// The pick of the record, or one that leads to it. `None` if the record has no pick.
    fn recorded(&mut self, view: &View) -> Option<Pick> {
        while let Some(recorded) = self.schedule.get(self.at).cloned() {
            let (worker, expected) = match recorded {
                Recorded::Step { worker, kind, site } => (worker, (kind, site)),
                Recorded::Timeout { worker } => {
                    let id = self.paths.find(&worker).filter(|id| view.timeouts.contains(id));
                    if id.is_none() {
                        self.diverge(None, format!("no timeout of worker {worker} can fire"));
                        self.left_out += 1;
                    }
                    self.advance();
                    match id {
                        Some(id) => return Some(Pick::Timeout(id)),
                        None => continue,
                    }
                }
                Recorded::Value { .. } => {
                    self.diverge(None, "the trace chooses a value, the execution a worker".into());
                    self.left_out += 1;
                    self.advance();
                    continue;
                }
            };
            let (answer, differs) = self.answer(&worker, expected, view);
            if let Some(reason) = differs {
                self.diverge(self.paths.find(&worker), reason);
            }
            match answer {
                Answer::Step(id) => {
                    self.advance();
                    return Some(Pick::Step(id));
                }
                Answer::Add(id) => {
                    self.added += 1;
                    self.added_here += 1;
                    return Some(Pick::Step(id));
                }
                Answer::Wait => {
                    self.added += 1;
                    self.waited_here += 1;
                    return self.fallback.pick(view);
                }
                Answer::LeaveOut => {
                    self.left_out += 1;
                    self.advance();
                }
            }
        }
        None
    }
}

impl Strategy for Lenient {
    fn name(&self) -> String {
        "replay".into()
    }

    fn fair(&self) -> bool {
        // As for a strict replay: bounds mattered to the original strategy only.
        true
    }

    fn fair_from(&self) -> Option<u64> {
        None
    }

    fn begin(&mut self, iteration: Iteration) {
        self.at = 0;
        self.paths.reset();
        self.done.clear();
        self.made = 0;
        (self.added_here, self.waited_here) = (0, 0);
        self.divergence = None;
        (self.added, self.left_out) = (0, 0);
        self.fallback.begin(Iteration { index: iteration.index.wrapping_add(self.attempts), ..iteration });
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        let pick = match self.recorded(view) {
            Some(pick) => pick,
            None => {
                self.diverge(
                    None,
                    format!("the trace ends after {} choices, the execution goes on", self.at),
                );
                self.fallback.pick(view)?
            }
        };
        self.made += 1;
        if let Pick::Step(id) = pick {
            let key = self.key(&view.workers[id.index()].operation);
            self.done.entry(self.paths.path(id)).or_default().push(key);
        }
        Some(pick)
    }

    fn value(&mut self, bound: u64, view: &View) -> Option<u64> {
        let mut chosen = None;
        match self.schedule.get(self.at).cloned() {
            Some(Recorded::Value { value, bound: recorded }) => {
                if recorded != bound {
                    self.diverge(
                        None,
                        format!(
                            "the execution chooses a value below {bound}, the trace has {value} of {recorded}"
                        ),
                    );
                }
                chosen = Some(value).filter(|value| *value < bound);
            }
            _ => self.diverge(None, "the execution chooses a value, the trace does not".into()),
        }
        match chosen {
            Some(_) => self.advance(),
            None => {
                self.added += 1;
                chosen = self.fallback.value(bound, view);
            }
        }
        self.made += 1;
        chosen
    }

    fn observe(&mut self, event: Event) {
        self.paths.observe(event);
        self.fallback.observe(event);
    }
}

/// The fate of each recorded operation of a worker, by the operations that the worker executed.
fn aligned(recorded: &[Key], done: &[Key]) -> Vec<Fate> {
    let mut fates = vec![Fate::Unknown; recorded.len()];
    let (mut r, mut d) = (0, 0);
    while r < recorded.len() && d < done.len() {
        let Some((gone, added)) = difference(&recorded[r..], &done[d..]) else { break };
        fates[r..r + gone].fill(Fate::Gone);
        (r, d) = (r + gone, d + added);
        if r < recorded.len() {
            fates[r] = Fate::Step(d as u64);
        }
        (r, d) = (r + 1, d + 1);
    }
    fates
}

/// The same, from the last operations to the first.
fn aligned_from_the_end(recorded: &[Key], done: &[Key]) -> Vec<Fate> {
    let reversed = |keys: &[Key]| keys.iter().rev().copied().collect::<Vec<Key>>();
    let mut fates = aligned(&reversed(recorded), &reversed(done));
    fates.reverse();
    for fate in &mut fates {
        if let Fate::Step(number) = fate {
            *number = done.len() as u64 - 1 - *number;
        }
    }
    fates
}

/// The smallest numbers of operations that have to be left out on both sides until the next ones are alike.
fn difference(recorded: &[Key], done: &[Key]) -> Option<(usize, usize)> {
    let alike = |(gone, added): &(usize, usize)| {
        let (Some(recorded), Some(done)) = (recorded.get(*gone..), done.get(*added..)) else { return false };
        let length = match (gone, added) {
            (0, 0) => 1,
            _ => ALIKE.min(recorded.len()).min(done.len()),
        };
        length > 0 && recorded[..length] == done[..length]
    };
    (0..=WINDOW).flat_map(|sum| (0..=sum).map(move |gone| (gone, sum - gone))).find(alike)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Operations are letters, all of one kind. Expected are the recorded ones that became steps as letters,
    /// and `-` for those that are gone, `?` for unknown ones.
    fn check(recorded: &str, done: &str, expected: &str) {
        let keys = |text: &str| text.bytes().map(|b| (OpKind::Load, u32::from(b))).collect::<Vec<Key>>();
        let show = |fates: Vec<Fate>| {
            let show = |fate: Fate| match fate {
                Fate::Step(number) => char::from_digit(number as u32, 36).unwrap(),
                Fate::Gone => '-',
                Fate::Unknown => '?',
            };
            fates.into_iter().map(show).collect::<String>()
        };
        assert_eq!(show(aligned(&keys(recorded), &keys(done))), expected);
    }

    #[test]
    fn operations_are_aligned_like_lines_of_a_text() {
        check("abcd", "abcd", "0123");
        check("abcd", "abxyzcd", "0156");
        check("abcd", "xabcd", "1234");
        check("abcd", "acd", "0-12");
        check("abcdef", "axxdef", "0--345");
        check("abcd", "ab", "01??");
        check("", "ab", "");
    }

    #[test]
    fn from_the_end_the_last_of_several_is_the_recorded_one() {
        let keys = |text: &str| text.bytes().map(|b| (OpKind::Load, u32::from(b))).collect::<Vec<Key>>();
        let fates = aligned_from_the_end(&keys("lsx"), &keys("lslsx"));
        assert_eq!(fates, [Fate::Step(2), Fate::Step(3), Fate::Step(4)]);
        let fates = aligned(&keys("lsx"), &keys("lslsx"));
        assert_eq!(fates, [Fate::Step(0), Fate::Step(1), Fate::Step(4)]);
    }
}
