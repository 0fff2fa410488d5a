//! Which memory is known to be shared when an iteration begins.
//!
//! What one iteration finds out about sharing, later ones know: in epochs with fixed numbers of
//! iterations, so that iteration *i* stays a function of (artifact, test, strategy, seed, *i*), whoever
//! executes it. Epoch 0 is iteration 0, and epoch *e* holds the iterations from 2^(*e*-1) up to 2^*e*.
//! It begins when all iterations of the one before have ended, with all that any of them found.
//! Doubling makes the first iterations, which find nearly everything, count at once, and there are
//! hardly a dozen waits for each other.
//!
//! An iteration that finds more sharing is repeated at once, from its beginning, under the same strategy
//! with the same seed and number, and with what it found; until it finds nothing more, or a bug. So the
//! first race that is ever seen is explored with its points. What the strategy chose before it repeats
//! only as long as it is asked the same: with more points it makes another schedule.
//!
//! Repeats are bounded: within an iteration by [`REPEATS_MAX`], and in an epoch by half of its
//! iterations. Beyond, all accesses are points: of the last repeat, or from the next epoch on.

use crate::execution::Execution;
use crate::granules::{Granules, Sharing};
use crate::machine::MachineError;
use crate::outcome::Outcome;
use coyote_instrumenter::Options;
use coyote_strategies::{Iteration, Strategy};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// How often an iteration is repeated before all accesses are points.
pub const REPEATS_MAX: u32 = 16;

/// Epochs of fewer iterations may repeat all of them: there is so much to find out.
const SMALL: u64 = 64;

/// The epoch of an iteration.
fn epoch(iteration: u64) -> u32 {
    u64::BITS - iteration.leading_zeros()
}

/// The first iteration of an epoch.
fn first(epoch: u32) -> u64 {
    if epoch == 0 { 0 } else { 1 << (epoch - 1) }
}

/// See [`Epochs::needed_before`].
fn needed_before(from: u64, end: u64) -> u64 {
    let epoch = epoch(from);
    let alone = epoch == u64::BITS || end <= self::first(epoch + 1);
    if alone { self::first(epoch) } else { from }
}

/// An iteration with its repeats.
pub struct Ran {
    pub outcome: Outcome,
    pub strategy: Box<dyn Strategy>,
    /// What turned out to be shared.
    pub grown: Granules,
    pub repeats: u32,
}

/// Executes an iteration, again and again as long as it finds more sharing. The execution is left as
/// the last one ended.
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

/// What the jobs of an exploration share about sharing.
pub struct Epochs {
    present: Mutex<Present>,
    next: Condvar,
}

struct Present {
    epoch: u32,
    /// How the iterations of this epoch begin.
    known: Sharing,
    /// How many of its iterations have not ended.
    left: u64,
    /// Found in this epoch.
    grown: Granules,
    repeats: u64,
}

impl Epochs {
    /// Before the first iteration.
    pub fn new(options: &Options) -> Epochs {
        let known = match options.follows_owners() {
            true => Sharing::Only(Arc::default()),
            false => Sharing::All,
        };
        let present = Present { epoch: 0, known, left: 1, grown: Granules::default(), repeats: 0 };
        Epochs { present: Mutex::new(present), next: Condvar::new() }
    }

    /// How many iterations must be executed before iteration `from`, so that what is known in those up
    /// to `end` is known: with `--iteration`, where none were.
    pub fn needed_before(&self, from: u64, end: u64) -> u64 {
        if self.known() == Sharing::All { 0 } else { needed_before(from, end) }
    }

    /// What is known at present.
    pub fn known(&self) -> Sharing {
        self.present.lock().expect("no job panics here").known.clone()
    }

    /// Adds what was found out before the first iteration.
    pub fn add(&self, grown: &Granules) {
        let mut present = self.present.lock().expect("no job panics here");
        present.known = with(&present.known, grown);
    }

    /// What is known when an iteration begins. Waits for the ones that it depends on; `None` if it is
    /// not needed any more.
    pub fn enter(&self, iteration: u64, needed: impl Fn() -> bool) -> Option<Sharing> {
        const LOOK: Duration = Duration::from_millis(5);
        let mut present = self.present.lock().expect("no job panics here");
        // Once all accesses are points, there is nothing more to find out.
        while present.known != Sharing::All && present.epoch < epoch(iteration) {
            if !needed() {
                return None;
            }
            present = self.next.wait_timeout(present, LOOK).expect("no job panics here").0;
        }
        Some(present.known.clone())
    }

    /// An iteration has ended.
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
        let iterations = (first(self.epoch + 1) - first(self.epoch)).max(1);
        let grown = std::mem::take(&mut self.grown);
        let repeats = std::mem::take(&mut self.repeats);
        let too_many = iterations >= SMALL && repeats > iterations / 2;
        self.known = if too_many { Sharing::All } else { with(&self.known, &grown) };
        self.epoch += 1;
        self.left = first(self.epoch + 1) - first(self.epoch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coyote_instrumenter::HeapPoints;

    #[test]
    fn epochs_follow_each_other_without_gaps() {
        for e in 0..20 {
            assert_eq!(epoch(first(e)), e);
            assert_eq!(epoch(first(e + 1) - 1), e);
        }
        assert_eq!((first(0), first(1), first(2), first(3)), (0, 1, 2, 4));
        assert_eq!(epoch(u64::MAX), 64);
    }

    /// More than half of an epoch's iterations were repeated: not worth it.
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
}
