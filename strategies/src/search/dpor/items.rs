//! Work that is stored, given away, or taken over.
//!
//! A race that is found below a state can add a choice at the state, but only in the search that has the
//! state. Before work at a state is given away, every possible pick there is therefore marked to be tried.
//! Below the state the two searches are independent, because sleep sets tell each of them what the other one
//! executes.

use super::sleep::has;
use super::{Dpor, State};
use crate::search::stored::{check_branch, check_decision, misfit};
use crate::search::{Branch, Item, Tried};
use crate::system::{Access, Decision, Status, System};

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
            match branches.next_if(|branch| branch.depth as usize == depth) {
                Some(branch) => {
                    self.overlay(&branch, first);
                    first = false;
                }
                None if decision.is_some() => self.close(depth),
                None => {}
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

    /// Applies a branch of the item to the last node.
    fn overlay(&mut self, branch: &Branch, first: bool) {
        let node = self.nodes.last_mut().expect("a node of the prefix");
        if node.origin < branch.depth as usize {
            node.values = branch.values.clone();
            return;
        }
        node.fresh = branch.todo.is_empty();
        for tried in &branch.tried {
            self.sleep.insert(tried, &mut self.touched);
        }
        node.asleep.end = self.sleep.len();
        if first {
            node.inherited = node.asleep.end;
        }
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
        for (depth, node) in self.nodes.iter().enumerate() {
            let waits = node.origin < depth;
            if node.closed || waits && node.values.is_empty() {
                continue;
            }
            let from = if branches.is_empty() { node.asleep.start } else { node.inherited };
            branches.push(Branch {
                depth: depth as u32,
                tried: self.sleep.tried(from..node.asleep.end, &self.touched).collect(),
                todo: self.picks(depth, |state| state == State::Todo),
                values: node.values.clone(),
                ..Branch::default()
            });
        }
        Item { prefix: self.path[..self.nodes.len() - 1].into(), branches }
    }

    /// Gives away all that is left at the shallowest state that has something left and continues with a step,
    /// including the values left in that step.
    pub(super) fn give_away(&mut self) -> Option<Item> {
        let mut depth = 0;
        loop {
            let next = (depth + 1..self.nodes.len()).find(|&next| self.nodes[next].origin == next)?;
            let todo = self.picks(depth, |state| matches!(state, State::Idle | State::Todo));
            let values: Vec<Branch> = (depth + 1..next)
                .filter(|&inside| !self.nodes[inside].values.is_empty())
                .map(|inside| Branch {
                    depth: inside as u32,
                    values: self.nodes[inside].values.clone(),
                    ..Branch::default()
                })
                .collect();
            let end = values.last().map_or(depth, |last| last.depth as usize);
            let tried = self.tried_at(depth, next, values.is_empty());
            (depth..next).for_each(|depth| self.close(depth));
            if !todo.is_empty() || !values.is_empty() {
                let branch = Branch { depth: depth as u32, tried, todo, ..Branch::default() };
                let branches = std::iter::once(branch).chain(values).collect();
                return Some(Item { prefix: self.path[..end].into(), branches });
            }
            depth = next;
        }
    }

    /// The sleep set at a state for a search that does not continue with the path's step from there to
    /// `next`. `whole`: no other values are left in that step.
    fn tried_at(&self, depth: usize, next: usize, whole: bool) -> Vec<Tried> {
        let Decision::Pick(pick) = self.path[depth] else { unreachable!("a step begins with a pick") };
        let event = &self.clocks.events()[self.nodes[depth].events];
        let mut tried: Vec<Tried> =
            self.sleep.tried(self.nodes[depth].asleep.clone(), &self.touched).collect();
        tried.push(Tried {
            pick,
            values: self.path[depth + 1..next].iter().map(super::value).collect(),
            footprint: self.touched[event.footprint.clone()].to_vec(),
            last: self.nodes[next].restricted,
            whole,
            spins: false,
            woken: None,
            followers: Vec::new(),
            // Some of its followers may not be known yet.
            frees: has(&self.touched[event.footprint.clone()], Access::FREES),
        });
        tried.iter_mut().filter(|t| t.pick == pick && t.woken.is_none()).for_each(|t| t.whole = whole);
        tried
    }

    fn picks(&self, depth: usize, wanted: impl Fn(State) -> bool) -> Vec<Decision> {
        let choices = &self.choices[self.nodes[depth].choices.clone()];
        choices.iter().filter(|c| wanted(c.state)).map(|c| Decision::Pick(c.pick)).collect()
    }
}
