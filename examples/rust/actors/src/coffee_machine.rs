//! A coffee machine that may lose its power at any time, after Coyote's sample CoffeeMachineActors.
//!
//! The hardware (sensors, grinder) goes on without the controller, whose memory is lost. A new controller reads the sensors and
//! goes on from there.
//!
//! *Specification:* the grinder is not turned on while there are no beans in the hopper; and whoever asks for coffee
//! eventually gets it, or hears why not.
//!
//! *Bug:* a grinder that nobody turns off grinds on for a while, and the level that is measured then is below zero. The new
//! controller tests for `level == 0`, and turns the grinder on.

use coyote::actor::{self, Actor, ActorRef, Context, States, Timer};
use coyote::monitor::Monitor;
use std::time::Duration;

/// Portions of beans in the hopper at first.
const BEANS: i32 = 3;
/// Portions that a coffee takes.
const COFFEE: i32 = 2;
/// The grinder stops by itself so many portions after the hopper is empty.
const OVERRUN: i32 = 2;
/// How often the power fails.
const FAILURES: u32 = 1;

static BUSY: Monitor = Monitor::new("a coffee is wanted");

// Between controller and hardware.
struct ReadLevels(ActorRef);
struct Levels {
    beans: i32,
    ground: i32,
}
struct TurnOn(ActorRef);
struct TurnOff;
#[derive(Clone)]
struct Tick;
struct Ground;
struct HopperEmpty;
struct Brew;
// Between user and controller.
struct MakeCoffee(ActorRef);
struct Coffee;
struct NoBeans;
/// The controller is gone at once, without a chance to leave its state.
struct PowerFailure;

struct Hardware {
    beans: i32,
    /// What is ground and not used.
    ground: i32,
    grinder: Option<(Timer, ActorRef)>,
}

impl Actor for Hardware {
    type State = ();

    fn states(states: &mut States<Hardware>) {
        let all = states.start(()).on(Hardware::read).on(Hardware::turn_on).on(Hardware::turn_off);
        all.on(Hardware::grind).on(Hardware::brew);
    }
}

impl Hardware {
    fn read(&mut self, ctx: &mut Context<Hardware>, ReadLevels(controller): ReadLevels) {
        ctx.send(&controller, Levels { beans: self.beans, ground: self.ground });
    }

    fn turn_on(&mut self, ctx: &mut Context<Hardware>, TurnOn(controller): TurnOn) {
        assert!(
            self.beans > 0,
            "the grinder is turned on without beans in the hopper: its level is {}",
            self.beans
        );
        self.stop(ctx);
        let tick = Duration::from_millis(100);
        self.grinder = Some((ctx.start_periodic_timer(tick, tick, Tick), controller));
    }

    fn turn_off(&mut self, ctx: &mut Context<Hardware>, _: TurnOff) {
        self.stop(ctx);
    }

    fn stop(&mut self, ctx: &mut Context<Hardware>) {
        if let Some((timer, _)) = self.grinder.take() {
            ctx.stop_timer(&timer);
        }
    }

    fn brew(&mut self, _: &mut Context<Hardware>, _: Brew) {
        assert!(self.ground >= COFFEE, "coffee is made of {} portions of beans", self.ground);
        self.ground -= COFFEE;
    }

    fn grind(&mut self, ctx: &mut Context<Hardware>, _: Tick) {
        let Some((_, controller)) = &self.grinder else { return };
        self.ground += i32::from(self.beans > 0);
        self.beans -= 1;
        if self.ground == COFFEE {
            ctx.send(controller, Ground);
        } else if self.beans == 0 {
            ctx.send(controller, HopperEmpty);
        }
        if self.beans <= -OVERRUN {
            self.stop(ctx);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Starting,
    Ready,
    Grinding,
    Empty,
}

struct Controller {
    hardware: ActorRef,
    user: Option<ActorRef>,
    /// What is ground, as far as the controller knows.
    ground: i32,
    /// The bug.
    tests_for_zero: bool,
}

impl Actor for Controller {
    type State = State;

    fn states(states: &mut States<Controller>) {
        states
            .start(State::Starting)
            .entry(|controller, ctx| {
                ctx.send(&controller.hardware, TurnOff);
                ctx.send(&controller.hardware, ReadLevels(ctx.me()));
            })
            .on(Controller::levels)
            .defer::<MakeCoffee>();
        states.state(State::Ready).on(Controller::make);
        states
            .state(State::Grinding)
            .entry(|controller, ctx| ctx.send(&controller.hardware, TurnOn(ctx.me())))
            .goto_with(State::Starting, |controller, ctx, _: Ground| controller.brew(ctx))
            .goto::<HopperEmpty>(State::Empty)
            .defer::<MakeCoffee>()
            .exit(|controller, ctx| ctx.send(&controller.hardware, TurnOff));
        states.state(State::Empty).entry(Controller::refuse).on(Controller::refuse_at_once);
        // The hardware may be late.
        states.everywhere().ignore::<Ground>().ignore::<HopperEmpty>();
        states.everywhere().on(|_: &mut Controller, ctx, _: PowerFailure| ctx.halt());
    }
}

impl Controller {
    fn levels(&mut self, ctx: &mut Context<Controller>, levels: Levels) {
        let empty = if self.tests_for_zero { levels.beans == 0 } else { levels.beans <= 0 };
        self.ground = levels.ground;
        ctx.goto(if empty && levels.ground < COFFEE { State::Empty } else { State::Ready });
    }

    fn make(&mut self, ctx: &mut Context<Controller>, MakeCoffee(user): MakeCoffee) {
        self.user = Some(user);
        if self.ground < COFFEE {
            ctx.goto(State::Grinding);
        } else {
            self.brew(ctx);
            ctx.goto(State::Starting);
        }
    }

    fn brew(&mut self, ctx: &mut Context<Controller>) {
        ctx.send(&self.hardware, Brew);
        if let Some(user) = self.user.take() {
            ctx.send(&user, Coffee);
        }
    }

    fn refuse(&mut self, ctx: &mut Context<Controller>) {
        if let Some(user) = self.user.take() {
            ctx.send(&user, NoBeans);
        }
    }

    fn refuse_at_once(&mut self, ctx: &mut Context<Controller>, MakeCoffee(user): MakeCoffee) {
        ctx.send(&user, NoBeans);
    }
}

/// Who wants coffee until there are no beans left, and replaces the controller when the power fails.
struct User {
    hardware: ActorRef,
    controller: Option<ActorRef>,
    failures: u32,
    tests_for_zero: bool,
}

impl Actor for User {
    type State = ();

    fn states(states: &mut States<User>) {
        states.start(()).entry(User::begin).on(User::fail).on(User::drink).on(User::leave);
    }
}

impl User {
    fn begin(&mut self, ctx: &mut Context<User>) {
        BUSY.hot();
        if self.failures > 0 {
            ctx.start_timer(Duration::from_millis(250), PowerFailure);
        }
        let (hardware, tests_for_zero) = (self.hardware.clone(), self.tests_for_zero);
        let controller = Controller { hardware, user: None, ground: 0, tests_for_zero };
        let controller = actor::create("controller", controller);
        ctx.send(&controller, MakeCoffee(ctx.me()));
        self.controller = Some(controller);
    }

    fn fail(&mut self, ctx: &mut Context<User>, _: PowerFailure) {
        self.failures -= 1;
        if let Some(controller) = self.controller.take() {
            ctx.send(&controller, PowerFailure);
            controller.join();
        }
        self.begin(ctx);
    }

    fn drink(&mut self, ctx: &mut Context<User>, _: Coffee) {
        if let Some(controller) = &self.controller {
            ctx.send(controller, MakeCoffee(ctx.me()));
        }
    }

    fn leave(&mut self, ctx: &mut Context<User>, _: NoBeans) {
        BUSY.cold();
        ctx.halt();
    }
}

fn make_coffee(tests_for_zero: bool) {
    actor::log_events();
    let hardware = actor::create("hardware", Hardware { beans: BEANS, ground: 0, grinder: None });
    actor::create("user", User { hardware, controller: None, failures: FAILURES, tests_for_zero });
}

/// After a power failure, the grinder is turned on without beans.
#[coyote::test]
fn coffee_machine() {
    make_coffee(true);
}

/// Levels below zero are empty, too.
#[coyote::test]
fn coffee_machine_fixed() {
    make_coffee(false);
}
