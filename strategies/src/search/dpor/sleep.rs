//! Sleep sets: steps that need not be executed, because the executions that continue with them are explored
//! elsewhere.
//!
//! A step that was woken is remembered until its worker makes a step: see [`super::changed`].
//!
//! The sets of a path's states are stored one after another on one stack. When a step that was explored is
//! put to sleep, its footprint stays where it is.

use crate::Pick;
use crate::search::Tried;
use crate::search::clocks::Event;
use crate::search::dependence::{dependent, signature};
use crate::system::{Access, Class, Decision};
use std::ops::Range;

/// A step that sleeps, with the footprint that it had when it was executed.
#[derive(Clone, Debug)]
struct Sleeper {
    pick: Pick,
    values: Range<usize>,
    /// The end of its values on the stack.
    values_end: usize,
    footprint: Range<usize>,
    signature: u64,
    /// Whether it ended the execution, or not all is known of the rest of its atomic section: then every step wakes it.
    last: bool,
    /// Whether the steps with all other values of its pick sleep too.
    whole: bool,
    /// Whether its worker spins: then nothing wakes it.
    spins: bool,
    /// The event that woke it, if one did.
    woken: Option<u32>,
    /// Steps, by process and number, that wake it whatever they touch.
    followers: Vec<(u32, u32)>,
    /// Whether every step that allocates memory may be one of these.
    frees: bool,
}

impl Sleeper {
    /// Whether its footprint depends on an event.
    fn meets(&self, event: &Event, touched: &[Access]) -> bool {
        self.signature & event.signature != 0
            && dependent(&touched[self.footprint.clone()], &touched[event.footprint.clone()])
    }

    /// Whether an event wakes it.
    fn wakes(&self, event: &Event, touched: &[Access]) -> bool {
        self.last
            || self.meets(event, touched)
            || self.followers.contains(&(event.process as u32, event.index))
            || self.frees && has(&touched[event.footprint.clone()], Access::ALLOCATES)
    }
}

/// The stack of sleep sets, each addressed by its range.
#[derive(Debug, Default)]
pub struct Sleep {
    sleepers: Vec<Sleeper>,
    values: Vec<u64>,
    woken: Vec<Pick>,
}

impl Sleep {
    pub fn len(&self) -> usize {
        self.sleepers.len()
    }

    pub fn truncate(&mut self, len: usize) {
        self.sleepers.truncate(len);
        self.values.truncate(self.sleepers.last().map_or(0, |s| s.values_end));
    }

    /// Whether the pick need not be tried at all.
    pub fn covers(&self, set: Range<usize>, pick: Pick) -> bool {
        self.asleep(set, pick).any(|s| s.whole)
    }

    /// Whether the pick need not be tried with some values.
    pub fn covers_some(&self, set: Range<usize>, pick: Pick) -> bool {
        self.asleep(set, pick).next().is_some()
    }

    fn asleep(&self, set: Range<usize>, pick: Pick) -> impl Iterator<Item = &Sleeper> {
        self.sleepers[set].iter().filter(move |s| s.pick == pick && s.woken.is_none())
    }

    /// Footprints of those steps of a pick that sleep, and whose worker does not spin.
    pub fn footprints(&self, set: Range<usize>, pick: Pick) -> impl Iterator<Item = Range<usize>> {
        self.asleep(set, pick).filter(|s| !s.spins).map(|s| s.footprint.clone())
    }

    /// Footprints of those steps of a pick that were woken, and the events that woke them.
    pub fn woken(&self, set: Range<usize>, pick: Pick) -> impl Iterator<Item = (Range<usize>, usize)> {
        let sleepers = self.sleepers[set].iter().filter(move |s| s.pick == pick);
        sleepers.filter_map(|s| Some((s.footprint.clone(), s.woken? as usize)))
    }

    /// Whether the pick need not be tried with the values in these decisions.
    pub fn contains(&self, set: Range<usize>, pick: Pick, values: impl Iterator<Item = u64> + Clone) -> bool {
        let same = |s: &Sleeper| self.values[s.values.clone()].iter().copied().eq(values.clone());
        self.asleep(set, pick).any(same)
    }

    /// Whether the footprint that a pick had when it was put to sleep depends on an event.
    pub fn depends(&self, set: Range<usize>, pick: Pick, event: &Event, touched: &[Access]) -> bool {
        self.asleep(set, pick).any(|s| s.meets(event, touched))
    }

    /// Puts an explored step to sleep.
    pub fn push(
        &mut self,
        pick: Pick,
        values: &[Decision],
        event: &Event,
        last: bool,
        (followers, frees): (Vec<(u32, u32)>, bool),
    ) {
        let start = self.values.len();
        self.values.extend(values.iter().map(value));
        let (footprint, signature) = (event.footprint.clone(), event.signature);
        let values = start..self.values.len();
        let values_end = values.end;
        self.sleepers.push(Sleeper {
            pick,
            values,
            values_end,
            footprint,
            signature,
            last,
            whole: false,
            spins: false,
            woken: None,
            followers,
            frees,
        });
    }

    /// Records that a worker spins: it makes no more steps.
    pub fn stop(&mut self, pick: Pick, touched: &mut Vec<Access>) {
        self.insert(
            &Tried {
                pick,
                whole: true,
                spins: true,
                values: vec![],
                footprint: vec![],
                last: false,
                woken: None,
                followers: vec![],
                frees: false,
            },
            touched,
        );
    }

    /// Whether this pick's worker spins.
    pub fn spinning(&self, set: Range<usize>, pick: Pick) -> bool {
        self.sleepers[set].iter().any(|s| s.spins && s.pick == pick)
    }

    /// Whether any worker spins.
    pub fn spins(&self, set: Range<usize>) -> bool {
        self.sleepers[set].iter().any(|s| s.spins)
    }

    /// Records that all values of the pick are explored.
    pub fn complete(&mut self, set: Range<usize>, pick: Pick) {
        let asleep = self.sleepers[set].iter_mut().filter(|s| s.pick == pick && s.woken.is_none());
        asleep.for_each(|s| s.whole = true);
    }

    /// Appends the sleep set after a step, the event with this number: the members of `set` with other picks.
    pub fn follow(
        &mut self,
        set: Range<usize>,
        pick: Pick,
        (number, event): (usize, &Event),
        touched: &[Access],
    ) {
        self.woken.clear();
        let start = self.sleepers.len();
        for i in set {
            let sleeper = &self.sleepers[i];
            if sleeper.pick == pick {
                continue;
            }
            let mut woken = sleeper.woken;
            if woken.is_none() && sleeper.wakes(event, touched) {
                self.woken.push(sleeper.pick);
                woken = Some(number as u32);
            }
            self.sleepers.push(Sleeper { values_end: self.values.len(), woken, ..sleeper.clone() });
        }
        if !self.woken.is_empty() {
            let woken = std::mem::take(&mut self.woken);
            self.sleepers[start..].iter_mut().for_each(|s| s.whole &= !woken.contains(&s.pick));
            self.woken = woken;
        }
    }

    /// The steps of a sleep set, including woken ones, in a form that can be stored.
    pub fn tried<'a>(
        &'a self,
        set: Range<usize>,
        touched: &'a [Access],
    ) -> impl Iterator<Item = Tried> + use<'a> {
        self.sleepers[set].iter().map(|s| Tried {
            pick: s.pick,
            values: self.values[s.values.clone()].to_vec(),
            footprint: touched[s.footprint.clone()].to_vec(),
            last: s.last,
            whole: s.whole,
            spins: s.spins,
            woken: s.woken,
            followers: s.followers.clone(),
            frees: s.frees,
        })
    }

    /// Appends a step that was stored.
    pub fn insert(&mut self, tried: &Tried, touched: &mut Vec<Access>) {
        let (start, from) = (self.values.len(), touched.len());
        self.values.extend(&tried.values);
        touched.extend(&tried.footprint);
        self.sleepers.push(Sleeper {
            pick: tried.pick,
            values: start..self.values.len(),
            values_end: self.values.len(),
            footprint: from..touched.len(),
            signature: signature(&tried.footprint),
            last: tried.last,
            whole: tried.whole,
            spins: tried.spins,
            woken: tried.woken,
            followers: tried.followers.clone(),
            frees: tried.frees,
        });
    }
}

/// Whether a footprint contains this access of the heap: [`Access::FREES`] or [`Access::ALLOCATES`].
pub fn has(footprint: &[Access], what: u64) -> bool {
    footprint.iter().any(|access| access.class == Class::Heap && access.object == what)
}

/// The value of a decision within a step.
pub fn value(decision: &Decision) -> u64 {
    match decision {
        Decision::Value(value) => *value,
        Decision::Pick(pick) => panic!("a step's values are followed by {pick:?}"),
    }
}
