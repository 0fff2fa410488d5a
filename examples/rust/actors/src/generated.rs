//! Generated state machines as actors, against a naive way to execute them (`naive.rs` of the SDK, which tests its rules with
//! it without a host as well).
//!
//! *Specification:* if no state reacts to `DefaultEvent`, an actor takes the same events in the same order, and executes the
//! same actions, whatever the schedule, as long as one worker sends to it. With two workers, it does what the naive way does
//! for one of the orders in which their events can come. The same holds natively (`guest-sdk/rust/tests/native_actors.rs`).
//!
//! Each iteration chooses a machine by its number. Machines whose actions wait for what never comes, or break a rule,
//! are left out.

#[path = "../../../../guest-sdk/rust/src/actor/naive.rs"]
#[allow(dead_code)] // What the tests of the SDK need.
mod naive;

use coyote::actor::{self, Actor, ActorRef, AnyEvent, Context, Declaration, Event, Message, States};
use coyote::monitor::Monitor;
use coyote::nondet;
use coyote::thread;
use naive::{ANY, DEFAULT, HALT, KINDS, Kind, Request, Rule, Spec};
use std::sync::OnceLock;

/// The machine of this iteration, by test.
static MACHINES: [OnceLock<Chosen>; 2] = [const { OnceLock::new() }; 2];

struct Chosen {
    spec: Spec,
    /// What it may do: in one of these ways.
    allowed: Vec<Vec<String>>,
}

static COMPLETE: Monitor = Monitor::new("the machine does all that the naive way does");

fn machine(two: bool) -> &'static Chosen {
    MACHINES[usize::from(two)].get().expect("it is chosen first")
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
struct Generated<const TWO: bool> {
    lines: usize,
    /// Indices of the ways that agree with what it has done so far.
    possible: Vec<usize>,
    /// Whether one of these ends here.
    complete: bool,
    requests: u32,
    own_numbers: u32,
}

impl<const TWO: bool> Actor for Generated<TWO> {
    type State = usize;

    fn states(states: &mut States<Generated<TWO>>) {
        let Chosen { spec, .. } = machine(TWO);
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

    fn on_handled(&mut self, _: &mut Context<Generated<TWO>>) {
        self.compare("handled");
    }

    fn on_halt(&mut self, _: &mut Context<Generated<TWO>>) {
        self.compare("halt");
    }
}

fn declare<const TWO: bool>(
    declared: Declaration<'_, Generated<TWO>>,
    kind: Kind,
    rule: Rule,
) -> Declaration<'_, Generated<TWO>> {
    match kind {
        0 => declare_for::<Numbered<0>, TWO>(declared, rule),
        1 => declare_for::<Numbered<1>, TWO>(declared, rule),
        2 => declare_for::<Numbered<2>, TWO>(declared, rule),
        3 => declare_for::<Numbered<3>, TWO>(declared, rule),
        ANY => declare_for::<AnyEvent, TWO>(declared, rule),
        _ => declared,
    }
}

fn declare_for<E: Number, const TWO: bool>(
    declared: Declaration<'_, Generated<TWO>>,
    rule: Rule,
) -> Declaration<'_, Generated<TWO>> {
    match rule {
        Rule::Do(script) => declared
            .on(move |machine: &mut Generated<TWO>, ctx, event: E| machine.act(ctx, script, event.number())),
        Rule::Goto(state, None) => declared.goto::<E>(state),
        Rule::Goto(state, Some(script)) => {
            declared.goto_with(state, move |machine, ctx, event: E| machine.act(ctx, script, event.number()))
        }
        Rule::Push(state) => declared.push::<E>(state),
        Rule::Defer => declared.defer::<E>(),
        Rule::Ignore => declared.ignore::<E>(),
    }
}

impl<const TWO: bool> Generated<TWO> {
    fn compare(&mut self, line: &str) {
        let Chosen { spec, allowed } = machine(TWO);
        let before = std::mem::take(&mut self.possible);
        let agrees = |way: &&usize| allowed[**way].get(self.lines).is_some_and(|expected| expected == line);
        self.possible = before.iter().filter(agrees).copied().collect();
        let expected: Vec<&Vec<String>> = before.iter().map(|way| &allowed[*way]).collect();
        assert!(!self.possible.is_empty(), "{line} as line {} of {expected:?}, of {spec:?}", self.lines);
        self.lines += 1;
        let complete = self.possible.iter().any(|way| allowed[*way].len() == self.lines);
        if complete != self.complete {
            self.complete = complete;
            if complete { COMPLETE.cold() } else { COMPLETE.hot() }
        }
    }

    fn act(&mut self, ctx: &mut Context<Generated<TWO>>, script: usize, event: u32) {
        self.compare(&format!("act {script} with {event} in {:?}", Some(ctx.state())));
        let Chosen { spec, .. } = machine(TWO);
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

/// What a machine does if its events come in this order, unless it does not end as it should. The events are given with their
/// numbers.
fn does(spec: &mut Spec, events: &[(u32, Kind)]) -> Option<Vec<String>> {
    // All at once, and then looks that find nothing new, one for each event that is taken or received.
    spec.arrivals = vec![Vec::new(); 4 * events.len() + 4];
    spec.arrivals[0] = events.iter().map(|(_, kind)| *kind).collect();
    let mut expected = naive::run(spec, 0);
    let end = expected.pop()?;
    let waits = expected.last().is_some_and(|line| {
        let script = line.strip_prefix("act ").and_then(|act| act.split(' ').next()?.parse::<usize>().ok());
        script.is_some_and(|script| spec.scripts[script].receives.is_some())
    });
    let halts = end.starts_with("halt");
    expected.retain(|line| !line.starts_with("ignore"));
    expected.iter_mut().for_each(|line| *line = renumbered(line, events));
    expected.extend(halts.then(|| "halt".to_string()));
    (halts || end.starts_with("idle") && !waits && !expected.is_empty()).then_some(expected)
}

/// A line of the naive way, which numbers events in the order in which they come, with the events' own numbers.
fn renumbered(line: &str, events: &[(u32, Kind)]) -> String {
    let mut words: Vec<String> = line.split(' ').map(String::from).collect();
    let names_event = |word: &String| ["take", "receive", "with"].contains(&word.as_str());
    if let Some(at) = words.iter().position(names_event)
        && let Ok(place @ 1..naive::OWN) = words[at + 1].parse()
        && let Some((number, _)) = events.get(place as usize - 1)
    {
        words[at + 1] = number.to_string();
    }
    words.join(" ")
}

/// All ways in which the events of two workers can come.
fn merges(first: &[(u32, Kind)], second: &[(u32, Kind)]) -> Vec<Events> {
    let (Some((head, tail)), Some((other, rest))) = (first.split_first(), second.split_first()) else {
        return vec![[first, second].concat()];
    };
    let begin = |event: (u32, Kind), merges: Vec<Events>| {
        merges.into_iter().map(move |merge| [vec![event], merge].concat())
    };
    begin(*head, merges(tail, second)).chain(begin(*other, merges(first, rest))).collect()
}

/// The most events that two workers send.
const EVENTS_OF_TWO: usize = 5;

/// What a worker sends: numbered events of a kind.
type Events = Vec<(u32, Kind)>;

/// A machine, and what one or two workers send, if it ends as it should in each order of these.
fn choose(seed: u64, two: bool) -> Option<(Chosen, [Events; 2])> {
    let mut spec = Spec::generate(seed);
    for state in &mut spec.states {
        state.rules.retain(|(kind, _)| *kind != DEFAULT && *kind != HALT);
    }
    let kinds = spec.arrivals.concat().into_iter().map(|kind| kind % KINDS);
    let mut first: Events = (1..).zip(kinds).collect();
    let mut second = Vec::new();
    if two {
        first.truncate(EVENTS_OF_TWO);
        second = first.split_off(first.len() / 2);
    }
    let orders = merges(&first, &second);
    let allowed: Option<Vec<_>> = orders.iter().map(|order| does(&mut spec, order)).collect();
    Some((Chosen { spec, allowed: allowed? }, [first, second]))
}

fn send(machine: &ActorRef, events: Events) {
    for (number, kind) in events {
        match kind {
            0 => machine.send(Numbered::<0>(number)),
            1 => machine.send(Numbered::<1>(number)),
            2 => machine.send(Numbered::<2>(number)),
            _ => machine.send(Numbered::<3>(number)),
        }
    }
}

fn generated<const TWO: bool>() {
    let seed = u64::from(nondet::int(0..1_000_000_u32));
    let chosen = (0..).find_map(|more| choose(seed + 1_000_000 * more, TWO));
    let (chosen, [first, second]) = chosen.expect("one in two does");
    let possible = (0..chosen.allowed.len()).collect();
    assert!(MACHINES[usize::from(TWO)].set(chosen).is_ok(), "it is chosen once");
    COMPLETE.hot();
    let generated =
        Generated::<TWO> { lines: 0, possible, complete: false, requests: 0, own_numbers: naive::OWN };
    let machine = actor::create("machine", generated);
    let other = machine.clone();
    let other = TWO.then(|| thread::spawn(move || send(&other, second)));
    send(&machine, first);
    if let Some(other) = other {
        other.join();
    }
}

/// A machine of those that one number stands for, under one schedule.
#[coyote::test]
fn generated_machine() {
    generated::<false>();
}

/// The same for the events of two workers.
#[coyote::test]
fn generated_machine_of_two() {
    generated::<true>();
}
