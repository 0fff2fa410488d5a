//! Strategies that take turns, iteration by iteration.
//!
//! No strategy is good at everything: PCT may need hundreds of iterations for a bug that the random walk
//! finds at once, and the other way round. A portfolio of n needs at most n times the iterations of its best
//! member. Which member runs an iteration is a function of the iteration's number alone, and each member
//! counts its own iterations, so that its choices are the same as without the portfolio.

use crate::{Event, Iteration, Operation, Pick, Profile, Strategy, Summary, View, WorkerId};

/// The default, chosen by measuring (`strategies/README.md`): the random walk for bugs of few choices, PCT
/// for one worker far ahead and SURW for many accesses of one object. PCT is combined with CHESS's fair
/// scheduler, which stops it from spinning and changes nothing in programs that do not spin.
pub const DEFAULT: &str = "[random,pct:2+chess-fair,surw,pct:3+chess-fair,pos+chess-fair,surw]";

/// The default for programs of many tasks that continue each other, of which PCT would make a random walk. PCT-t is without
/// CHESS's fair scheduler, which makes some steps of a long iteration random: tasks that wait do not spin.
pub const OF_TASKS: &str = "[random,pct-t:1,surw,pct-t:2,pos+chess-fair,surw]";

/// Continuations in the profiling run that make a program one of many tasks, if most of its workers are continuations.
const CONTINUATIONS_MIN: u64 = 16;

/// See the module's documentation.
pub struct Portfolio {
    name: String,
    members: Vec<Member>,
    /// The members in programs of many tasks, if these are others.
    of_tasks: Option<Vec<Member>>,
    /// Index of the member that makes the choices of the present iteration.
    at: usize,
}

struct Member {
    strategy: Box<dyn Strategy>,
    /// How many members of this name come before it, and how many there are.
    ordinal: u64,
    alike: u64,
}

impl Portfolio {
    /// Uses these members in this order, repeatedly; at least one. Members with the same name share their
    /// iterations.
    pub fn new(strategies: Vec<Box<dyn Strategy>>) -> Portfolio {
        let members = Member::all(strategies);
        let names: Vec<String> = members.iter().map(|m| m.strategy.name()).collect();
        Portfolio { name: format!("portfolio:[{}]", names.join(",")), members, of_tasks: None, at: 0 }
    }

    /// The default portfolio, known by its name alone: `of_tasks` are its members in programs of many tasks.
    pub fn of_default(strategies: Vec<Box<dyn Strategy>>, of_tasks: Vec<Box<dyn Strategy>>) -> Portfolio {
        let of_tasks = Some(Member::all(of_tasks));
        Portfolio { name: "portfolio".into(), of_tasks, ..Portfolio::new(strategies) }
    }

    fn now(&mut self) -> &mut dyn Strategy {
        self.members[self.at].strategy.as_mut()
    }
}

/// Whether most workers only continue what others began.
fn has_many_tasks(profile: &Profile) -> bool {
    let workers = profile.workers.len() as u64;
    profile.continuations >= CONTINUATIONS_MIN.max(workers / 2)
}

impl Member {
    fn all(strategies: Vec<Box<dyn Strategy>>) -> Vec<Member> {
        assert!(!strategies.is_empty());
        let names: Vec<String> = strategies.iter().map(|m| m.name()).collect();
        let count = |names: &[String], name| names.iter().filter(|n| *n == name).count() as u64;
        let member = |(i, strategy): (usize, Box<dyn Strategy>)| Member {
            strategy,
            ordinal: count(&names[..i], &names[i]),
            alike: count(&names, &names[i]),
        };
        strategies.into_iter().enumerate().map(member).collect()
    }
}

impl Strategy for Portfolio {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn member(&self) -> Option<String> {
        let strategy = &self.members[self.at].strategy;
        strategy.member().or_else(|| Some(strategy.name()))
    }

    /// The answer of the present member.
    fn fair(&self) -> bool {
        self.members[self.at].strategy.fair()
    }

    fn fair_from(&self) -> Option<u64> {
        self.members[self.at].strategy.fair_from()
    }

    fn timeouts_from(&self) -> u64 {
        self.members[self.at].strategy.timeouts_from()
    }

    fn independent(&self) -> bool {
        self.members.iter().all(|m| m.strategy.independent())
    }

    fn grows(&self) -> bool {
        self.members.iter().any(|m| m.strategy.grows())
    }

    fn needs_profile(&self) -> bool {
        self.members.iter().any(|m| m.strategy.needs_profile())
    }

    fn begins_with_profiling_run(&self) -> bool {
        self.members[0].strategy.name() == "random"
    }

    fn prepare(&mut self, profile: &Profile) {
        if let Some(of_tasks) = self.of_tasks.take_if(|_| has_many_tasks(profile)) {
            self.members = of_tasks;
        }
        self.members.iter_mut().for_each(|m| m.strategy.prepare(profile));
    }

    fn begin(&mut self, iteration: Iteration) {
        let n = self.members.len() as u64;
        self.at = (iteration.index % n) as usize;
        let member = &mut self.members[self.at];
        let index = iteration.index / n * member.alike + member.ordinal;
        member.strategy.begin(Iteration { index, ..iteration });
    }

    #[inline]
    fn pick(&mut self, view: &View) -> Option<Pick> {
        self.now().pick(view)
    }

    #[inline]
    fn quiet(&self, worker: WorkerId, view: &View, watched: &mut Vec<(u64, u32)>) -> u64 {
        self.members[self.at].strategy.quiet(worker, view, watched)
    }

    fn goes_on(&mut self, worker: WorkerId, operations: &[Operation], view: &View) -> bool {
        self.now().goes_on(worker, operations, view)
    }

    fn value(&mut self, bound: u64, view: &View) -> Option<u64> {
        self.now().value(bound, view)
    }

    fn observe(&mut self, event: Event) {
        self.now().observe(event);
    }

    fn end(&mut self, summary: Summary) {
        self.now().end(summary);
    }
}
