//! The only source of randomness: every random choice of an iteration comes from here.

use crate::Iteration;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A generator whose stream depends only on the iteration. A test pins its first outputs, because old seeds
/// must keep their schedules.
#[derive(Clone, Debug)]
pub struct ChoiceRng(Xoshiro256PlusPlus);

/// The stream before the first iteration.
impl Default for ChoiceRng {
    fn default() -> ChoiceRng {
        ChoiceRng::new(Iteration { seed: 0, index: 0 })
    }
}

impl ChoiceRng {
    /// The stream of an iteration.
    pub fn new(iteration: Iteration) -> ChoiceRng {
        // Xoshiro's own seeding runs splitmix64 over the word, so neighbouring iterations differ well.
        let word = iteration.seed ^ iteration.index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ChoiceRng(Xoshiro256PlusPlus::seed_from_u64(word))
    }

    /// Uniform below `bound`, which is at least 1. By multiplication (Lemire 2019) without the
    /// rejection step: the bias is below `bound / 2^64`.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        self.below(1 << 53) as f64 / (1u64 << 53) as f64
    }

    /// True once in `n` times.
    #[inline]
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_outputs_are_pinned() {
        let mut rng = ChoiceRng::new(Iteration { seed: 42, index: 7 });
        let first: Vec<u64> = (0..6).map(|_| rng.below(1000)).collect();
        assert_eq!(first, PINNED);
    }

    /// Computed by an independent implementation of splitmix64 and xoshiro256++.
    const PINNED: [u64; 6] = [754, 891, 232, 847, 389, 740];

    #[test]
    fn every_value_below_the_bound_comes_up() {
        let mut rng = ChoiceRng::new(Iteration { seed: 0, index: 0 });
        let mut counts = [0u32; 5];
        for _ in 0..5_000 {
            counts[rng.below(5) as usize] += 1;
        }
        // Each count is binomial with mean 1000 and deviation 28: 7 deviations are 1e-11.
        assert!(counts.iter().all(|c| (800..1200).contains(c)), "{counts:?}");
    }
}
