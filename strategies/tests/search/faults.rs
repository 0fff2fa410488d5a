//! Planted faults: that the comparison with the truth can fail.
//!
//! DPOR relies on what a system tells it. A system that lies in one respect has the same effect as a search
//! that does not look there.

use crate::dpor::{flaw, program};
use crate::oracle::{enumerate, run_on};
use coyote_strategies::search::dpor::Dpor;
use coyote_strategies::search::{Advance, Search};
use coyote_strategies::toy::{Program, Toy};
use coyote_strategies::{Access, Class, Event, Pick, Status, System, View};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    None,
    /// Not a fault: every prefix is executed again.
    NoSnapshots,
    LocksIgnored,
    /// Of workers that are blocked in the end.
    BlockedIgnored,
    /// A bug is independent of what others do.
    EndsIgnored,
    /// Timeouts that a step takes away are not tried.
    TimeoutsIgnored,
    AnnouncedOnly,
    /// Not a fault: a restored state has forgotten what its step touched before it asked for a value.
    Forgetful,
    /// Not a fault: executions are cut off after so many steps.
    Bounded(u64),
    /// A snapshot is of the state where the one before was taken.
    WrongSnapshot,
}

pub struct Faulty {
    toy: Toy,
    fault: Fault,
    /// What it says instead of the footprint.
    said: Vec<Access>,
    /// Accesses that it has forgotten.
    forgotten: usize,
    before: Option<Toy>,
}

impl Faulty {
    pub fn new(program: &Program, fault: Fault) -> Faulty {
        Faulty { toy: Toy::new(program.clone()), fault, said: vec![], forgotten: 0, before: None }
    }
}

impl System for Faulty {
    type Snapshot = Toy;

    fn status(&self) -> Status {
        match (self.toy.status(), self.fault) {
            (Status::Ready, Fault::Bounded(steps)) if self.toy.view().step >= steps => Status::Unfinished,
            (status, _) => status,
        }
    }
    fn ends_program(&self) -> bool {
        self.fault != Fault::EndsIgnored && self.toy.ends_program()
    }
    fn view(&self) -> View<'_> {
        let view = self.toy.view();
        let hidden = self.fault == Fault::TimeoutsIgnored && !view.enabled.is_empty();
        View { timeouts: if hidden { &[] } else { view.timeouts }, ..view }
    }
    fn step(&mut self, pick: Pick) {
        self.said.clear();
        if self.fault == Fault::AnnouncedOnly {
            self.toy.announced(pick, &mut self.said);
        }
        self.forgotten = 0;
        self.toy.step(pick);
        self.note();
    }
    fn choose(&mut self, value: u64) {
        self.toy.choose(value);
        self.note();
    }
    fn restart(&mut self) {
        self.toy.restart();
    }
    fn footprint(&self) -> &[Access] {
        match self.fault {
            Fault::LocksIgnored | Fault::AnnouncedOnly => &self.said,
            _ => &self.toy.footprint()[self.forgotten..],
        }
    }
    fn announced(&self, pick: Pick, into: &mut Vec<Access>) {
        if !matches!(self.fault, Fault::BlockedIgnored | Fault::LocksIgnored) {
            self.toy.announced(pick, into);
        }
    }
    fn take_events(&mut self, into: &mut Vec<Event>) {
        self.toy.take_events(into);
    }
    fn can_snapshot(&self) -> bool {
        self.fault != Fault::NoSnapshots
    }
    fn snapshot(&mut self) -> Toy {
        let now = self.toy.snapshot();
        let before = self.before.replace(now.clone());
        if self.fault == Fault::WrongSnapshot { before.unwrap_or(now) } else { now }
    }
    fn restore(&mut self, snapshot: &Toy) {
        self.toy.restore(snapshot);
        let forgets = self.fault == Fault::Forgetful;
        self.forgotten = if forgets { self.toy.footprint().len() } else { 0 };
    }
    fn fingerprint(&mut self) -> u128 {
        self.toy.fingerprint()
    }
}

impl Faulty {
    fn note(&mut self) {
        if self.fault == Fault::LocksIgnored {
            self.said.clear();
            let footprint = self.toy.footprint().iter();
            self.said.extend(footprint.filter(|access| access.class != Class::Mutex));
        }
    }
}

/// What is wrong with DPOR of a faulty system.
fn wrong(program: &Program, fault: Fault) -> Option<String> {
    let truth = enumerate(program, 2_000)?;
    let run = || run_on(&mut Dpor::new(None), &mut Faulty::new(program, fault), program);
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(found)) => flaw(&truth, &found),
        Ok(Err(flaw)) => Some(flaw),
        Err(_) => Some("it panics".into()),
    }
}

#[test]
fn planted_faults_are_caught() {
    for fault in [
        Fault::LocksIgnored,
        Fault::BlockedIgnored,
        Fault::EndsIgnored,
        Fault::TimeoutsIgnored,
        Fault::AnnouncedOnly,
        Fault::WrongSnapshot,
    ] {
        // Of the first 400 programs at least 10 catch each fault. Panics are slow.
        let programs = if fault == Fault::WrongSnapshot { 20 } else { 400 };
        let caught = (0..programs).filter(|index| wrong(&program(*index), fault).is_some()).count();
        println!("{fault:?}: caught by {caught} of {programs} programs");
        assert!(caught > 0, "{fault:?} is not caught");
    }
    for fault in [Fault::None, Fault::NoSnapshots, Fault::Forgetful] {
        for index in 0..200 {
            assert_eq!(wrong(&program(index), fault), None, "{fault:?}, program {index}");
        }
    }
}

/// As if what sleeps were not woken by what depends on it: what is stored half-way loses its footprints.
#[test]
fn sleep_without_footprints_is_caught() {
    let caught = (0..400).filter(|index| {
        let program = program(*index);
        let Some(truth) = enumerate(&program, 2_000) else { return false };
        let (mut toy, mut first) = (Toy::new(program.clone()), Dpor::new(None));
        let mut found = std::collections::BTreeMap::new();
        for _ in 0..3 {
            if let Advance::Ended(_) = first.advance(&mut toy, u64::MAX) {
                let (class, outcome) = crate::oracle::classify(&program, first.path()).expect("possible");
                found.insert(class, (outcome, 1));
            }
        }
        let mut items = first.save();
        let branches = items.iter_mut().flat_map(|item| &mut item.branches);
        branches.flat_map(|branch| &mut branch.tried).for_each(|tried| tried.footprint.clear());
        found.extend(crate::oracle::run(&mut Dpor::new(Some(items)), &program));
        flaw(&truth, &found).is_some()
    });
    assert!(caught.count() > 0);
}
