//! Which instructions of a function can follow which, and where values of locals are used.

use crate::code::sequences;
use std::collections::{BTreeMap, BTreeSet};
use walrus::ir::*;
use walrus::{LocalFunction, LocalId};

/// An instruction: its sequence, and its index there.
pub type Place = (InstrSeqId, usize);

/// How a sequence is nested.
#[derive(Debug)]
struct Nested {
    /// The instruction that it belongs to; `None` for the function's own sequence.
    parent: Option<Place>,
    is_loop: bool,
    /// The sequences to which exceptions from here may branch.
    catches: Vec<InstrSeqId>,
}

/// See the module's documentation.
pub struct Flow<'a> {
    function: &'a LocalFunction,
    nested: BTreeMap<InstrSeqId, Nested>,
}

impl<'a> Flow<'a> {
    pub fn of(function: &'a LocalFunction) -> Flow<'a> {
        let entry = Nested { parent: None, is_loop: false, catches: Vec::new() };
        let mut nested = BTreeMap::from([(function.entry_block(), entry)]);
        // Parents come before their children.
        for sequence in sequences(function) {
            for (index, (instr, _)) in function.block(sequence).instrs.iter().enumerate() {
                let is_loop = matches!(instr, Instr::Loop(_));
                let inner = match instr {
                    Instr::Block(i) => vec![i.seq],
                    Instr::Loop(i) => vec![i.seq],
                    Instr::IfElse(i) => vec![i.consequent, i.alternative],
                    Instr::TryTable(i) => vec![i.seq],
                    _ => continue,
                };
                let mut catches = nested[&sequence].catches.clone();
                if let Instr::TryTable(i) = instr {
                    catches.extend(i.catches.iter().map(label));
                }
                for inner in inner {
                    let catches = catches.clone();
                    nested.insert(inner, Nested { parent: Some((sequence, index)), is_loop, catches });
                }
            }
        }
        Flow { function, nested }
    }

    /// An instruction of the function, if there is one at this place.
    pub fn instr(&self, (sequence, index): Place) -> Option<&'a Instr> {
        self.function.block(sequence).instrs.get(index).map(|(instr, _)| instr)
    }

    /// The innermost loop around a sequence.
    pub fn loop_around(&self, mut sequence: InstrSeqId) -> Option<InstrSeqId> {
        while !self.nested[&sequence].is_loop {
            sequence = self.nested[&sequence].parent?.0;
        }
        Some(sequence)
    }

    /// The innermost loop around a loop.
    pub fn outer_loop(&self, inner: InstrSeqId) -> Option<InstrSeqId> {
        self.loop_around(self.nested[&inner].parent?.0)
    }

    /// The places that assign a local.
    pub fn assignments(&self, local: LocalId) -> Vec<Place> {
        let instrs = |sequence: InstrSeqId| self.function.block(sequence).instrs.iter().enumerate();
        let all = sequences(self.function).into_iter();
        all.flat_map(|sequence| instrs(sequence).map(move |(index, (instr, _))| ((sequence, index), instr)))
            .filter(|(_, instr)| assigned(instr) == Some(local))
            .map(|(place, _)| place)
            .collect()
    }

    /// Where a function goes on after the end of a sequence; `None` where it returns.
    fn after(&self, sequence: InstrSeqId) -> Option<Place> {
        self.nested[&sequence].parent.map(|(outer, index)| (outer, index + 1))
    }

    /// Where a branch to a label leads.
    fn target(&self, label: InstrSeqId) -> Option<Place> {
        if self.nested[&label].is_loop { Some((label, 0)) } else { self.after(label) }
    }

    /// Adds the places that can follow one. `None` where it leads is not known.
    fn add_next(&self, place: Place, next: &mut Vec<Place>) -> Option<()> {
        let (sequence, index) = place;
        let Some(instr) = self.instr(place) else {
            next.extend(self.after(sequence));
            return Some(());
        };
        next.extend(self.nested[&sequence].catches.iter().filter_map(|label| self.target(*label)));
        let on = (sequence, index + 1);
        match instr {
            Instr::Block(i) => next.push((i.seq, 0)),
            Instr::Loop(i) => next.push((i.seq, 0)),
            Instr::TryTable(i) => next.push((i.seq, 0)),
            Instr::IfElse(i) => next.extend([(i.consequent, 0), (i.alternative, 0)]),
            Instr::Br(i) => next.extend(self.target(i.block)),
            Instr::BrIf(i) => next.extend(self.target(i.block).into_iter().chain([on])),
            Instr::BrTable(i) => {
                next.extend(i.blocks.iter().chain([&i.default]).filter_map(|label| self.target(*label)));
            }
            Instr::Return(_) | Instr::Unreachable(_) | Instr::Throw(_) | Instr::ThrowRef(_) => {}
            Instr::ReturnCall(_) | Instr::ReturnCallIndirect(_) | Instr::ReturnCallRef(_) => {}
            Instr::BrOnNull(_) | Instr::BrOnNonNull(_) | Instr::BrOnCast(_) | Instr::BrOnCastFail(_) => {
                return None;
            }
            Instr::Try(_) | Instr::Rethrow(_) => return None,
            _ => next.push(on),
        }
        Some(())
    }

    /// The places that read a local, of those that come after `from` without an assignment in between; `None` if that is
    /// not known.
    pub fn uses(&self, local: LocalId, from: Place) -> Option<BTreeSet<Place>> {
        let (mut uses, mut seen, mut todo) = (BTreeSet::new(), BTreeSet::new(), vec![from]);
        while let Some(place) = todo.pop() {
            if !seen.insert(place) {
                continue;
            }
            match self.instr(place) {
                Some(Instr::LocalGet(i)) if i.local == local => {
                    uses.insert(place);
                }
                // An exception does not come from here.
                Some(instr) if assigned(instr) == Some(local) => continue,
                _ => {}
            }
            self.add_next(place, &mut todo)?;
        }
        Some(uses)
    }

    /// The first place of the function.
    pub fn entry(&self) -> Place {
        (self.function.entry_block(), 0)
    }
}

/// The local that an instruction assigns.
pub fn assigned(instr: &Instr) -> Option<LocalId> {
    match instr {
        Instr::LocalSet(LocalSet { local }) | Instr::LocalTee(LocalTee { local }) => Some(*local),
        _ => None,
    }
}

fn label(catch: &TryTableCatch) -> InstrSeqId {
    match catch {
        TryTableCatch::Catch { label, .. } | TryTableCatch::CatchRef { label, .. } => *label,
        TryTableCatch::CatchAll { label } | TryTableCatch::CatchAllRef { label } => *label,
    }
}
