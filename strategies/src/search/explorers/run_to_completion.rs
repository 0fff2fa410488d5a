//! Run to completion: follows the causal chain of events.

use super::{Explorer, turns::Turns};
use crate::{Event, Pick, View, WorkerId};

/// The receiver of the last event goes first: the worker that was woken or created last. When it blocks or
/// ends, the worker before it continues; a delay puts it last. Reaches deep states with few delays in
/// programs that pass messages.
///
/// A message to a worker that is not blocked wakes no worker and does not move it.
#[derive(Clone, Debug, Default)]
pub struct RunToCompletion {
    turns: Turns,
}

impl Explorer for RunToCompletion {
    fn name(&self) -> String {
        "run-to-completion".into()
    }

    fn begin(&mut self, view: &View) {
        self.turns.begin();
        for worker in self.turns.settle(view) {
            self.turns.insert(WorkerId(worker), self.turns.workers().count());
        }
    }

    fn next(&self, view: &View) -> Option<Pick> {
        self.turns.next(view)
    }

    fn step(&mut self, _pick: Pick, events: &[Event], view: &View) {
        for worker in self.turns.settle(view) {
            self.turns.insert(WorkerId(worker), 0);
        }
        for event in events {
            if let Event::Woken { worker, .. } = event {
                self.turns.insert(*worker, 0);
            }
        }
    }

    fn delay(&mut self, view: &View) {
        self.turns.delay(view);
    }
}
