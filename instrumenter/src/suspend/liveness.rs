//! Finds the locals that are live at each suspension site, and those that are live at the same time.
//!
//! Backward sweeps over the flat operators. A label's set contains the locals that are live where a branch to
//! it arrives. Only a loop's label is reached before it is known: it starts out empty, and the sweep is
//! repeated until no loop's set has grown. In structured code that takes about as many sweeps as the nesting
//! depth of loops, and never more than the number of loops plus one.
//!
//! Liveness is per site, not per function: a dead value in a frame would make equal states differ.

use super::body::Body;
use std::collections::BTreeMap;
use wasmparser::{Catch, Operator};

/// A set of locals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Locals(Box<[u64]>);

impl Locals {
    pub fn none(count: u32) -> Locals {
        Locals(vec![0; count.div_ceil(64) as usize].into())
    }

    pub fn insert(&mut self, local: u32) {
        self.0[local as usize / 64] |= 1 << (local % 64);
    }

    fn remove(&mut self, local: u32) {
        self.0[local as usize / 64] &= !(1 << (local % 64));
    }

    /// Removes the highest one, to plant a mutant.
    pub fn remove_last(&mut self) {
        if let Some(last) = self.iter().last() {
            self.remove(last);
        }
    }

    pub fn contains(&self, local: u32) -> bool {
        self.0[local as usize / 64] >> (local % 64) & 1 == 1
    }

    /// Adds all of `other`; returns whether the set has grown.
    pub fn union(&mut self, other: &Locals) -> bool {
        let mut grown = false;
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            grown |= *b & !*a != 0;
            *a |= b;
        }
        grown
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.iter().enumerate().flat_map(|(word, bits)| {
            let mut bits = *bits;
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros())?;
                bits &= bits - 1;
                Some(word as u32 * 64 + bit)
            })
        })
    }
}

/// Which locals clash, as a relation that need not be symmetric.
pub(super) struct Clashes(Vec<Locals>);

impl Clashes {
    pub fn none(count: u32) -> Clashes {
        Clashes(vec![Locals::none(count); count as usize])
    }

    /// Records that `local` is assigned while `live` are live.
    pub fn assigned(&mut self, local: u32, live: &Locals) {
        self.0[local as usize].union(live);
    }

    /// The locals that clash with this one.
    pub fn of(&self, local: u32) -> &Locals {
        &self.0[local as usize]
    }

    pub fn make_symmetric(&mut self) {
        for a in 0..self.0.len() {
            let row = std::mem::replace(&mut self.0[a], Locals::none(0));
            for b in row.iter().filter(|b| *b as usize != a) {
                self.0[b as usize].insert(a as u32);
            }
            self.0[a] = row;
        }
    }
}

/// Facts about a body's locals.
pub(super) struct Analysis {
    /// By site: the locals that are live right after the site's call, or at a handler that may catch its
    /// exception.
    pub sites: Vec<Locals>,
    /// Live at the function's beginning.
    pub beginning: Locals,
    /// Locals assigned while others are live. Does not include assignments at the beginning.
    pub clashes: Clashes,
}

pub(super) fn analyse(body: &Body, local_count: u32) -> Analysis {
    let none = Locals::none(local_count);
    let mut sweep = Sweep {
        body,
        live: none.clone(),
        labels: vec![],
        handlers: vec![none.clone()],
        loop_heads: BTreeMap::new(),
        sites: vec![none.clone(); body.sites.len()],
        clashes: Clashes::none(local_count),
        none,
    };
    while sweep.run() {}
    Analysis { sites: sweep.sites, beginning: sweep.live, clashes: sweep.clashes }
}

struct Label {
    /// Live where a branch to this label arrives.
    branch: Locals,
    /// Live at the start of the `else` arm.
    otherwise: Option<Locals>,
}

struct Sweep<'b, 'a> {
    body: &'b Body<'a>,
    live: Locals,
    labels: Vec<Label>,
    /// For each open try_table, innermost last: live at its handlers or at those around it.
    handlers: Vec<Locals>,
    /// By the instruction that opens the loop. Sets only grow, also between sweeps.
    loop_heads: BTreeMap<u32, Locals>,
    sites: Vec<Locals>,
    /// They only grow too; after the last sweep they are complete.
    clashes: Clashes,
    none: Locals,
}

impl Sweep<'_, '_> {
    /// One sweep; returns whether another one is needed.
    fn run(&mut self) -> bool {
        let body = self.body;
        let mut grown = false;
        let mut site = body.sites.len();
        for (index, instr) in body.instrs.iter().enumerate().rev() {
            match &instr.operator {
                Operator::End => {
                    let opener = body.instrs.get(instr.opener as usize).map(|i| &i.operator);
                    let mut label = Label { branch: self.none.clone(), otherwise: None };
                    match opener {
                        None => self.live = self.none.clone(),
                        Some(Operator::Loop { .. }) => {
                            if let Some(head) = self.loop_heads.get(&instr.opener) {
                                label.branch = head.clone();
                            }
                        }
                        Some(Operator::TryTable { try_table }) => {
                            let mut handlers = self.handlers.last().expect("never empty").clone();
                            for catch in &try_table.catches {
                                handlers.union(&self.label(catch_label(catch)).branch);
                            }
                            self.handlers.push(handlers);
                            label.branch = self.live.clone();
                        }
                        Some(_) => label.branch = self.live.clone(),
                    }
                    self.labels.push(label);
                }
                Operator::Else => {
                    let label = self.labels.last_mut().expect("an else is inside of an if");
                    label.otherwise = Some(std::mem::replace(&mut self.live, label.branch.clone()));
                }
                Operator::If { .. } => {
                    let label = self.labels.pop().expect("closed above");
                    self.live.union(label.otherwise.as_ref().unwrap_or(&label.branch));
                }
                Operator::Block { .. } => {
                    self.labels.pop();
                }
                Operator::TryTable { .. } => {
                    self.labels.pop();
                    self.handlers.pop();
                }
                Operator::Loop { .. } => {
                    self.labels.pop();
                    let head = self.loop_heads.entry(index as u32).or_insert_with(|| self.none.clone());
                    grown |= head.union(&self.live);
                }
                Operator::Br { relative_depth } => {
                    self.live = self.label(*relative_depth).branch.clone();
                }
                Operator::BrIf { relative_depth }
                | Operator::BrOnNull { relative_depth }
                | Operator::BrOnNonNull { relative_depth }
                | Operator::BrOnCast { relative_depth, .. }
                | Operator::BrOnCastFail { relative_depth, .. }
                | Operator::BrOnCastDescEq { relative_depth, .. }
                | Operator::BrOnCastDescEqFail { relative_depth, .. } => self.or_branch(*relative_depth),
                Operator::BrTable { targets } => {
                    self.live = self.label(targets.default()).branch.clone();
                    for target in targets.targets() {
                        self.or_branch(target.expect("validated"));
                    }
                }
                Operator::Return
                | Operator::Unreachable
                | Operator::ReturnCall { .. }
                | Operator::ReturnCallIndirect { .. }
                | Operator::ReturnCallRef { .. } => self.live = self.none.clone(),
                Operator::Throw { .. } | Operator::ThrowRef => {
                    self.live = self.handlers.last().expect("never empty").clone();
                }
                Operator::Call { .. } | Operator::CallIndirect { .. } | Operator::CallRef { .. } => {
                    self.live.union(self.handlers.last().expect("never empty"));
                }
                Operator::LocalGet { local_index } => self.live.insert(*local_index),
                Operator::LocalSet { local_index } | Operator::LocalTee { local_index } => {
                    self.live.remove(*local_index);
                    self.clashes.assigned(*local_index, &self.live);
                }
                _ => {}
            }
            if site > 0 && body.sites[site - 1].instr == index as u32 {
                site -= 1;
                self.sites[site] = self.live.clone();
            }
        }
        grown
    }

    fn label(&self, depth: u32) -> &Label {
        &self.labels[self.labels.len() - 1 - depth as usize]
    }

    fn or_branch(&mut self, depth: u32) {
        let label = &self.labels[self.labels.len() - 1 - depth as usize];
        self.live.union(&label.branch);
    }
}

fn catch_label(catch: &Catch) -> u32 {
    match *catch {
        Catch::One { label, .. }
        | Catch::OneRef { label, .. }
        | Catch::All { label }
        | Catch::AllRef { label } => label,
    }
}
