//! The trait of strategies that are asked at every choice.

use crate::{Event, Iteration, Operation, Pick, Profile, Summary, View, WorkerId};

/// Makes every choice of an execution.
///
/// A strategy's answers must depend only on its inputs: same iteration, same views, same answers.
pub trait Strategy: Send {
    /// The name and parameters under which a user selects it, such as `random` or `pct:3`.
    fn name(&self) -> String;

    /// The strategy within, for one that changes only some of another's choices. What is not defined here of the methods
    /// below that only tell something about iterations, that strategy answers.
    fn within(&self) -> Option<&dyn Strategy> {
        None
    }

    /// For a portfolio, the name of the strategy that makes the choices of the present iteration.
    fn member(&self) -> Option<String> {
        self.within()?.member()
    }

    /// Whether every worker that stays enabled is eventually picked with probability one in the present
    /// iteration. Fair executions may run longer, and not ending may be reported as their bug.
    fn fair(&self) -> bool;

    /// The step from which on the strategy is fair in the present iteration; `None` if it never is, or if it
    /// follows a schedule of which it does not know that. What a program must eventually do is judged only by
    /// steps after this one.
    fn fair_from(&self) -> Option<u64> {
        self.within().map_or(self.fair().then_some(0), Strategy::fair_from)
    }

    /// The step of the present iteration before which timeouts fire only if no worker is enabled. Until then a worker
    /// that polls until another one has slept waits in vain, however fair the order of workers is.
    fn timeouts_from(&self) -> u64 {
        self.within().map_or(0, Strategy::timeouts_from)
    }

    /// Whether iterations are independent of each other, so that they can run in any order and in
    /// several processes.
    fn independent(&self) -> bool {
        self.within().is_none_or(Strategy::independent)
    }

    /// Whether later iterations are made otherwise than earlier ones, whatever those met: how often some iterations meet a
    /// bug then says nothing about fewer or more of them.
    fn grows(&self) -> bool {
        self.within().is_some_and(Strategy::grows)
    }

    /// Whether [`Strategy::prepare`] has to be called before the first iteration.
    fn needs_profile(&self) -> bool {
        self.within().is_some_and(Strategy::needs_profile)
    }

    /// Whether this strategy's first iteration equals that of the random walk: then the profiling run also
    /// counts as this iteration.
    fn begins_with_profiling_run(&self) -> bool {
        false
    }

    /// Passes the profile of the profiling run, which is the first iteration of the random walk with the same
    /// seed. Called at most once.
    fn prepare(&mut self, _profile: &Profile) {}

    /// Called before each iteration.
    fn begin(&mut self, iteration: Iteration);

    /// Picks among [`View::enabled`] and [`View::timeouts`]; at least one pick is possible. `None` abandons
    /// the iteration without a verdict.
    fn pick(&mut self, view: &View) -> Option<Pick>;

    /// The number of next choices for which [`Strategy::pick`] is certain to pick `worker`, which made the
    /// last step, provided that it only accesses memory between them, and no memory that is added to
    /// `watched` (an address, and the number of bytes from there on). May be called at any time, and changes
    /// nothing. `view` is that of the next choice, except for the operation of `worker`. No timeout is
    /// pending.
    ///
    /// The default 0 is always correct. The choices counted here are then made by [`Strategy::goes_on`], or
    /// by [`Strategy::pick`].
    fn quiet(&self, _worker: WorkerId, _view: &View, _watched: &mut Vec<(u64, u32)>) -> u64 {
        0
    }

    /// Makes several choices at once, each of which [`Strategy::quiet`] has promised: `worker` executes these
    /// operations, one after the other, and nothing else changes. `view` is that of the first choice.
    /// Afterwards the strategy is in the same state as if it had made each of them by [`Strategy::pick`].
    ///
    /// Returns false if it has done nothing: then the choices are made one by one.
    fn goes_on(&mut self, _worker: WorkerId, _operations: &[Operation], _view: &View) -> bool {
        false
    }

    /// Picks a data value below `bound`, which is at least 1. `None` abandons the iteration.
    fn value(&mut self, bound: u64, view: &View) -> Option<u64>;

    /// Called for every event.
    fn observe(&mut self, _event: Event) {}

    /// Called after each iteration.
    fn end(&mut self, _summary: Summary) {}
}
