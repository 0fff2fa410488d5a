//! Strategies one after the other within an iteration: `A@STEPS,then:B`.
//!
//! The fair variants are made of it: an unfair prefix, then the random walk. The whole is fair if the last
//! strategy is, which never ends. Every event is passed to all of them. The first one makes the same choices
//! as alone, the others have separate streams of random numbers.

use crate::{Event, Iteration, Pick, Profile, Strategy, Summary, View};

/// See the module's documentation.
pub struct Sequence {
    /// The prefixes, with the steps after which each ends, counted from its own first one.
    prefixes: Vec<(Box<dyn Strategy>, u64)>,
    last: Box<dyn Strategy>,
    /// Index of the present prefix.
    at: usize,
    /// Step of the iteration at which the present prefix ends.
    until: u64,
}

impl Sequence {
    /// Each prefix for its number of steps, then `last` to the end.
    pub fn new(prefixes: Vec<(Box<dyn Strategy>, u64)>, last: Box<dyn Strategy>) -> Sequence {
        Sequence { prefixes, last, at: 0, until: 0 }
    }

    fn all(&self) -> impl Iterator<Item = &dyn Strategy> {
        self.prefixes.iter().map(|p| p.0.as_ref()).chain([self.last.as_ref()])
    }

    fn each(&mut self, mut tell: impl FnMut(&mut dyn Strategy)) {
        self.prefixes.iter_mut().for_each(|p| tell(p.0.as_mut()));
        tell(self.last.as_mut());
    }

    fn now(&mut self, step: u64) -> &mut dyn Strategy {
        while step >= self.until && self.at < self.prefixes.len() {
            self.at += 1;
            self.until += self.prefixes.get(self.at).map_or(0, |p| p.1);
        }
        match self.prefixes.get_mut(self.at) {
            Some(prefix) => prefix.0.as_mut(),
            None => self.last.as_mut(),
        }
    }
}

/// A name that can be used where one strategy is expected.
pub(super) fn as_one(name: &str) -> String {
    let mut depth = 0;
    let open = name.chars().any(|c| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        depth == 0 && c == ','
    });
    if open { format!("[{name}]") } else { name.into() }
}

impl Strategy for Sequence {
    fn name(&self) -> String {
        let prefix = |p: &(Box<dyn Strategy>, u64)| format!("{}@{},then:", as_one(&p.0.name()), p.1);
        self.prefixes.iter().map(prefix).collect::<String>() + &as_one(&self.last.name())
    }

    fn fair(&self) -> bool {
        self.last.fair()
    }

    fn fair_from(&self) -> Option<u64> {
        let prefixes = self.prefixes.iter().map(|prefix| prefix.1).fold(0, u64::saturating_add);
        self.last.fair_from().map(|from| from.max(prefixes))
    }

    fn timeouts_from(&self) -> u64 {
        self.all().map(|s| s.timeouts_from()).max().unwrap_or(0)
    }

    fn independent(&self) -> bool {
        self.all().all(|s| s.independent())
    }

    fn grows(&self) -> bool {
        self.all().any(|s| s.grows())
    }

    fn needs_profile(&self) -> bool {
        self.all().any(|s| s.needs_profile())
    }

    fn prepare(&mut self, profile: &Profile) {
        self.each(|s| s.prepare(profile));
    }

    fn begin(&mut self, iteration: Iteration) {
        let mut seed = iteration.seed;
        self.each(|s| {
            s.begin(Iteration { seed, ..iteration });
            seed = seed.wrapping_add(0xd1b5_4a32_d192_ed03);
        });
        self.at = 0;
        self.until = self.prefixes.first().map_or(0, |p| p.1);
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        self.now(view.step).pick(view)
    }

    fn value(&mut self, bound: u64, view: &View) -> Option<u64> {
        self.now(view.step).value(bound, view)
    }

    fn observe(&mut self, event: Event) {
        self.each(|s| s.observe(event));
    }

    fn end(&mut self, summary: Summary) {
        self.each(|s| s.end(summary));
    }
}
