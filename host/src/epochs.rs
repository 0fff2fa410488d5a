//! Epochs of iterations: how later iterations learn from earlier ones which memory is shared.
//!
//! What an iteration discovers about sharing is known to later ones, in epochs with fixed numbers of iterations.
//! Iteration *i* therefore remains a function of (artifact, test, strategy, seed, *i*), whichever job executes it.
//! Epoch 0 is iteration 0, and epoch *e* holds the iterations from 2^(*e*-1) up to 2^*e*. An epoch begins when all
//! iterations of the previous epoch have ended, with everything that any of them discovered. Since epochs double in
//! size, the discoveries of the first iterations, which are nearly all, take effect at once, and jobs wait for each
//! other only about a dozen times. The last epoch, which holds all iterations from 1,024 on, has no end: what one of them
//! discovers, only it knows. So the first 1,024 iterations are all that others depend on, whichever machine executes them.
//!
//! An iteration that discovers more sharing is repeated at once, from its beginning, under the same strategy with the
//! same seed and number, and with what it discovered; this goes on until it discovers nothing more, or finds a bug. The
//! first race that is met is therefore explored with its points. The strategy makes the same choices as before only as
//! long as it is asked the same questions: with more points the schedule becomes another one.
//!
//! Repeats are bounded: within an iteration by [`REPEATS_MAX`], and in an epoch by half of its iterations. Beyond these
//! bounds, all accesses are points: of the last repeat, or of all iterations from the next epoch on.

use crate::execution::Execution;
use crate::granules::{Granules, Sharing};
use crate::machine::MachineError;
use crate::outcome::Outcome;
use coyote_instrumenter::Options;
use coyote_strategies::{Iteration, Strategy};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// The number of repeats of an iteration after which all accesses are points.
pub const REPEATS_MAX: u32 = 16;

/// Epochs with fewer iterations may repeat all of them, since early iterations discover the most.
const SMALL: u64 = 64;

/// The last epoch.
const LAST: u32 = 11;

/// The epoch of an iteration.
fn epoch(iteration: u64) -> u32 {
    (u64::BITS - iteration.leading_zeros()).min(LAST)
}

/// The first iteration of an epoch.
fn first(epoch: u32) -> u64 {
    if epoch == 0 { 0 } else { 1 << (epoch - 1) }
}

/// The number behind the last iteration of an epoch.
fn end(epoch: u32) -> u64 {
    if epoch == LAST { u64::MAX } else { first(epoch + 1) }
}

/// See [`Epochs::needed_before`].
fn needed_before(from: u64, end: u64) -> u64 {
    let epoch = epoch(from);
    if end <= self::end(epoch) { first(epoch) } else { from }
}

/// The result of an iteration and its repeats.
pub struct Ran {
    pub outcome: Outcome,
    pub strategy: Box<dyn Strategy>,
    /// The granules that turned out to be shared.
    pub grown: Granules,
    pub repeats: u32,
}

/// Executes an iteration, and repeats it as long as it discovers more sharing. The execution is left in the state in
/// which the last repeat ended.
pub fn run(
    execution: &mut Execution,
    mut strategy: Box<dyn Strategy>,
    iteration: Iteration,
    known: &Sharing,
) -> Result<Ran, MachineError> {
    let mut grown = Granules::default();
    let mut repeats = 0;
    execution.share(known.clone());
    loop {
        let (outcome, used) = execution.run(strategy, iteration)?;
        strategy = used;
        let more = execution.take_grown();
        let ended = more.0.is_empty() || matches!(outcome, Outcome::Bug(_));
        grown.0.extend(more.0);
        if ended {
            return Ok(Ran { outcome, strategy, grown, repeats });
        }
        repeats += 1;
        execution.share(if repeats == REPEATS_MAX { Sharing::All } else { with(known, &grown) });
    }
}

fn with(known: &Sharing, grown: &Granules) -> Sharing {
    match known {
        Sharing::All => Sharing::All,
        Sharing::Only(known) if grown.0.is_empty() => Sharing::Only(known.clone()),
        Sharing::Only(known) => Sharing::Only(Arc::new(Granules(&known.0 | &grown.0))),
    }
}

/// Knowledge about sharing that all jobs of an exploration have in common.
pub struct Epochs {
    present: Mutex<Present>,
    next: Condvar,
}

struct Present {
    epoch: u32,
    /// What iterations of this epoch know when they begin.
    known: Sharing,
    /// The number of iterations of this epoch that have not ended.
    left: u64,
    /// Granules that this epoch's iterations found to be shared.
    grown: Granules,
    repeats: u64,
}

impl Epochs {
    /// The state before the first iteration.
    pub fn new(options: &Options) -> Epochs {
        let known = match options.follows_owners() {
            true => Sharing::Only(Arc::default()),
            false => Sharing::All,
        };
        let present = Present { epoch: 0, known, left: 1, grown: Granules::default(), repeats: 0 };
        Epochs { present: Mutex::new(present), next: Condvar::new() }
    }

    /// The number of iterations, counted from iteration 0, that must be executed before iteration `from`, so that
    /// iterations `from` up to `end` begin with what they would know in a whole run. With `--iteration`, for example,
    /// none of them have been executed.
    pub fn needed_before(&self, from: u64, end: u64) -> u64 {
        if self.known() == Sharing::All { 0 } else { needed_before(from, end) }
    }

    /// What is known at present about sharing.
    pub fn known(&self) -> Sharing {
        self.present.lock().expect("no job panics here").known.clone()
    }

    /// Adds granules that were found to be shared before the first iteration.
    pub fn add(&self, grown: &Granules) {
        let mut present = self.present.lock().expect("no job panics here");
        present.known = with(&present.known, grown);
    }

    /// What is known about sharing when an iteration begins. Waits for the iterations that it depends on; `None` if the
    /// iteration is not needed any more.
    pub fn enter(&self, iteration: u64, needed: impl Fn() -> bool) -> Option<Sharing> {
        const LOOK: Duration = Duration::from_millis(5);
        let mut present = self.present.lock().expect("no job panics here");
        // Once all accesses are points, there is nothing more to discover.
        while present.known != Sharing::All && present.epoch < epoch(iteration) {
            if !needed() {
                return None;
            }
            present = self.next.wait_timeout(present, LOOK).expect("no job panics here").0;
        }
        Some(present.known.clone())
    }

    /// Records that an iteration has ended.
    pub fn leave(&self, ran: &Ran) {
        let mut present = self.present.lock().expect("no job panics here");
        if present.known == Sharing::All {
            return;
        }
        present.grown.0.extend(&ran.grown.0);
        present.repeats += u64::from(ran.repeats);
        present.left -= 1;
        if present.left == 0 {
            present.advance();
            self.next.notify_all();
        }
    }
}

impl Present {
    fn advance(&mut self) {
        let iterations = end(self.epoch) - first(self.epoch);
        let grown = std::mem::take(&mut self.grown);
        let repeats = std::mem::take(&mut self.repeats);
        let too_many = iterations >= SMALL && repeats > iterations / 2;
        self.known = if too_many { Sharing::All } else { with(&self.known, &grown) };
        self.epoch += 1;
        self.left = end(self.epoch) - first(self.epoch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coyote_instrumenter::HeapPoints;

    #[test]
    fn epochs_follow_each_other_without_gaps() {
        for e in 0..=LAST {
            assert_eq!(epoch(first(e)), e);
            assert_eq!(epoch(end(e) - 1), e);
        }
        assert_eq!((first(0), first(1), first(2), first(3)), (0, 1, 2, 4));
        assert_eq!((first(LAST), epoch(u64::MAX)), (1024, LAST));
    }

    /// If more than half of an epoch's iterations were repeated, following sharing is not worth it.
    #[test]
    fn too_many_repeats_make_all_accesses_points() {
        let options = Options { heap_points: HeapPoints::Shared, ..Options::default() };
        for (epoch, repeats, all) in [(7, 32, false), (7, 33, true), (3, 4, false)] {
            let epochs = Epochs::new(&options);
            let mut present = epochs.present.lock().unwrap();
            (present.epoch, present.repeats) = (epoch, repeats);
            present.grown = [5].into_iter().collect();
            present.advance();
            let grown = Sharing::Only(Arc::new([5].into_iter().collect()));
            assert_eq!(present.known, if all { Sharing::All } else { grown }, "{repeats} in epoch {epoch}");
        }
    }

    #[test]
    fn one_iteration_needs_the_epochs_before_its_own() {
        assert_eq!(needed_before(0, 1), 0);
        assert_eq!(needed_before(1, 2), 1);
        assert_eq!(needed_before(9, 10), 8);
        assert_eq!(needed_before(9, 16), 8);
        assert_eq!(needed_before(9, 17), 9);
    }

    /// Units of a campaign would otherwise execute nearly all iterations before their own.
    #[test]
    fn no_iteration_needs_more_than_the_first_1024() {
        assert_eq!(needed_before(1023, 5000), 1023);
        assert_eq!(needed_before(1024, 5000), 1024);
        assert_eq!(needed_before(1_000_000, 1_000_001), 1024);
        assert_eq!(needed_before(1_000_000, u64::MAX), 1024);
    }
}
