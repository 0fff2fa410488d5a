//! The rules of state machines against the naive way to execute them, on generated machines.

use super::core::{Action, Ask, Command, Events, Machine, Mistake, Reaction, Row, Special, Table};
use super::naive::{self, ANY, DEFAULT, Event, HALT, Kind, Request, Rule, Spec};
use std::collections::BTreeMap;

fn row(rules: &[(Kind, Rule)]) -> Vec<(Kind, Reaction<usize>)> {
    let reaction = |rule: Rule| match rule {
        Rule::Do(script) => Reaction::Do(script),
        Rule::Goto(state, script) => Reaction::Goto(state, script),
        Rule::Push(state) => Reaction::Push(state),
        Rule::Defer => Reaction::Defer,
        Rule::Ignore => Reaction::Ignore,
    };
    rules.iter().map(|(kind, rule)| (*kind, reaction(*rule))).collect()
}

fn table(spec: &Spec) -> Table<usize, Kind> {
    let state =
        |state: &naive::State| Row { entry: state.entry, exit: state.exit, reactions: row(&state.rules) };
    Table {
        states: spec.states.iter().map(state).enumerate().collect(),
        everywhere: Row { entry: None, exit: None, reactions: row(&spec.everywhere) },
        special: Special { any: ANY, default: DEFAULT, halt: HALT },
    }
}

/// Executes a machine as an actor does, but for the waiting.
struct Driver<'a> {
    spec: &'a Spec,
    table: Table<usize, Kind>,
    machine: Machine<usize, Event>,
    events: Events<Event>,
    looks: usize,
    numbers: u32,
    own_numbers: u32,
    requests: u32,
    trace: Vec<String>,
}

impl Driver<'_> {
    fn own(&mut self, kind: Kind) -> Event {
        self.own_numbers += 1;
        Event { number: self.own_numbers, kind }
    }

    fn arrive(&mut self) -> Option<()> {
        let Some(kinds) = self.spec.arrivals.get(self.looks) else {
            let left: Vec<u32> = self.events.iter().map(|event| event.number).collect();
            self.end(&format!("idle, left {left:?}"));
            return None;
        };
        self.looks += 1;
        for kind in kinds {
            self.numbers += 1;
            self.events.push(Event { number: self.numbers, kind: *kind });
        }
        Some(())
    }

    fn end(&mut self, how: &str) {
        self.trace.push(format!("{how}; states {:?}", self.machine.stack()));
    }

    /// Returns at the end of the execution.
    fn run(&mut self) -> Option<()> {
        let mut asked = None;
        loop {
            let next = self.machine.next(&self.table, |event| event.kind, asked.take());
            match next {
                Ok(Command::Call(action)) => asked = self.act(action, 0)?,
                Ok(Command::Handle(action, event)) => asked = self.act(action, event.number)?,
                Ok(Command::Discard(_)) => {}
                Ok(Command::Handled) => self.trace.push("handled".into()),
                Ok(Command::Unhandled(_)) => {
                    self.end("bug: an event is not handled");
                    return None;
                }
                Ok(Command::Take) => {
                    let event = self.take()?;
                    self.machine.took(event, event.kind == DEFAULT);
                }
                Ok(Command::Halt) => {
                    let left: Vec<u32> = self.events.drain().iter().map(|event| event.number).collect();
                    self.end(&format!("halt, left {left:?}"));
                    return None;
                }
                Err(mistake) => {
                    self.end(match mistake {
                        Mistake::AsksOnExit => "bug: an exit asks",
                        Mistake::PopsLast => "bug: the only state is popped",
                        Mistake::RaisesDeferred(_) => "bug: a deferred event is raised",
                        Mistake::Undeclared(_) => "bug: a state is not declared",
                    });
                    return None;
                }
            }
        }
    }

    fn take(&mut self) -> Option<Event> {
        loop {
            self.arrive()?;
            loop {
                let (table, stack) = (&self.table, self.machine.stack());
                let (taken, ignored) = self.events.take(|event| table.fate(stack, &event.kind));
                self.trace.extend(ignored.iter().map(|event| format!("ignore {}", event.number)));
                if let Some(event) = taken {
                    self.trace.push(format!("take {}", event.number));
                    return Some(event);
                }
                if !self.events.has_unseen() {
                    break;
                }
                self.events.see();
            }
            if self.table.has_default(self.machine.stack()) {
                self.trace.push("default".into());
                return Some(self.own(DEFAULT));
            }
        }
    }

    fn act(&mut self, action: Action, event: u32) -> Option<Option<Ask<usize, Event>>> {
        self.trace.push(format!("act {action} with {event} in {:?}", self.machine.stack().last()));
        let script = self.spec.scripts[action];
        if let Some(kind) = script.receives {
            let received = loop {
                self.arrive()?;
                let received = loop {
                    let found = self.events.find(|event| event.kind == kind);
                    if found.is_some() || !self.events.has_unseen() {
                        break found;
                    }
                    self.events.see();
                };
                if let Some(event) = received {
                    break event;
                }
            };
            self.trace.push(format!("receive {}", received.number));
        }
        let Some(request) = script.requests.filter(|_| self.requests < self.spec.requests_max) else {
            return Some(None);
        };
        self.requests += 1;
        Some(Some(match request {
            Request::Raise(kind) => Ask::Raise(self.own(kind)),
            Request::Goto(state) => Ask::Goto(state),
            Request::Push(state) => Ask::Push(state),
            Request::Pop => Ask::Pop,
            Request::Halt => Ask::Halt,
        }))
    }
}

fn run(spec: &Spec) -> Vec<String> {
    let mut driver = Driver {
        spec,
        table: table(spec),
        machine: Machine::new(0),
        events: Events::new(),
        looks: 0,
        numbers: 0,
        own_numbers: naive::OWN,
        requests: 0,
        trace: Vec::new(),
    };
    driver.run();
    driver.trace
}

const MACHINES: u64 = 1000;

#[test]
fn generated_machines_do_what_the_naive_way_does() {
    let mut ends: BTreeMap<String, u32> = BTreeMap::new();
    let mut lines = 0;
    for seed in 0..MACHINES {
        let spec = Spec::generate(seed);
        let (trace, expected) = (run(&spec), naive::run(&spec, 0));
        assert_eq!(trace, expected, "machine {seed}: {spec:#?}");
        lines += trace.len();
        let end = trace.last().and_then(|line| line.split([',', ';']).next()).unwrap_or_default();
        *ends.entry(end.to_string()).or_default() += 1;
    }
    // All ends come about, and machines live long enough for that to mean something.
    println!("{lines} lines, {ends:?}");
    let all = ["bug: a deferred event is raised", "bug: an event is not handled", "bug: an exit asks"];
    for end in all.iter().chain(&["bug: the only state is popped", "halt", "idle"]) {
        assert!(ends.get(*end).is_some_and(|machines| *machines >= 10), "{end}: {ends:?}");
    }
    assert!(lines as u64 > 15 * MACHINES, "{lines} lines");
}

#[test]
fn every_broken_rule_is_noticed() {
    for mutant in 1..=naive::MUTANTS {
        let noticed = (0..MACHINES).filter(|seed| {
            let spec = Spec::generate(*seed);
            run(&spec) != naive::run(&spec, mutant)
        });
        let noticed = noticed.count();
        println!("mutant {mutant}: {noticed}");
        assert!(noticed >= 5, "mutant {mutant} is noticed in {noticed} machines");
    }
}
