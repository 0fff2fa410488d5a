//! Runs a test, as often as `COYOTE_ROUNDS` says.

use super::world::{Over, Place, Told, World, becomes, lock, wait};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The environment variable that says how often a test is run.
const ROUNDS: &str = "COYOTE_ROUNDS";

/// The heat of a monitor that is hot.
const HOT: i32 = 2;

/// How long workers of a test that is over may take to leave.
const PATIENCE: Duration = Duration::from_secs(1);

/// Runs a test, before each round of which `forget` is called. Tests of one process take turns: they share statics.
///
/// # Panics
/// If the test panics, in a deadlock, if a monitor is hot at the end, or if `COYOTE_ROUNDS` is no number.
pub fn run(test: fn(), forget: fn()) {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let rounds = std::env::var(ROUNDS).map_or(1, |text| {
        text.parse().unwrap_or_else(|_| panic!("{ROUNDS}={text}: it says how often a test is run, as 100"))
    });
    for _ in 0..rounds {
        let mut world = lock();
        world.restart();
        becomes(0, world.test);
        drop(world);
        forget();
        match once(test).map(|why| why.downcast::<Told>()) {
            None => {}
            Some(Ok(told)) => panic!("{}", told.0),
            Some(Err(payload)) => resume_unwind(payload),
        }
    }
}

/// Runs a test once. Returns why it failed, if it did.
fn once(test: fn()) -> Option<Box<dyn Any + Send>> {
    let ended = catch_unwind(AssertUnwindSafe(test));
    let mut world = lock();
    match ended {
        Err(payload) if !payload.is::<Over>() => world.fail(payload),
        _ => world.returned = true,
    }
    // Others go on until they have ended, or until all that are left wait, which ends the test.
    let all = |world: &mut World| (world.live == 1).then_some(());
    let _ = catch_unwind(AssertUnwindSafe(|| wait(world, Place::All, None, all)));
    let mut world = lock();
    world.live -= 1;
    if world.failure.is_none() && !world.assumed_away {
        let hot = world.monitors.iter().find(|(_, heat)| **heat == HOT).map(|((name, _), _)| name.clone());
        world.failure =
            hot.map(|name| Box::new(Told(format!("the monitor `{name}` is hot at the end"))) as _);
    }
    let failure = world.failure.take();
    world.end();
    drop(world);
    let start = Instant::now();
    while lock().live > 0 && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(1));
    }
    failure
}
