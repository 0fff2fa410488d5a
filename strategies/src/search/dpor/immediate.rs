//! Finds the immediate races of a step: earlier events of other processes that depend on it and are not
//! ordered before it through a third event.
//!
//! Events are examined from the latest to the earliest, each process back to its first event that is ordered
//! before the step: all events before that one are ordered too. So the cost of a step depends on the number
//! of events that are concurrent with it, not on the length of the execution.

use crate::search::clocks::{Clock, Clocks};
use crate::search::dependence::{Order, order, takes};
use crate::system::Access;
use std::collections::BinaryHeap;

/// A step whose races are to be found; it comes after all events.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    pub process: usize,
    pub footprint: &'a [Access],
    /// [`crate::search::dependence::signature`] of the footprint.
    pub signature: u64,
    /// Whether it ended the execution by itself, and so depends on everything.
    pub last: bool,
}

/// The races of one step; the memory is reused for the next step.
#[derive(Debug, Default)]
pub struct Immediate {
    /// The clock of the step: all events that happen before it.
    pub before: Clock,
    /// Events that are in a race with the step, the latest first.
    pub races: Vec<usize>,
    /// `before` without the events between an Acquire and the Release that the step waited for.
    held: Clock,
    /// The latest event of each process that was not examined.
    next: BinaryHeap<u32>,
}

impl Immediate {
    /// Computes the clock of a next event and its immediate races: earlier events of other processes that are
    /// dependent, not ordered through a third event, and not what the event had to wait for.
    ///
    /// An Acquire happens after the Release that it waited for, and so after everything before that; its race
    /// is with the Acquire of the previous owner. `touched` contains the events' footprints.
    pub fn find(&mut self, clocks: &Clocks, touched: &[Access], step: Step) {
        let Immediate { before, races, held, next } = self;
        let events = clocks.events();
        races.clear();
        before.set(clocks.latest(step.process));
        held.set(clocks.latest(step.process));
        let ordered = |held: &Clock, i: u32| {
            let event = &events[i as usize];
            event.process == step.process || event.index <= held.get(event.process)
        };
        next.clear();
        next.extend(clocks.lasts().filter(|i| !ordered(held, *i)));
        while let Some(i) = next.pop() {
            if ordered(held, i) {
                continue;
            }
            let event = &events[i as usize];
            next.extend(event.previous);
            if !step.last && event.signature & step.signature == 0 {
                continue;
            }
            let i = i as usize;
            let earlier = &touched[event.footprint.clone()];
            if event.index <= before.get(event.process) {
                if takes(earlier, step.footprint) {
                    races.push(i);
                    if order(earlier, step.footprint) != Order::Changed {
                        held.join(clocks.row(i));
                    }
                }
                continue;
            }
            let order = match order(earlier, step.footprint) {
                Order::Independent if step.last => Order::Reversible,
                order => order,
            };
            if order == Order::Independent {
                continue;
            }
            before.join(clocks.row(i));
            if !matches!(order, Order::Handover | Order::Changed) {
                held.join(clocks.row(i));
            }
            if matches!(order, Order::Reversible | Order::Changed) {
                races.push(i);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Iteration;
    use crate::rng::ChoiceRng;
    use crate::search::dependence::signature;
    use crate::system::{Class, Effect};

    /// A naive form that examines every event: the clock, the races, and how many of them are with previous
    /// owners.
    fn scan(clocks: &Clocks, touched: &[Access], step: Step) -> (Clock, Vec<usize>, usize) {
        let (mut before, mut held) = (Clock::default(), Clock::default());
        let (mut races, mut owners) = (Vec::new(), 0);
        before.set(clocks.latest(step.process));
        held.set(clocks.latest(step.process));
        for (i, event) in clocks.events().iter().enumerate().rev() {
            if event.process == step.process || event.index <= held.get(event.process) {
                continue;
            }
            let earlier = &touched[event.footprint.clone()];
            let relation = order(earlier, step.footprint);
            if event.index <= before.get(event.process) {
                if takes(earlier, step.footprint) {
                    owners += 1;
                    races.push(i);
                    if relation != Order::Changed {
                        held.join(clocks.row(i));
                    }
                }
            } else if step.last || relation != Order::Independent {
                before.join(clocks.row(i));
                match relation {
                    Order::Changed => races.push(i),
                    Order::Handover => {}
                    Order::Forced => held.join(clocks.row(i)),
                    Order::Independent | Order::Reversible => {
                        held.join(clocks.row(i));
                        races.push(i);
                    }
                }
            }
        }
        (before, races, owners)
    }

    fn footprint(rng: &mut ChoiceRng) -> Vec<Access> {
        use Effect::*;
        let (class, effects): (Class, &[Effect]) = match rng.below(9) {
            0..3 => (Class::Mutex, &[Acquire, Release, Acquire, Release, TryAcquire, Read, Write]),
            3 => (Class::Rwlock, &[Share, TryShare, Unshare, Acquire, TryAcquire, Release, Read]),
            4 => (Class::Semaphore, &[Acquire, TryAcquire, Release, Read]),
            5 => (Class::Wake, &[Enable, Await]),
            _ => (Class::Memory, &[Read, Read, Write]),
        };
        let access = |rng: &mut ChoiceRng| {
            let effect = effects[rng.below(effects.len() as u64) as usize];
            Access::new(class, effect, 8 * rng.below(4))
        };
        (0..rng.below(3)).map(|_| access(rng)).collect()
    }

    /// Random steps, also after some were removed.
    #[test]
    fn chains_and_a_scan_of_all_events_find_the_same() {
        let (mut found, mut with_owners) = (0, 0);
        for index in 0..1_000 {
            let mut rng = ChoiceRng::new(Iteration { seed: 11, index });
            let processes = 2 + rng.below(7);
            let (mut clocks, mut touched) = (Clocks::default(), Vec::new());
            let mut immediate = Immediate::default();
            for _ in 0..200 {
                let process = rng.below(processes) as usize;
                let footprint = footprint(&mut rng);
                let signature = signature(&footprint);
                let step = Step { process, footprint: &footprint, signature, last: rng.one_in(20) };
                immediate.find(&clocks, &touched, step);
                let (before, races, owners) = scan(&clocks, &touched, step);
                assert_eq!(immediate.before.row(), before.row(), "run {index}: {step:?}");
                assert_eq!(immediate.races, races, "run {index}: {step:?}");
                found += races.len();
                with_owners += owners;
                let start = touched.len();
                touched.extend(&footprint);
                clocks.push(process, &immediate.before, start..touched.len(), signature, 0..0);
                while rng.one_in(4) {
                    let Some(event) = clocks.pop() else { break };
                    touched.truncate(event.footprint.start);
                }
            }
        }
        assert!(found > 50_000 && with_owners > 1_500, "{found} races, {with_owners} with former owners");
    }
}
