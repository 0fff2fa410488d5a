//! Runs a prepared module twice, plainly and suspended at random, and compares.
//!
//! While a worker is suspended its frames are walked by the frame table, what the table calls dead is
//! filled with noise, the frame memory and the worker's globals as well, and now and then the worker
//! goes on in a fresh instance: a suspended program is bytes.

use crate::module::{IMPORTS, Prepared, TEST, prepare};
use crate::random::Random;
use coyote_abi::rt::{self, Action};
use coyote_instrumenter::suspend::{Entry, Frame, Mutant, Suspended, suspend};
use wasmtime::*;

/// What is compared.
#[derive(Clone, Debug, PartialEq)]
struct State {
    /// Results and exported globals, as bits.
    globals: Vec<u128>,
    memories: Vec<Vec<u8>>,
    /// Calls of the test's imports with their first argument.
    log: Vec<(u8, i64)>,
    trap: Option<String>,
}

/// How a corpus is to be run.
#[derive(Clone, Copy)]
pub struct Plan {
    pub seed: u64,
    /// Runs of each caller.
    pub runs: u64,
    pub mutant: Option<Mutant>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub modules: u64,
    pub runs: u64,
    pub traps: u64,
    pub rewinds: u64,
    /// Rewinds of stacks with a frame that is inside of a `try_table`.
    pub in_try: u64,
    pub moves: u64,
    pub deepest: u64,
}

impl Counts {
    pub fn add(&mut self, other: Counts) {
        self.modules += other.modules;
        self.runs += other.runs;
        self.traps += other.traps;
        self.rewinds += other.rewinds;
        self.in_try += other.in_try;
        self.moves += other.moves;
        self.deepest = self.deepest.max(other.deepest);
    }
}

/// Planted faults make recursions endless, and rewinding at every level of one takes quadratic time.
const DEPTH_MAX: u64 = 1000;

/// The host's side of a run.
struct Host {
    /// Draws what imports return; a new one for each run, the same for both modules.
    values: Random,
    log: Vec<(u8, i64)>,
    /// The rest is for the suspended module only.
    random: Random,
    /// A call is suspended once in so many times.
    rarity: u64,
    moves: bool,
    /// Imports called so far may not exceed this: a planted fault can make a loop endless.
    calls_max: usize,
    frames: Vec<Frame>,
    /// By frame: whether its call is inside of a `try_table`.
    tries: Vec<bool>,
    worker_globals: Vec<Global>,
    frame_memory: Option<Memory>,
    want: Want,
    /// The suspended worker.
    saved: Vec<u8>,
    result: i64,
    entry: (i32, i32),
    counts: Counts,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Want {
    Start,
    Resume,
    Moving,
    Ended,
}

impl Host {
    fn new(plan: &Plan) -> Host {
        Host {
            values: Random(0),
            log: vec![],
            random: Random(plan.seed ^ 0x5eed),
            rarity: 1,
            moves: false,
            calls_max: if plan.mutant.is_some() { 20_000 } else { 200_000 },
            frames: vec![],
            tries: vec![],
            worker_globals: vec![],
            frame_memory: None,
            want: Want::Start,
            saved: vec![],
            result: 0,
            entry: (0, 0),
            counts: Counts::default(),
        }
    }

    /// A call of import number `import`: its value.
    fn call(&mut self, import: u8, argument: i64) -> Result<i64> {
        self.log.push((import, argument));
        if self.log.len() > self.calls_max {
            bail!("too many calls");
        }
        let value = self.values.next();
        Ok(if value & 1 == 0 { value as i64 } else { (value >> 56) as i64 })
    }

    /// As `call`, for an import that may suspend: the value and the unwind flag.
    fn suspending_call(&mut self, import: u8, argument: i64) -> Result<(i64, i32)> {
        let value = self.call(import, argument)?;
        if self.want == Want::Ended || !self.random.one_in(self.rarity) {
            return Ok((value, 0));
        }
        self.result = value;
        Ok((self.random.next() as i64, 1))
    }
}

/// `next`, for one worker that is started, resumed and moved until it ends.
fn next(mut caller: Caller<'_, Host>, end: i32) -> Result<(i32, i32, i64, i32, i32, i32)> {
    let memory = caller.data().frame_memory.expect("set before the first run");
    let globals = caller.data().worker_globals.clone();
    let begin = globals.len() * rt::GLOBAL_BYTES;
    match caller.data().want {
        Want::Start => {
            let mut bytes = vec![0; begin];
            for (global, slot) in globals.iter().zip(bytes.chunks_mut(rt::GLOBAL_BYTES)) {
                slot.copy_from_slice(&bits(global.get(&mut caller)).to_le_bytes());
            }
            memory.write(&mut caller, 0, &bytes)?;
            let host = caller.data_mut();
            host.want = Want::Resume;
            return Ok((Action::Start as i32, begin as i32, 0, host.entry.0, host.entry.1, 0));
        }
        Want::Resume if end == 0 => {
            caller.data_mut().want = Want::Ended;
            return Ok((Action::Leave as i32, 0, 0, 0, 0, 0));
        }
        Want::Resume => {
            let mut saved = memory.data(&caller)[..end as usize].to_vec();
            let host = caller.data_mut();
            host.counts.rewinds += 1;
            let mut random = host.random.clone();
            let (depth, in_try) = fill_dead(&mut saved, begin, &host.frames, &host.tries, &mut random)?;
            host.counts.in_try += in_try as u64;
            host.counts.deepest = host.counts.deepest.max(depth);
            let moving = host.moves && random.one_in(100);
            host.random = random.clone();
            host.saved = saved;
            for global in &globals {
                let noise = from_bits(global.ty(&caller).content(), random.next() as u128);
                global.set(&mut caller, noise)?;
            }
            memory.write(&mut caller, 0, &random.bytes(end as usize + 16))?;
            if moving {
                caller.data_mut().want = Want::Moving;
                return Ok((Action::Leave as i32, 0, 0, 0, 0, 0));
            }
        }
        Want::Moving => caller.data_mut().want = Want::Resume,
        Want::Ended => bail!("`next` was called after it said to leave"),
    }
    let saved = std::mem::take(&mut caller.data_mut().saved);
    memory.write(&mut caller, 0, &saved)?;
    let host = caller.data_mut();
    let result = host.result;
    host.result = host.random.next() as i64;
    let entry = host.entry;
    // What an entry is called with when it resumes does not matter.
    Ok((Action::Resume as i32, saved.len() as i32, result, entry.0, host.random.next() as i32, 0))
}

/// Walks the frames, innermost first, and fills their dead ranges with noise. Returns their number, and whether
/// one is inside of a `try_table`.
fn fill_dead(
    saved: &mut [u8],
    begin: usize,
    frames: &[Frame],
    tries: &[bool],
    random: &mut Random,
) -> Result<(u64, bool)> {
    let (mut end, mut depth, mut in_try) = (saved.len(), 0, false);
    while end > begin {
        let site = u32::from_le_bytes(saved[end - 4..end].try_into().expect("four bytes"));
        let Some(frame) = frames.get(site as usize) else { bail!("site {site} is not in the frame table") };
        let Some(start) = end.checked_sub(frame.size as usize) else { bail!("a frame is cut off") };
        for (offset, length) in &frame.dead {
            let range = start + *offset as usize..start + (*offset + *length) as usize;
            saved[range].copy_from_slice(&random.bytes(*length as usize));
        }
        in_try |= tries[site as usize];
        end = start;
        depth += 1;
        if depth > DEPTH_MAX {
            bail!("too deep a recursion");
        }
    }
    if end != begin {
        bail!("the frames do not end where the globals do");
    }
    Ok((depth, in_try))
}

/// By frame of the frame table: whether the call in the input is inside of a `try_table`.
fn inside_tries(wasm: &[u8], frames: &[Frame]) -> Vec<bool> {
    let mut inside = std::collections::BTreeSet::new();
    for payload in wasmparser::Parser::new(0).parse_all(wasm) {
        let wasmparser::Payload::CodeSectionEntry(body) = payload.expect("valid") else { continue };
        let mut open: Vec<bool> = vec![];
        let mut operators = body.get_operators_reader().expect("valid");
        while !operators.eof() {
            let (operator, at) = operators.read_with_offset().expect("valid");
            match operator {
                wasmparser::Operator::Block { .. }
                | wasmparser::Operator::Loop { .. }
                | wasmparser::Operator::If { .. } => open.push(false),
                wasmparser::Operator::TryTable { .. } => open.push(true),
                wasmparser::Operator::End => drop(open.pop()),
                _ if open.contains(&true) => drop(inside.insert(at as u32)),
                _ => {}
            }
        }
    }
    frames.iter().map(|frame| inside.contains(&frame.call)).collect()
}

pub fn bits(value: Val) -> u128 {
    match value {
        Val::I32(x) => x as u32 as u128,
        Val::I64(x) => x as u64 as u128,
        Val::F32(x) => x as u128,
        Val::F64(x) => x as u128,
        Val::V128(x) => x.as_u128(),
        _ => 0,
    }
}

fn from_bits(ty: &ValType, bits: u128) -> Val {
    match ty {
        ValType::I32 => Val::I32(bits as i32),
        ValType::I64 => Val::I64(bits as i64),
        ValType::F32 => Val::F32(bits as u32),
        ValType::F64 => Val::F64(bits as u64),
        _ => Val::V128(bits.into()),
    }
}

/// `fuel`: stop endless loops, which planted faults can cause.
pub fn engine(fuel: bool) -> Engine {
    let mut config = wasmtime::Config::new();
    config.wasm_multi_memory(true).wasm_tail_call(true).wasm_function_references(true).wasm_gc(true);
    config.wasm_exceptions(true).cranelift_nan_canonicalization(true).consume_fuel(fuel);
    config.cranelift_opt_level(OptLevel::None).parallel_compilation(false);
    config.memory_reservation(1 << 27).memory_guard_size(0);
    Engine::new(&config).expect("the test's engine configuration is valid")
}

fn linker(engine: &Engine, suspends: bool) -> Result<Linker<Host>> {
    let mut linker: Linker<Host> = Linker::new(engine);
    linker.func_wrap(rt::MODULE, rt::NEXT, next)?;
    linker.func_wrap(rt::MODULE, rt::FRAMES_OVERFLOW, || -> Result<()> { bail!("frames overflow") })?;
    for (number, (name, params, results, may_suspend)) in IMPORTS.iter().enumerate() {
        let convert = |t: &wasm_encoder::ValType| match t {
            wasm_encoder::ValType::I32 => ValType::I32,
            _ => ValType::I64,
        };
        let flagged = suspends && *may_suspend;
        let result_types = results.iter().map(convert).chain(flagged.then_some(ValType::I32));
        let ty = FuncType::new(engine, params.iter().map(convert), result_types);
        let may_suspend = *may_suspend;
        linker.func_new(TEST, name, ty, move |mut caller, params, out| {
            let argument = match params.first() {
                Some(Val::I32(x)) => *x as i64,
                Some(Val::I64(x)) => *x,
                _ => 0,
            };
            let host = caller.data_mut();
            let (value, flag) = match suspends && may_suspend {
                true => host.suspending_call(number as u8, argument)?,
                false => (host.call(number as u8, argument)?, 0),
            };
            for (out, ty) in out.iter_mut().zip(*results) {
                *out = match ty {
                    wasm_encoder::ValType::I64 => Val::I64(value),
                    _ => Val::I32(value as i32),
                };
            }
            if let (true, Some(last)) = (suspends && may_suspend, out.last_mut()) {
                *last = Val::I32(flag);
            }
            Ok(())
        })?;
    }
    Ok(linker)
}

/// One instance of one of the two modules.
struct Side<'p> {
    prepared: &'p Prepared,
    store: Store<Host>,
    instance: Instance,
}

impl<'p> Side<'p> {
    fn new(
        module: &Module,
        linker: &Linker<Host>,
        prepared: &'p Prepared,
        host: Host,
        fuel: bool,
    ) -> Result<Side<'p>> {
        let mut store = Store::new(module.engine(), host);
        if fuel {
            store.set_fuel(2_000_000)?;
        }
        // A start function is not a worker: nothing suspends in it.
        let want = std::mem::replace(&mut store.data_mut().want, Want::Ended);
        let instance = linker.instantiate(&mut store, module)?;
        store.data_mut().want = want;
        let mut side = Side { prepared, store, instance };
        if let Some(memory) = side.instance.get_memory(&mut side.store, rt::FRAMES) {
            let workers = side.prepared.config.worker_globals.len();
            let globals = side.globals();
            let host = side.store.data_mut();
            host.frame_memory = Some(memory);
            host.worker_globals = globals[..workers].to_vec();
        }
        Ok(side)
    }

    fn globals(&mut self) -> Vec<Global> {
        let (instance, store) = (self.instance, &mut self.store);
        self.prepared.globals.iter().map(|n| instance.get_global(&mut *store, n).expect("exported")).collect()
    }

    fn memories(&mut self) -> Vec<Memory> {
        let (instance, store) = (self.instance, &mut self.store);
        self.prepared
            .memories
            .iter()
            .map(|n| instance.get_memory(&mut *store, n).expect("exported"))
            .collect()
    }

    fn state(&mut self, outcome: Result<()>) -> State {
        let trap = outcome.err().map(|e| match e.downcast_ref::<Trap>() {
            Some(trap) => format!("{trap:?}"),
            None => e.root_cause().to_string(),
        });
        let globals = self.globals();
        let memories = self.memories();
        State {
            globals: globals.iter().map(|g| bits(g.get(&mut self.store))).collect(),
            memories: memories.iter().map(|m| m.data(&self.store).to_vec()).collect(),
            log: std::mem::take(&mut self.store.data_mut().log),
            trap,
        }
    }

    fn begin(&mut self, run: u64, fuel: bool) -> Result<()> {
        self.store.data_mut().values = Random(run);
        if fuel {
            self.store.set_fuel(2_000_000)?;
        }
        Ok(())
    }

    fn plain(&mut self, caller: &str, argument: i32) -> State {
        let outcome = self
            .instance
            .get_typed_func::<i32, ()>(&mut self.store, caller)
            .and_then(|f| f.call(&mut self.store, argument));
        self.state(outcome)
    }

    fn run(&mut self) -> Result<()> {
        let run = self.instance.get_typed_func::<(), ()>(&mut self.store, rt::RUN)?;
        run.call(&mut self.store, ())
    }

    /// Puts this side's worker and program state into a new instance.
    fn moved(mut self, module: &Module, linker: &Linker<Host>, fuel: bool) -> Result<Side<'p>> {
        let (globals, memories) = (self.globals(), self.memories());
        let values: Vec<Val> = globals.iter().map(|g| g.get(&mut self.store)).collect();
        let contents: Vec<Vec<u8>> = memories.iter().map(|m| m.data(&self.store).to_vec()).collect();
        let host =
            std::mem::replace(self.store.data_mut(), Host::new(&Plan { seed: 0, runs: 0, mutant: None }));
        let log = host.log.clone();
        let values_stream = host.values.clone();
        let mut new = Side::new(module, linker, self.prepared, host, fuel)?;
        if fuel {
            new.store.set_fuel(self.store.get_fuel()?)?;
        }
        // Its start function may have made calls.
        new.store.data_mut().log = log;
        new.store.data_mut().values = values_stream;
        new.store.data_mut().counts.moves += 1;
        for (global, value) in new.globals().into_iter().zip(values) {
            global.set(&mut new.store, value)?;
        }
        for (memory, bytes) in new.memories().into_iter().zip(contents) {
            let pages = bytes.len() as u64 / 65536 - memory.size(&new.store);
            memory.grow(&mut new.store, pages)?;
            memory.data_mut(&mut new.store).copy_from_slice(&bytes);
        }
        Ok(new)
    }
}

/// Compares the two modules on all callers. `Err` says how they differ.
pub fn check(engine: &Engine, prepared: &Prepared, plan: &Plan) -> Result<Counts, String> {
    let fuel = plan.mutant.is_some();
    let mut config = prepared.config.clone();
    config.mutant = plan.mutant;
    let suspended = suspend(&prepared.wasm, &config).map_err(|e| format!("the pass refuses: {e}"))?;
    if plan.mutant.is_none() {
        check_code_map(&prepared.wasm, &suspended);
    }
    let text = |e: wasmtime::Error| format!("{e:#}");
    let plain_module = Module::new(engine, &prepared.wasm).map_err(text)?;
    let module = Module::new(engine, &suspended.wasm).map_err(text)?;
    let (plain_linker, linker) = (linker(engine, false).map_err(text)?, linker(engine, true).map_err(text)?);
    let plain = Side::new(&plain_module, &plain_linker, prepared, Host::new(plan), fuel);
    let mut host = Host::new(plan);
    host.tries = inside_tries(&prepared.wasm, &suspended.frames);
    host.frames = suspended.frames;
    host.moves = prepared.moves;
    let side = Side::new(&module, &linker, prepared, host, fuel);
    let mut counts = Counts { modules: 1, ..Counts::default() };
    let (mut plain, mut side) = match (plain, side) {
        (Ok(plain), Ok(side)) => (plain, side),
        (Err(_), Err(_)) => return Ok(counts),
        (Err(e), Ok(_)) => return Err(format!("only the plain module fails to start: {e:#}")),
        (Ok(_), Err(e)) => return Err(format!("only the suspended module fails to start: {e:#}")),
    };
    let first_caller = match config.entries.first() {
        Some(Entry::Table) => 1,
        _ => 0,
    };
    let mut random = Random(plan.seed);
    for run in 0..plan.runs {
        for (number, caller) in prepared.callers.iter().enumerate() {
            let argument = if run < 8 { run as i32 } else { random.next() as i32 };
            let rarity = *random.pick(&[1, 1, 2, 7]);
            plain.begin(plan.seed ^ run, fuel).map_err(text)?;
            let expected = plain.plain(caller, argument);
            side.begin(plan.seed ^ run, fuel).map_err(text)?;
            let host = side.store.data_mut();
            host.want = Want::Start;
            host.entry = (number as i32 + first_caller, argument);
            host.rarity = rarity;
            let mut outcome = side.run();
            while outcome.is_ok() && side.store.data().want == Want::Moving {
                side = side.moved(&module, &linker, fuel).map_err(text)?;
                outcome = side.run();
            }
            if outcome.is_ok() && side.store.data().want != Want::Ended {
                return Err(format!("{caller}({argument}): `run` returned without being told to"));
            }
            side.store.data_mut().want = Want::Ended;
            let found = side.state(outcome);
            counts.runs += 1;
            counts.traps += expected.trap.is_some() as u64;
            let exhausted = |s: &State| {
                s.trap.as_ref().is_some_and(|t| t.contains("StackOverflow") || t.contains("OutOfFuel"))
            };
            if exhausted(&expected) && exhausted(&found) {
                // Where exactly a stack or the fuel ends is not compared, nor what comes after.
                counts.add(side.store.data().counts);
                return Ok(counts);
            }
            if let Some(difference) = difference(&expected, &found) {
                return Err(format!(
                    "{caller}({argument}), seed {}, run {run}, suspended once in {rarity}: {difference}",
                    plan.seed
                ));
            }
        }
    }
    counts.add(side.store.data().counts);
    Ok(counts)
}

/// `check` on a module of the test.
pub fn check_wasm(engine: &Engine, wasm: &[u8], plan: &Plan, insert: Option<u64>) -> Result<Counts, String> {
    let mut random = Random(plan.seed ^ 0x1005);
    check(engine, &prepare(wasm, insert.map(|density| (&mut random, density))), plan)
}

fn difference(expected: &State, found: &State) -> Option<String> {
    if expected.log != found.log {
        let at = expected.log.iter().zip(&found.log).take_while(|(a, b)| a == b).count();
        let (a, b) = (expected.log.get(at), found.log.get(at));
        return Some(format!("call {at} is {b:?} instead of {a:?}, trap {:?}", found.trap));
    }
    if expected.trap != found.trap {
        return Some(format!("it traps with {:?} instead of {:?}", found.trap, expected.trap));
    }
    // A trap leaves the worker's globals as they were, in both.
    if expected.globals != found.globals {
        return Some(format!("globals are {:?} instead of {:?}", found.globals, expected.globals));
    }
    (expected.memories != found.memories).then(|| "memories differ".to_string())
}

/// Every instruction of the input is where the code map says.
fn check_code_map(wasm: &[u8], suspended: &Suspended) {
    let operator = |wasm: &[u8], at: u32| {
        let reader = wasmparser::BinaryReader::new(&wasm[at as usize..], 0);
        // `else` and `end` can only be read inside of something.
        match wasm[at as usize] {
            0x05 => "Else".to_string(),
            0x0b => "End".to_string(),
            _ => format!("{:?}", wasmparser::OperatorsReader::new(reader).read().expect("an operator")),
        }
    };
    assert!(suspended.code.is_sorted_by_key(|(at, _)| *at), "the code map is sorted");
    let (_, last) = suspended.code.last().expect("never empty");
    assert_eq!(*last, 0, "the last entry begins the added code");
    let bodies: Vec<u32> = wasmparser::Parser::new(0)
        .parse_all(wasm)
        .filter_map(|p| match p.expect("valid") {
            wasmparser::Payload::CodeSectionEntry(body) => Some(body.range().start as u32),
            _ => None,
        })
        .collect();
    for (at, original) in &suspended.code[..suspended.code.len() - 1] {
        if bodies.binary_search(original).is_ok() {
            continue;
        }
        let (new, old) = (operator(&suspended.wasm, *at), operator(wasm, *original));
        let name = |s: &str| s.split([' ', '{', '(']).next().unwrap_or_default().to_string();
        let (new, old) = (name(&new), name(&old));
        // References to exceptions have become numbers.
        let numbers =
            ["RefNull", "RefIsNull", "RefAsNonNull", "BrOnNull", "BrOnNonNull", "TypedSelect", "ThrowRef"];
        if new != old && numbers.contains(&old.as_str()) {
            continue;
        }
        let same = new == old || old == format!("Return{new}") || (old == "End" && new == "Return");
        assert!(same, "{old} at {original:#x} became {new} at {at:#x}");
    }
}
