//! The runtime's state and steps, one by one, without a guest: what its fingerprint distinguishes, and what
//! each operation touches.

mod sockets;

use coyote_abi::file::CALLS;
use coyote_wasm::runtime::files::{Call, Files, Served};
use coyote_wasm::runtime::heap::Heap;
use coyote_wasm::runtime::{
    AtExit, FaultClass, Faults, Lock, ObjectId, Performed, Request, Runtime, Start, Stream,
};
use coyote_wasm::strategies::Class::{
    Barrier, Birth, Clock, Condvar, End, Mutex, Other, Outside, Rwlock, Semaphore, Wake,
};
use coyote_wasm::strategies::Effect::{
    Acquire, Await, Enable, Read, Release, Share, TryAcquire, Unshare, Write,
};
use coyote_wasm::strategies::{Access, Class, Effect, OpKind, Operation, Pick, WorkerId};
use std::collections::BTreeMap;

const MAIN: WorkerId = WorkerId(0);
const FIRST: WorkerId = WorkerId(1);
const SECOND: WorkerId = WorkerId(2);

const START: Start = Start { entry: 0, a: 0, b: 0, stack: None };

fn operation(kind: OpKind, object: u64) -> Operation {
    Operation { kind, site: 7, object, size: 4 }
}

/// A worker announces this request and executes it, with these values. Guest memory is all zeros.
fn execute(runtime: &mut Runtime, id: WorkerId, request: Request, values: &[u64]) -> Performed {
    runtime.announce(id, operation(OpKind::Lock, 0), request);
    resume(runtime, id, values)
}

/// Executes the operation that a worker announced, or the remaining half of it.
fn resume(runtime: &mut Runtime, id: WorkerId, values: &[u64]) -> Performed {
    runtime.footprint.clear();
    runtime.perform(id, values, &mut |_, _| Some(0))
}

/// Two workers besides the first one; all have begun.
fn three() -> Runtime {
    let faults = Faults::default().with(FaultClass::Spurious, 1).with(FaultClass::TryLock, 1);
    let mut runtime = Runtime::new(START, AtExit::Wait, true, faults);
    runtime.files = Files::default();
    runtime.heap = Heap::new(true);
    runtime.tells_time = true;
    runtime.footprint.recording = true;
    for _ in 0..2 {
        assert!(matches!(execute(&mut runtime, MAIN, Request::Spawn(START), &[]), Performed::Continue(_)));
    }
    for id in [FIRST, SECOND] {
        execute(&mut runtime, id, Request::Step, &[]);
    }
    runtime
}

fn place(class: Class, address: u32) -> ObjectId {
    ObjectId { class, address }
}

fn lock(lock: Lock) -> Request {
    Request::Lock { lock, span_ns: None }
}

fn init(class: Class, address: u32, value: u32) -> Request {
    Request::Init { place: place(class, address), value }
}

/// The state after these steps of FIRST, which then continues to the same point.
fn after(steps: &[Request]) -> Runtime {
    let mut runtime = three();
    for step in steps {
        execute(&mut runtime, FIRST, *step, &[0]);
        if runtime.worker(FIRST).waiting {
            return runtime;
        }
    }
    runtime.announce(FIRST, operation(OpKind::Load, 0), Request::Step);
    runtime
}

fn changed(change: impl FnOnce(&mut Runtime)) -> Runtime {
    let mut runtime = three();
    change(&mut runtime);
    runtime
}

/// Calls a file function with the root directory and a path, if it has one.
fn file_call(runtime: &mut Runtime, name: &str, path: &str) {
    let function = CALLS.iter().find(|call| call.name == name).unwrap();
    let call = Call { function, numbers: vec![3], inputs: vec![path.into()], room: 0 };
    let served = runtime.file_call(Some(FIRST), &call);
    assert!(matches!(&served, Served::Here(answer) if answer.error.is_none()), "{name}: {served:?}");
}

/// FIRST evaluates a predicate that accesses this memory and is false, and waits.
fn waits_for(runtime: &mut Runtime, address: u64) {
    execute(runtime, FIRST, Request::WaitUntil, &[]);
    runtime.record_for_predicate(FIRST, address, 4);
    runtime.end_evaluation(FIRST, false);
    runtime.footprint.clear();
    runtime.announce(FIRST, operation(OpKind::WaitUntil, 0), Request::WaitUntil);
    runtime.compare_predicates(&[0; 64]);
}

/// A step of SECOND after which memory holds a 1 at this address.
fn puts(runtime: &mut Runtime, address: usize) {
    execute(runtime, SECOND, Request::Step, &[]);
    let mut memory = [0; 64];
    memory[address] = 1;
    runtime.compare_predicates(&memory);
}

const RECURSIVE: u32 = 1;
const MUTEX: Lock = Lock::Mutex(8);

/// States that differ from each other in one part each, which affects how the program continues.
fn states() -> Vec<(&'static str, Runtime)> {
    let try_lock = Request::TryLock { lock: MUTEX };
    let unlock = |class, address| Request::Unlock { place: place(class, address) };
    let timed = |span| Request::Lock { lock: Lock::Semaphore(8), span_ns: Some(span) };
    let futex = Request::FutexWait { address: 8, expected: 0, bytes: 4, span_ns: None };
    let futex_for = |span| Request::FutexWait { address: 8, expected: 0, bytes: 4, span_ns: Some(span) };
    let condvar = Request::Wait { condvar: 16, mutex: 8, span_ns: None };
    let faulty = |faults: Faults| {
        let mut runtime = Runtime::new(START, AtExit::Wait, true, faults);
        runtime.tells_time = true;
        runtime
    };
    let others = vec![
        ("nothing", three()),
        ("a worker more", changed(|r| _ = execute(r, MAIN, Request::Spawn(START), &[]))),
        (
            "one that begins elsewhere",
            changed(|r| _ = execute(r, MAIN, Request::Spawn(Start { b: 1, ..START }), &[])),
        ),
        ("one of another worker", changed(|r| _ = execute(r, FIRST, Request::Spawn(START), &[]))),
        ("an ended worker", changed(|r| r.end(SECOND))),
        ("a detached worker", changed(|r| r.detach(1))),
        ("an operation", after(&[])),
        (
            "an operation of another kind",
            changed(|r| r.announce(FIRST, operation(OpKind::Store, 0), Request::Step)),
        ),
        (
            "a site",
            changed(|r| {
                r.announce(FIRST, Operation { site: 8, ..operation(OpKind::Load, 0) }, Request::Step);
            }),
        ),
        ("a request", changed(|r| r.announce(FIRST, operation(OpKind::Load, 0), Request::Exit))),
        (
            "its argument",
            changed(|r| r.announce(FIRST, operation(OpKind::Load, 0), Request::ChooseInt { bound: 3 })),
        ),
        (
            "another argument",
            changed(|r| r.announce(FIRST, operation(OpKind::Load, 0), Request::ChooseInt { bound: 4 })),
        ),
        ("a join", changed(|r| r.announce(FIRST, operation(OpKind::Load, 0), Request::Join { handle: 2 }))),
        (
            "of another",
            changed(|r| r.announce(FIRST, operation(OpKind::Load, 0), Request::Join { handle: 0 })),
        ),
        (
            "of nobody",
            changed(|r| r.announce(FIRST, operation(OpKind::Load, 0), Request::Join { handle: 9 })),
        ),
        ("an assumption", changed(|r| r.announce(FIRST, operation(OpKind::Load, 0), Request::Assume))),
        (
            "a worker in an atomic function, which may go on alone",
            changed(|r| {
                r.atomic_enter(SECOND);
            }),
        ),
        (
            "two deep",
            changed(|r| {
                r.atomic_enter(SECOND);
                r.atomic_enter(SECOND);
            }),
        ),
        (
            "who ran last is in one, too",
            changed(|r| {
                r.atomic_enter(SECOND);
                r.atomic_enter(FIRST);
            }),
        ),
        (
            "and it was the other",
            changed(|r| {
                r.atomic_enter(SECOND);
                r.atomic_enter(FIRST);
                r.stepped(FIRST);
            }),
        ),
        (
            "a round in an atomic function",
            changed(|r| {
                r.atomic_enter(SECOND);
                r.atomic_tick(SECOND);
            }),
        ),
        ("a word of its own", changed(|r| r.keep_own_word(FIRST, 5))),
        ("where that is", changed(|r| r.set_worker_local_word(64))),
        ("a random number", changed(|r| _ = r.random(FIRST))),
        ("a mutex", after(&[lock(MUTEX)])),
        ("another mutex", after(&[lock(Lock::Mutex(12))])),
        ("another kind", after(&[init(Mutex, 8, RECURSIVE)])),
        ("held once", after(&[init(Mutex, 8, RECURSIVE), lock(MUTEX)])),
        ("held twice", after(&[init(Mutex, 8, RECURSIVE), lock(MUTEX), lock(MUTEX)])),
        (
            "by somebody else",
            changed(|r| {
                execute(r, SECOND, lock(MUTEX), &[]);
                r.announce(FIRST, operation(OpKind::Load, 0), Request::Step);
            }),
        ),
        ("a reader", after(&[lock(Lock::Read(8))])),
        ("a reader twice", after(&[lock(Lock::Read(8)), lock(Lock::Read(8))])),
        (
            "another reader",
            changed(|r| {
                execute(r, SECOND, lock(Lock::Read(8)), &[]);
                r.announce(FIRST, operation(OpKind::Load, 0), Request::Step);
            }),
        ),
        ("a writer", after(&[lock(Lock::Write(8))])),
        ("a semaphore", after(&[unlock(Semaphore, 8)])),
        ("one more", after(&[unlock(Semaphore, 8), unlock(Semaphore, 8)])),
        ("a barrier", after(&[init(Barrier, 8, 2)])),
        ("for three", after(&[init(Barrier, 8, 3)])),
        ("one arrived", after(&[init(Barrier, 8, 3), Request::BarrierWait { barrier: 8 }])),
        (
            "the other arrived",
            changed(|r| {
                execute(r, FIRST, init(Barrier, 8, 3), &[]);
                execute(r, SECOND, Request::BarrierWait { barrier: 8 }, &[]);
            }),
        ),
        ("a futex is waited for", after(&[futex])),
        ("a wait that is over at once", changed(|r| _ = execute(r, FIRST, futex, &[1]))),
        (
            "a wait that was ended",
            changed(|r| {
                execute(r, FIRST, futex, &[0]);
                let place = place(Class::Futex, 8);
                execute(r, SECOND, Request::Notify { place, count: 1 }, &[]);
            }),
        ),
        (
            "a wait whose time was up at once",
            changed(|r| {
                execute(r, FIRST, futex_for(0), &[0]);
                r.fire(FIRST);
            }),
        ),
        (
            "which was ended before that",
            changed(|r| {
                execute(r, FIRST, futex_for(0), &[0]);
                let place = place(Class::Futex, 8);
                execute(r, SECOND, Request::Notify { place, count: 1 }, &[]);
            }),
        ),
        ("a condvar is waited for", after(&[lock(MUTEX), condvar])),
        ("a timer", after(&[timed(10)])),
        ("a later timer", after(&[timed(11)])),
        (
            "a timer that fired",
            changed(|r| {
                execute(r, FIRST, timed(10), &[]);
                r.fire(FIRST);
            }),
        ),
        (
            "which was later",
            changed(|r| {
                execute(r, FIRST, timed(11), &[]);
                r.fire(FIRST);
            }),
        ),
        (
            "a timer that began before time passed",
            changed(|r| {
                execute(r, FIRST, timed(10_000), &[]);
                r.read_clock_ns(SECOND);
            }),
        ),
        (
            "one that began after that",
            changed(|r| {
                r.read_clock_ns(SECOND);
                execute(r, FIRST, timed(10_000), &[]);
            }),
        ),
        ("the clock", changed(|r| _ = r.read_clock_ns(FIRST))),
        ("read by another", changed(|r| _ = r.read_clock_ns(SECOND))),
        (
            "and again, as if something had happened between",
            changed(|r| {
                r.read_clock_ns(FIRST);
                r.stepped(FIRST);
            }),
        ),
        ("a try that failed for no reason", changed(|r| _ = execute(r, FIRST, try_lock, &[1]))),
        ("a fault more", faulty(Faults::default().with(FaultClass::Spurious, 2))),
        ("of the other kind", faulty(Faults::default().with(FaultClass::TryLock, 2))),
        ("a directory", changed(|r| file_call(r, "path_create_directory", "directory"))),
        ("another one", changed(|r| file_call(r, "path_create_directory", "other"))),
        ("a directory is open no more", changed(|r| file_call(r, "fd_close", ""))),
        ("a scope without points", changed(|r| r.suppress(FIRST))),
        ("an evaluation of a predicate", changed(|r| _ = execute(r, FIRST, Request::WaitUntil, &[]))),
        (
            "that accessed memory",
            changed(|r| {
                execute(r, FIRST, Request::WaitUntil, &[]);
                r.record_for_predicate(FIRST, 8, 4);
            }),
        ),
        ("a predicate that is false", changed(|r| waits_for(r, 8))),
        ("of other memory", changed(|r| waits_for(r, 12))),
        (
            "whose memory has changed",
            changed(|r| {
                waits_for(r, 8);
                puts(r, 8);
            }),
        ),
        ("a harness", changed(Runtime::follow_harness)),
        (
            "a harness in its test",
            changed(|r| {
                r.follow_harness();
                r.enter_test(MAIN);
            }),
        ),
        (
            "a program whose first worker returned",
            changed(|r| {
                r.program = true;
                r.returned(MAIN);
            }),
        ),
        ("a first worker that ended", changed(|r| r.end(MAIN))),
        (
            "a block",
            changed(|r| {
                r.heap.enter(FIRST, 0);
                r.heap.exit(FIRST, (0, 64, 8));
            }),
        ),
        (
            "a smaller one",
            changed(|r| {
                r.heap.enter(FIRST, 0);
                r.heap.exit(FIRST, (0, 64, 4));
            }),
        ),
        (
            "a freed one",
            changed(|r| {
                r.heap.enter(FIRST, 0);
                r.heap.exit(FIRST, (0, 64, 8));
                r.heap.enter(FIRST, 64);
                r.heap.exit(FIRST, (64, 0, 0));
            }),
        ),
        ("a worker in an allocator", changed(|r| _ = r.heap.enter(FIRST, 0))),
        (
            "an allocator that nobody knows",
            changed(|r| {
                r.heap.enter(FIRST, 0);
                r.heap.exit(FIRST, (0, 0, u32::MAX));
            }),
        ),
    ];
    others.into_iter().chain(sockets::states()).collect()
}

#[test]
fn states_that_differ_in_one_part_have_different_fingerprints() {
    let mut known: BTreeMap<u128, &str> = BTreeMap::new();
    for (name, runtime) in states() {
        if let Some(same) = known.insert(runtime.digest(), name) {
            panic!("{name:?} and {same:?} look alike");
        }
    }
}

type Change = (&'static str, fn(&mut Runtime));

/// State that affects nothing is not part of a fingerprint.
#[test]
fn what_decides_nothing_is_no_part_of_a_fingerprint() {
    let digest = three().digest();
    let changes: [Change; 5] = [
        ("who ran last", |r| r.stepped(FIRST)),
        ("names", |r| r.set_name(1, "worker".into())),
        ("the name of the next one", |r| r.set_next_name(FIRST, Some("next".into()))),
        ("output", |r| r.print(FIRST, Stream::Stdout, b"text".to_vec())),
        ("rounds of a worker alone in a harness", |r| r.alone_accesses += 1),
    ];
    for (name, change) in changes {
        assert_eq!(changed(change).digest(), digest, "{name}");
    }
    // If no worker can observe the time, it affects nothing.
    let slept = |span_ns| {
        changed(|r| {
            r.tells_time = false;
            execute(r, FIRST, Request::Sleep { span_ns }, &[]);
            r.fire(FIRST);
            resume(r, FIRST, &[]);
        })
    };
    assert_eq!(slept(5).digest(), slept(5_000).digest());
}

/// An iteration begins exactly with its start state, whatever the state was before.
#[test]
fn a_reset_leaves_nothing_behind() {
    for (_, start) in states() {
        for (name, mut runtime) in states() {
            runtime.reset_to(&start);
            assert_eq!(runtime.digest(), start.digest(), "{name}");
            let ids = (0..start.workers().len() as u32).map(WorkerId);
            ids.for_each(|id| assert_eq!(runtime.pending(id), start.pending(id), "{name}"));
            assert_eq!(format!("{:?}", runtime.view()), format!("{:?}", start.view()), "{name}");
            assert_eq!((runtime.steps(), runtime.progress()), (start.steps(), start.progress()), "{name}");
        }
    }
}

/// POSIX does not define waits for one condvar with two mutexes at the same time.
#[test]
fn who_waits_for_a_condvar_does_so_with_the_mutex_of_the_others() {
    let wait = |mutex| Request::Wait { condvar: 16, mutex, span_ns: None };
    for notified in [false, true] {
        let mut runtime = three();
        execute(&mut runtime, FIRST, lock(Lock::Mutex(8)), &[]);
        assert_eq!(execute(&mut runtime, FIRST, wait(8), &[0]), Performed::Blocked);
        if notified {
            let place = place(Condvar, 16);
            execute(&mut runtime, MAIN, Request::Notify { place, count: 1 }, &[]);
        }
        execute(&mut runtime, SECOND, lock(Lock::Mutex(12)), &[]);
        let performed = execute(&mut runtime, SECOND, wait(12), &[0]);
        let misused = matches!(&performed, Performed::Bug(bug) if bug.kind.name() == "misuse");
        assert_eq!(misused, !notified, "{performed:?}");
    }
}

type Touched = Vec<(Class, Effect, u64)>;

/// The accesses of the last step, sorted, except for [`objects_read`].
fn touched(runtime: &Runtime) -> Touched {
    sorted(runtime.footprint.accesses())
}

/// The same of a pick, before it is executed.
fn announced(runtime: &Runtime, pick: Pick) -> Touched {
    let mut accesses = Vec::new();
    runtime.announced(pick, &mut accesses);
    sorted(&accesses)
}

fn sorted(accesses: &[Access]) -> Touched {
    let others = accesses.iter().filter(|access| !reads_object(access));
    let mut touched: Touched = others.map(|a| (a.class, a.effect, a.object)).collect();
    touched.sort();
    touched
}

/// Whether an access is the read of a sync object by an operation that uses it.
fn reads_object(access: &Access) -> bool {
    (access.class, access.effect, access.size) == (Class::Memory, Read, 1)
}

/// The addresses of the sync objects that accesses read.
fn objects_read(accesses: &[Access]) -> Vec<u64> {
    accesses.iter().filter(|access| reads_object(access)).map(|access| access.object).collect()
}

fn check(what: &str, touched: Touched, mut expected: Touched) {
    expected.sort();
    assert_eq!(touched, expected, "{what}");
}

/// The identity of an object, which does not depend on its holder.
fn identity(address: u64) -> u64 {
    1 << 32 | address
}

/// The memory of an object must be neither freed nor a variable of a function that has returned: an operation that begins
/// to use it depends on such steps. One that goes on does not, nor does a futex.
#[test]
fn each_use_of_an_object_reads_its_memory() {
    let condvar = Request::Wait { condvar: 16, mutex: 8, span_ns: None };
    for (request, objects) in [
        (lock(MUTEX), vec![8]),
        (Request::TryLock { lock: MUTEX }, vec![8]),
        (lock(Lock::Read(24)), vec![24]),
        (init(Barrier, 8, 2), vec![8]),
        (Request::Destroy { place: place(Mutex, 8), held: false }, vec![8]),
        (Request::Unlock { place: place(Semaphore, 32) }, vec![32]),
        (Request::SemaphoreValue { semaphore: 32 }, vec![32]),
        (Request::Notify { place: place(Condvar, 16), count: 1 }, vec![16]),
        (Request::Notify { place: place(Class::Futex, 16), count: 1 }, vec![]),
        (Request::Sleep { span_ns: 5 }, vec![]),
    ] {
        let mut r = three();
        r.announce(FIRST, operation(OpKind::Lock, 0), request);
        let mut accesses = Vec::new();
        r.announced(Pick::Step(FIRST), &mut accesses);
        assert_eq!(objects_read(&accesses), objects, "before: {request:?}");
        resume(&mut r, FIRST, &[0, 0]);
        assert_eq!(objects_read(r.footprint.accesses()), objects, "{request:?}");
    }
    let mut r = three();
    execute(&mut r, FIRST, lock(MUTEX), &[]);
    execute(&mut r, FIRST, condvar, &[0]);
    assert_eq!(objects_read(r.footprint.accesses()), [16, 8]);
    execute(&mut r, SECOND, Request::Notify { place: place(Condvar, 16), count: 1 }, &[]);
    resume(&mut r, FIRST, &[]);
    assert!(objects_read(r.footprint.accesses()).is_empty());
}

#[test]
fn each_operation_says_what_it_touches() {
    let keys = |r: &Runtime| [r.worker(MAIN).key, r.worker(FIRST).key, r.worker(SECOND).key];

    let mut r = three();
    let [_, first, second] = keys(&r);
    execute(&mut r, FIRST, Request::Spawn(START), &[]);
    // Drivers of sockets that are woken are those of the workers that exist.
    let drivers = 1 << 44;
    let created = vec![(Birth, Enable, r.worker(WorkerId(3)).key), (Other, Read, drivers)];
    check("a creation", touched(&r), created);
    r.footprint.clear();
    r.end(SECOND);
    check("an end", touched(&r), vec![(End, Enable, second)]);
    execute(&mut r, FIRST, Request::Join { handle: 2 }, &[]);
    check("a join", touched(&r), vec![(End, Await, second)]);
    r.footprint.clear();
    r.read_clock_ns(FIRST);
    check("a read of the clock", touched(&r), vec![(Clock, Write, 0)]);

    let mut r = three();
    let timed = Request::Lock { lock: MUTEX, span_ns: Some(10) };
    execute(&mut r, SECOND, lock(MUTEX), &[]);
    check("a lock", touched(&r), vec![(Mutex, Acquire, 8)]);
    execute(&mut r, FIRST, timed, &[]);
    check("a timed lock that has to wait", touched(&r), vec![(Mutex, Read, 8), (Clock, Write, 0)]);
    let timeout = vec![(Mutex, Read, 8), (Clock, Await, 0), (Clock, Read, 11), (Wake, Enable, first)];
    check("its time is up, before", announced(&r, Pick::Timeout(FIRST)), timeout.clone());
    let mut fired = r.clone();
    fired.footprint.recording = true;
    fired.fire(FIRST);
    check("its time is up", touched(&fired), timeout);
    resume(&mut fired, FIRST, &[]);
    check("it goes on without the lock", touched(&fired), vec![(Wake, Await, first)]);
    execute(&mut r, SECOND, Request::Unlock { place: place(Mutex, 8) }, &[]);
    check("an unlock", touched(&r), vec![(Mutex, Release, 8)]);
    resume(&mut r, FIRST, &[]);
    check("the timed lock, at last", touched(&r), vec![(Mutex, Acquire, 8), (Clock, Write, 0)]);
    let condvar = Request::Wait { condvar: 16, mutex: 8, span_ns: Some(5) };
    execute(&mut r, FIRST, condvar, &[0]);
    // Whether it wakes spuriously depends on a budget.
    let budget = |class: u64| 1 << 41 | class;
    let begun = vec![(Mutex, Release, 8), (Condvar, Write, 16), (Clock, Write, 0), (Other, Read, budget(1))];
    check("a wait for a condvar", touched(&r), begun);
    execute(&mut r, SECOND, Request::Notify { place: place(Condvar, 16), count: 1 }, &[]);
    check("a signal", touched(&r), vec![(Condvar, Write, 16), (Wake, Enable, first), (Clock, Write, 0)]);
    resume(&mut r, FIRST, &[]);
    check("the wait is over", touched(&r), vec![(Wake, Await, first), (Mutex, Acquire, 8)]);

    let mut r = three();
    execute(&mut r, FIRST, init(Mutex, 8, RECURSIVE), &[]);
    check("a mutex is made", touched(&r), vec![(Mutex, Write, 8), (Other, Write, identity(8))]);
    execute(&mut r, FIRST, lock(MUTEX), &[]);
    execute(&mut r, FIRST, lock(MUTEX), &[]);
    check("it is locked again by its owner", touched(&r), vec![(Other, Read, identity(8))]);
    execute(&mut r, SECOND, Request::TryLock { lock: MUTEX }, &[]);
    check("a try that fails", touched(&r), vec![(Mutex, Read, 8)]);
    execute(&mut r, FIRST, Request::Unlock { place: place(Mutex, 8) }, &[]);
    check("it is unlocked once", touched(&r), vec![(Other, Read, identity(8))]);
    execute(&mut r, FIRST, Request::Unlock { place: place(Mutex, 8) }, &[]);
    execute(&mut r, FIRST, Request::Destroy { place: place(Mutex, 8), held: false }, &[]);
    check("it is destroyed", touched(&r), vec![(Mutex, Write, 8), (Other, Write, identity(8))]);
    execute(&mut r, SECOND, Request::TryLock { lock: MUTEX }, &[0]);
    assert!(touched(&r).contains(&(Mutex, TryAcquire, 8)), "a try that succeeds: {:?}", touched(&r));

    let mut r = three();
    execute(&mut r, FIRST, init(Semaphore, 8, i32::MAX as u32), &[]);
    execute(&mut r, FIRST, Request::Unlock { place: place(Semaphore, 8) }, &[]);
    check("a semaphore at its end", touched(&r), vec![(Semaphore, Write, 8)]);
    execute(&mut r, FIRST, Request::SemaphoreValue { semaphore: 8 }, &[]);
    check("a semaphore's value", touched(&r), vec![(Semaphore, Write, 8)]);
    execute(&mut r, FIRST, lock(Lock::Read(24)), &[]);
    check("a reader", touched(&r), vec![(Rwlock, Share, 24)]);
    execute(&mut r, FIRST, Request::Unlock { place: place(Rwlock, 24) }, &[]);
    check("a reader that goes", touched(&r), vec![(Rwlock, Unshare, 24)]);
    execute(&mut r, FIRST, init(Barrier, 8, 2), &[]);
    execute(&mut r, FIRST, Request::BarrierWait { barrier: 8 }, &[]);
    check("an arrival", touched(&r), vec![(Barrier, Write, 8)]);
    execute(&mut r, SECOND, Request::BarrierWait { barrier: 8 }, &[]);
    check("the last arrival", touched(&r), vec![(Barrier, Write, 8), (Wake, Enable, first)]);

    let mut r = three();
    for effect in [Read, Write] {
        execute(&mut r, FIRST, Request::Outside { object: 3, effect }, &[]);
        check("a point of state outside of memory", touched(&r), vec![(Outside, effect, 3)]);
    }

    let mut r = three();
    let waits = 1 << 62 | first >> 2;
    waits_for(&mut r, 8);
    check("a predicate that is false", touched(&r), vec![(Other, Write, waits)]);
    puts(&mut r, 12);
    check("a change of other memory", touched(&r), vec![]);
    puts(&mut r, 8);
    let woken = vec![(Other, Write, waits), (Wake, Enable, first)];
    check("a change of what the predicate accessed", touched(&r), woken);
    execute(&mut r, SECOND, Request::Step, &[]);
    r.footprint.memory(Write, 11, 1);
    r.compare_predicates(&[0; 64]);
    assert!(touched(&r).contains(&(Other, Write, waits)), "another change does not commute with the first");
    resume(&mut r, FIRST, &[]);
    check("the next evaluation", touched(&r), vec![(Wake, Await, first)]);

    let mut r = three();
    execute(&mut r, FIRST, Request::Sleep { span_ns: 5 }, &[]);
    check("a sleep", touched(&r), vec![(Clock, Write, 0)]);
    r.footprint.clear();
    r.fire(FIRST);
    let end = vec![(Clock, Await, 0), (Clock, Read, 6), (Wake, Enable, first)];
    check("its end", touched(&r), end);
    resume(&mut r, FIRST, &[]);
    check("it goes on", touched(&r), vec![(Wake, Await, first)]);
}
