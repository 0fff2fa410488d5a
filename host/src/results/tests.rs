//! Tests with generated iterations, which are added one after the other and in parts.

use super::*;
use crate::evidence::{Evidence, Inversion, RacingAccess, RacingAct, Side};
use crate::outcome::Bug;
use crate::runtime::{FaultCounts, ObjectId, Sometimes};
use crate::trace::{Decision, Header, Trace, WorkerPath};
use coyote_instrumenter::Location;
use coyote_strategies::{Class, WorkerId};

/// A stream of numbers, by a linear congruential generator (Knuth's MMIX).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }

    pub(crate) fn flag(&mut self) -> bool {
        self.below(2) == 1
    }

    fn names(&mut self) -> Vec<String> {
        (0..self.below(3)).map(|_| format!("name {}", self.below(12))).collect()
    }

    fn faults(&mut self) -> FaultCounts {
        let mut counts = FaultCounts::default();
        self.names().iter().for_each(|name| counts.see(name));
        counts
    }

    fn sometimes(&mut self) -> Sometimes {
        let mut counts = Sometimes::default();
        self.names().into_iter().for_each(|name| counts.count(&name).add(self.flag()));
        counts
    }

    fn bug(&mut self, index: Option<u64>) -> FoundBug {
        let kind = [BugKind::Deadlock, BugKind::Assertion, BugKind::Limit][self.below(3) as usize];
        let said = format!("said {}", self.below(9));
        let timeouts = (0..self.below(4)).map(|_| WorkerPath(vec![self.below(2) as u32]));
        let decisions = timeouts.map(|worker| Decision::Timeout { worker }).collect();
        FoundBug {
            bug: Bug { kind, evidence: Evidence::Said(said), worker: None },
            identity: BugIdentity {
                kind,
                detail: String::new(),
                stacks: vec![self.names()],
                allocated: None,
                freed: None,
            },
            iteration: index.unwrap_or(0),
            trace: Trace { header: Header::default(), decisions, answers: Vec::new() },
            path: format!("{index:?}.trace").into(),
            post_mortem: PostMortem {
                culprit: None,
                workers: Vec::new(),
                waited_for: Vec::new(),
                block: None,
                first_access: None,
                race: None,
                notes: self.names(),
                livelock: None,
                round: Vec::new(),
                output: Vec::new(),
            },
            named_message: None,
            story: None,
            history: None,
            count: 1,
            first: index,
            by: None,
            explanation: Explanation::default(),
        }
    }

    /// Inversions of locks, some of them at equal places.
    fn inversions(&mut self) -> Vec<Inversion> {
        let side = |numbers: &mut Numbers| {
            let mut lock = || ObjectId { class: Class::Mutex, address: 8 * numbers.below(3) as u32 };
            let (held, wanted) = (lock(), lock());
            let mut place = || Some(Location { function: 1, offset: numbers.below(3) as u32 });
            Side { title: "a".into(), held, taken: place(), wanted, wanted_at: place(), site: 0 }
        };
        (0..self.below(3)).map(|_| Inversion { sides: vec![side(self), side(self)] }).collect()
    }

    /// Data races that are no bugs, some of them at equal places.
    fn races(&mut self) -> Vec<RaceRemark> {
        let mut access = |title: &str| RacingAccess {
            act: RacingAct::Access { writes: true, atomic: false, ordering: None },
            address: 8,
            bytes: 4,
            worker: WorkerId(0),
            title: title.into(),
            step: self.below(9),
            location: Some(Location { function: 1, offset: self.below(3) as u32 }),
        };
        let (first, second) = (access("worker 0"), access("worker 0.1"));
        let race = RaceRemark { first, second, suppressed_by: None };
        if self.below(4) == 0 { vec![race] } else { Vec::new() }
    }

    fn executed(&mut self) -> ExecutionCounts {
        let mut executed = ExecutionCounts::default();
        (0..self.below(4)).for_each(|_| executed.add(self.below(6) as u32, self.below(9)));
        executed
    }

    pub(crate) fn iteration(&mut self, index: Option<u64>) -> IterationResult {
        let bug = (self.below(3) == 0).then(|| Box::new(self.bug(index)));
        let hit_max_steps = self.flag();
        let record = IterationRecord {
            fair: self.flag(),
            steps: self.below(100),
            decisions: self.below(50),
            concurrency: self.below(4) as u32,
            workers: self.below(5) as u32,
            hit_max_steps,
            hit_after_main: hit_max_steps && self.flag(),
            buggy: bug.as_ref().is_some_and(|bug| !bug.is_limit()),
            livelock: self.flag(),
            abandoned: self.flag(),
        };
        let incidents = Incidents {
            memory_refused: self.below(20) == 0,
            asked_random: self.below(20) == 0,
            spurious_left_out: self.below(20) == 0,
            clock_looked_at: self.below(20) == 0,
            limits: self.names().into_iter().collect(),
            refused_calls: self.names().into_iter().collect(),
            left_blocked: self.names().into_iter().collect(),
            never_joined: self.names().into_iter().collect(),
            faults: self.faults(),
            sometimes: self.sometimes(),
        };
        let notes = IterationNotes {
            incidents,
            races: self.races(),
            inversions: self.inversions(),
            first_output: (self.below(4) == 0).then(|| FirstOutput { index, text: self.names().concat() }),
        };
        let shared = (0..self.below(3)).map(|_| self.below(20) as u32).collect();
        let (repeats, states_compared) = (self.below(3) as u32, self.below(100));
        let progress = (self.below(3) == 0).then(|| IterationProgress {
            class: self.flag().then(|| self.below(20)),
            pairs: (0..self.below(3)).map(|_| self.below(30)).collect(),
            points: (0..self.below(3)).map(|_| self.below(30) as u32).collect(),
        });
        IterationResult {
            index,
            record,
            bug,
            notes,
            shared,
            repeats,
            states_compared,
            progress,
            passage: None,
            executed: self.flag().then(|| Box::new(self.executed())),
        }
    }
}

/// The result of an iteration, and its part of a sweep's result.
type Executed = (IterationResult, Option<(usize, SweptExecution)>);

/// A sweep with a site for each number of planned executions.
fn sweep(planned: &[u64]) -> Sweep {
    let site = |(number, planned): (usize, &u64)| SweptSite {
        fault: "try-lock".into(),
        stack: vec![Location { function: number as u32, offset: 1 }],
        opportunities: 1,
        planned: *planned,
        swept: Swept::default(),
    };
    Sweep {
        faults: vec!["try-lock".into()],
        samples: 1,
        baseline_passes: true,
        left_out: 0,
        sites: planned.iter().enumerate().map(site).collect(),
    }
}

fn absorb(result: &mut TestResult, (iteration, swept): Executed) {
    result.absorb(iteration);
    if let (Some(sweep), Some((site, execution))) = (&mut result.sweep, swept) {
        sweep.count(site, execution);
    }
}

fn empty() -> TestResult {
    TestResult::new(Subject::default(), StepsMax { unfair: 10, fair: 100 }, true)
}

/// Iterations are distributed over parts at random, and the parts are merged in a random order.
#[test]
fn order_and_grouping_do_not_matter() {
    let (mut complete, mut incomplete) = (0, 0);
    for seed in 0..400 {
        let mut numbers = Numbers(seed);
        let sites = numbers.below(4) as usize;
        let indices = [None].into_iter().chain((0..numbers.below(30)).map(Some)).collect::<Vec<_>>();
        let executed = |index| {
            let iteration = numbers.iteration(index);
            let swept = (sites > 0 && numbers.flag()).then(|| {
                let bug = (numbers.below(3) == 0).then(|| format!("bug {}", numbers.below(4)));
                let execution =
                    SweptExecution { struck: numbers.below(8) > 0, unfinished: numbers.below(20) == 0, bug };
                (numbers.below(sites as u64) as usize, execution)
            });
            (iteration, swept)
        };
        let mut all: Vec<Executed> = indices.into_iter().map(executed).collect();
        // In most sweeps, everything that is planned is executed.
        let more = u64::from(numbers.below(4) == 0);
        let at = |site| all.iter().filter(|(_, swept)| swept.as_ref().is_some_and(|s| s.0 == site)).count();
        let planned: Vec<u64> = (0..sites).map(|site| at(site) as u64 + more).collect();
        let fresh = || TestResult { sweep: (sites > 0).then(|| sweep(&planned)), ..empty() };
        let mut parts: Vec<TestResult> = (0..1 + numbers.below(5)).map(|_| fresh()).collect();
        let mut whole = fresh();
        for part in &mut parts {
            part.elapsed = Duration::from_millis(numbers.below(50));
            part.stop = if numbers.flag() { Stop::Iterations } else { Stop::Timeout };
            (whole.elapsed, whole.stop) = (whole.elapsed + part.elapsed, whole.stop.max(part.stop));
        }
        all.iter().for_each(|one| absorb(&mut whole, one.clone()));
        whole.exhaust_sweep();
        while !all.is_empty() {
            let one = all.swap_remove(numbers.below(all.len() as u64) as usize);
            let part = numbers.below(parts.len() as u64) as usize;
            absorb(&mut parts[part], one);
        }
        parts.iter_mut().for_each(TestResult::exhaust_sweep);
        while parts.len() > 1 {
            let one = parts.swap_remove(numbers.below(parts.len() as u64) as usize);
            let other = numbers.below(parts.len() as u64) as usize;
            parts[other].merge(one).unwrap();
        }
        assert_eq!(parts[0], whole, "seed {seed}");
        let stored = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<TestResult>(&stored).unwrap(), whole, "seed {seed}");
        match whole.sweep.map(|sweep| sweep.is_complete()) {
            Some(true) => complete += 1,
            Some(false) => incomplete += 1,
            None => {}
        }
    }
    assert!(complete > 10 && incomplete > 10, "{complete} {incomplete}");
}

/// Results that do not belong together are refused, and the result is then unchanged.
#[test]
fn what_differs_is_not_put_together() {
    let mut numbers = Numbers(1);
    let mut result = TestResult { sweep: Some(sweep(&[2, 1])), ..empty() };
    absorb(&mut result, (numbers.iteration(Some(3)), None));
    let part = |change: &dyn Fn(&mut TestResult)| {
        let mut part = TestResult { sweep: Some(sweep(&[2, 1])), ..empty() };
        change(&mut part);
        part
    };
    let again = numbers.iteration(Some(3));
    let summary = SearchSummary {
        counts: Counts::default(),
        exhausted: true,
        estimate: None,
        assumptions: Vec::new(),
        frontier: None,
        cut: Incidents::default(),
        open_units: 0,
        may_repeat: false,
        resumed: None,
    };
    let cases: [(TestResult, MergeError); 6] = [
        (part(&|part| part.sweep = None), MergeError::Sweep),
        (part(&|part| part.sweep = Some(sweep(&[2]))), MergeError::Sweep),
        (part(&|part| part.sweep = Some(sweep(&[2, 2]))), MergeError::Sweep),
        (part(&|part| part.search = Some(summary.clone())), MergeError::Search),
        (part(&|part| part.absorb(again.clone())), MergeError::Overlap(3)),
        (
            part(&|part| part.subject.seed = 7),
            MergeError::Subject(Difference { what: "seed", one: "0".into(), other: "7".into() }),
        ),
    ];
    let before = result.clone();
    for (other, why) in cases {
        assert_eq!(result.merge(other), Err(why));
        assert_eq!(result, before);
    }
    // An empty part of the same sweep changes nothing.
    result.merge(part(&|_| {})).unwrap();
    assert_eq!(result, before);
}

/// Among equal bugs the one with the simplest trace is kept; the other one is returned.
#[test]
fn the_simplest_trace_is_kept() {
    let mut numbers = Numbers(0);
    let mut bug = |index, timeouts: usize| {
        let mut bug = numbers.bug(Some(index));
        bug.identity = BugIdentity {
            kind: BugKind::Deadlock,
            detail: String::new(),
            stacks: Vec::new(),
            allocated: None,
            freed: None,
        };
        bug.trace.decisions = vec![Decision::Timeout { worker: WorkerPath::default() }; timeouts];
        bug
    };
    let bugs = [bug(4, 2), bug(5, 1), bug(3, 1), bug(7, 3)];
    let mut result = empty();
    let others: Vec<Option<u64>> =
        bugs.into_iter().map(|bug| result.add_bug(bug).map(|other| other.iteration)).collect();
    assert_eq!(others, [None, Some(4), Some(5), Some(7)]);
    let [kept] = result.bugs.as_slice() else { panic!("{:?}", result.bugs) };
    assert_eq!((kept.iteration, kept.first, kept.count), (3, Some(3), 4));
}

/// The summary of earlier runs of a search is read as it was written.
#[test]
fn searches_are_stored_too() {
    let (kind, message, identity) = ("trap".into(), "it trapped".into(), "0a1b".into());
    let bug = KnownBug { kind, message, trace: "a.trace".into(), identity, count: 2 };
    let notes = Numbers(1).iteration(None).notes;
    let done = Done { bugs: vec![bug], notes, ..Done::default() };
    let summary = SearchSummary {
        counts: Counts { executions: 3, ..Counts::default() },
        exhausted: false,
        estimate: Some(2.5),
        assumptions: vec!["virtual time".into()],
        frontier: Some("b.frontier".into()),
        cut: Incidents::default(),
        open_units: 0,
        may_repeat: false,
        resumed: Some(Resumed { from: "c.frontier".into(), done }),
    };
    let stored = serde_json::to_string(&summary).unwrap();
    assert_eq!(serde_json::from_str::<SearchSummary>(&stored).unwrap(), summary);
}
