//! A path of decisions as a strategy: executes what a search found from the start, and executes an iteration
//! again.

use crate::{Decision, Iteration, Pick, Strategy, View};

/// Makes the decisions of a path, and abandons the iteration where the path ends or does not fit.
#[derive(Clone, Debug)]
pub struct Follow {
    path: Vec<Decision>,
    at: usize,
    fair: bool,
}

impl Follow {
    /// Follows the path. `fair`: whether the strategy that made the path was fair, since bounds depend on it.
    pub fn new(path: Vec<Decision>, fair: bool) -> Follow {
        Follow { path, at: 0, fair }
    }

    fn next(&mut self) -> Option<Decision> {
        self.at += 1;
        self.path.get(self.at - 1).copied()
    }
}

impl Strategy for Follow {
    fn name(&self) -> String {
        "follow".into()
    }

    fn fair(&self) -> bool {
        self.fair
    }

    fn fair_from(&self) -> Option<u64> {
        None
    }

    fn begin(&mut self, _iteration: Iteration) {
        self.at = 0;
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        match self.next()? {
            Decision::Pick(pick) => view.allows(pick).then_some(pick),
            Decision::Value(_) => None,
        }
    }

    fn value(&mut self, bound: u64, _view: &View) -> Option<u64> {
        match self.next()? {
            Decision::Value(value) => (value < bound).then_some(value),
            Decision::Pick(_) => None,
        }
    }
}
