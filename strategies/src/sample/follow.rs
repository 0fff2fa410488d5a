//! A path of decisions as a strategy: how what a search found is executed from the start, and how an
//! iteration is executed again.

use crate::{Decision, Iteration, Pick, Strategy, View};

/// Makes the decisions of a path and gives up where it ends or does not fit.
#[derive(Clone, Debug)]
pub struct Follow {
    path: Vec<Decision>,
    at: usize,
    fair: bool,
}

impl Follow {
    /// `fair`: as what made the path was, since bounds depend on it.
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
