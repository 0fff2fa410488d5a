//! The trait of strategies that are asked at every choice.

use crate::{Event, Iteration, Operation, Pick, Profile, Summary, View, WorkerId};

/// Chooses, at every choice of an execution, what happens next.
///
/// A strategy must answer from what it is given alone: same iteration, same views, same answers.
pub trait Strategy: Send {
    /// The name and parameters under which a user selects it, such as `random` or `pct:3`.
    fn name(&self) -> String;

    /// Of a portfolio: the name of the strategy that makes the choices of the iteration that has begun.
    fn member(&self) -> Option<String> {
        None
    }

    /// Whether every worker that stays enabled is eventually picked, with probability one, in the
    /// iteration that has begun. Fair executions may run longer and may be blamed for not ending.
    fn fair(&self) -> bool;

    /// The step from which on the strategy is fair, in the iteration that has begun; `None` if it never is, or only
    /// follows a schedule of which it does not know that. What a program must do eventually is judged by steps from here on.
    fn fair_from(&self) -> Option<u64> {
        self.fair().then_some(0)
    }

    /// Whether iterations are independent of each other, so that they can run in any order and in
    /// several processes.
    fn independent(&self) -> bool {
        true
    }

    /// Whether [`Strategy::prepare`] has to be called before the first iteration.
    fn needs_profile(&self) -> bool {
        false
    }

    /// Whether this strategy's own first iteration is that of the random walk: the profiling run then stands for
    /// it.
    fn begins_with_profiling_run(&self) -> bool {
        false
    }

    /// Tells what the program did in its profiling run, the first iteration of the random walk with the same
    /// seed. Called at most once.
    fn prepare(&mut self, _profile: &Profile) {}

    /// Called before each iteration.
    fn begin(&mut self, iteration: Iteration);

    /// Picks among [`View::enabled`] and [`View::timeout`]; at least one pick is possible. `None`
    /// gives the iteration up without a verdict.
    fn pick(&mut self, view: &View) -> Option<Pick>;

    /// For how many of the next choices [`Strategy::pick`] is certain to answer that `worker`, which made the last
    /// step, goes on: if all that changes between them is that it accesses memory, and nothing of what is added to
    /// `watched` (an address, and bytes from there on). May be asked at any time, and changes nothing; `view` is that
    /// of the next choice, but for the operation of `worker`. No timeout is pending.
    ///
    /// 0, which is always right, unless a strategy knows better. These choices are then made by
    /// [`Strategy::goes_on`], or by [`Strategy::pick`].
    fn quiet(&self, _worker: WorkerId, _view: &View, _watched: &mut Vec<(u64, u32)>) -> u64 {
        0
    }

    /// Makes several choices at once, each of which [`Strategy::quiet`] has promised: `worker` executes these operations, one
    /// after the other, and nothing else changes. `view` is that of the first choice. The strategy is then as if it had
    /// been asked for each of them.
    ///
    /// False, and nothing is done: they are asked for one by one.
    fn goes_on(&mut self, _worker: WorkerId, _operations: &[Operation], _view: &View) -> bool {
        false
    }

    /// Picks a data value below `bound`, which is at least 1. `None` gives the iteration up.
    fn value(&mut self, bound: u64, view: &View) -> Option<u64>;

    /// Called for every event.
    fn observe(&mut self, _event: Event) {}

    /// Called after each iteration.
    fn end(&mut self, _summary: Summary) {}
}
