//! The imports of module `coyote`, one to one. A test compares them with the contract.
//!
//! Sync objects are addresses to the host: it keeps their state on its side and never touches the
//! memory there. So most imports are safe to call with any value, and misuse is reported as a bug. Those
//! that run code or read memory are unsafe.
#![allow(unsafe_code)] // Foreign functions, each with its safety contract.

macro_rules! imports {
    (
        safe { $($(#[$doc:meta])* fn $function:ident = $name:literal($($p:ident: $t:ident),*) $(-> $r:ident)?;)* }
        unsafe { $($(#[$udoc:meta])* fn $ufunction:ident = $uname:literal($($up:ident: $ut:ident),*) $(-> $ur:ident)?;)* }
    ) => {
        #[cfg(target_family = "wasm")]
        #[link(wasm_import_module = "coyote")]
        // With threads of std's own, starting and joining is left to std.
        #[cfg_attr(std_threads, allow(dead_code))]
        // SAFETY: the types are those of coyote_abi::guest::IMPORTS, which a test below compares.
        unsafe extern "C" {
            $($(#[$doc])* #[link_name = $name] pub safe fn $function($($p: $t),*) $(-> $r)?;)*
            $($(#[$udoc])* #[link_name = $uname] pub unsafe fn $ufunction($($up: $ut),*) $(-> $ur)?;)*
        }

        $(
            $(#[$doc])*
            #[cfg(not(target_family = "wasm"))]
            #[allow(dead_code)]
            pub fn $function($($p: $t),*) $(-> $r)? {
                crate::native::$function($($p),*)
            }
        )*
        $(
            $(#[$udoc])*
            #[cfg(not(target_family = "wasm"))]
            #[allow(dead_code)]
            #[allow(clippy::too_many_arguments)] // As the contract says.
            pub unsafe fn $ufunction($($up: $ut),*) $(-> $ur)? {
                // SAFETY: the caller's.
                unsafe { crate::native::$ufunction($($up),*) }
            }
        )*

        /// Name, parameters and result of each function above.
        #[cfg(test)]
        const DECLARED: &[(&str, &[(&str, &str)], &[&str])] = &[
            $(($name, &[$((stringify!($p), stringify!($t))),*], &[$(stringify!($r))?]),)*
            $(($uname, &[$((stringify!($up), stringify!($ut))),*], &[$(stringify!($ur))?]),)*
        ];
    };
}

imports! {
    safe {
        fn join = "join"(worker: i32);
        fn detach = "detach"(worker: i32);
        fn current = "current"() -> i32;
        fn yield_now = "yield"();
        fn interleave = "interleave"();
        fn read_point = "read_point"(object: i32);
        fn write_point = "write_point"(object: i32);
        fn wait_until = "wait_until"();
        fn watch = "watch"();
        fn evaluated = "evaluated"(holds: i32);
        fn sleep = "sleep"(nanoseconds: i64);
        fn now = "now"() -> i64;
        fn mutex_lock = "mutex_lock"(mutex: i32, timeout_ns: i64) -> i32;
        fn mutex_try_lock = "mutex_try_lock"(mutex: i32) -> i32;
        fn mutex_unlock = "mutex_unlock"(mutex: i32) -> i32;
        fn rwlock_read = "rwlock_read"(rwlock: i32, timeout_ns: i64) -> i32;
        fn rwlock_try_read = "rwlock_try_read"(rwlock: i32) -> i32;
        fn rwlock_write = "rwlock_write"(rwlock: i32, timeout_ns: i64) -> i32;
        fn rwlock_try_write = "rwlock_try_write"(rwlock: i32) -> i32;
        fn rwlock_unlock = "rwlock_unlock"(rwlock: i32) -> i32;
        fn semaphore_init = "semaphore_init"(semaphore: i32, value: i32) -> i32;
        fn semaphore_destroy = "semaphore_destroy"(semaphore: i32) -> i32;
        fn semaphore_wait = "semaphore_wait"(semaphore: i32, timeout_ns: i64) -> i32;
        fn semaphore_try_wait = "semaphore_try_wait"(semaphore: i32) -> i32;
        fn semaphore_post = "semaphore_post"(semaphore: i32) -> i32;
        fn semaphore_value = "semaphore_value"(semaphore: i32) -> i32;
        fn barrier_init = "barrier_init"(barrier: i32, count: i32) -> i32;
        fn barrier_destroy = "barrier_destroy"(barrier: i32) -> i32;
        fn barrier_wait = "barrier_wait"(barrier: i32) -> i32;
        fn condvar_wait = "condvar_wait"(condvar: i32, mutex: i32, timeout_ns: i64) -> i32;
        fn condvar_signal = "condvar_signal"(condvar: i32);
        fn condvar_broadcast = "condvar_broadcast"(condvar: i32);
        fn futex_wait = "futex_wait"(address: i32, expected: i32, timeout_ns: i64) -> i32;
        fn futex_notify = "futex_notify"(address: i32, count: i32) -> i32;
        fn choose_bool = "choose_bool"() -> i32;
        fn choose_int = "choose_int"(bound: i32) -> i32;
        fn fault_stop = "fault_stop"();
        fn atomic_begin = "atomic_begin"();
        fn atomic_end = "atomic_end"();
        fn suppress = "suppress"();
        fn resume = "resume"();
        fn assume = "assume"(condition: i32);
        fn hint = "hint"(value: i64);
        fn happens_before = "happens_before"(object: i32);
        fn happens_after = "happens_after"(object: i32);
    }
    unsafe {
        /// # Safety
        /// `entry` is the address of an `extern "C" fn(i32)` that is sound to call with `argument`,
        /// and nobody else uses `[stack_low, stack_high)` until the worker has ended.
        fn spawn = "spawn"(entry: i32, argument: i32, stack_low: i32, stack_high: i32) -> i32;
        /// # Safety
        /// `text` and `length` describe initialised bytes.
        fn set_name = "set_name"(worker: i32, text: i32, length: i32);
        /// # Safety
        /// As for `set_name`.
        fn node = "node"(semaphore: i32, name: i32, length: i32);
        /// # Safety
        /// As for `set_name`, for `what` and `length` as for `file` and `file_length`.
        fn awaits = "awaits"(
            semaphore: i32, what: i32, length: i32, file: i32, file_length: i32, line: i32, object: i32, more: i32
        );
        /// # Safety
        /// `address` is that of a static of four bytes, which is an atomic or a cell.
        fn own_word = "own_word"(address: i32);
        /// # Safety
        /// As for `set_name`.
        fn fail = "fail"(text: i32, length: i32);
        /// # Safety
        /// As for `set_name`.
        fn unsupported = "unsupported"(text: i32, length: i32);
        /// # Safety
        /// As for `set_name`.
        fn fault = "fault"(name: i32, length: i32, ways: i32) -> i32;
        /// # Safety
        /// As for `set_name`.
        fn monitor = "monitor"(name: i32, length: i32, number: i32, heat: i32);
        /// # Safety
        /// As for `set_name`.
        fn sometimes = "sometimes"(name: i32, length: i32, holds: i32);
        /// # Safety
        /// As for `set_name`.
        fn log = "log"(text: i32, length: i32);
    }
}

/// A timeout that never expires.
pub const FOREVER: i64 = -1;

/// A span of time as an argument of an import, in nanoseconds.
pub fn span_ns(span: std::time::Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

/// A reference as an argument of an import: an address.
#[cfg(target_family = "wasm")]
pub fn address<T>(place: &T) -> i32 {
    std::ptr::from_ref(place) as usize as i32
}

#[cfg(not(target_family = "wasm"))]
pub use crate::native::address;

/// Calls an import that takes a text.
#[cfg(target_family = "wasm")]
pub fn with_text<R>(text: &str, call: impl FnOnce(i32, i32) -> R) -> R {
    call(text.as_ptr() as usize as i32, text.len() as i32)
}

#[cfg(not(target_family = "wasm"))]
pub use crate::native::with_text;

#[cfg(test)]
mod tests {
    use super::*;
    use coyote_abi::{Type, guest};

    /// Imports of the contract that this SDK does not use: they are for std's own primitives and for C.
    const UNUSED: &[&str] = &[
        "exit",
        "futex_wait64",
        "mutex_init",
        "mutex_destroy",
        "mutex_discard",
        "rwlock_init",
        "rwlock_destroy",
        "condvar_init",
        "condvar_destroy",
        "mutex_kind",
        "misuse",
        // Declared where there is `std::net`.
        guest::NET_CONNECT,
        guest::CALL_MAIN,
        guest::CALL_ENTRY,
        guest::ORDER,
    ];

    fn name_of(ty: &Type) -> &'static str {
        match ty {
            Type::I32 => "i32",
            Type::I64 => "i64",
        }
    }

    #[test]
    fn declarations_are_those_of_the_contract() {
        for import in guest::IMPORTS.iter().filter(|i| !UNUSED.contains(&i.name)) {
            let declared = DECLARED.iter().find(|d| d.0 == import.name);
            let (_, params, result) = declared.unwrap_or_else(|| panic!("`{}` is not declared", import.name));
            let expected: Vec<_> = import.params.iter().map(|(name, ty)| (*name, name_of(ty))).collect();
            assert_eq!(*params, expected, "parameters of `{}`", import.name);
            let expected: Vec<_> = import.result.iter().map(name_of).collect();
            assert_eq!(*result, expected, "result of `{}`", import.name);
        }
        for (name, ..) in DECLARED {
            assert!(guest::import(name).is_some(), "`{name}` is not in the contract");
        }
    }
}
