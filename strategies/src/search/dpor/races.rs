//! Races of a step with those before it, and what has to be tried because of them.

use super::immediate::{Immediate, Step};
use super::sleep::{has, value};
use super::{Dpor, Node, State};
use crate::search::clocks::process;
use crate::search::dependence::{signature, takes};
use crate::system::{Access, Class, Decision, Effect, System};
use crate::view::WorkerState;
use crate::{Pick, WorkerId};
use std::ops::Range;

/// What is computed anew for every step.
#[derive(Debug, Default)]
pub struct Scratch {
    immediate: Immediate,
    /// For each process the index of its first event among those that a race leaves alone.
    first: Vec<u32>,
    announced: Vec<Access>,
    /// Whether the step whose races are looked for goes on with the section of the last event.
    goes_on: bool,
}

impl<S: System> Dpor<S> {
    /// The step that the path ends with is complete: makes it an event, and has what races with it tried
    /// the other way round. `last`: it ended the execution by itself.
    pub(super) fn complete(&mut self, system: &S, pick: Pick, depth: usize, last: bool) {
        let footprint = self.gather(system);
        let signature = signature(&self.touched[footprint.clone()]);
        let process = process(pick);
        let step = Step { process, footprint: &self.touched[footprint.clone()], signature, last };
        self.scratch.immediate.find(&self.clocks, &self.touched, step);
        if !self.replaying {
            self.scratch.goes_on = self.nodes[depth].restricted;
            let mut races = std::mem::take(&mut self.scratch.immediate.races);
            self.look_behind_sections(&mut races, pick, &self.touched[footprint.clone()]);
            self.scratch.immediate.races = races;
            self.reverse_all(pick, depth + 1..self.path.len());
            self.try_displaced(system, pick, depth, last);
            self.scratch.goes_on = false;
        }
        let decisions = depth..self.path.len();
        self.clocks.push(process, &self.scratch.immediate.before, footprint, signature, decisions);
        self.done.push(&self.clocks, self.nodes[depth].operation, self.nodes[depth].worker);
        self.note_change(pick, depth);
    }

    /// No worker goes on, or only one that sleeps or spins. A worker that is still blocked has not executed what it
    /// waits for, but could have in another order. `cut_off`: the same is true of all that could still be
    /// picked, or that the last step made possible when it ended the execution.
    pub(super) fn find_races_of_blocked(&mut self, system: &S, cut_off: bool) {
        let timeout = system.view().timeout.filter(|_| cut_off).map(Pick::Timeout);
        let workers = (0..system.view().workers.len() as u32).map(|worker| Pick::Step(WorkerId(worker)));
        for pick in workers.chain(timeout) {
            let state = system.view().workers[pick.worker().index()].state;
            let possible = matches!(pick, Pick::Timeout(_)) || state == WorkerState::Enabled;
            if state != WorkerState::Ended && (cut_off || !possible) {
                self.find_races_of(system, pick, possible);
            }
        }
    }

    /// The bound on steps was reached: who could still go on has not shown what comes after its next step, and so
    /// is tried where it could have gone on first, if it is tried nowhere.
    pub(super) fn try_starved(&mut self, system: &S) {
        for worker in system.view().enabled {
            let pick = Pick::Step(*worker);
            let since =
                self.clocks.last(process(pick)).map_or(0, |event| self.clocks.events()[event].decisions.end);
            let here =
                |node: &Node<S::Snapshot>| node.choices.clone().find(|i| self.choices[*i].pick == pick);
            let first =
                self.nodes[since..].iter().find_map(|node| here(node).map(|choice| (node.closed, choice)));
            if let Some((false, choice)) = first
                && self.choices[choice].state == State::Idle
            {
                self.choices[choice].state = State::Todo;
            }
        }
    }

    /// Finds the races of a pick that is not executed. `possible`: it could be now.
    pub(super) fn find_races_of(&mut self, system: &S, pick: Pick, possible: bool) {
        let mut announced = std::mem::take(&mut self.scratch.announced);
        announced.clear();
        system.announced(pick, &mut announced);
        if possible || !self.awaits_what_never_came(process(pick), &announced) {
            // Who is blocked is in a race for what it waits for. What else it will touch, its timer among it, would order
            // it behind who took that.
            announced.retain(|access| possible || matches!(access.effect, Effect::Acquire | Effect::Share));
            let signature = signature(&announced);
            let step = Step { process: process(pick), footprint: &announced, signature, last: false };
            self.scratch.immediate.find(&self.clocks, &self.touched, step);
            let mut races = std::mem::take(&mut self.scratch.immediate.races);
            self.look_behind_sections(&mut races, pick, &announced);
            self.scratch.immediate.races = races;
            self.reverse_all(pick, 0..0);
        }
        self.scratch.announced = announced;
    }

    /// Whether a blocked process waits for something that no order of the same events gives it.
    fn awaits_what_never_came(&self, process: usize, announced: &[Access]) -> bool {
        let last = self.clocks.last(process).map_or(0, |event| event + 1);
        announced.iter().filter(|access| access.effect == Effect::Await).any(|wanted| {
            // Older wake-ups of the same worker are used up.
            let from = if wanted.class == Class::Wake { last } else { 0 };
            let given = Access { effect: Effect::Enable, ..*wanted };
            let mut events = self.clocks.events()[from..].iter();
            !events.any(|event| self.touched[event.footprint.clone()].contains(&given))
        })
    }

    /// A section that gives a lock up and takes it again is in a race with a step that wants the lock, and that cannot be
    /// executed before the section: it is in a race with what took the lock before as well.
    fn look_behind_sections(&self, races: &mut Vec<usize>, pick: Pick, footprint: &[Access]) {
        let mut looked_at = 0;
        while let Some(race) = races.get(looked_at) {
            looked_at += 1;
            let section = self.section(*race);
            let depth = self.clocks.events()[section.start].decisions.start;
            let choices = &self.choices[self.nodes[depth].choices.clone()];
            if section.len() == 1 || choices.iter().any(|choice| choice.pick == pick) {
                continue;
            }
            let taken = |event: &usize| {
                let event = &self.clocks.events()[*event];
                event.process != process(pick) && takes(&self.touched[event.footprint.clone()], footprint)
            };
            races.extend((0..section.start).rev().find(taken).filter(|event| !races.contains(event)));
        }
    }

    /// Has `pick` tried before each event that it is in a race with: see [`Dpor::reverse`].
    fn reverse_all(&mut self, pick: Pick, values: Range<usize>) {
        for race in 0..self.scratch.immediate.races.len() {
            self.reverse(self.scratch.immediate.races[race], pick, values.clone());
        }
    }

    /// The step of `pick`, whose values stand at `values` of the path, shall also be tried before the event
    /// `race`: in its pre-state, after those events since that do not depend on it. Any process that can
    /// begin with that will do (an initial of that sequence; source sets). An atomic section is one event.
    fn reverse(&mut self, race: usize, pick: Pick, values: Range<usize>) {
        self.note_follower(race, pick);
        self.ask_before(race, |dpor, section, depth, first| {
            dpor.initial(section, depth, pick, values, first)
        });
    }

    /// Has a choice tried at the state before an event, and before the atomic section that it belongs to: the one that
    /// `choose` finds, given the section, the state and memory to use again.
    fn ask_before(
        &mut self,
        event: usize,
        choose: impl FnOnce(&Dpor<S>, Range<usize>, usize, &mut Vec<u32>) -> Option<usize>,
    ) {
        let section = self.section(event);
        let depth = self.clocks.events()[section.start].decisions.start;
        if self.nodes[depth].closed {
            return;
        }
        let mut first = std::mem::take(&mut self.scratch.first);
        first.clear();
        if let Some(choice) = choose(self, section, depth, &mut first) {
            self.choices[choice].state = State::Todo;
        }
        self.scratch.first = first;
    }

    /// The next step of `pick` depends on the event `race`, which may free memory. Before it, it may get other
    /// memory, and touch nothing that the free touches. It wakes the free all the same: what comes then was not
    /// explored behind the free.
    fn note_follower(&mut self, race: usize, pick: Pick) {
        if !has(&self.touched[self.clocks.events()[race].footprint.clone()], Access::FREES) {
            return;
        }
        let process = process(pick);
        let number = self.clocks.last(process).map_or(1, |last| self.clocks.events()[last].index + 1);
        let follower = (process as u32, number);
        let depth = self.clocks.events()[self.section(race).start].decisions.start;
        let followers = &mut self.nodes[depth].followers;
        if !followers.contains(&follower) {
            followers.push(follower);
        }
    }

    /// The events of the atomic section that an event belongs to, up to it.
    pub(super) fn section(&self, event: usize) -> Range<usize> {
        let begins = |event: &usize| {
            let depth = self.clocks.events()[*event].decisions.start;
            !self.nodes[depth].restricted
        };
        (0..=event).rev().find(begins).expect("a section has a beginning")..event + 1
    }

    /// The events of the atomic section that begins with this one, as far as it was executed before others made steps.
    fn group(&self, first: usize) -> Range<usize> {
        let events = &self.clocks.events()[first + 1..];
        let rest = events.iter().take_while(|event| self.nodes[event.decisions.start].restricted).count();
        first..first + 1 + rest
    }

    /// The events after `race` that do not depend on it, but for those of `without` and what depends on that, shall
    /// also be tried before it.
    pub(super) fn reverse_without(&mut self, race: usize, without: usize) {
        self.ask_before(race, |dpor, section, depth, first| {
            match dpor.beginning(section, depth, Some(without), first) {
                Begins::With(choice) => Some(choice),
                Begins::Covered | Begins::Nowhere => None,
            }
        });
    }

    /// A choice at the state `depth` that begins with what [`Dpor::reverse`] wants; `None` if one is made
    /// anyway, or if there is none.
    fn initial(
        &self,
        section: Range<usize>,
        depth: usize,
        pick: Pick,
        values: Range<usize>,
        first: &mut Vec<u32>,
    ) -> Option<usize> {
        let candidate = match self.beginning(section.clone(), depth, None, first) {
            Begins::Covered => return None,
            Begins::With(choice) => Some(choice),
            Begins::Nowhere => None,
        };
        let row = self.scratch.immediate.before.row();
        if !begins(first, process(pick), u32::MAX - 1, [row]) {
            return candidate;
        }
        match self.look_up(depth, pick, values) {
            Cover::Covered if self.follows(section, depth, pick) => candidate,
            Cover::Covered => None,
            Cover::Possible(choice) => Some(choice),
            // It waited for the event.
            Cover::Impossible => candidate,
        }
    }

    /// What the events after `section` that do not depend on it begin with, if that is tried at the state `depth`.
    /// Sections depend on it as a whole, since none can be left before its end. `first` gets the first event of each process.
    fn beginning(
        &self,
        section: Range<usize>,
        depth: usize,
        without: Option<usize>,
        first: &mut Vec<u32>,
    ) -> Begins {
        let events = self.clocks.events();
        let mut candidate = Begins::Nowhere;
        // What depends on the section only in that its own section does, or on that.
        let mut behind = Vec::new();
        let mut next = section.end;
        while next < events.len() {
            let group = self.group(next);
            next = group.end;
            let comes_after = |i: usize| {
                let mut earlier = section.clone().chain(without).chain(behind.iter().copied());
                Some(i) == without || earlier.any(|earlier| self.clocks.before(earlier, i))
            };
            if group.clone().any(comes_after) {
                if group.len() > 1 {
                    behind.extend(group);
                }
                continue;
            }
            let goes_on =
                (self.scratch.goes_on && next == events.len()).then(|| self.scratch.immediate.before.row());
            let rows = group.clone().map(|i| self.clocks.row(i)).chain(goes_on);
            let event = &events[group.start];
            if !begins(first, event.process, event.index, rows) {
                continue;
            }
            let Decision::Pick(pick) = self.path[event.decisions.start] else {
                unreachable!("it has a pick")
            };
            match (self.look_up(depth, pick, event.decisions.start + 1..event.decisions.end), candidate) {
                (Cover::Covered, _) => return Begins::Covered,
                (Cover::Possible(choice), Begins::Nowhere) => candidate = Begins::With(choice),
                _ => {}
            }
        }
        candidate
    }

    /// Whether a step with these values, at these places of the path, is tried at a state.
    fn look_up(&self, depth: usize, pick: Pick, values: Range<usize>) -> Cover {
        let node = &self.nodes[depth];
        let choices = &self.choices[node.choices.clone()];
        let Some(i) = choices.iter().position(|c| c.pick == pick) else { return Cover::Impossible };
        let asleep =
            || self.sleep.contains(node.asleep.clone(), pick, self.path[values.clone()].iter().map(value));
        if choices[i].state != State::Idle || asleep() {
            return Cover::Covered;
        }
        Cover::Possible(node.choices.start + i)
    }

    /// Picks that were possible before the last one, and that it took away for good: all others if it
    /// ended the execution, else timeouts that it cancelled or overtook, and what a worker would have done
    /// had its time not been up. Who became blocked has its race found when it goes on, or its
    /// time is up, or in the end. An atomic section keeps all others from being picked, so that they are tried where
    /// it begins.
    fn try_displaced(&mut self, system: &S, pick: Pick, depth: usize, last: bool) {
        let view = system.view();
        let events = self.clocks.events();
        let mut before = events.iter().rev().map(|event| event.decisions.start);
        let begins = |depth: &usize| !self.nodes[*depth].restricted;
        let start = Some(depth).filter(begins).or_else(|| before.find(begins));
        let start = start.expect("a section has a beginning");
        if self.nodes[start].closed {
            return;
        }
        for choice in &mut self.choices[self.nodes[start].choices.clone()] {
            let gone = match choice.pick {
                Pick::Timeout(worker) => view.timeout != Some(worker),
                Pick::Step(worker) => {
                    pick == Pick::Timeout(worker) || view.workers[worker.index()].state == WorkerState::Ended
                }
            };
            if choice.state == State::Idle && (last || gone) {
                choice.state = State::Todo;
            }
        }
    }
}

/// Whether nothing of a sequence, which is asked about in its order, happens before an event of this process and index, or
/// before those that follow it in its section: their clocks are `rows`. `first` has the index of the first event of each
/// process so far.
fn begins<'a>(
    first: &mut Vec<u32>,
    process: usize,
    index: u32,
    rows: impl IntoIterator<Item = &'a [u32]>,
) -> bool {
    if first.len() <= process {
        first.resize(process + 1, u32::MAX);
    }
    let seen = first[process] != u32::MAX;
    first[process] = first[process].min(index);
    let mut clocks = rows.into_iter().flat_map(|row| row.iter().zip(first.iter()).enumerate());
    !seen && !clocks.any(|(r, (n, first))| r != process && n >= first)
}

/// How a sequence that is wanted at a state can begin there.
#[derive(Clone, Copy)]
enum Begins {
    /// In a way that is tried there, or elsewhere.
    Covered,
    /// With this choice.
    With(usize),
    Nowhere,
}

enum Cover {
    /// It is tried there, or elsewhere.
    Covered,
    /// This choice would try it.
    Possible(usize),
    /// It cannot be picked there.
    Impossible,
}
