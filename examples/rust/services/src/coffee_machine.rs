//! A coffee machine that may lose its power at any time, after Coyote's sample CoffeeMachineTasks. (`examples/rust/actors` has it
//! as actors.)
//!
//! The controller is a task, and so is the grinder. When the power fails, the controller's task ends wherever it waits, and the
//! grinder goes on. A new controller measures the levels and goes on from there.
//!
//! *Specification:* the grinder is not turned on while there are no beans in the hopper; and whoever asks for coffee
//! eventually gets it, or hears why not.
//!
//! *Bug:* a grinder that nobody turns off grinds on for a while, and the level that is measured then is below zero. The new
//! controller tests for `level == 0`, and turns the grinder on.

use coyote::monitor;
use coyote::sync::{Mutex, MutexGuard};
use coyote::task::{self, sync::Notify};
use std::sync::Arc;
use std::time::Duration;

/// Portions of beans in the hopper at first.
const BEANS: i32 = 3;
/// Portions that a coffee takes.
const COFFEE: i32 = 2;
/// The grinder stops by itself so many portions after the hopper is empty.
const OVERRUN: i32 = 2;

/// What sensors measure.
#[derive(Clone, Copy)]
struct Levels {
    beans: i32,
    /// What is ground and not used.
    ground: i32,
}

struct Machine {
    levels: Levels,
    /// How often the grinder was turned on or off: one that was turned on earlier stops.
    turns: u32,
}

struct Hardware {
    machine: Mutex<Machine>,
    /// The grinder has ground a portion, or found the hopper empty.
    ground: Notify,
}

impl Hardware {
    /// Every command takes its time to arrive.
    async fn command(&self) -> MutexGuard<'_, Machine> {
        task::yield_now().await;
        self.machine.lock()
    }

    async fn levels(&self) -> Levels {
        self.command().await.levels
    }

    async fn turn_on(self: &Arc<Hardware>) {
        let mut machine = self.command().await;
        let beans = machine.levels.beans;
        assert!(beans > 0, "the grinder is turned on without beans in the hopper: its level is {beans}");
        machine.turns += 1;
        let (hardware, turn) = (self.clone(), machine.turns);
        task::Builder::new().name("grinder").spawn(async move { hardware.grind(turn).await });
    }

    async fn turn_off(&self) {
        self.command().await.turns += 1;
    }

    async fn grind(&self, turn: u32) {
        loop {
            task::sleep(Duration::from_millis(100)).await;
            let mut machine = self.machine.lock();
            if machine.turns != turn {
                return;
            }
            machine.levels.ground += i32::from(machine.levels.beans > 0);
            machine.levels.beans -= 1;
            let beans = machine.levels.beans;
            drop(machine);
            coyote::log!("grinder: the level of the hopper is {beans}");
            self.ground.notify_one();
            if beans <= -OVERRUN {
                return;
            }
        }
    }

    async fn brew(&self) {
        let mut machine = self.command().await;
        let ground = machine.levels.ground;
        assert!(ground >= COFFEE, "coffee is made of {ground} portions of beans");
        machine.levels.ground -= COFFEE;
    }
}

/// After a power failure there is another one, which knows nothing of this one.
struct Controller {
    hardware: Arc<Hardware>,
    /// The bug.
    tests_for_zero: bool,
}

impl Controller {
    fn is_empty(&self, levels: Levels) -> bool {
        if self.tests_for_zero { levels.beans == 0 } else { levels.beans <= 0 }
    }

    /// Whether there were beans enough.
    async fn make_coffee(&self) -> bool {
        coyote::log!("controller: coffee is wanted");
        self.hardware.turn_off().await;
        let mut levels = self.hardware.levels().await;
        if levels.ground < COFFEE && !self.is_empty(levels) {
            self.hardware.turn_on().await;
            while levels.ground < COFFEE && levels.beans > 0 {
                self.hardware.ground.notified().await;
                levels = self.hardware.levels().await;
            }
            self.hardware.turn_off().await;
        }
        let enough = levels.ground >= COFFEE;
        if enough {
            self.hardware.brew().await;
        }
        enough
    }
}

/// Somebody wants coffee until there are no beans left; the power fails once.
fn coffee(tests_for_zero: bool) {
    let machine = Machine { levels: Levels { beans: BEANS, ground: 0 }, turns: 0 };
    let hardware = Arc::new(Hardware { machine: Mutex::new(machine), ground: Notify::new() });
    let start = || {
        let controller = Controller { hardware: hardware.clone(), tests_for_zero };
        let make_all = async move { while controller.make_coffee().await {} };
        task::Builder::new().name("controller").spawn(make_all)
    };
    task::block_on(async {
        let served = monitor::eventually("there is coffee, or no beans");
        let controller = start();
        task::sleep(Duration::from_millis(250)).await;
        controller.abort();
        if controller.await.is_err() {
            coyote::log!("the power has failed");
            start().await.expect("the power fails once");
        }
        hardware.turn_off().await;
        served.happened();
    });
}

/// After a power failure, the grinder is turned on without beans.
#[coyote::test]
fn coffee_machine() {
    coffee(true);
}

/// Levels below zero are empty, too.
#[coyote::test]
fn coffee_machine_fixed() {
    coffee(false);
}
