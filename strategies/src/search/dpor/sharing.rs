//! What one search does at states that it shares with others: see [`super::shared`].

use super::shared::{Claim, Content, Link, NewState, Place, Tree};
use super::sleep::{has, value};
use super::{Dpor, State};
use crate::search::{Branch, Tried};
use crate::system::{Access, Decision, System};

/// The part of a shared state that a search has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Base {
    pub place: Place,
    /// The depth of the state.
    pub depth: usize,
    /// Whether nothing more has to be reported before its end.
    reported: bool,
}

impl Base {
    pub fn new(place: Place, depth: usize) -> Base {
        Base { place, depth, reported: false }
    }
}

impl<S: System> Dpor<S> {
    /// Shares the states down to the shallowest one where something is to be tried that another search could take now.
    /// Returns whether there is one. The search goes on below that state.
    pub(super) fn share_states(&mut self) -> bool {
        let last = self.nodes.len().saturating_sub(1);
        let Some(deepest) = (0..last).find(|depth| self.has_something_for_others(*depth)) else {
            return false;
        };
        let mut base = self.base.map(|base| base.place);
        let shared = self.shared.clone();
        let mut tree = shared.lock();
        for depth in 0..=deepest {
            if !self.nodes[depth].closed
                && let Some(content) = self.content(depth)
            {
                base = Some(self.share_state(&mut tree, depth, base, content));
            }
        }
        self.base = base.map(|place| Base { place, depth: deepest, reported: true });
        true
    }

    /// Whether there is something to be tried at a state of the path that need not wait until the path's step is
    /// explored.
    fn has_something_for_others(&self, depth: usize) -> bool {
        let node = &self.nodes[depth];
        if node.closed {
            false
        } else if node.origin < depth {
            node.values.clone().any(|value| !self.value_sleeps(depth, value))
        } else {
            let asked = self.choices[node.choices.clone()].iter().any(|c| c.state == State::Todo);
            asked && self.is_known(depth)
        }
    }

    /// Whether everything is known about the step that the path makes at a state.
    fn is_known(&self, depth: usize) -> bool {
        let ends = self.nodes[depth + 1..].first().is_some_and(|next| next.origin == depth + 1);
        ends && !has(
            &self.touched[self.clocks.events()[self.nodes[depth].events].footprint.clone()],
            Access::FREES,
        )
    }

    /// What is shared of a state of the path; `None` if there is nothing, since no values are left.
    fn content(&self, depth: usize) -> Option<Content> {
        let node = &self.nodes[depth];
        if node.origin < depth {
            return (!node.values.is_empty()).then(|| Content::Values(node.values.clone()));
        }
        let current = self.picked_at(depth);
        let choices = self.choices[node.choices.clone()].iter().filter(|c| c.state == State::Todo);
        let own = self.sleep.tried(node.inherited..node.asleep.end, &self.touched);
        let mut events: Vec<Tried> = own.filter(|tried| tried.pick == current).collect();
        let mut followers = Vec::new();
        let next = (depth + 1..self.nodes.len()).find(|next| self.nodes[*next].origin == *next);
        if let Some(next) = next {
            let values: Vec<u64> = self.path[depth + 1..next].iter().map(value).collect();
            followers = node.followers.iter().map(|follower| (values.clone(), *follower)).collect();
            events.push(self.step_at(depth, next, values));
        }
        let asked = choices.map(|c| c.pick).collect();
        Some(Content::Picks { current, events, followers, known: self.is_known(depth), asked })
    }

    /// The path's step from a state to the one at `next`, so that it can sleep.
    fn step_at(&self, depth: usize, next: usize, values: Vec<u64>) -> Tried {
        let pick = self.picked_at(depth);
        let event = &self.clocks.events()[self.nodes[depth].events];
        let footprint = self.touched[event.footprint.clone()].to_vec();
        Tried {
            pick,
            frees: self.nodes[depth].other_followers && has(&footprint, Access::FREES),
            footprint,
            last: self.nodes[next].restricted,
            whole: values.is_empty(),
            values,
            spins: false,
            woken: None,
            followers: Vec::new(),
        }
    }

    fn share_state(
        &mut self,
        tree: &mut Tree,
        depth: usize,
        parent: Option<Place>,
        content: Content,
    ) -> Place {
        let node = &self.nodes[depth];
        let tried = |range| self.sleep.tried(range, &self.touched);
        let others = |tried: &Tried| Decision::Pick(tried.pick) != self.path[node.origin];
        let (inherited, tried) = match content {
            Content::Picks { .. } => (
                tried(node.asleep.start..node.inherited).collect(),
                tried(node.inherited..node.asleep.end).filter(others).collect(),
            ),
            Content::Values(_) => (tried(self.nodes[node.origin].asleep.clone()).collect(), Vec::new()),
        };
        let prefix = self.path[..depth].into();
        let place = tree.add(NewState { prefix, parent, inherited, tried, content });
        let node = &mut self.nodes[depth];
        node.shared = Some(place.state);
        node.closed = true;
        node.values = 0..0;
        let choices = &mut self.choices[node.choices.clone()];
        choices.iter_mut().filter(|c| c.state == State::Todo).for_each(|c| c.state = State::Done);
        let origin = node.origin;
        self.nodes[origin].rest = None;
        place
    }

    /// Reports the step with which this search begins its part, if that is all there is to know of the part.
    pub(super) fn report_first_step(&mut self, depth: usize) {
        let Some(base) = self.base.as_mut().filter(|base| base.depth == depth && !base.reported) else {
            return;
        };
        base.reported = true;
        let state = base.place.state;
        if self.is_known(depth) {
            let event = self.step_at(depth, depth + 1, Vec::new());
            self.shared.lock().report_known(state, event);
        }
    }

    /// Reports that the step of the path's last event is explored; `origin` is the state where it began.
    pub(super) fn report_explored(&self, origin: usize, event: Tried) {
        if let Some(state) = self.nodes[origin].shared {
            self.shared.lock().report(state, Tried { frees: false, ..event });
        }
    }

    /// Goes on with another part of the last node, if that is a shared state where one is available.
    pub(super) fn take_part_here(&mut self) -> bool {
        let depth = self.nodes.len() - 1;
        let Some(state) = self.nodes[depth].shared else { return false };
        let mut tree = self.shared.lock();
        if let Some(base) = self.base.take_if(|base| base.depth == depth) {
            tree.finish(base.place);
        }
        let Some(Claim { place, decision, tried }) = tree.claim(state) else { return false };
        drop(tree);
        self.base = Some(Base::new(place, depth));
        let node = &mut self.nodes[depth];
        match decision {
            Decision::Value(value) => node.values = value..value + 1,
            Decision::Pick(pick) => {
                let inherited = node.inherited;
                self.sleep.truncate(inherited);
                tried.iter().for_each(|tried| self.sleep.insert(tried, &mut self.touched));
                let node = &mut self.nodes[depth];
                node.asleep.end = self.sleep.len();
                node.other_followers = false;
                let choices = &mut self.choices[node.choices.clone()];
                choices.iter_mut().filter(|c| c.pick == pick).for_each(|c| c.state = State::Todo);
            }
        }
        true
    }

    /// Makes the last node, on the way to an item's part, a shared one. `branch`: the part itself, if it has not begun.
    pub(super) fn link(&mut self, link: Link, branch: Option<Branch>) {
        let Branch { todo, values, .. } = branch.unwrap_or_default();
        let Link { state, depth, inherited, tried, picks } = link;
        let slept = inherited.len();
        let tried = inherited.into_iter().chain(tried).collect();
        self.overlay(&Branch { depth: depth as u32, tried, todo, values, ..Branch::default() }, true);
        let node = self.nodes.last_mut().expect("a node of the prefix");
        node.shared = Some(state);
        node.closed = true;
        node.fresh = false;
        if node.origin == depth {
            node.inherited = node.asleep.start + slept;
        }
        let choices = &mut self.choices[node.choices.clone()];
        let others = choices.iter_mut().filter(|c| c.state == State::Idle && picks.contains(&c.pick));
        others.for_each(|c| c.state = State::Done);
    }

    /// Marks a choice at a state of the path to be tried.
    pub(super) fn ask(&mut self, depth: usize, choice: usize) {
        let Some(state) = self.nodes[depth].shared else {
            self.choices[choice].state = State::Todo;
            return;
        };
        self.shared.lock().ask(state, self.choices[choice].pick);
        self.choices[choice].state = State::Done;
    }

    /// Marks choices of a shared state that are tried there or asked for by now.
    pub(super) fn refresh(&mut self, depth: usize, tree: &Tree) {
        let Some(state) = self.nodes[depth].shared else { return };
        let picks = tree.picks(state);
        let choices = &mut self.choices[self.nodes[depth].choices.clone()];
        let others = choices.iter_mut().filter(|c| c.state == State::Idle && picks.contains(&c.pick));
        others.for_each(|c| c.state = State::Done);
    }

    /// Whether a value that is left at a state of the path sleeps there.
    pub(super) fn value_sleeps(&self, depth: usize, next: u64) -> bool {
        let origin = self.nodes[depth].origin;
        let pick = self.picked_at(origin);
        let values = self.path[origin + 1..depth].iter().map(value).chain([next]);
        self.sleep.contains(self.nodes[origin].asleep.clone(), pick, values)
    }
}
