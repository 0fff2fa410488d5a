//! Finds the races of a step with earlier ones, and adds the choices that they require.

use super::changed::Changed;
use super::immediate::{Immediate, Step};
use super::sleep::{has, value};
use super::{Choice, Dpor, Node, State};
use crate::search::clocks::process;
use crate::search::dependence::{signature, takes};
use crate::system::{Access, Class, Decision, Effect, System};
use crate::view::WorkerState;
use crate::{Pick, WorkerId};
use std::iter;
use std::ops::Range;

/// Memory for values that are computed for every step.
#[derive(Debug, Default)]
pub struct Scratch {
    immediate: Immediate,
    /// For each process, the index of its first event among those that do not depend on the race's event.
    first: Vec<u32>,
    announced: Vec<Access>,
    /// Whether the step whose races are looked for continues the section of the last event.
    goes_on: bool,
}

impl<S: System> Dpor<S> {
    /// Handles a complete step at the end of the path: makes it an event, and adds choices that reverse its
    /// races. `last`: it ended the execution by itself.
    pub(super) fn complete(&mut self, system: &S, pick: Pick, depth: usize, last: bool) {
        let footprint = self.gather(system);
        let signature = signature(&self.touched[footprint.clone()]);
        let process = process(pick);
        let step = Step { process, footprint: &self.touched[footprint.clone()], signature, last };
        self.scratch.immediate.find(&self.clocks, &self.touched, step);
        if !self.replaying {
            self.scratch.goes_on = self.nodes[depth].restricted;
            let mut races = std::mem::take(&mut self.scratch.immediate.races);
            self.look_behind(&mut races, pick, &self.touched[footprint.clone()]);
            self.scratch.immediate.races = races;
            self.reverse_all(pick, depth + 1..self.path.len());
            self.try_displaced(system, pick, depth, last);
            self.scratch.goes_on = false;
        }
        let displaced = self.displaced_sleepers(system, pick, depth);
        let decisions = depth..self.path.len();
        self.clocks.push(process, &self.scratch.immediate.before, footprint, signature, decisions);
        self.done.push(&self.clocks, self.nodes[depth].operation, self.nodes[depth].worker);
        self.note_change(pick, depth);
        let event = self.clocks.events().len() - 1;
        let displaced = displaced.into_iter().map(|footprint| Changed { event, waker: event, footprint });
        self.changed.extend(displaced);
    }

    /// Handles a state in which no worker is enabled, or only workers that sleep or spin. A worker that is
    /// still blocked has not executed the operation that it waits for, but could have in another order.
    /// `cut_off`: this is also true of all picks that are still possible, or that the last step made possible
    /// when it ended the execution.
    pub(super) fn find_races_of_blocked(&mut self, system: &S, cut_off: bool) {
        let timeouts = system.view().timeouts.iter().filter(|_| cut_off).map(|worker| Pick::Timeout(*worker));
        let workers = (0..system.view().workers.len() as u32).map(|worker| Pick::Step(WorkerId(worker)));
        for pick in workers.chain(timeouts) {
            let state = system.view().workers[pick.worker().index()].state;
            let possible = matches!(pick, Pick::Timeout(_)) || state == WorkerState::Enabled;
            if state != WorkerState::Ended && (cut_off || !possible) {
                self.find_races_of(system, pick, possible);
            }
        }
    }

    /// Handles the bound on steps: it is not known what an enabled worker does after its next step. So the
    /// worker is marked to be tried at the first state since its last step where it could be picked, unless
    /// it is tried somewhere.
    pub(super) fn try_starved(&mut self, system: &S) {
        for worker in system.view().enabled {
            let pick = Pick::Step(*worker);
            let since =
                self.clocks.last(process(pick)).map_or(0, |event| self.clocks.events()[event].decisions.end);
            let here =
                |node: &Node<S::Snapshot>| node.choices.clone().find(|i| self.choices[*i].pick == pick);
            let first = (since..self.nodes.len()).find_map(|depth| Some((depth, here(&self.nodes[depth])?)));
            if let Some((depth, choice)) = first
                && !self.nodes[depth].is_elsewhere()
                && self.choices[choice].state == State::Idle
            {
                self.ask(depth, choice);
            }
        }
    }

    /// Finds the races of a pick that is not executed. `possible`: whether it could be executed now.
    pub(super) fn find_races_of(&mut self, system: &S, pick: Pick, possible: bool) {
        let mut announced = std::mem::take(&mut self.scratch.announced);
        announced.clear();
        system.announced(pick, &mut announced);
        if possible || !self.awaits_what_never_came(process(pick), &announced) {
            // A blocked worker is in a race for what it waits for. Its other accesses, such as that of its
            // timer, would order it after the worker that took this.
            announced.retain(|access| possible || matches!(access.effect, Effect::Acquire | Effect::Share));
            let signature = signature(&announced);
            let step = Step { process: process(pick), footprint: &announced, signature, last: false };
            self.scratch.immediate.find(&self.clocks, &self.touched, step);
            let mut races = std::mem::take(&mut self.scratch.immediate.races);
            self.look_behind(&mut races, pick, &announced);
            self.scratch.immediate.races = races;
            self.reverse_all(pick, 0..0);
        }
        self.scratch.announced = announced;
    }

    /// Whether a blocked process waits for something that no order of the same events provides.
    fn awaits_what_never_came(&self, process: usize, announced: &[Access]) -> bool {
        let last = self.clocks.last(process).map_or(0, |event| event + 1);
        announced.iter().filter(|access| access.effect == Effect::Await).any(|wanted| {
            // Earlier wake-ups of the same worker are used up.
            let from = if wanted.class == Class::Wake { last } else { 0 };
            let given = Access { effect: Effect::Enable, ..*wanted };
            let mut events = self.clocks.events()[from..].iter();
            !events.any(|event| self.touched[event.footprint.clone()].contains(&given))
        })
    }

    /// Adds races with events that took a lock before. A step that wants the lock may be in a race with an event before
    /// which it cannot be executed: with a section that releases the lock and takes it again, or with a reader that comes
    /// while another one has the lock. Then it is also in a race with the event that took the lock before that one, which
    /// may happen before it.
    fn look_behind(&self, races: &mut Vec<usize>, pick: Pick, footprint: &[Access]) {
        let mut looked_at = 0;
        while let Some(race) = races.get(looked_at) {
            looked_at += 1;
            let section = self.section(*race);
            let depth = self.clocks.events()[section.start].decisions.start;
            let choices = &self.choices[self.nodes[depth].choices.clone()];
            let taken = |event: &usize| {
                let event = &self.clocks.events()[*event];
                event.process != process(pick) && takes(&self.touched[event.footprint.clone()], footprint)
            };
            if section.len() == 1 && !taken(race) || choices.iter().any(|choice| choice.pick == pick) {
                continue;
            }
            races.extend((0..section.start).rev().find(taken).filter(|event| !races.contains(event)));
        }
    }

    /// Adds a choice so that `pick` is tried before each event that it is in a race with: see
    /// [`Dpor::reverse`].
    fn reverse_all(&mut self, pick: Pick, values: Range<usize>) {
        for race in 0..self.scratch.immediate.races.len() {
            self.reverse(self.scratch.immediate.races[race], pick, values.clone());
        }
    }

    /// Adds a choice so that the step of `pick`, whose values are at `values` of the path, is also tried
    /// before the event `race`: from the state before it, after those later events that do not depend on it.
    /// Any process that can begin this sequence is sufficient (an initial of the sequence; source sets). An
    /// atomic section is one event.
    fn reverse(&mut self, race: usize, pick: Pick, values: Range<usize>) {
        self.note_follower(race, pick);
        self.ask_before(race, |dpor, section, depth, first| {
            dpor.initial(section, depth, pick, values.clone(), first)
        });
    }

    /// Adds a choice to the state before an event, or before the atomic section that the event belongs to:
    /// the one that `choose` finds, given the section, the state and memory to reuse.
    fn ask_before(
        &mut self,
        event: usize,
        choose: impl Fn(&Dpor<S>, Range<usize>, usize, &mut Vec<u32>) -> Option<usize>,
    ) {
        let section = self.section(event);
        let depth = self.clocks.events()[section.start].decisions.start;
        if self.nodes[depth].is_elsewhere() {
            return;
        }
        let mut first = std::mem::take(&mut self.scratch.first);
        first.clear();
        if let Some(choice) = choose(self, section.clone(), depth, &mut first) {
            match self.nodes[depth].shared {
                None => self.choices[choice].state = State::Todo,
                // Others may have asked for something by now that begins the sequence, too.
                Some(state) => {
                    let shared = self.shared.clone();
                    let mut tree = shared.lock();
                    self.refresh(depth, &tree);
                    first.clear();
                    if let Some(choice) = choose(self, section, depth, &mut first) {
                        tree.ask(state, self.choices[choice].pick);
                        self.choices[choice].state = State::Done;
                    }
                }
            }
        }
        self.scratch.first = first;
    }

    /// Records that the next step of `pick` depends on the event `race`, which may free memory. Executed
    /// before the free, that step may get other memory, and touch nothing that the free touches. It must wake
    /// the free all the same, because the steps after it were not explored after the free.
    fn note_follower(&mut self, race: usize, pick: Pick) {
        if !has(&self.touched[self.clocks.events()[race].footprint.clone()], Access::FREES) {
            return;
        }
        let process = process(pick);
        let number = self.clocks.last(process).map_or(1, |last| self.clocks.events()[last].index + 1);
        let follower = (process as u32, number);
        let depth = self.clocks.events()[self.section(race).start].decisions.start;
        let followers = &mut self.nodes[depth].followers;
        if followers.contains(&follower) {
            return;
        }
        followers.push(follower);
        let (path, node) = (&self.path, &self.nodes[depth]);
        if let (Some(state), Decision::Pick(pick)) = (node.shared, path[depth]) {
            let values = path[depth + 1..].iter().map_while(|decision| match decision {
                Decision::Value(value) => Some(*value),
                Decision::Pick(_) => None,
            });
            self.shared.lock().note_follower(state, pick, values.collect(), follower);
        }
    }

    /// The events of the atomic section that an event belongs to, up to and including it.
    pub(super) fn section(&self, event: usize) -> Range<usize> {
        let begins = |event: &usize| {
            let depth = self.clocks.events()[*event].decisions.start;
            !self.nodes[depth].restricted
        };
        (0..=event).rev().find(begins).expect("a section has a beginning")..event + 1
    }

    /// The events of the atomic section that begins with this one, up to the first step of another worker.
    fn group(&self, first: usize) -> Range<usize> {
        let events = &self.clocks.events()[first + 1..];
        let rest = events.iter().take_while(|event| self.nodes[event.decisions.start].restricted).count();
        first..first + 1 + rest
    }

    /// Adds a choice so that the events after `race` that do not depend on it are also tried before it;
    /// except for `without` and the events that depend on that.
    pub(super) fn reverse_without(&mut self, race: usize, without: usize) {
        self.ask_before(race, |dpor, section, depth, first| {
            match dpor.beginning(section, depth, Some(without), first) {
                Begins::With(choice) => Some(choice),
                Begins::Covered | Begins::Nowhere => None,
            }
        });
    }

    /// A choice at the state `depth` that begins the sequence of [`Dpor::reverse`]; `None` if one is tried
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
            Cover::Covered
                if self.follows(section.end..self.clocks.events().len(), &section, depth, pick) =>
            {
                candidate
            }
            Cover::Covered => None,
            Cover::Possible(choice) => Some(choice),
            // It waited for the event.
            Cover::Impossible => candidate,
        }
    }

    /// How the events after `section` that do not depend on it can begin at the state `depth`. Sections
    /// depend on it as a whole, since none can be left before its end. `first` receives the index of the
    /// first event of each process.
    fn beginning(
        &self,
        section: Range<usize>,
        depth: usize,
        without: Option<usize>,
        first: &mut Vec<u32>,
    ) -> Begins {
        let events = self.clocks.events();
        let mut candidate = Begins::Nowhere;
        // Events of sections some part of which depends on `section`: events that depend on these come after
        // `section` too.
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
            let pick = self.picked_at(event.decisions.start);
            match (self.look_up(depth, pick, event.decisions.start + 1..event.decisions.end), candidate) {
                (Cover::Covered, _) if self.follows(section.end..group.start, &section, depth, pick) => {}
                (Cover::Covered, _) => return Begins::Covered,
                (Cover::Possible(choice), Begins::Nowhere) => candidate = Begins::With(choice),
                _ => {}
            }
        }
        candidate
    }

    /// Whether a step with these values, given by their places on the path, is tried at a state.
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

    /// Marks picks that were possible before the last one and that it made impossible for good: all others if
    /// it ended the execution, otherwise timeouts that it cancelled or overtook, and the step that a worker
    /// would have made if its timeout had not fired. If it blocked a worker, that race is found when the
    /// worker continues, when its timeout fires, or at the end. In an atomic section no other worker can be
    /// picked, so the picks are tried where the section begins.
    fn try_displaced(&mut self, system: &S, pick: Pick, depth: usize, last: bool) {
        let start = self.start_of_section(depth);
        if self.nodes[start].is_elsewhere() {
            return;
        }
        for choice in self.nodes[start].choices.clone() {
            let Choice { pick: other, state, .. } = self.choices[choice];
            if state == State::Idle && (last || is_gone(system, pick, other)) {
                self.ask(start, choice);
            }
        }
    }

    /// The footprints of sleeping picks that the last one made impossible for good. What they would be after a later event
    /// that wakes them, with that event tried before the last pick, is not explored where they sleep: see [`Changed`].
    fn displaced_sleepers(&self, system: &S, pick: Pick, depth: usize) -> Vec<Range<usize>> {
        let node = &self.nodes[self.start_of_section(depth)];
        let others = self.choices[node.choices.clone()].iter().map(|choice| choice.pick);
        let gone = others.filter(|other| *other != pick && is_gone(system, pick, *other));
        gone.flat_map(|other| self.sleep.footprints(node.asleep.clone(), other)).collect()
    }

    /// The node where the atomic section of a step begins, which is the step's own one if it is not in any. `depth`: the
    /// step's node, whose step is no event yet.
    fn start_of_section(&self, depth: usize) -> usize {
        let earlier = self.clocks.events().iter().rev().map(|event| event.decisions.start);
        let mut nodes = iter::once(depth).chain(earlier);
        nodes.find(|depth| !self.nodes[*depth].restricted).expect("a section has a beginning")
    }
}

/// Whether the last step, with `pick`, made another pick impossible for good.
fn is_gone<S: System>(system: &S, pick: Pick, other: Pick) -> bool {
    let view = system.view();
    match other {
        Pick::Timeout(worker) => !view.timeouts.contains(&worker),
        Pick::Step(worker) => {
            pick == Pick::Timeout(worker) || view.workers[worker.index()].state == WorkerState::Ended
        }
    }
}

/// Whether an event can begin a sequence whose events are passed in order: whether no earlier event of the
/// sequence happens before the event with this process and index, or before those that follow it in its
/// section; their clocks are `rows`. `first` contains the index of the first event of each process so far.
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

/// How a wanted sequence can begin at a state.
#[derive(Clone, Copy)]
enum Begins {
    /// With a choice that is tried there, or elsewhere.
    Covered,
    /// With this choice, which is not tried yet.
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
