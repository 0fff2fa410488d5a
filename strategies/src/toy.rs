//! A small machine: the subject of this crate's tests.
//!
//! A program is a few workers, each a straight line of instructions over shared variables, locks and
//! choices. Small enough to enumerate every schedule by brute force, and a [`System`] in every
//! respect, so that a strategy or search can be checked without wasm.

use crate::{Access, OpKind, Operation, Pending, Pick, Standing, Status, Strategy, System, View, WorkerId};

/// One instruction of a worker. Variables and locks are numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Instruction {
    /// Reads a variable into the worker's register.
    Load(u8),
    /// Writes the register plus a constant.
    Store(u8, i8),
    /// Adds to a variable atomically; the register gets the old value.
    Rmw(u8, i8),
    Lock(u8),
    /// The register becomes 1 if it got the lock, else 0 and the next instruction is skipped.
    TryLock(u8),
    Unlock(u8),
    /// Starts a worker of the program that has not been started.
    Spawn(u8),
    Join(u8),
    /// The register becomes a chosen value below the bound.
    Choose(u8),
    /// A bug unless the register has this value.
    Assert(i8),
}

/// The workers' instructions. Worker 0 starts by itself, the others by `Spawn`, or all of them if no
/// instruction spawns.
pub type Program = Vec<Vec<Instruction>>;

/// The state of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Toy {
    program: Program,
    /// Program index of each execution's worker, by creation.
    code: Vec<u8>,
    counters: Vec<usize>,
    registers: Vec<i8>,
    variables: [i8; 8],
    owners: [Option<WorkerId>; 8],
    choosing: Option<(WorkerId, u64)>,
    bug: bool,
    pending: Vec<Pending>,
    enabled: Vec<WorkerId>,
    current: Option<WorkerId>,
    steps: u64,
    footprint: Vec<Access>,
}

const MEMORY: u8 = 0;
const LOCKS: u8 = 1;
const WORKERS: u8 = 2;

impl Toy {
    pub fn new(program: Program) -> Toy {
        let spawns = program.iter().flatten().any(|i| matches!(i, Instruction::Spawn(_)));
        let started = if spawns { 1 } else { program.len() };
        let mut toy = Toy {
            code: (0..started as u8).collect(),
            counters: vec![0; started],
            registers: vec![0; started],
            variables: [0; 8],
            owners: [None; 8],
            choosing: None,
            bug: false,
            pending: Vec::new(),
            enabled: Vec::new(),
            current: None,
            steps: 0,
            footprint: Vec::new(),
            program,
        };
        toy.refresh();
        toy
    }

    /// The values of the variables.
    pub fn variables(&self) -> &[i8] {
        &self.variables
    }

    /// Runs to the end under a strategy that has begun its iteration.
    pub fn run(&mut self, strategy: &mut dyn Strategy) -> Status {
        loop {
            match self.status() {
                Status::Ready => match strategy.pick(&self.view()) {
                    Some(pick) => {
                        let before = self.code.len();
                        self.step(pick);
                        if let Pick::Step(parent) = pick
                            && self.code.len() > before
                        {
                            let child = WorkerId(before as u32);
                            strategy.observe(crate::Event::Spawned { parent, child });
                        }
                    }
                    None => return Status::Abandoned,
                },
                Status::Choosing { bound } => match strategy.value(bound, &self.view()) {
                    Some(value) => self.choose(value),
                    None => return Status::Abandoned,
                },
                status => return status,
            }
        }
    }

    fn instruction(&self, worker: usize) -> Option<Instruction> {
        self.program[self.code[worker] as usize].get(self.counters[worker]).copied()
    }

    fn ended(&self, code: u8) -> bool {
        let worker = self.code.iter().position(|c| *c == code);
        worker.is_some_and(|w| self.instruction(w).is_none())
    }

    /// Recomputes what is pending and enabled.
    fn refresh(&mut self) {
        self.pending.clear();
        self.enabled.clear();
        for w in 0..self.code.len() {
            let site = (u32::from(self.code[w]) << 16) | self.counters[w] as u32;
            let op = |kind, object: u8, size| Operation { kind, site, object: u64::from(object) + 1, size };
            let (operation, enabled) = match self.instruction(w) {
                None => {
                    self.pending.push(Pending { operation: Operation::START, standing: Standing::Ended });
                    continue;
                }
                Some(Instruction::Load(v)) => (op(OpKind::Load, v, 1), true),
                Some(Instruction::Store(v, _)) => (op(OpKind::Store, v, 1), true),
                Some(Instruction::Rmw(v, _)) => (op(OpKind::Rmw, v, 1), true),
                Some(Instruction::Lock(l)) => (op(OpKind::Lock, l, 0), self.owners[l as usize].is_none()),
                Some(Instruction::TryLock(l)) => (op(OpKind::TryLock, l, 0), true),
                Some(Instruction::Unlock(l)) => (op(OpKind::Unlock, l, 0), true),
                Some(Instruction::Spawn(c)) => (op(OpKind::Spawn, c, 0), true),
                Some(Instruction::Join(c)) => (op(OpKind::Join, c, 0), self.ended(c)),
                Some(Instruction::Choose(_)) => (op(OpKind::ChooseInt, 0, 0), true),
                Some(Instruction::Assert(_)) => (op(OpKind::Yield, 0, 0), true),
            };
            let standing = if enabled { Standing::Enabled } else { Standing::Blocked };
            self.pending.push(Pending { operation, standing });
            if enabled {
                self.enabled.push(WorkerId(w as u32));
            }
        }
    }
}

impl System for Toy {
    type Snapshot = Toy;

    fn status(&self) -> Status {
        match self.choosing {
            _ if self.bug => Status::Bug,
            Some((_, bound)) => Status::Choosing { bound },
            None if !self.enabled.is_empty() => Status::Ready,
            None if self.pending.iter().all(|p| p.standing == Standing::Ended) => Status::Passed,
            None => Status::Bug,
        }
    }

    fn view(&self) -> View<'_> {
        View {
            enabled: &self.enabled,
            timeout: None,
            workers: &self.pending,
            current: self.current,
            step: self.steps,
        }
    }

    fn step(&mut self, pick: Pick) {
        let Pick::Step(worker) = pick else { panic!("the toy machine has no timeouts") };
        let w = worker.index();
        assert_eq!(self.pending[w].standing, Standing::Enabled, "{worker:?} cannot step");
        let instruction = self.instruction(w).expect("an enabled worker has an instruction");
        self.footprint.clear();
        let mut touch = |class, object: u8, write| {
            self.footprint.push(Access { class, write, object: u64::from(object), size: 1 });
        };
        self.counters[w] += 1;
        match instruction {
            Instruction::Load(v) => {
                touch(MEMORY, v, false);
                self.registers[w] = self.variables[v as usize];
            }
            Instruction::Store(v, add) => {
                touch(MEMORY, v, true);
                self.variables[v as usize] = self.registers[w].wrapping_add(add);
            }
            Instruction::Rmw(v, add) => {
                touch(MEMORY, v, true);
                self.registers[w] = self.variables[v as usize];
                self.variables[v as usize] = self.registers[w].wrapping_add(add);
            }
            Instruction::Lock(l) => {
                touch(LOCKS, l, true);
                self.owners[l as usize] = Some(worker);
            }
            Instruction::TryLock(l) => {
                touch(LOCKS, l, true);
                let free = self.owners[l as usize].is_none();
                self.registers[w] = i8::from(free);
                if free {
                    self.owners[l as usize] = Some(worker);
                } else {
                    self.counters[w] += 1;
                }
            }
            Instruction::Unlock(l) => {
                touch(LOCKS, l, true);
                self.bug |= self.owners[l as usize] != Some(worker);
                self.owners[l as usize] = None;
            }
            Instruction::Spawn(c) => {
                touch(WORKERS, c, true);
                self.code.push(c);
                self.counters.push(0);
                self.registers.push(0);
            }
            Instruction::Join(c) => touch(WORKERS, c, false),
            Instruction::Choose(bound) => self.choosing = Some((worker, u64::from(bound))),
            Instruction::Assert(value) => self.bug |= self.registers[w] != value,
        }
        self.current = Some(worker);
        self.steps += 1;
        self.refresh();
    }

    fn choose(&mut self, value: u64) {
        let (worker, bound) = self.choosing.take().expect("nothing to choose");
        assert!(value < bound);
        self.registers[worker.index()] = value as i8;
    }

    fn footprint(&self) -> &[Access] {
        &self.footprint
    }

    fn can_snapshot(&self) -> bool {
        true
    }

    fn snapshot(&mut self) -> Toy {
        self.clone()
    }

    fn restore(&mut self, snapshot: &Toy) {
        self.clone_from(snapshot);
    }

    fn fingerprint(&mut self) -> u128 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let half = |salt: u64| {
            let mut hasher = DefaultHasher::new();
            (salt, &self.code, &self.counters, &self.registers).hash(&mut hasher);
            (&self.variables, &self.owners, &self.choosing, self.bug).hash(&mut hasher);
            u128::from(hasher.finish())
        };
        half(1) << 64 | half(2)
    }
}
