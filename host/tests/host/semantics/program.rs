//! Small programs, and the guest that a program is written as.

use std::fmt::Write;

/// One call of a worker. Small numbers name objects of each class, and cells of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// Mutex and kind.
    MutexInit(u32, u32),
    MutexDestroy(u32),
    /// Destroys a mutex that may be held.
    MutexDiscard(u32),
    Lock(u32),
    /// With a timeout in nanoseconds, as everything that ends in `For`.
    LockFor(u32, u64),
    TryLock(u32),
    Unlock(u32),
    Read(u32),
    ReadFor(u32, u64),
    TryRead(u32),
    Write(u32),
    WriteFor(u32, u64),
    TryWrite(u32),
    RwUnlock(u32),
    RwDestroy(u32),
    SemaphoreInit(u32, u32),
    SemaphoreDestroy(u32),
    Down(u32),
    DownFor(u32, u64),
    TryDown(u32),
    Up(u32),
    Value(u32),
    BarrierInit(u32, u32),
    BarrierDestroy(u32),
    Arrive(u32),
    /// Condvar and mutex.
    Wait(u32, u32),
    WaitFor(u32, u32, u64),
    Signal(u32),
    Broadcast(u32),
    CondvarDestroy(u32),
    /// Cell and expected value.
    FutexWait(u32, u32),
    FutexWaitFor(u32, u32, u64),
    FutexNotify(u32, u32),
    /// An atomic store to a cell; a load whose value is the result.
    Store(u32, u32),
    Load(u32),
    /// Waits until a cell has a value; until both cells are not 0, of which the second is not read in vain; until a cell
    /// is 0, and makes it 1.
    Until(u32, u32),
    UntilBoth(u32, u32),
    Take(u32),
    /// A read point and a write point of an object.
    ReadPoint(u32),
    WritePoint(u32),
    Interleave,
    Sleep(u64),
    Yield,
    ChooseInt(u32),
    Exit,
    /// For the first worker: starts another one, by its place in the program.
    Spawn(usize),
    SpawnDetached(usize),
    Join(usize),
}

use Action::*;

/// Mutexes from this one on have a kind, and the values that calls on them return are results.
pub const OF_A_KIND: u32 = 2;

/// The result that stands for -1.
pub const SERIAL: u8 = 0x7f;

impl Action {
    pub fn has_result(self) -> bool {
        match self {
            Lock(m) | Unlock(m) | Wait(_, m) => m >= OF_A_KIND,
            Signal(_) | Broadcast(_) | Store(..) | Sleep(_) | Yield | Exit => false,
            Until(..) | UntilBoth(..) | Take(_) | ReadPoint(_) | WritePoint(_) | Interleave => false,
            Spawn(_) | SpawnDetached(_) | Join(_) => false,
            _ => true,
        }
    }
}

/// The actions of each worker; the first is the one in which the test starts.
pub type Program = Vec<Vec<Action>>;

const MUTEXES: u32 = 0x1000;
const RWLOCKS: u32 = 0x1040;
const SEMAPHORES: u32 = 0x1080;
const BARRIERS: u32 = 0x10c0;
const CONDVARS: u32 = 0x1100;
const CELLS: u32 = 0x1200;
/// Handles of workers, followed by results: 16 bytes for each worker, 0 for a call that was not made.
const HANDLES: u32 = 0x1300;
pub const RESULTS: usize = 0x1400;
pub const RESULTS_MAX: usize = 16;

pub fn to_wat(program: &Program) -> String {
    let mut text = String::from("(module\n");
    for import in coyote_abi::guest::IMPORTS {
        let params = import.params.iter().map(|p| format!(" {}", name(p.1))).collect::<String>();
        let result = import.result.map_or(String::new(), |r| format!("(result {})", name(r)));
        let _ =
            writeln!(text, "  (import \"coyote\" \"{0}\" (func ${0} (param{params}) {result}))", import.name);
    }
    text.push_str("  (memory (export \"memory\") 1)\n");
    let workers = program.len();
    let _ = writeln!(text, "  (table {workers} funcref)\n  (elem (i32.const 1)");
    let names: Vec<String> = (1..workers).map(|w| format!("$w{w}")).collect();
    let _ = writeln!(text, "    {})", names.join(" "));
    for (worker, actions) in program.iter().enumerate() {
        match worker {
            0 => text.push_str("  (func (export \"coyote.test.t\") (local $holds i32)\n"),
            _ => drop(writeln!(text, "  (func $w{worker} (param i32) (local $holds i32)")),
        }
        for (i, action) in actions.iter().enumerate() {
            let at = RESULTS + worker * RESULTS_MAX + i;
            let call = call(*action);
            let _ = match action {
                action if action.has_result() => writeln!(
                    text,
                    "    (i32.store8 (i32.const {at})
      (i32.add (i32.const 1) (i32.and (i32.const {SERIAL}) {call})))"
                ),
                Lock(_) | Unlock(_) | Wait(..) => writeln!(text, "    (drop {call})"),
                _ => writeln!(text, "    {call}"),
            };
        }
        text.push_str("  )\n");
    }
    text + ")"
}

fn name(ty: coyote_abi::Type) -> &'static str {
    match ty {
        coyote_abi::Type::I32 => "i32",
        coyote_abi::Type::I64 => "i64",
    }
}

fn call(action: Action) -> String {
    let at = |from: u32, n: u32| format!("(i32.const {})", from + 4 * n);
    let of = |function: &str, from: u32, n: u32| format!("(call ${function} {})", at(from, n));
    let with = |function: &str, from: u32, n: u32, v: u32| {
        format!("(call ${function} {} (i32.const {v}))", at(from, n))
    };
    let span = |function: &str, from: u32, n: u32, ns: i64| {
        format!("(call ${function} {} (i64.const {ns}))", at(from, n))
    };
    let wait = |c: u32, m: u32, ns: i64| {
        format!("(call $condvar_wait {} {} (i64.const {ns}))", at(CONDVARS, c), at(MUTEXES, m))
    };
    let futex_wait = |a: u32, v: u32, ns: i64| {
        format!("(call $futex_wait {} (i32.const {v}) (i64.const {ns}))", at(CELLS, a))
    };
    let load = |a: u32| format!("(i32.atomic.load {})", at(CELLS, a));
    let until = |predicate: String| {
        format!(
            "(loop (call $wait_until) (local.set $holds {predicate}) (call $evaluated (local.get $holds))
      (br_if 0 (i32.eqz (local.get $holds))))"
        )
    };
    let handle = |w: usize| at(HANDLES, w as u32);
    let spawn = |w: usize| format!("(call $spawn (i32.const {w}) (i32.const 0) (i32.const 0) (i32.const 0))");
    match action {
        MutexInit(m, kind) => with("mutex_init", MUTEXES, m, kind),
        MutexDestroy(m) => of("mutex_destroy", MUTEXES, m),
        MutexDiscard(m) => of("mutex_discard", MUTEXES, m),
        Lock(m) => span("mutex_lock", MUTEXES, m, -1),
        LockFor(m, ns) => span("mutex_lock", MUTEXES, m, ns as i64),
        TryLock(m) => of("mutex_try_lock", MUTEXES, m),
        Unlock(m) => of("mutex_unlock", MUTEXES, m),
        Read(l) => span("rwlock_read", RWLOCKS, l, -1),
        ReadFor(l, ns) => span("rwlock_read", RWLOCKS, l, ns as i64),
        TryRead(l) => of("rwlock_try_read", RWLOCKS, l),
        Write(l) => span("rwlock_write", RWLOCKS, l, -1),
        WriteFor(l, ns) => span("rwlock_write", RWLOCKS, l, ns as i64),
        TryWrite(l) => of("rwlock_try_write", RWLOCKS, l),
        RwUnlock(l) => of("rwlock_unlock", RWLOCKS, l),
        RwDestroy(l) => of("rwlock_destroy", RWLOCKS, l),
        SemaphoreInit(s, value) => with("semaphore_init", SEMAPHORES, s, value),
        SemaphoreDestroy(s) => of("semaphore_destroy", SEMAPHORES, s),
        Down(s) => span("semaphore_wait", SEMAPHORES, s, -1),
        DownFor(s, ns) => span("semaphore_wait", SEMAPHORES, s, ns as i64),
        TryDown(s) => of("semaphore_try_wait", SEMAPHORES, s),
        Up(s) => of("semaphore_post", SEMAPHORES, s),
        Value(s) => of("semaphore_value", SEMAPHORES, s),
        BarrierInit(b, count) => with("barrier_init", BARRIERS, b, count),
        BarrierDestroy(b) => of("barrier_destroy", BARRIERS, b),
        Arrive(b) => of("barrier_wait", BARRIERS, b),
        Wait(c, m) => wait(c, m, -1),
        WaitFor(c, m, ns) => wait(c, m, ns as i64),
        Signal(c) => of("condvar_signal", CONDVARS, c),
        Broadcast(c) => of("condvar_broadcast", CONDVARS, c),
        CondvarDestroy(c) => of("condvar_destroy", CONDVARS, c),
        FutexWait(a, v) => futex_wait(a, v, -1),
        FutexWaitFor(a, v, ns) => futex_wait(a, v, ns as i64),
        FutexNotify(a, n) => with("futex_notify", CELLS, a, n),
        Store(a, v) => format!("(i32.atomic.store {} (i32.const {v}))", at(CELLS, a)),
        Load(a) => load(a),
        Until(a, v) => until(format!("(i32.eq {} (i32.const {v}))", load(a))),
        UntilBoth(a, b) => until(format!(
            "(if (result i32) {} (then (i32.ne {} (i32.const 0))) (else (i32.const 0)))",
            load(a),
            load(b)
        )),
        Take(a) => {
            until(format!("(i32.eqz (i32.atomic.rmw.cmpxchg {} (i32.const 0) (i32.const 1)))", at(CELLS, a)))
        }
        ReadPoint(n) => format!("(call $read_point (i32.const {n}))"),
        WritePoint(n) => format!("(call $write_point (i32.const {n}))"),
        Interleave => "(call $interleave)".into(),
        Sleep(ns) => format!("(call $sleep (i64.const {ns}))"),
        Yield => "(call $yield)".into(),
        ChooseInt(n) => format!("(call $choose_int (i32.const {n}))"),
        Exit => "(call $exit) unreachable".into(),
        Spawn(w) => format!("(i32.store {} {})", handle(w), spawn(w)),
        SpawnDetached(w) => {
            format!("(i32.store {h} {}) (call $detach (i32.load {h}))", spawn(w), h = handle(w))
        }
        Join(w) => format!("(call $join (i32.load {}))", handle(w)),
    }
}
