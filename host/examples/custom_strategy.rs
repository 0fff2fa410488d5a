//! A strategy of one's own: the newest worker that can go on runs until it is blocked, except that once in
//! a while everybody's turn is drawn anew.
//!
//!     cargo run --release -p coyote-wasm --example custom_strategy

use coyote_wasm::strategies::rng::ChoiceRng;
use coyote_wasm::strategies::{Iteration, Pick, Strategy, View};
use coyote_wasm::tester::Tester;

struct NewestFirst {
    rng: ChoiceRng,
    /// One choice in so many is random.
    random_one_in: u64,
}

impl NewestFirst {
    fn new(random_one_in: u64) -> NewestFirst {
        NewestFirst { rng: ChoiceRng::new(Iteration { seed: 0, index: 0 }), random_one_in }
    }
}

impl Strategy for NewestFirst {
    fn name(&self) -> String {
        format!("newest-first:{}", self.random_one_in)
    }

    /// A random choice may fall on anybody.
    fn fair(&self) -> bool {
        true
    }

    /// All randomness comes from the iteration: that is what makes it repeatable.
    fn begin(&mut self, iteration: Iteration) {
        self.rng = ChoiceRng::new(iteration);
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        let random = self.rng.one_in(self.random_one_in);
        if !view.timeouts.is_empty() && (view.enabled.is_empty() || random) {
            let index = self.rng.below(view.timeouts.len() as u64) as usize;
            return Some(Pick::Timeout(view.timeouts[index]));
        }
        let last = view.enabled.len() - 1;
        let index = if random { self.rng.below(view.enabled.len() as u64) as usize } else { last };
        Some(Pick::Step(view.enabled[index]))
    }

    fn value(&mut self, bound: u64, _view: &View) -> Option<u64> {
        Some(self.rng.below(bound))
    }
}

fn main() -> anyhow::Result<()> {
    let wasm = std::fs::read("examples/wasm/bounded_buffer.wasm")?;
    let tester = Tester::new(&wasm)?;
    let exploration = tester.explore_with("minimal", &|_| Box::new(NewestFirst::new(10)))?;
    for found in &exploration.bugs {
        println!("{} in iteration {}", found.bug.message(), found.iteration);
        let replayed = tester.replay(&found.trace)?;
        anyhow::ensure!(replayed.reproduces(&found.trace), "the trace does not replay");
        println!("replayed from {}", found.path.display());
    }
    anyhow::ensure!(!exploration.bugs.is_empty(), "the deadlock was not found");
    Ok(())
}
