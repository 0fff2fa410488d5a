//! Runs of strategies on toy programs.

use super::exact::Schedule;
use coyote_strategies::toy::{Program, Toy};
use coyote_strategies::{Event, Iteration, Pick, Profile, Profiler, Status, Strategy, Summary, View};
use std::collections::BTreeMap;

/// Keeps the schedule that another strategy makes.
struct Recorder<'a> {
    inner: &'a mut dyn Strategy,
    schedule: Schedule,
}

impl Strategy for Recorder<'_> {
    fn name(&self) -> String {
        self.inner.name()
    }
    fn fair(&self) -> bool {
        self.inner.fair()
    }
    fn begin(&mut self, iteration: Iteration) {
        self.inner.begin(iteration);
    }
    fn pick(&mut self, view: &View) -> Option<Pick> {
        let pick = self.inner.pick(view)?;
        if let Pick::Step(worker) = pick {
            self.schedule.push(worker.0);
        }
        Some(pick)
    }
    fn value(&mut self, bound: u64, view: &View) -> Option<u64> {
        self.inner.value(bound, view)
    }
    fn observe(&mut self, event: Event) {
        self.inner.observe(event);
    }
}

/// One iteration: how it ended and who made each step.
pub fn run(program: &Program, strategy: &mut dyn Strategy, iteration: Iteration) -> (Status, Schedule) {
    strategy.begin(iteration);
    let mut recorder = Recorder { inner: strategy, schedule: Vec::new() };
    let mut toy = Toy::new(program.clone());
    let status = toy.run(&mut recorder);
    let schedule = recorder.schedule;
    let steps = schedule.len() as u64;
    strategy.end(Summary { steps, buggy: status == Status::Bug });
    (status, schedule)
}

/// The profiling run with this seed.
pub fn profile(program: &Program, seed: u64) -> Profile {
    let mut profiler = Profiler::default();
    run(program, &mut profiler, Iteration { seed, index: 0 });
    let result = profiler.result();
    let profile = result.lock().unwrap();
    profile.clone()
}

/// How often each schedule comes up in 10,000 iterations: the first and the second of many seeds, so
/// that neither a first iteration nor what follows one can be special.
pub fn schedules(program: &Program, strategy: &mut dyn Strategy) -> BTreeMap<Schedule, u64> {
    let mut counts = BTreeMap::new();
    for i in 0..10_000 {
        let (_, schedule) = run(program, strategy, Iteration { seed: i / 2, index: i % 2 });
        *counts.entry(schedule).or_default() += 1;
    }
    counts
}

/// How many of `iterations` iterations find a bug.
pub fn bugs(program: &Program, strategy: &mut dyn Strategy, iterations: u64) -> u64 {
    let buggy = |i| run(program, strategy, Iteration { seed: i, index: i }).0 == Status::Bug;
    (0..iterations).map(buggy).filter(|buggy| *buggy).count() as u64
}
