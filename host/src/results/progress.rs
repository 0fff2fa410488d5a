//! Novelty of iterations: classes of executions, pairs of places, scheduling points.
//!
//! Only some iterations are compared; which ones follows from their numbers ([`is_compared`]). Two executions are of
//! one class if they order the same dependent steps in the same way (`observe::class_probe` computes the class' hash).
//! The kept data are sets, each element with its first iteration, so that merged results of parts equal those of the
//! whole.

use super::Indices;
use coyote_strategies::mix;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// All iterations with numbers below this are compared.
const ALL_BELOW: u64 = 8;
/// A later iteration is compared with a probability of about this number divided by its own number: about 3 for each
/// doubling of the numbers.
const PER_DOUBLING: u64 = 4;
/// Among iterations with large numbers, one in this many is compared.
const ONE_IN_MOST: u64 = 256;
/// The maximum number of classes that are kept. If there are more, only those are kept whose hash ends in a zero bit,
/// then in two, and so on.
const KEPT: usize = 1 << 16;

/// Whether the iteration with this number is compared, which takes about 2.5 times as long: a large share of few iterations,
/// for tests with long iterations, and one in 256 of many. The selection is not periodic, so a strategy that alternates
/// between behaviours has compared iterations of each.
pub fn is_compared(index: u64) -> bool {
    index < ALL_BELOW || mix(index).is_multiple_of((index / PER_DOUBLING).min(ONE_IN_MOST))
}

/// The novelty data of a compared iteration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationProgress {
    /// The hash of its class; `None` if it did not come to its end.
    pub class: Option<u64>,
    /// Pairs of sites, packed as two numbers of 32 bits with the first in the upper half, of dependent steps of two
    /// workers. Pairs that iterations with smaller numbers have reported may be missing.
    pub pairs: Vec<u64>,
    /// Sites that were reached. Some may be missing for the same reason.
    pub points: Vec<u32>,
}

/// The novelty data of all compared iterations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The number of compared iterations that came to their end.
    pub compared: u64,
    /// Their classes.
    pub classes: Classes,
    /// Pairs of sites, as in [`IterationProgress::pairs`], with the first iteration of each.
    pub pairs: BTreeMap<u64, u64>,
    /// Sites, with the first iteration that reached each.
    pub points: BTreeMap<u32, u64>,
}

/// Classes, or a part of them that depends only on their hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Classes {
    /// The hashes that are kept end in at least this number of zero bits.
    pub level: u32,
    /// Classes by their hash.
    pub kept: BTreeMap<u64, ClassSeen>,
}

/// A class of executions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassSeen {
    /// The first iteration of the class.
    pub first: u64,
    /// The number of compared iterations of the class.
    pub count: u64,
}

/// The novelty of one kind of element: how many there were, and since when there was no new one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Novelty {
    /// The number of different elements.
    pub seen: u64,
    /// The number of elements that were first seen in the last tenth of the compared iterations.
    pub in_last_tenth: u64,
    /// The last iteration with a new element; `None` if there were none.
    pub last_new: Option<u64>,
}

impl Progress {
    /// Adds the data of an iteration.
    pub fn absorb(&mut self, index: u64, iteration: IterationProgress) {
        let IterationProgress { class, pairs, points } = iteration;
        if let Some(class) = class {
            self.compared += 1;
            self.classes.add(class, ClassSeen { first: index, count: 1 });
            self.classes.thin();
        }
        pairs.into_iter().for_each(|pair| earliest(&mut self.pairs, pair, index));
        points.into_iter().for_each(|point| earliest(&mut self.points, point, index));
    }

    /// Adds the data of other iterations.
    pub fn merge(&mut self, other: Progress) {
        let Progress { compared, classes, pairs, points } = other;
        self.compared += compared;
        self.classes.level = self.classes.level.max(classes.level);
        classes.kept.into_iter().for_each(|(hash, seen)| self.classes.add(hash, seen));
        self.classes.drop_others();
        self.classes.thin();
        pairs.into_iter().for_each(|(pair, first)| earliest(&mut self.pairs, pair, first));
        points.into_iter().for_each(|(point, first)| earliest(&mut self.points, point, first));
    }

    /// The number of different classes; an estimate if not all of them are kept.
    pub fn classes_seen(&self) -> u64 {
        (self.classes.kept.len() as u64) << self.classes.level
    }

    /// The novelty of classes; an estimate if not all of them are kept.
    pub fn of_classes(&self, indices: &Indices) -> Novelty {
        let novelty = self.novelty(self.classes.kept.values().map(|seen| seen.first), indices);
        Novelty {
            seen: novelty.seen << self.classes.level,
            in_last_tenth: novelty.in_last_tenth << self.classes.level,
            ..novelty
        }
    }

    /// The novelty of pairs of sites.
    pub fn of_pairs(&self, indices: &Indices) -> Novelty {
        self.novelty(self.pairs.values().copied(), indices)
    }

    /// `firsts`: the first iteration of each element; `indices`: all iterations, compared or not.
    fn novelty(&self, firsts: impl Iterator<Item = u64> + Clone, indices: &Indices) -> Novelty {
        let last_tenth = last_compared(indices, self.compared / 10);
        let is_late = |first: &u64| last_tenth.is_some_and(|begin| *first >= begin);
        Novelty {
            seen: firsts.clone().count() as u64,
            in_last_tenth: firsts.clone().filter(is_late).count() as u64,
            last_new: firsts.max(),
        }
    }

    /// The estimated probability that an execution by the same strategy is of a class that no compared one has: the
    /// share of compared executions whose class was seen once (I. J. Good, The population frequencies of species,
    /// Biometrika 40, 1953; the estimate is Turing's). Valid only for independent executions. `None` without compared
    /// executions.
    pub fn unseen(&self) -> Option<f64> {
        let all: u64 = self.classes.kept.values().map(|seen| seen.count).sum();
        let once = self.classes.kept.values().filter(|seen| seen.count == 1).count();
        (all > 0).then(|| once as f64 / all as f64)
    }
}

impl Classes {
    fn keeps(&self, hash: u64) -> bool {
        hash.trailing_zeros() >= self.level
    }

    fn add(&mut self, hash: u64, seen: ClassSeen) {
        if self.keeps(hash) {
            let known = self.kept.entry(hash).or_insert(ClassSeen { first: seen.first, count: 0 });
            known.first = known.first.min(seen.first);
            known.count += seen.count;
        }
    }

    /// Drops classes as long as there are too many. The final selection depends only on the whole set, since no part of
    /// it drops more.
    fn thin(&mut self) {
        while self.kept.len() > KEPT {
            self.level += 1;
            self.drop_others();
        }
    }

    fn drop_others(&mut self) {
        let level = self.level;
        self.kept.retain(|hash, _| hash.trailing_zeros() >= level);
    }
}

fn earliest<K: Ord>(known: &mut BTreeMap<K, u64>, key: K, index: u64) {
    let first = known.entry(key).or_insert(index);
    *first = index.min(*first);
}

/// The first of the last `count` compared iterations; `None` if there are fewer, or `count` is 0.
fn last_compared(indices: &Indices, count: u64) -> Option<u64> {
    let backwards = (0..indices.len()).rev().filter_map(|nth| indices.nth(nth));
    backwards.filter(|index| is_compared(*index)).nth(count.checked_sub(1)? as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Iterations that each have a class, and some of which have pairs and points.
    fn iterations(count: u64, classes: u64) -> Vec<(u64, IterationProgress)> {
        let iteration = |index: u64| IterationProgress {
            class: (!index.is_multiple_of(17)).then(|| mix(mix(index) % classes)),
            pairs: (0..index % 3).map(|n| mix(index + n) % 40).collect(),
            points: vec![(mix(index) % 30) as u32],
        };
        (0..count).map(|index| (index, iteration(index))).collect()
    }

    /// Parts that are merged in any order give the same as the whole, also if not all classes are kept.
    #[test]
    fn parts_are_as_the_whole() {
        for (count, classes) in [(500, 40), (300_000, 250_000)] {
            let mut whole = Progress::default();
            let mut parts = vec![Progress::default(); 5];
            for (index, iteration) in iterations(count, classes) {
                whole.absorb(index, iteration.clone());
                parts[(mix(index) % 5) as usize].absorb(index, iteration);
            }
            assert_eq!(whole.classes.level > 0, classes > KEPT as u64);
            for rotation in 0..5 {
                parts.rotate_left(rotation);
                let mut sum = Progress::default();
                let (front, back) = parts.split_at(2);
                let mut second = Progress::default();
                back.iter().for_each(|part| second.merge(part.clone()));
                front.iter().for_each(|part| sum.merge(part.clone()));
                sum.merge(second);
                assert_eq!(sum, whole, "{count} {rotation}");
            }
        }
    }

    /// With equally likely classes, compares the estimate with the known probability: 1 - seen / all.
    #[test]
    fn the_estimate_is_near_the_truth() {
        for classes in [200, 1_000, 20_000] {
            let mut progress = Progress::default();
            for (index, iteration) in iterations(2_000, classes) {
                progress.absorb(index, iteration);
            }
            let truth = 1.0 - progress.classes.kept.len() as f64 / classes as f64;
            let estimate = progress.unseen().unwrap();
            // Its standard deviation is below 0.02 here.
            assert!((estimate - truth).abs() < 0.06, "{classes}: {estimate}, in truth {truth}");
        }
        assert_eq!(Progress::default().unseen(), None);
    }

    /// The estimate from a part of the classes, chosen by their hashes, is near that from all.
    #[test]
    fn a_part_of_the_classes_says_the_same() {
        let (mut some, mut all) = (Progress::default(), BTreeMap::<u64, u64>::new());
        for (index, iteration) in iterations(300_000, 250_000) {
            iteration.class.iter().for_each(|class| *all.entry(*class).or_default() += 1);
            some.absorb(index, iteration);
        }
        let once = all.values().filter(|count| **count == 1).count() as f64;
        let truth = once / all.values().sum::<u64>() as f64;
        assert!((some.unseen().unwrap() - truth).abs() < 0.01);
        let seen = some.of_classes(&Indices::default()).seen as f64;
        assert!((seen / all.len() as f64 - 1.0).abs() < 0.02, "{seen} of {}", all.len());
    }

    #[test]
    fn news_of_the_last_tenth() {
        let indices: Indices = (0..4_000).collect();
        let compared: Vec<u64> = (0..4_000).filter(|index| is_compared(*index)).collect();
        let tenth = compared.len() - compared.len() / 10;
        let progress = Progress { compared: compared.len() as u64, ..Progress::default() };
        let count = |firsts: &[u64]| progress.novelty(firsts.iter().copied(), &indices);
        let (late, last) = (compared[tenth], *compared.last().unwrap());
        let firsts = [compared[0], compared[tenth - 1], late, last];
        assert_eq!(count(&firsts), Novelty { seen: 4, in_last_tenth: 2, last_new: Some(last) });
        assert_eq!(count(&[]), Novelty::default());
        // A tenth of fewer than ten is 0.
        let few = Progress { compared: 9, ..Progress::default() };
        assert_eq!(few.novelty([8].into_iter(), &(0..9).collect()).in_last_tenth, 0);
    }

    #[test]
    fn which_are_compared() {
        let count = |range: std::ops::Range<u64>| range.filter(|index| is_compared(*index)).count();
        assert_eq!(count(0..8), 8);
        assert!((13..=28).contains(&count(0..100)), "{}", count(0..100));
        assert!((18..=40).contains(&count(0..1_000)), "{}", count(0..1_000));
        let later = count(1_024..401_024);
        assert!((1_440..1_690).contains(&later), "{later}");
        // Also among the iterations of each of four strategies that take turns.
        for turn in 0..4 {
            let of_turn = (1_024..401_024).filter(|index| index % 4 == turn && is_compared(*index)).count();
            assert!((320..470).contains(&of_turn), "{turn}: {of_turn}");
        }
    }
}
