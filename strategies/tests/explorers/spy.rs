//! A system that records the states it comes to, and can be told that it has no snapshots.

use coyote_strategies::search::Advance;
use coyote_strategies::toy::{Program, Toy};
use coyote_strategies::{Access, Decision, Event, Pick, Search, Status, System, View};
use std::collections::BTreeSet;

pub struct Spy {
    toy: Toy,
    /// Fingerprints of the states that are ready for a pick or final.
    pub states: BTreeSet<u128>,
    pub snapshots: bool,
    /// How often the program was started again.
    pub restarts: u64,
    /// A hint that steps give before they choose a value.
    pub hint: Option<u64>,
    events: Vec<Event>,
}

impl Spy {
    pub fn new(program: Program) -> Spy {
        let mut spy = Spy {
            toy: Toy::new(program),
            states: BTreeSet::new(),
            snapshots: true,
            restarts: 0,
            hint: None,
            events: vec![],
        };
        spy.record();
        spy
    }

    fn record(&mut self) {
        if !matches!(self.toy.status(), Status::Choosing { .. }) {
            self.states.insert(self.toy.fingerprint());
        }
    }
}

impl System for Spy {
    type Snapshot = Toy;

    fn status(&self) -> Status {
        self.toy.status()
    }
    fn view(&self) -> View<'_> {
        self.toy.view()
    }
    fn step(&mut self, pick: Pick) {
        self.toy.step(pick);
        if let (Some(value), Status::Choosing { .. }) = (self.hint, self.toy.status()) {
            self.events.push(Event::Hint { worker: pick.worker(), value });
        }
        self.record();
    }
    fn choose(&mut self, value: u64) {
        self.toy.choose(value);
        self.record();
    }
    fn restart(&mut self) {
        self.restarts += 1;
        self.events.clear();
        self.toy.restart();
    }
    fn footprint(&self) -> &[Access] {
        self.toy.footprint()
    }
    fn announced(&self, pick: Pick, into: &mut Vec<Access>) {
        self.toy.announced(pick, into);
    }
    fn take_events(&mut self, into: &mut Vec<Event>) {
        into.append(&mut self.events);
        self.toy.take_events(into);
    }
    fn can_snapshot(&self) -> bool {
        self.snapshots
    }
    fn snapshot(&mut self) -> Toy {
        assert!(self.snapshots);
        self.toy.snapshot()
    }
    fn restore(&mut self, snapshot: &Toy) {
        self.events.clear();
        self.toy.restore(snapshot);
    }
    fn fingerprint(&mut self) -> u128 {
        self.toy.fingerprint()
    }
}

/// The executions of a search until it is exhausted, in their order.
pub fn executions(system: &mut Spy, search: &mut dyn Search<Spy>) -> Vec<(Vec<Decision>, Status)> {
    let mut found = Vec::new();
    loop {
        match search.advance(system, 7) {
            Advance::Ended(status) => found.push((search.path().to_vec(), status)),
            Advance::Livelock | Advance::Round => panic!("these programs end"),
            Advance::Working => {}
            Advance::Exhausted => break,
        }
    }
    assert_eq!(search.error(), None);
    let counts = search.counts();
    assert_eq!(counts.executions + counts.abandoned, found.len() as u64);
    found
}
