//! Work that is stored, or taken over.

use super::shared::Link;
use super::sharing::Base;
use super::{Dpor, State};
use crate::search::stored::{check_branch, check_decision, misfit};
use crate::search::{Branch, Item};
use crate::system::{Decision, Status, System};

impl<S: System> Dpor<S> {
    /// Starts with an item: the path becomes its prefix, without anything being tried. Returns the status of
    /// a program that has ended before its first step, or why the item does not fit the program.
    pub(super) fn begin(&mut self, system: &mut S, item: Item) -> Result<Option<Status>, String> {
        self.path.clear();
        self.clocks.clear();
        self.done.clear();
        self.choices.clear();
        self.sleep.truncate(0);
        self.touched.clear();
        self.mark = None;
        self.base = None;
        self.replaying = true;
        system.restart();
        self.here = true;
        let status = system.status();
        if status.is_final() {
            self.count(status);
            self.finished += 1;
            return Ok(Some(status));
        }
        self.push_picks(system, None);
        let links = self.links(&item)?;
        self.base = item.place.zip(links.last()).map(|(place, link)| Base::new(place, link.depth));
        let mut links = links.into_iter().peekable();
        let mut branches = item.branches.into_iter().peekable();
        let mut first = true;
        let prefix = item.prefix.to_vec();
        for depth in 0..=prefix.len() {
            let decision = prefix.get(depth);
            if let Some(branch) = branches.peek().filter(|branch| branch.depth as usize == depth) {
                check_branch(system, branch, decision, depth)?;
            }
            if let Some(decision) = decision {
                check_decision(system, *decision, depth)?;
                self.mark(*decision);
            }
            let branch = branches.next_if(|branch| branch.depth as usize == depth);
            match (links.next_if(|link| link.depth == depth), branch) {
                (Some(link), branch) => self.link(link, branch),
                (None, Some(branch)) => {
                    self.overlay(&branch, first);
                    first = false;
                }
                (None, None) if decision.is_some() => self.close(depth),
                (None, None) => {}
            }
            if let Some(decision) = decision
                && self.execute(system, *decision).is_some()
            {
                return Err(misfit(depth + 1, "the program has ended"));
            }
        }
        self.replaying = false;
        self.settle();
        Ok(None)
    }

    /// The shared states on the way to an item's part.
    fn links(&self, item: &Item) -> Result<Vec<Link>, String> {
        let Some(place) = item.place else { return Ok(Vec::new()) };
        self.shared.lock().links(place).ok_or_else(|| "it belongs to another search".into())
    }

    /// Applies a branch of the item to the last node. `first`: no state before it has a branch, so the branch has the
    /// complete sleep set.
    pub(super) fn overlay(&mut self, branch: &Branch, first: bool) {
        let depth = self.nodes.len() - 1;
        let origin = self.nodes[depth].origin;
        if first {
            self.sleep.truncate(self.nodes[origin].asleep.start);
        }
        for tried in &branch.tried {
            self.sleep.insert(tried, &mut self.touched);
        }
        let node = &mut self.nodes[origin];
        node.asleep.end = self.sleep.len();
        if first {
            node.inherited = node.asleep.end;
        }
        if origin < depth {
            self.nodes[depth].values = branch.values.clone();
            return;
        }
        node.fresh = branch.todo.is_empty();
        for choice in self.choices[node.choices.clone()].iter_mut().filter(|c| c.state == State::Idle) {
            let mut asleep =
                branch.tried.iter().filter(|tried| tried.pick == choice.pick && tried.woken.is_none());
            choice.drowsy |= asleep.clone().next().is_some();
            if asleep.any(|tried| tried.whole) {
                choice.state = State::Asleep;
            } else if branch.todo.contains(&Decision::Pick(choice.pick)) {
                choice.state = State::Todo;
            }
        }
    }

    /// Closes a node: nothing is tried there any more, except for the path's next decision.
    fn close(&mut self, depth: usize) {
        let node = &mut self.nodes[depth];
        node.closed = true;
        node.values = 0..0;
        node.snapshot = None;
        let choices = &mut self.choices[node.choices.clone()];
        choices.iter_mut().filter(|c| c.state != State::Current).for_each(|c| c.state = State::Done);
    }

    /// All that is left along the path, as an item.
    pub(super) fn remaining(&self) -> Item {
        let mut branches = Vec::new();
        let last = self.nodes.len() - 1;
        for (depth, node) in self.nodes.iter().enumerate() {
            let waits = node.origin < depth;
            // A part that was taken and not begun yet.
            let taken = depth == last && self.base.is_some_and(|base| base.depth == depth);
            if node.closed && !taken || waits && node.values.is_empty() {
                continue;
            }
            let origin = &self.nodes[node.origin];
            let asleep = match branches.is_empty() {
                true => origin.asleep.clone(),
                false => node.inherited..node.asleep.end,
            };
            branches.push(Branch {
                depth: depth as u32,
                tried: self.sleep.tried(asleep, &self.touched).collect(),
                todo: self.picks(depth, |state| state == State::Todo),
                values: node.values.clone(),
                ..Branch::default()
            });
        }
        Item {
            prefix: self.path[..self.nodes.len() - 1].into(),
            branches,
            place: self.base.map(|base| base.place),
        }
    }

    fn picks(&self, depth: usize, wanted: impl Fn(State) -> bool) -> Vec<Decision> {
        let choices = &self.choices[self.nodes[depth].choices.clone()];
        choices.iter().filter(|c| wanted(c.state)).map(|c| Decision::Pick(c.pick)).collect()
    }
}
