//! Exact probabilities of schedules, by enumerating everything that a strategy may draw. Written from
//! the papers' definitions and naive, to be independent of the implementations.

use coyote_strategies::toy::{Program, Toy};
use coyote_strategies::{OpKind, Operation, Pending, Pick, Status, System, WorkerId, WorkerState};
use std::collections::BTreeMap;

/// Who made each step.
pub type Schedule = Vec<u32>;
pub type Distribution = BTreeMap<Schedule, f64>;

/// The distribution of a strategy that picks each enabled worker with a probability that depends on
/// the schedule so far alone: `weights` says in which proportion.
pub fn walk(program: &Program, weights: &dyn Fn(&Toy, &Schedule) -> Vec<f64>) -> Distribution {
    let mut found = Distribution::new();
    let mut go = vec![(Toy::new(program.clone()), Schedule::new(), 1.0)];
    while let Some((toy, schedule, probability)) = go.pop() {
        if toy.status() != Status::Ready {
            *found.entry(schedule).or_default() += probability;
            continue;
        }
        let weights = weights(&toy, &schedule);
        let sum: f64 = weights.iter().sum();
        for (worker, weight) in toy.view().enabled.to_vec().into_iter().zip(weights) {
            let (mut toy, mut schedule) = (toy.clone(), schedule.clone());
            toy.step(Pick::Step(worker));
            schedule.push(worker.0);
            go.push((toy, schedule, probability * weight / sum));
        }
    }
    found
}

/// Every enabled worker alike.
pub fn random(program: &Program) -> Distribution {
    walk(program, &|toy, _| vec![1.0; toy.view().enabled.len()])
}

/// In proportion to the steps that a worker and those it is yet to create have left. Only for programs
/// without branches, whose workers are numbered in the order of creation.
pub fn urw(program: &Program) -> Distribution {
    use coyote_strategies::toy::Instruction::Spawn;
    fn left(program: &Program, worker: usize, done: usize) -> f64 {
        let rest = &program[worker][done..];
        let children = rest.iter().map(|i| match i {
            Spawn(child) => left(program, usize::from(*child), 0),
            _ => 0.0,
        });
        rest.len() as f64 + children.sum::<f64>()
    }
    walk(program, &|toy, schedule| {
        let done = |w: u32| schedule.iter().filter(|s| **s == w).count();
        toy.view().enabled.iter().map(|w| left(program, toy.code(*w), done(w.0))).collect()
    })
}

/// Every order of priorities and every tuple of `depth - 1` different change points among the first `steps`
/// that are made while two workers have not ended, or of all of them if there are less.
pub fn pct(program: &Program, depth: u32, steps: u64) -> Distribution {
    let mut found = Distribution::new();
    let tuples = tuples(steps, steps.min(u64::from(depth) - 1));
    let orders = permutations(program.len());
    let weight = 1.0 / (tuples.len() * orders.len()) as f64;
    for order in &orders {
        for points in &tuples {
            let mut priority: Vec<usize> = order.iter().map(|rank| rank + depth as usize).collect();
            let (mut toy, mut schedule, mut step) = (Toy::new(program.clone()), Schedule::new(), 0);
            while toy.status() == Status::Ready {
                let enabled: Vec<usize> = toy.view().enabled.iter().map(|w| w.index()).collect();
                let mut best = *enabled.iter().max_by_key(|w| priority[**w]).unwrap();
                let alive = |pending: &&Pending| pending.state != WorkerState::Ended;
                if toy.view().workers.iter().filter(alive).count() > 1 {
                    if let Some(i) = points.iter().position(|p| *p == step) {
                        priority[best] = i;
                    }
                    step += 1;
                    best = *enabled.iter().max_by_key(|w| priority[**w]).unwrap();
                }
                toy.step(Pick::Step(WorkerId(best as u32)));
                schedule.push(best as u32);
            }
            *found.entry(schedule).or_default() += weight;
        }
    }
    found
}

/// Every order of all the numbers that are drawn during an execution, of which there are at most
/// `draws`. With `redraws`, the pending operations that race with an executed one draw again.
pub fn pos(program: &Program, draws: usize, redraws: bool) -> Distribution {
    let mut found = Distribution::new();
    let orders = permutations(draws);
    for order in &orders {
        let mut numbers = order.iter().copied();
        let mut draw = || numbers.next().expect("more draws than were allowed for");
        let mut priority: BTreeMap<usize, usize> = BTreeMap::new();
        let (mut toy, mut schedule) = (Toy::new(program.clone()), Schedule::new());
        while toy.status() == Status::Ready {
            let pending = toy.view().workers.to_vec();
            let alive = (0..pending.len()).filter(|w| pending[*w].state != WorkerState::Ended);
            for w in alive {
                priority.entry(w).or_insert_with(&mut draw);
            }
            let best = *toy.view().enabled.iter().max_by_key(|w| priority[&w.index()]).unwrap();
            priority.remove(&best.index());
            if redraws {
                let executed = pending[best.index()].operation;
                priority.retain(|w, _| !race(&executed, &pending[*w].operation));
            }
            toy.step(Pick::Step(best));
            schedule.push(best.0);
        }
        *found.entry(schedule).or_default() += 1.0 / orders.len() as f64;
    }
    found
}

fn race(a: &Operation, b: &Operation) -> bool {
    let memory = |o: &Operation| matches!(o.kind, OpKind::Load | OpKind::Store | OpKind::Rmw);
    let lock = |o: &Operation| matches!(o.kind, OpKind::Lock | OpKind::TryLock | OpKind::Unlock);
    let reads = |o: &Operation| o.kind == OpKind::Load;
    a.object == b.object && (memory(a) && memory(b) && !(reads(a) && reads(b)) || lock(a) && lock(b))
}

/// All orders of 0..n.
pub fn permutations(n: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for k in 0..n {
        all = all
            .into_iter()
            .flat_map(|order| {
                (0..=order.len()).map(move |at| {
                    let mut longer = order.clone();
                    longer.insert(at, k);
                    longer
                })
            })
            .collect();
    }
    all
}

/// All tuples of `length` different numbers below `bound`.
fn tuples(bound: u64, length: u64) -> Vec<Vec<u64>> {
    (0..length).fold(vec![vec![]], |all, _| {
        let longer = all.into_iter().flat_map(|tuple: Vec<u64>| {
            (0..bound).filter_map(move |x| {
                let mut longer = tuple.clone();
                longer.push(x);
                (!tuple.contains(&x)).then_some(longer)
            })
        });
        longer.collect()
    })
}
