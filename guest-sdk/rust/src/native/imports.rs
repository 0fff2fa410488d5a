//! The imports of module `coyote`, under their names in the SDK, for threads of the operating system. These
//! threads implement starting, joining and naming.

use super::text;
use super::world::{Locked, Object, Over, Place, World, enter_section, leave_section, lock, number, wait};
use coyote_abi::errno::{EAGAIN, EBUSY, EDEADLK, EINVAL, EOVERFLOW, ETIMEDOUT, SUCCESS};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// The number that identifies an object: addresses are wider here than the contract's numbers.
pub fn address<T>(place: &T) -> i32 {
    lock().number(std::ptr::from_ref(place).expose_provenance())
}

fn deadline(world: &World, timeout_ns: i64) -> Option<i64> {
    (timeout_ns >= 0).then(|| world.now_ns().saturating_add(timeout_ns))
}

/// Waits at an object, as long as the span says.
fn wait_at<R>(object: i32, timeout_ns: i64, ready: impl FnMut(&mut World) -> Option<R>) -> Option<R> {
    let world = lock();
    let deadline = deadline(&world, timeout_ns);
    wait(world, Place::Object(object), deadline, ready)
}

/// Tries to take a permit of an object, or the lock for reading or writing, for the worker with this number.
type Take = fn(&mut Object, i32) -> bool;

/// Waits until something can be taken, as long as the span says.
fn take_within(object: i32, timeout_ns: i64, take: Take) -> i32 {
    let me = number();
    let taken = wait_at(object, timeout_ns, |world| take(world.object(object), me).then_some(()));
    if taken.is_some() { SUCCESS } else { ETIMEDOUT }
}

/// Takes the object if possible now, else returns `refused`.
fn take_now(object: i32, take: Take, refused: i32) -> i32 {
    let me = number();
    if take(lock().object(object), me) { SUCCESS } else { refused }
}

pub fn join(handle: i32) {
    wait(lock(), Place::End(handle), None, |world| world.ended.contains(&handle).then_some(()));
}

pub fn detach(_: i32) {}

pub fn current() -> i32 {
    number()
}

pub fn yield_now() {
    leave_if_over(lock());
    std::thread::yield_now();
}

pub fn interleave() {
    yield_now();
}

pub fn read_point(_: i32) {
    interleave();
}

pub fn write_point(_: i32) {
    interleave();
}

pub fn wait_until() {
    leave_if_over(lock());
    atomic_begin();
}

/// Only workers of guests watch invariants.
pub fn watch() {
    wait_until();
}

/// Between two evaluations of a predicate.
const POLL: std::time::Duration = std::time::Duration::from_micros(200);

/// Ends an evaluation. Which changes could make the predicate true is not known here, so the worker is idle for a
/// moment and evaluates again.
pub fn evaluated(holds: i32) {
    atomic_end();
    let me = number();
    lock().polled(me, holds != 0);
    if holds != 0 {
        return;
    }
    let world = lock();
    let deadline = deadline(&world, POLL.as_nanos() as i64);
    wait(world, Place::Poll(me), deadline, |_| None::<()>);
}

/// Unwinds if the test is over.
pub fn leave_if_over(world: Locked) {
    if world.over && !std::thread::panicking() {
        drop(world);
        resume_unwind(Box::new(Over));
    }
}

pub fn sleep(nanoseconds: i64) {
    // A place at which nothing changes, since the numbers of workers are not negative.
    let place = Place::End(-1 - number());
    let world = lock();
    let deadline = deadline(&world, nanoseconds.max(0));
    wait(world, place, deadline, |_| None::<()>);
}

pub fn now() -> i64 {
    lock().now_ns()
}

/// A mutex, or an rwlock for writing.
fn take_alone(object: &mut Object, me: i32) -> bool {
    let free = object.owner.is_none() && object.readers.is_empty();
    if free {
        object.owner = Some(me);
    }
    free
}

pub fn mutex_lock(mutex: i32, timeout_ns: i64) -> i32 {
    take_within(mutex, timeout_ns, take_alone)
}

pub fn mutex_try_lock(mutex: i32) -> i32 {
    take_now(mutex, take_alone, EBUSY)
}

pub fn mutex_unlock(mutex: i32) -> i32 {
    let me = number();
    let mut world = lock();
    let holder = world.object(mutex).owner.take();
    world.change(Place::Object(mutex));
    drop(world);
    assert!(holder == Some(me), "a mutex is unlocked by a worker that does not hold it");
    SUCCESS
}

/// An rwlock for reading.
fn take_shared(object: &mut Object, me: i32) -> bool {
    let free = object.owner.is_none();
    if free {
        *object.readers.entry(me).or_default() += 1;
    }
    free
}

/// Whether the caller holds the lock for writing.
fn has(rwlock: i32) -> bool {
    let me = number();
    lock().object(rwlock).owner == Some(me)
}

pub fn rwlock_read(rwlock: i32, timeout_ns: i64) -> i32 {
    if has(rwlock) { EDEADLK } else { take_within(rwlock, timeout_ns, take_shared) }
}

pub fn rwlock_try_read(rwlock: i32) -> i32 {
    take_now(rwlock, take_shared, EBUSY)
}

pub fn rwlock_write(rwlock: i32, timeout_ns: i64) -> i32 {
    if has(rwlock) { EDEADLK } else { take_within(rwlock, timeout_ns, take_alone) }
}

pub fn rwlock_try_write(rwlock: i32) -> i32 {
    take_now(rwlock, take_alone, EBUSY)
}

pub fn rwlock_unlock(rwlock: i32) -> i32 {
    let me = number();
    let mut world = lock();
    let object = world.object(rwlock);
    let mut had = object.owner.take_if(|holder| *holder == me).is_some();
    if let Some(times) = object.readers.get_mut(&me).filter(|_| !had) {
        *times -= 1;
        had = true;
        object.readers.retain(|_, times| *times > 0);
    }
    world.change(Place::Object(rwlock));
    drop(world);
    assert!(had, "an rwlock is unlocked by a worker that has nothing of it");
    SUCCESS
}

pub fn semaphore_init(semaphore: i32, value: i32) -> i32 {
    if value < 0 {
        return EINVAL;
    }
    lock().object(semaphore).permits = value;
    SUCCESS
}

/// Forgets an object, whose address may be that of another one next.
fn destroy(object: i32) -> i32 {
    let mut world = lock();
    world.objects.remove(&object);
    world.change(Place::Object(object));
    SUCCESS
}

pub fn semaphore_destroy(semaphore: i32) -> i32 {
    destroy(semaphore)
}

fn take_permit(object: &mut Object, _: i32) -> bool {
    let any = object.permits > 0;
    object.permits -= i32::from(any);
    any
}

pub fn semaphore_wait(semaphore: i32, timeout_ns: i64) -> i32 {
    take_within(semaphore, timeout_ns, take_permit)
}

pub fn semaphore_try_wait(semaphore: i32) -> i32 {
    take_now(semaphore, take_permit, EAGAIN)
}

pub fn semaphore_post(semaphore: i32) -> i32 {
    let mut world = lock();
    let object = world.object(semaphore);
    let Some(more) = object.permits.checked_add(1) else { return EOVERFLOW };
    object.permits = more;
    world.change(Place::Object(semaphore));
    SUCCESS
}

pub fn semaphore_value(semaphore: i32) -> i32 {
    lock().object(semaphore).permits
}

pub fn barrier_init(barrier: i32, count: i32) -> i32 {
    if count == 0 {
        return EINVAL;
    }
    lock().object(barrier).barrier = (count as u32, 0, 0);
    SUCCESS
}

pub fn barrier_destroy(barrier: i32) -> i32 {
    destroy(barrier)
}

/// What [`barrier_wait`] returns to the last that arrived.
const LAST: i32 = -1;

pub fn barrier_wait(barrier: i32) -> i32 {
    let mut world = lock();
    let (count, arrived, rounds) = &mut world.object(barrier).barrier;
    let round = *rounds;
    *arrived += 1;
    if arrived == count {
        (*arrived, *rounds) = (0, round + 1);
        world.change(Place::Object(barrier));
        return LAST;
    }
    wait(world, Place::Object(barrier), None, |world| {
        (world.object(barrier).barrier.2 != round).then_some(())
    });
    SUCCESS
}

/// Waits in an object's queue until it is notified, or the time is up. Returns whether it was notified.
fn queue(mut world: Locked, object: i32, timeout_ns: i64) -> bool {
    world.tickets += 1;
    let ticket = world.tickets;
    world.object(object).queue.push(ticket);
    let deadline = deadline(&world, timeout_ns);
    // Also where it unwinds.
    let _left = Leaves(object, ticket);
    let is_called = |world: &mut World| (!world.object(object).queue.contains(&ticket)).then_some(());
    wait(world, Place::Object(object), deadline, is_called).is_some()
}

/// Takes a ticket out of a queue.
struct Leaves(i32, u64);

impl Drop for Leaves {
    fn drop(&mut self) {
        lock().object(self.0).queue.retain(|ticket| *ticket != self.1);
    }
}

/// Notifies at most `count` randomly chosen waiters of an object's queue. Returns how many.
fn call(object: i32, count: usize) -> usize {
    let mut world = lock();
    let waiting = world.object(object).queue.len();
    let called = waiting.min(count);
    for already in 0..called {
        let chosen = world.random((waiting - already) as u64) as usize;
        world.object(object).queue.remove(chosen);
    }
    world.change(Place::Object(object));
    called
}

pub fn condvar_wait(condvar: i32, mutex: i32, timeout_ns: i64) -> i32 {
    let me = number();
    let mut world = lock();
    let held = world.object(mutex).owner.take_if(|holder| *holder == me).is_some();
    assert!(held, "a worker waits at a condvar with a mutex that it does not hold");
    world.change(Place::Object(mutex));
    // The guard is there in any case, and so is the lock: also where the wait unwinds.
    let locked = Locks(mutex);
    let called = queue(world, condvar, timeout_ns);
    drop(locked);
    if called { SUCCESS } else { ETIMEDOUT }
}

/// A timeout that never expires.
const FOREVER: i64 = -1;

/// Locks a mutex when it is dropped.
struct Locks(i32);

impl Drop for Locks {
    fn drop(&mut self) {
        mutex_lock(self.0, FOREVER);
    }
}

pub fn condvar_signal(condvar: i32) {
    call(condvar, 1);
}

pub fn condvar_broadcast(condvar: i32) {
    call(condvar, usize::MAX);
}

/// What [`futex_wait`] returns: as `memory.atomic.wait32`.
const WOKEN: i32 = 0;
const DIFFERS: i32 = 1;
const TIMED_OUT: i32 = 2;

pub fn futex_wait(word: i32, expected: i32, timeout_ns: i64) -> i32 {
    let world = lock();
    let address = world.addresses[&word];
    // SAFETY: the number is that of an `AtomicU32` which the caller borrows.
    let value = unsafe { &*std::ptr::with_exposed_provenance::<AtomicU32>(address) }.load(SeqCst);
    if value != expected as u32 {
        return DIFFERS;
    }
    if queue(world, word, timeout_ns) { WOKEN } else { TIMED_OUT }
}

pub fn futex_notify(word: i32, count: i32) -> i32 {
    i32::try_from(call(word, count as u32 as usize)).expect("fewer workers than that")
}

pub fn choose_bool() -> i32 {
    choose_int(2)
}

pub fn choose_int(bound: i32) -> i32 {
    lock().random(u64::from(bound as u32)) as u32 as i32
}

pub fn fault_stop() {}

pub fn atomic_begin() {
    drop(enter_section(lock()));
}

pub fn atomic_end() {
    leave_section();
}

pub fn suppress() {
    atomic_begin();
}

pub fn resume() {
    atomic_end();
}

/// What is assumed and does not hold makes the rest of the test worthless.
pub fn assume(condition: i32) {
    if condition == 0 {
        let mut world = lock();
        world.assumed_away = true;
        world.end();
        leave_if_over(world);
    }
}

pub fn hint(_: i64) {}
pub fn happens_before(_: i32) {}
pub fn happens_after(_: i32) {}

/// # Safety
/// As for the import.
#[allow(clippy::too_many_arguments)] // As the contract says.
pub unsafe fn awaits(_: i32, _: i32, _: i32, _: i32, _: i32, _: i32, _: i32, _: i32) {}

/// # Safety
/// As for the import.
pub unsafe fn spawn(_: i32, _: i32, _: i32, _: i32) -> i32 {
    unreachable!("workers are threads: see `Running`")
}

/// # Safety
/// As for the import.
pub unsafe fn set_name(_: i32, _: i32, _: i32) {}

/// # Safety
/// As for the import.
pub unsafe fn node(_: i32, _: i32, _: i32) {}

/// # Safety
/// As for the import.
pub unsafe fn unsupported(what: i32, _: i32) {
    panic!("not supported: {}", text::take(what));
}

/// # Safety
/// As for the import.
pub unsafe fn own_word(_: i32) {}

/// # Safety
/// As for the import.
pub unsafe fn fail(message: i32, _: i32) {
    panic!("{}", text::take(message));
}

/// # Safety
/// As for the import.
pub unsafe fn fault(_: i32, _: i32, _: i32) -> i32 {
    0
}

/// # Safety
/// As for the import.
pub unsafe fn monitor(name: i32, _: i32, number: i32, heat: i32) {
    lock().monitors.insert((text::take(name), number), heat);
}

/// # Safety
/// As for the import.
pub unsafe fn sometimes(name: i32, _: i32, _: i32) {
    text::take(name);
}

/// # Safety
/// As for the import.
pub unsafe fn log(line: i32, _: i32) {
    println!("{}", text::take(line));
}
