//! An espresso machine: a control panel, the coffee maker that it controls, and a door through which used grounds are taken
//! out, after the espresso machine of P's tutorial.
//!
//! The maker warms up, grinds and brews, each as the panel tells it. The door may be opened at any time: while the machine
//! warms up or brews, the panel lets it wait; when the maker grinds, the panel stops it, and begins again once the door is
//! closed.
//!
//! *Specification:* the maker does one thing at a time, and nothing before it is warm, and it brews only what is ground; and
//! whoever presses the button eventually gets an espresso.
//!
//! *Bug:* the maker may have ground the beans already when it is told to stop. The panel takes that message for the one that
//! it waits for when the door is closed again, and lets the maker brew while it grinds.
//!
//! *Correction:* the panel waits until the maker says that it has stopped. What it has sent before comes before that.

use coyote::actor::{self, Actor, ActorRef, Context, States, Timer};
use coyote::monitor::Monitor;
use std::time::Duration;

/// How many cups the user drinks.
const CUPS: u32 = 2;

static WANTED: Monitor = Monitor::new("an espresso is wanted");

// From the panel to the maker, and back.
struct WarmUp(ActorRef);
struct Warm;
struct Grind;
struct Ground;
struct Stop;
struct Stopped;
struct Brew;
struct Brewed;
// From users to the panel, and back.
struct PressButton(ActorRef);
struct Espresso;
struct OpenDoor;
struct CloseDoor;
/// Time that the maker needs for what it does.
struct Done;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Cold,
    WarmingUp,
    Idle,
    Grinding,
    Brewing,
}

struct Maker {
    mode: Mode,
    ground: bool,
    panel: Option<ActorRef>,
    timer: Option<Timer>,
}

impl Actor for Maker {
    type State = ();

    fn states(states: &mut States<Maker>) {
        let all = states.start(()).on(Maker::warm_up).on(Maker::grind).on(Maker::brew);
        all.on(Maker::stop).on(Maker::done);
    }
}

impl Maker {
    fn warm_up(&mut self, ctx: &mut Context<Maker>, WarmUp(panel): WarmUp) {
        self.panel = Some(panel);
        self.begin(ctx, Mode::Cold, Mode::WarmingUp);
    }

    fn grind(&mut self, ctx: &mut Context<Maker>, _: Grind) {
        self.begin(ctx, Mode::Idle, Mode::Grinding);
    }

    fn brew(&mut self, ctx: &mut Context<Maker>, _: Brew) {
        self.begin(ctx, Mode::Idle, Mode::Brewing);
        assert!(self.ground, "the maker brews without ground beans");
    }

    fn begin(&mut self, ctx: &mut Context<Maker>, from: Mode, to: Mode) {
        assert_eq!(self.mode, from, "the maker is told to begin {to:?} when it is {:?}", self.mode);
        self.mode = to;
        self.timer = Some(ctx.start_timer(Duration::from_secs(1), Done));
    }

    fn done(&mut self, ctx: &mut Context<Maker>, _: Done) {
        let Some(panel) = &self.panel else { return };
        match self.mode {
            Mode::WarmingUp => ctx.send(panel, Warm),
            Mode::Grinding => ctx.send(panel, Ground),
            Mode::Brewing => ctx.send(panel, Brewed),
            // The timer was too late to be stopped.
            Mode::Cold | Mode::Idle => return,
        }
        self.ground = self.mode == Mode::Grinding;
        self.mode = Mode::Idle;
    }

    /// Stops to grind, and throws away what is ground.
    fn stop(&mut self, ctx: &mut Context<Maker>, _: Stop) {
        if let Some(timer) = self.timer.take() {
            ctx.stop_timer(&timer);
        }
        (self.mode, self.ground) = (Mode::Idle, false);
        if let Some(panel) = &self.panel {
            ctx.send(panel, Stopped);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    WarmingUp,
    Ready,
    Grinding,
    Brewing,
    /// The door is open; the maker may still grind.
    Stopping,
    DoorOpen,
}

struct Panel {
    maker: ActorRef,
    /// Who has pressed the button.
    user: Option<ActorRef>,
    /// The bug.
    trusts_stop: bool,
}

impl Actor for Panel {
    type State = State;

    fn states(states: &mut States<Panel>) {
        states
            .start(State::WarmingUp)
            .entry(|panel, ctx| ctx.send(&panel.maker, WarmUp(ctx.me())))
            .goto::<Warm>(State::Ready);
        states
            .state(State::Ready)
            .entry(Panel::take_up)
            .goto_with(State::Grinding, |panel, _, PressButton(user)| panel.user = Some(user))
            .goto::<OpenDoor>(State::DoorOpen);
        states
            .state(State::Grinding)
            .entry(|panel, ctx| ctx.send(&panel.maker, Grind))
            .goto::<Ground>(State::Brewing)
            .on(Panel::interrupt);
        states
            .state(State::Brewing)
            .entry(|panel, ctx| ctx.send(&panel.maker, Brew))
            .goto_with(State::Ready, |panel, ctx, _: Brewed| panel.serve(ctx));
        states.state(State::Stopping).goto::<Stopped>(State::DoorOpen);
        states.state(State::DoorOpen).goto::<CloseDoor>(State::Ready);
        for busy in [State::WarmingUp, State::Grinding, State::Brewing, State::Stopping, State::DoorOpen] {
            states.state(busy).defer::<PressButton>();
        }
        for busy in [State::WarmingUp, State::Brewing] {
            states.state(busy).defer::<OpenDoor>().defer::<CloseDoor>();
        }
        states.state(State::Stopping).defer::<CloseDoor>();
        // The maker may have been too quick to be stopped.
        states.everywhere().ignore::<Ground>().ignore::<Stopped>();
    }
}

impl Panel {
    /// Begins again with the order that was interrupted.
    fn take_up(&mut self, ctx: &mut Context<Panel>) {
        if self.user.is_some() {
            ctx.goto(State::Grinding);
        }
    }

    fn interrupt(&mut self, ctx: &mut Context<Panel>, _: OpenDoor) {
        ctx.send(&self.maker, Stop);
        ctx.goto(if self.trusts_stop { State::DoorOpen } else { State::Stopping });
    }

    fn serve(&mut self, ctx: &mut Context<Panel>) {
        if let Some(user) = self.user.take() {
            ctx.send(&user, Espresso);
        }
    }
}

/// Who drinks some cups, one after the other.
struct User {
    panel: ActorRef,
    cups: u32,
}

impl Actor for User {
    type State = ();

    fn states(states: &mut States<User>) {
        states.start(()).entry(User::press).on(|user: &mut User, ctx, _: Espresso| {
            WANTED.cold();
            user.cups += 1;
            if user.cups < CUPS {
                user.press(ctx);
            }
        });
    }
}

impl User {
    fn press(&mut self, ctx: &mut Context<User>) {
        WANTED.hot();
        ctx.send(&self.panel, PressButton(ctx.me()));
    }
}

/// Who takes out the used grounds.
struct Cleaner {
    panel: ActorRef,
}

impl Actor for Cleaner {
    type State = ();

    fn states(states: &mut States<Cleaner>) {
        states.start(()).entry(|cleaner, ctx| {
            ctx.send(&cleaner.panel, OpenDoor);
            ctx.send(&cleaner.panel, CloseDoor);
        });
    }
}

fn make_espresso(trusts_stop: bool) {
    actor::log_events();
    let maker = actor::create("maker", Maker { mode: Mode::Cold, ground: false, panel: None, timer: None });
    let panel = actor::create("panel", Panel { maker, user: None, trusts_stop });
    actor::create("user", User { panel: panel.clone(), cups: 0 });
    actor::create("cleaner", Cleaner { panel });
}

/// An order that was interrupted is brewed while the maker grinds again.
#[coyote::test]
fn espresso_machine() {
    make_espresso(true);
}

/// The panel waits until the maker has stopped.
#[coyote::test]
fn espresso_machine_fixed() {
    make_espresso(false);
}
