//! Imports that announce an operation and do nothing else: makes a [`Request`] of the guest's arguments.

use super::calls::announce;
use super::host::Host;
use crate::runtime::{Lock, ObjectId, Request};
use coyote_abi::rt;
use coyote_strategies::{Class, Effect};
use wasmtime::{Caller, Linker, Result};

/// Each line: name and parameters as in the contract, the operation's object, the request. A result is named
/// after the arrow; the unwind flag is returned in addition.
macro_rules! operations {
    ($linker:ident: $($name:literal ($($parameter:ident: $ty:ty),*) $(-> $result:ident)? = $object:expr, $request:expr;)*) => {
        $($linker.func_wrap(
            rt::MODULE,
            $name,
            |mut guest: Caller<Host>, $($parameter: $ty,)* site: i32| {
                let announced = announce(&mut guest, site, u64::from($object), $request);
                operations!(announced $($result)?)
            },
        )?;)*
    };
    ($announced:ident) => { $announced.1 };
    ($announced:ident $result:ident) => { $announced };
}

pub fn define(linker: &mut Linker<Host>) -> Result<()> {
    use Class::{Barrier, Condvar, Futex, Mutex, Rwlock, Semaphore};
    operations! { linker:
        "join"(worker: u32) = worker, Request::Join { handle: worker };
        "exit"() = 0u32, Request::Exit;
        "yield"() = 0u32, Request::Step;
        "interleave"() = 0u32, Request::Step;
        "read_point"(object: u32) = object, Request::Outside { object, effect: Effect::Read };
        "write_point"(object: u32) = object, Request::Outside { object, effect: Effect::Write };
        "wait_until"() = 0u32, Request::WaitUntil;
        "watch"() = 0u32, Request::WaitUntil;
        "sleep"(nanoseconds: i64) = 0u32, Request::Sleep { span_ns: nanoseconds.max(0) as u64 };
        "mutex_init"(mutex: u32, kind: u32) -> error = mutex, init(Mutex, mutex, kind);
        "mutex_destroy"(mutex: u32) -> error = mutex, destroy(Mutex, mutex);
        "mutex_discard"(mutex: u32) -> error = mutex, discard(Mutex, mutex);
        "mutex_lock"(mutex: u32, timeout_ns: i64) -> error = mutex, lock(Lock::Mutex(mutex), timeout_ns);
        "mutex_try_lock"(mutex: u32) -> error = mutex, try_lock(Lock::Mutex(mutex));
        "mutex_unlock"(mutex: u32) -> error = mutex, unlock(Mutex, mutex);
        "rwlock_init"(rwlock: u32) -> error = rwlock, init(Rwlock, rwlock, 0);
        "rwlock_destroy"(rwlock: u32) -> error = rwlock, destroy(Rwlock, rwlock);
        "rwlock_read"(rwlock: u32, timeout_ns: i64) -> error = rwlock, lock(Lock::Read(rwlock), timeout_ns);
        "rwlock_try_read"(rwlock: u32) -> error = rwlock, try_lock(Lock::Read(rwlock));
        "rwlock_write"(rwlock: u32, timeout_ns: i64) -> error = rwlock, lock(Lock::Write(rwlock), timeout_ns);
        "rwlock_try_write"(rwlock: u32) -> error = rwlock, try_lock(Lock::Write(rwlock));
        "rwlock_unlock"(rwlock: u32) -> error = rwlock, unlock(Rwlock, rwlock);
        "semaphore_init"(semaphore: u32, value: u32) -> error = semaphore, init(Semaphore, semaphore, value);
        "semaphore_destroy"(semaphore: u32) -> error = semaphore, destroy(Semaphore, semaphore);
        "semaphore_wait"(semaphore: u32, timeout_ns: i64) -> error =
            semaphore, lock(Lock::Semaphore(semaphore), timeout_ns);
        "semaphore_try_wait"(semaphore: u32) -> error = semaphore, try_lock(Lock::Semaphore(semaphore));
        "semaphore_post"(semaphore: u32) -> error = semaphore, unlock(Semaphore, semaphore);
        "semaphore_value"(semaphore: u32) -> value = semaphore, Request::SemaphoreValue { semaphore };
        "barrier_init"(barrier: u32, count: u32) -> error = barrier, init(Barrier, barrier, count);
        "barrier_destroy"(barrier: u32) -> error = barrier, destroy(Barrier, barrier);
        "barrier_wait"(barrier: u32) -> serial = barrier, Request::BarrierWait { barrier };
        "condvar_init"(condvar: u32) -> error = condvar, init(Condvar, condvar, 0);
        "condvar_destroy"(condvar: u32) -> error = condvar, destroy(Condvar, condvar);
        "condvar_wait"(condvar: u32, mutex: u32, timeout_ns: i64) -> error =
            condvar, Request::Wait { condvar, mutex, span_ns: span(timeout_ns) };
        "condvar_signal"(condvar: u32) = condvar, notify(Condvar, condvar, 1);
        "condvar_broadcast"(condvar: u32) = condvar, notify(Condvar, condvar, u32::MAX);
        "futex_wait"(address: u32, expected: u32, timeout_ns: i64) -> how =
            address, futex_wait(address, expected.into(), 4, timeout_ns);
        "futex_wait64"(address: u32, expected: u64, timeout_ns: i64) -> how =
            address, futex_wait(address, expected, 8, timeout_ns);
        "futex_notify"(address: u32, count: u32) -> woken = address, notify(Futex, address, count);
        "choose_bool"() -> value = 0u32, Request::ChooseBool;
        "choose_int"(bound: u32) -> value = 0u32, Request::ChooseInt { bound };
    }
    // An assumption that holds is no operation.
    linker.func_wrap(rt::MODULE, "assume", |mut guest: Caller<Host>, condition: i32, site: i32| {
        if condition != 0 { 0 } else { announce(&mut guest, site, 0, Request::Assume).1 }
    })?;
    Ok(())
}

/// The span of a timeout of the guest; negative means no timeout.
fn span(nanoseconds: i64) -> Option<u64> {
    u64::try_from(nanoseconds).ok()
}

fn init(class: Class, address: u32, value: u32) -> Request {
    Request::Init { place: ObjectId { class, address }, value }
}

fn destroy(class: Class, address: u32) -> Request {
    Request::Destroy { place: ObjectId { class, address }, held: false }
}

/// Destroys an object that a worker may hold.
fn discard(class: Class, address: u32) -> Request {
    Request::Destroy { place: ObjectId { class, address }, held: true }
}

fn lock(lock: Lock, timeout_ns: i64) -> Request {
    Request::Lock { lock, span_ns: span(timeout_ns) }
}

fn try_lock(lock: Lock) -> Request {
    Request::TryLock { lock }
}

fn unlock(class: Class, address: u32) -> Request {
    Request::Unlock { place: ObjectId { class, address } }
}

fn notify(class: Class, address: u32, count: u32) -> Request {
    Request::Notify { place: ObjectId { class, address }, count }
}

fn futex_wait(address: u32, expected: u64, bytes: u8, timeout_ns: i64) -> Request {
    Request::FutexWait { address, expected, bytes, span_ns: span(timeout_ns) }
}
