//! Explorers that leave something out are found out, and say what.

use crate::programs;
use crate::spy::{Spy, executions};
use coyote_strategies::search::Advance;
use coyote_strategies::search::explorers::{Explorer, RoundRobin};
use coyote_strategies::search::ses::{Ses, Settings};
use coyote_strategies::search::ss::{Samples, Ss};
use coyote_strategies::toy::{Instruction::*, Program};
use coyote_strategies::{Event, Pick, Search, View, WorkerId};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The timeout is never offered while somebody can go on.
    NoTimeouts,
    /// Worker 1 is never offered while somebody else can go on.
    Forgets,
    /// A delay is forgotten once in a while: an offer comes twice.
    Repeats,
    /// Offers who has done the last step, also if it is blocked.
    Impossible,
    /// Offers nothing if the timeout is all there is.
    Silent,
    /// None: the control.
    Sound,
}

/// Round robin with a fault.
#[derive(Clone)]
struct Planted {
    inner: RoundRobin,
    fault: Fault,
    last: Option<Pick>,
    delays: u32,
}

impl Explorer for Planted {
    fn name(&self) -> String {
        format!("{:?}", self.fault)
    }
    fn begin(&mut self, view: &View) {
        self.inner.begin(view);
    }
    fn next(&self, view: &View) -> Option<Pick> {
        let hidden = |pick| match self.fault {
            Fault::NoTimeouts => matches!(pick, Pick::Timeout(_)) && !view.enabled.is_empty(),
            Fault::Forgets => pick == Pick::Step(WorkerId(1)) && view.choices() > 1,
            Fault::Silent => matches!(pick, Pick::Timeout(_)) && view.enabled.is_empty(),
            _ => false,
        };
        if self.fault == Fault::Impossible
            && let Some(last) = self.last
            && !view.allows(last)
        {
            return Some(last);
        }
        let mut inner = self.inner.clone();
        for _ in 0..view.choices() {
            let pick = inner.next(view)?;
            if !hidden(pick) {
                return Some(pick);
            }
            inner.delay(view);
        }
        None
    }
    fn step(&mut self, pick: Pick, events: &[Event], view: &View) {
        self.inner.step(pick, events, view);
        self.last = Some(pick);
    }
    fn delay(&mut self, view: &View) {
        self.delays += 1;
        if self.fault != Fault::Repeats || !self.delays.is_multiple_of(5) {
            self.inner.delay(view);
        }
    }
}

fn planted(fault: Fault) -> Planted {
    Planted { inner: RoundRobin::default(), fault, last: None, delays: 0 }
}

fn sleepers() -> Program {
    vec![vec![Lock(0), WaitTimeout(0, 0, 1), Unlock(0)], vec![Load(0), Sleep(2)], vec![Load(0); 3]]
}

fn error(search: &mut dyn Search<Spy>) -> String {
    let mut system = Spy::new(sleepers());
    while search.advance(&mut system, 1_000) != Advance::Exhausted {
        assert!(search.counts().executions < 10_000, "{} was not found out", search.name());
    }
    // Nothing may be concluded, now or later.
    assert!(search.counts().cut);
    assert_eq!(search.advance(&mut system, 1_000), Advance::Exhausted);
    search.error().expect("it is exhausted for that reason").to_string()
}

#[test]
fn unsound_explorers_are_rejected_by_name_state_and_pick() {
    let expected = [
        (
            Fault::NoTimeouts,
            "explorer NoTimeouts is not sound: after 2 decisions [0 0] it never offers the timeout of worker 0: \
             not within 3 offers for 3 picks",
        ),
        (
            Fault::Forgets,
            "explorer Forgets is not sound: after 0 decisions [] it never offers a step of worker 1: not \
             within 3 offers for 3 picks",
        ),
        (Fault::Repeats, "explorer Repeats is not sound: after"),
        (
            Fault::Impossible,
            "explorer Impossible is not sound: after 2 decisions [0 0] it offers a step of worker 0, \
             which is none of the 3 possible picks",
        ),
        (Fault::Silent, "explorer Silent is not sound: after"),
    ];
    for (fault, message) in expected {
        let samples = Samples { seed: 1, factor: 10, base: 3, delays_max: None };
        let searches: [Box<dyn Search<Spy>>; 2] = [
            Box::new(Ses::new(planted(fault), Settings::default())),
            Box::new(Ss::new(planted(fault), samples)),
        ];
        for mut search in searches {
            let error = error(&mut *search);
            assert!(error.starts_with(message), "{error}");
        }
    }
}

#[test]
fn the_control_is_accepted() {
    let mut search = Ses::new(planted(Fault::Sound), Settings::default());
    executions(&mut Spy::new(sleepers()), &mut search);
    assert!(!search.counts().cut);
}

/// The harness of the check: on many programs, a fault that shows is never overlooked by a search that
/// is otherwise complete.
#[test]
fn what_an_explorer_leaves_out_is_never_taken_for_complete() {
    let mut rejected = 0;
    for program in (0..60).map(programs::random) {
        let Some(all) = crate::naive::all(&program, 1_000) else { continue };
        for fault in [Fault::NoTimeouts, Fault::Forgets, Fault::Repeats] {
            let mut system = Spy::new(program.clone());
            let mut search = Ses::new(planted(fault), Settings::default());
            while search.advance(&mut system, 1_000) != Advance::Exhausted {}
            if search.counts().cut {
                rejected += 1;
            } else {
                assert_eq!(system.states, all.states, "{fault:?} on {program:?}");
            }
        }
    }
    assert!(rejected > 50, "{rejected}");
}
