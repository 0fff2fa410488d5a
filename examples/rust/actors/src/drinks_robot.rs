//! A robot that brings a drink, and a navigator that plans its route and may fail, after Coyote's sample
//! DrinksServingRobotActors.
//!
//! A robot whose navigator fails stops. To the next navigator that registers it says whether an order is pending, and
//! gets a route again.
//!
//! *Specification:* every order is eventually served.
//!
//! *Bug:* the robot takes an order for done when it begins to move, and not when it has reached the client. If the navigator
//! fails on the way, nobody knows of the order any more.

use coyote::actor::{self, Actor, ActorRef, Context, States};
use coyote::monitor::Monitor;
use std::time::Duration;

const MOVES: u32 = 3;
const FAILURES: u32 = 2;

static SERVED: Monitor = Monitor::new("the order is served");

struct Order;
/// A navigator has started.
struct Registered(ActorRef);
/// The navigator has failed.
struct Lost;
struct PlanRoute;
struct Route {
    moves: u32,
}
#[derive(Clone)]
struct Moved;
/// Time for the navigator to fail.
struct Fail;

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Idle,
    Waiting,
    Driving,
}

struct Robot {
    navigator: Option<ActorRef>,
    order_pending: bool,
    moves_left: u32,
    /// The bug.
    forgets: bool,
}

impl Actor for Robot {
    type State = State;

    fn states(states: &mut States<Robot>) {
        states.start(State::Idle).on(Robot::registered).on(Robot::ordered).ignore::<Route>();
        states.state(State::Waiting).entry(Robot::ask).goto_with(State::Driving, Robot::plan);
        states.state(State::Driving).entry(Robot::go).on(Robot::moved);
        for driving in [State::Waiting, State::Driving] {
            states.state(driving).defer::<Order>().goto_with(State::Idle, Robot::lost);
        }
        states.everywhere().ignore::<Moved>().on(Robot::lost);
    }
}

impl Robot {
    fn registered(&mut self, ctx: &mut Context<Robot>, Registered(navigator): Registered) {
        self.navigator = Some(navigator);
        if self.order_pending {
            ctx.goto(State::Waiting);
        }
    }

    fn ordered(&mut self, ctx: &mut Context<Robot>, _: Order) {
        self.order_pending = true;
        if self.navigator.is_some() {
            ctx.goto(State::Waiting);
        }
    }

    fn ask(&mut self, ctx: &mut Context<Robot>) {
        if let Some(navigator) = &self.navigator {
            ctx.send(navigator, PlanRoute);
        }
    }

    fn plan(&mut self, _: &mut Context<Robot>, route: Route) {
        self.moves_left = route.moves;
    }

    fn go(&mut self, ctx: &mut Context<Robot>) {
        ctx.start_timer(Duration::from_secs(1), Moved);
    }

    fn moved(&mut self, ctx: &mut Context<Robot>, _: Moved) {
        self.moves_left -= 1;
        if self.forgets {
            self.order_pending = false;
        }
        if self.moves_left > 0 {
            return ctx.goto(State::Driving);
        }
        self.order_pending = false;
        SERVED.cold();
        ctx.goto(State::Idle);
    }

    fn lost(&mut self, _: &mut Context<Robot>, _: Lost) {
        self.navigator = None;
    }
}

/// Plans routes.
struct Navigator {
    robot: ActorRef,
}

impl Actor for Navigator {
    type State = ();

    fn states(states: &mut States<Navigator>) {
        states.start(()).entry(|navigator, ctx| ctx.send(&navigator.robot, Registered(ctx.me()))).on(
            |navigator: &mut Navigator, ctx, _: PlanRoute| ctx.send(&navigator.robot, Route { moves: MOVES }),
        );
    }
}

/// Starts a navigator, lets it fail at any time, and starts the next one.
struct Failover {
    robot: ActorRef,
    navigator: Option<ActorRef>,
    failures: u32,
}

impl Actor for Failover {
    type State = ();

    fn states(states: &mut States<Failover>) {
        states.start(()).entry(Failover::begin).on(|failover: &mut Failover, ctx, _: Fail| {
            failover.failures -= 1;
            if let Some(navigator) = failover.navigator.take() {
                ctx.send(&navigator, actor::Halt);
                navigator.join();
            }
            ctx.send(&failover.robot, Lost);
            failover.begin(ctx);
        });
    }
}

impl Failover {
    fn begin(&mut self, ctx: &mut Context<Failover>) {
        self.navigator = Some(actor::create("navigator", Navigator { robot: self.robot.clone() }));
        if self.failures > 0 {
            ctx.start_timer(Duration::from_secs(2), Fail);
        }
    }
}

fn serve(forgets: bool) {
    let robot = Robot { navigator: None, order_pending: false, moves_left: 0, forgets };
    let robot = actor::create("robot", robot);
    SERVED.hot();
    robot.send(Order);
    actor::create("failover", Failover { robot, navigator: None, failures: FAILURES });
}

/// The navigator fails on the way, and the order is forgotten.
#[coyote::test]
fn drinks_robot() {
    serve(true);
}

/// The order is pending until the client is reached.
#[coyote::test]
fn drinks_robot_fixed() {
    serve(false);
}
