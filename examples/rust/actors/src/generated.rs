//! Generated state machines as actors, against a naive way to execute them (`naive.rs` of the SDK, which tests its rules with
//! it without a host as well).
//!
//! *Specification:* an actor takes the same events in the same order, and executes the same actions, whatever the
//! schedule, as long as one worker sends to it and no state reacts to `DefaultEvent`.
//!
//! Each iteration chooses a machine by its number. Machines whose actions wait for what never comes, or break a rule,
//! are left out.

#[path = "../../../../guest-sdk/rust/src/actor/naive.rs"]
#[allow(dead_code)] // What the tests of the SDK need.
mod naive;

use coyote::actor::{self, Actor, AnyEvent, Context, Declaration, Event, Message, States};
use coyote::monitor::Monitor;
use coyote::nondet;
use naive::{ANY, DEFAULT, HALT, KINDS, Kind, Request, Rule, Spec};
use std::sync::OnceLock;

/// The machine of this iteration, and what it is to do.
static MACHINE: OnceLock<(Spec, Vec<String>)> = OnceLock::new();

static COMPLETE: Monitor = Monitor::new("the machine does all that the naive way does");

fn machine() -> &'static (Spec, Vec<String>) {
    MACHINE.get().expect("it is chosen first")
}

/// An event of a kind, and its number.
struct Numbered<const KIND: Kind>(u32);

trait Number: Event {
    fn number(&self) -> u32;
}

impl<const KIND: Kind> Number for Numbered<KIND> {
    fn number(&self) -> u32 {
        self.0
    }
}

impl Number for AnyEvent {
    fn number(&self) -> u32 {
        number_of(&self.0)
    }
}

fn number_of(message: &Message) -> u32 {
    let numbers = [
        message.get::<Numbered<0>>().map(Number::number),
        message.get::<Numbered<1>>().map(Number::number),
        message.get::<Numbered<2>>().map(Number::number),
        message.get::<Numbered<3>>().map(Number::number),
    ];
    numbers.into_iter().flatten().next().expect("an event of one of the kinds")
}

/// An actor that does what a [`Spec`] says, and compares what it does.
struct Generated {
    lines: usize,
    requests: u32,
    own_numbers: u32,
}

impl Actor for Generated {
    type State = usize;

    fn states(states: &mut States<Generated>) {
        let (spec, _) = machine();
        for (number, state) in spec.states.iter().enumerate() {
            let mut declared = if number == 0 { states.start(number) } else { states.state(number) };
            if let Some(script) = state.entry {
                declared = declared.entry(move |machine, ctx| machine.act(ctx, script, 0));
            }
            if let Some(script) = state.exit {
                declared = declared.exit(move |machine, ctx| machine.act(ctx, script, 0));
            }
            for (kind, rule) in &state.rules {
                declared = declare(declared, *kind, *rule);
            }
        }
        let mut everywhere = states.everywhere();
        for (kind, rule) in &spec.everywhere {
            everywhere = declare(everywhere, *kind, *rule);
        }
    }

    fn on_dequeued(&mut self, event: &Message) {
        self.compare(&format!("take {}", number_of(event)));
    }

    fn on_handled(&mut self, _: &mut Context<Generated>) {
        self.compare("handled");
    }

    fn on_halt(&mut self, _: &mut Context<Generated>) {
        self.compare("halt");
    }
}

fn declare(declared: Declaration<'_, Generated>, kind: Kind, rule: Rule) -> Declaration<'_, Generated> {
    match kind {
        0 => declare_for::<Numbered<0>>(declared, rule),
        1 => declare_for::<Numbered<1>>(declared, rule),
        2 => declare_for::<Numbered<2>>(declared, rule),
        3 => declare_for::<Numbered<3>>(declared, rule),
        ANY => declare_for::<AnyEvent>(declared, rule),
        _ => declared,
    }
}

fn declare_for<E: Number>(declared: Declaration<'_, Generated>, rule: Rule) -> Declaration<'_, Generated> {
    match rule {
        Rule::Do(script) => declared
            .on(move |machine: &mut Generated, ctx, event: E| machine.act(ctx, script, event.number())),
        Rule::Goto(state, None) => declared.goto::<E>(state),
        Rule::Goto(state, Some(script)) => {
            declared.goto_with(state, move |machine, ctx, event: E| machine.act(ctx, script, event.number()))
        }
        Rule::Push(state) => declared.push::<E>(state),
        Rule::Defer => declared.defer::<E>(),
        Rule::Ignore => declared.ignore::<E>(),
    }
}

impl Generated {
    fn compare(&mut self, line: &str) {
        let (spec, expected) = machine();
        let expected_line = expected.get(self.lines).map(String::as_str);
        assert_eq!(Some(line), expected_line, "line {} of {expected:?}, of {spec:?}", self.lines);
        self.lines += 1;
        if self.lines == expected.len() {
            COMPLETE.cold();
        }
    }

    fn act(&mut self, ctx: &mut Context<Generated>, script: usize, event: u32) {
        self.compare(&format!("act {script} with {event} in {:?}", Some(ctx.state())));
        let (spec, _) = machine();
        let script = spec.scripts[script];
        if let Some(kind) = script.receives {
            let message = ctx.receive_message(|message| kind_of(message) == kind);
            self.compare(&format!("receive {}", number_of(&message)));
        }
        let Some(request) = script.requests.filter(|_| self.requests < spec.requests_max) else { return };
        self.requests += 1;
        match request {
            Request::Raise(kind) => {
                self.own_numbers += 1;
                match kind {
                    0 => ctx.raise(Numbered::<0>(self.own_numbers)),
                    1 => ctx.raise(Numbered::<1>(self.own_numbers)),
                    2 => ctx.raise(Numbered::<2>(self.own_numbers)),
                    _ => ctx.raise(Numbered::<3>(self.own_numbers)),
                }
            }
            Request::Goto(state) => ctx.goto(state),
            Request::Push(state) => ctx.push(state),
            Request::Pop => ctx.pop(),
            Request::Halt => ctx.halt(),
        }
    }
}

fn kind_of(message: &Message) -> Kind {
    let kinds = [
        message.is::<Numbered<0>>(),
        message.is::<Numbered<1>>(),
        message.is::<Numbered<2>>(),
        message.is::<Numbered<3>>(),
    ];
    kinds.iter().position(|is| *is).map_or(KINDS, |kind| kind as Kind)
}

/// A machine and what it does, if it ends as it should.
fn choose(seed: u64) -> Option<(Spec, Vec<String>)> {
    let mut spec = Spec::generate(seed);
    for state in &mut spec.states {
        state.rules.retain(|(kind, _)| *kind != DEFAULT && *kind != HALT);
    }
    let events: Vec<Kind> = spec.arrivals.concat().into_iter().map(|kind| kind % KINDS).collect();
    // All at once, and then looks that find nothing new, one for each event that is taken or received.
    spec.arrivals = vec![Vec::new(); 4 * events.len() + 4];
    spec.arrivals[0] = events;
    let mut expected = naive::run(&spec, 0);
    let end = expected.pop()?;
    let waits = expected.last().is_some_and(|line| {
        let script = line.strip_prefix("act ").and_then(|act| act.split(' ').next()?.parse::<usize>().ok());
        script.is_some_and(|script| spec.scripts[script].receives.is_some())
    });
    let halts = end.starts_with("halt");
    expected.retain(|line| !line.starts_with("ignore"));
    expected.extend(halts.then(|| "halt".to_string()));
    (halts || end.starts_with("idle") && !waits && !expected.is_empty()).then_some((spec, expected))
}

/// A machine of those that one number stands for, under one schedule.
#[coyote::test]
fn generated_machine() {
    let seed = u64::from(nondet::int(0..1_000_000_u32));
    let chosen = (0..).find_map(|more| choose(seed + 1_000_000 * more)).expect("one in two does");
    let events = chosen.0.arrivals[0].clone();
    assert!(MACHINE.set(chosen).is_ok(), "it is chosen once");
    COMPLETE.hot();
    let machine = actor::create("machine", Generated { lines: 0, requests: 0, own_numbers: naive::OWN });
    for (number, kind) in (1..).zip(events) {
        match kind {
            0 => machine.send(Numbered::<0>(number)),
            1 => machine.send(Numbered::<1>(number)),
            2 => machine.send(Numbered::<2>(number)),
            _ => machine.send(Numbered::<3>(number)),
        }
    }
}
