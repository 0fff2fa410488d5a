//! What actors can do besides, a test each; and what is a mistake.
//!
//! Expected: tests whose names begin with `bad_` have the bug that their comments say; all others pass.

use coyote::actor::{self, Actor, ActorRef, DefaultEvent, EventGroup, Halt, States, Timer};
use coyote::sync::{Mutex, Semaphore};
use coyote::{task, thread};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::Duration;

struct Add(u32);
struct Get(ActorRef);
struct Total(u32);
#[derive(Clone)]
struct Tick;

/// A counter that others may add to and ask.
#[derive(Default)]
struct Counter {
    total: u32,
}

impl Actor for Counter {
    type State = ();

    fn states(states: &mut States<Counter>) {
        states
            .start(())
            .on(|counter: &mut Counter, _, Add(number)| counter.total += number)
            .on(|counter: &mut Counter, ctx, Get(to)| ctx.send(&to, Total(counter.total)));
    }
}

/// An actor that asks in the middle of an action, and is in the group of what it handles.
struct Asks {
    counter: ActorRef,
}

struct Ask;

impl Actor for Asks {
    type State = ();

    fn states(states: &mut States<Asks>) {
        states.start(()).on(|asks: &mut Asks, ctx, _: Ask| {
            ctx.send(&asks.counter, Get(ctx.me()));
            // Another `Ask` may come first, and stays in the inbox.
            let Total(total) = ctx.receive();
            ctx.group().expect("it is asked in a group").complete(total);
        });
    }
}

/// Threads, tasks and actors in one test; events of one sender keep their order; a value of a group is awaited.
#[coyote::test]
fn threads_tasks_and_actors() {
    let counter = actor::create("counter", Counter::default());
    let adder = counter.clone();
    let thread = thread::spawn(move || adder.send(Add(1)));
    task::block_on(async {
        let adder = counter.clone();
        let task = task::spawn(async move { adder.send(Add(2)) });
        task.await.expect("nobody aborts it");
        thread.join();
        let asks = actor::create("asks", Asks { counter: counter.clone() });
        let groups: Vec<_> =
            (0..2).map(|number| EventGroup::awaited::<u32>(format!("request {number}"))).collect();
        for (group, _) in &groups {
            asks.message(Ask).in_group(group).must_handle().send();
        }
        for (_, total) in groups {
            assert_eq!(total.await, Ok(3));
        }
    });
    counter.send(Halt);
    counter.join();
    assert!(counter.has_halted());
}

/// Counts what it handles; ticks three times.
struct Ticks {
    ticks: u32,
    timer: Option<Timer>,
    stopped: bool,
}

impl Actor for Ticks {
    type State = ();

    fn states(states: &mut States<Ticks>) {
        states
            .start(())
            .entry(|ticks, ctx| {
                let period = Duration::from_secs(1);
                ticks.timer = Some(ctx.start_periodic_timer(period, period, Tick));
                let once = ctx.start_timer(period, Add(1));
                ctx.stop_timer(&once);
            })
            .on(|ticks: &mut Ticks, ctx, _: Tick| {
                assert!(!ticks.stopped, "a timer that was stopped fires");
                ticks.ticks += 1;
                if ticks.ticks == 3
                    && let Some(timer) = ticks.timer.take()
                {
                    ctx.stop_timer(&timer);
                    ticks.stopped = true;
                }
            })
            .on(|_: &mut Ticks, _, _: Add| panic!("a timer that was stopped at once fires"));
    }
}

/// A timer that is stopped does not fire any more, also if its event is in the inbox already.
#[coyote::test]
fn timers_stop() {
    actor::create("ticks", Ticks { ticks: 0, timer: None, stopped: false });
}

/// Ignores ticks until it is told to go.
struct Deaf;

impl Actor for Deaf {
    type State = bool;

    fn states(states: &mut States<Deaf>) {
        states
            .start(false)
            .entry(|_, ctx| {
                let period = Duration::from_secs(1);
                ctx.start_periodic_timer(period, period, Tick);
            })
            .ignore::<Tick>()
            .on(|_: &mut Deaf, ctx, _: Add| ctx.goto(true));
        states.state(true).on(|_, ctx, _: Tick| ctx.halt());
    }
}

/// A periodic timer goes on when its event is ignored.
#[coyote::test]
fn ignored_timers_go_on() {
    let deaf = actor::create("deaf", Deaf);
    deaf.send(Add(1));
    deaf.join();
}

/// Each event is handled, or whoever wants to know hears that it was lost.
#[coyote::test]
fn lost_events_are_told() {
    static LOST: Mutex<u32> = Mutex::new(0);
    actor::on_dropped(|to, event| {
        assert!(to.name() == "counter" && (event.is::<Add>() || event.is::<Halt>()));
        *LOST.lock() += 1;
    });
    let counter = actor::create("counter", Tally { added: Arc::new(Mutex::new(0)) });
    let senders: Vec<_> = (0..2)
        .map(|_| {
            let counter = counter.clone();
            thread::spawn(move || {
                counter.send(Add(1));
                counter.send(Halt);
            })
        })
        .collect();
    senders.into_iter().for_each(thread::JoinHandle::join);
    counter.join();
    // One of the two `Halt` is lost, and what came too late.
    let lost = *LOST.lock();
    assert!((1..=2).contains(&lost), "{lost} events are lost");
}

struct Tally {
    added: Arc<Mutex<u32>>,
}

impl Actor for Tally {
    type State = ();

    fn states(states: &mut States<Tally>) {
        states.start(()).on(|tally: &mut Tally, _, Add(number)| *tally.added.lock() += number);
    }
}

/// Works when there is nothing else to do, until it is told to stop.
struct Idler {
    worked: u32,
}

impl Actor for Idler {
    type State = ();

    fn states(states: &mut States<Idler>) {
        states.start(()).on(|idler: &mut Idler, ctx, _: DefaultEvent| {
            idler.worked += 1;
            if idler.worked == 3 {
                ctx.halt();
            }
        });
    }
}

/// The default event happens as long as nothing else does.
#[coyote::test]
fn default_events() {
    actor::create("idler", Idler { worked: 0 }).join();
}

/// Two that know each other by name before they exist.
struct Player {
    other: ActorRef,
    rounds: u32,
}

impl Actor for Player {
    type State = ();

    fn states(states: &mut States<Player>) {
        states.start(()).on(|player: &mut Player, ctx, Add(round)| {
            if round < player.rounds {
                ctx.send(&player.other, Add(round + 1));
            }
        });
    }
}

/// The same name is the same actor.
#[coyote::test]
fn names() {
    let players = ["ping", "pong"].map(actor::named);
    for (player, other) in players.iter().zip(players.iter().rev()) {
        player.create(Player { other: other.clone(), rounds: 4 });
    }
    assert_eq!(actor::named("ping"), players[0]);
    players[0].send(Add(0));
}

/// Says that it halts.
struct Polite(Arc<Semaphore>);

impl Actor for Polite {
    type State = ();

    fn states(states: &mut States<Polite>) {
        states.start(());
    }

    fn on_halt(&mut self, _: &mut actor::Context<Polite>) {
        self.0.release();
    }
}

/// What an actor does when it halts comes before it has halted.
#[coyote::test]
fn bad_asks_too_early() {
    let halts = Arc::new(Semaphore::new(0));
    let polite = actor::create("polite", Polite(halts.clone()));
    polite.send(Halt);
    halts.acquire();
    assert!(polite.has_halted(), "it has only said so");
}

/// An event that is dropped before anybody wants to hear of it.
#[coyote::test]
fn bad_hears_too_late() {
    static HEARD: AtomicBool = AtomicBool::new(false);
    let counter = actor::create("counter", Counter::default());
    counter.send(Halt);
    counter.join();
    let ready = Arc::new(Semaphore::new(0));
    let (adder, waits) = (counter, ready.clone());
    let thread = thread::spawn(move || {
        waits.acquire();
        adder.send(Add(1));
    });
    ready.release();
    actor::on_dropped(|_, _| HEARD.store(true, Release));
    thread.join();
    assert!(HEARD.load(Acquire), "nobody heard of the event");
}

/// An event that no state handles is a bug.
#[coyote::test]
fn bad_unhandled() {
    actor::create("counter", Counter::default()).send(Tick);
}

/// Whether an event that must be handled comes before the end is a matter of luck.
#[coyote::test]
fn bad_must_handle() {
    let counter = actor::create("counter", Counter::default());
    let halts = counter.clone();
    thread::spawn(move || halts.send(Halt));
    counter.message(Add(1)).must_handle().send();
}

/// Two senders, and room for one event.
#[coyote::test]
fn bad_inbox() {
    let counter = actor::create("counter", Counter::default());
    let adder = counter.clone();
    thread::spawn(move || adder.message(Add(1)).at_most(1).send());
    counter.message(Add(1)).at_most(1).send();
}

/// It waits in the middle of an action for what nobody sends: a deadlock.
#[coyote::test]
fn bad_receive() {
    let silent = actor::create("silent", Tally { added: Arc::new(Mutex::new(0)) });
    silent.send(Add(1));
    struct Waits(ActorRef);
    impl Actor for Waits {
        type State = ();
        fn states(states: &mut States<Waits>) {
            states.start(()).entry(|waits, ctx| {
                ctx.send(&waits.0, Add(1));
                let Total(_) = ctx.receive();
            });
        }
    }
    actor::create("waits", Waits(silent));
}

/// Goes on in vain when it has halted.
struct Restless;

/// The event of a timer that must not fire.
struct Late;

impl Clone for Late {
    fn clone(&self) -> Late {
        panic!("a timer of an actor that has halted fires")
    }
}

impl Actor for Restless {
    type State = ();

    fn states(states: &mut States<Restless>) {
        states.start(());
    }

    fn on_halt(&mut self, ctx: &mut actor::Context<Restless>) {
        let second = Duration::from_secs(1);
        let timer = ctx.start_periodic_timer(second, second, Late);
        ctx.start_periodic_timer(second, second, Late);
        ctx.stop_timer(&timer);
    }
}

/// Timers end with their actor, also those that it starts when it halts.
#[coyote::test]
fn timers_of_the_halted() {
    let restless = actor::create("restless", Restless);
    restless.send(Halt);
    restless.join();
    thread::sleep(Duration::from_secs(5));
}

/// Waits in the middle of an action for something else than an event.
struct Patient(Arc<task::sync::Notify>);

impl Actor for Patient {
    type State = ();

    fn states(states: &mut States<Patient>) {
        states.start(()).on(|patient: &mut Patient, _, _: Tick| task::block_on(patient.0.notified()));
    }
}

/// It comes, and the actor has nothing to do at the end.
#[coyote::test]
fn waits_in_actions_end() {
    let notify = Arc::new(task::sync::Notify::new());
    actor::create("patient", Patient(notify.clone())).send(Tick);
    notify.notify_one();
}

/// It never comes: a deadlock.
#[coyote::test]
fn bad_wait() {
    actor::create("patient", Patient(Arc::default())).send(Tick);
}

/// It waits for the end of an actor that nobody halts: a deadlock.
#[coyote::test]
fn bad_join() {
    struct Joins(ActorRef);
    impl Actor for Joins {
        type State = ();
        fn states(states: &mut States<Joins>) {
            states.start(()).entry(|joins, _| joins.0.join());
        }
    }
    actor::create("joins", Joins(actor::create("counter", Counter::default())));
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    First,
    Undeclared,
}

/// Does one of the things that a machine must not do.
#[derive(Clone, Copy)]
enum Careless {
    RaisesWhatItDefers,
    PopsItsOnlyState,
    AsksForTwo,
    EntersWhatIsNotDeclared,
    AsksOnExit,
}

impl Actor for Careless {
    type State = Step;

    fn states(states: &mut States<Careless>) {
        states
            .start(Step::First)
            .defer::<Tick>()
            .on(|careless: &mut Careless, ctx, _: Add| match careless {
                Careless::RaisesWhatItDefers => ctx.raise(Tick),
                Careless::PopsItsOnlyState => ctx.pop(),
                Careless::AsksForTwo => {
                    ctx.goto(Step::First);
                    ctx.halt();
                }
                Careless::EntersWhatIsNotDeclared => ctx.goto(Step::Undeclared),
                Careless::AsksOnExit => ctx.goto(Step::First),
            })
            .exit(|careless, ctx| {
                if matches!(careless, Careless::AsksOnExit) {
                    ctx.raise(Tick);
                }
            });
    }
}

fn add_to(careless: Careless) {
    actor::create("careless", careless).send(Add(1));
}

/// In Coyote the event would be lost.
#[coyote::test]
fn bad_raise() {
    add_to(Careless::RaisesWhatItDefers);
}

/// There is no state to come back to.
#[coyote::test]
fn bad_pop() {
    add_to(Careless::PopsItsOnlyState);
}

/// Which of both?
#[coyote::test]
fn bad_requests() {
    add_to(Careless::AsksForTwo);
}

/// A state without a declaration.
#[coyote::test]
fn bad_state() {
    add_to(Careless::EntersWhatIsNotDeclared);
}

/// On the way to another state already.
#[coyote::test]
fn bad_exit() {
    add_to(Careless::AsksOnExit);
}

/// A name for which no actor was created.
#[coyote::test]
fn bad_name() {
    actor::named("nobody").send(Tick);
}
