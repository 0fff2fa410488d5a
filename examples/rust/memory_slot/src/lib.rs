//! A slot that hands out what it holds without a lock, and frees it when it is replaced.
//!
//! Nothing keeps a reader's value alive: between loading the pointer and following it, another worker may
//! replace the value. And two workers that clear the slot may free the same value.
//!
//! Expected: `read_replaced` is a use after free, `clear_twice` a double free; `read_locked` and
//! `clear_once` pass.

use coyote::sync::Mutex;
use coyote::thread::scope;
use std::hint::black_box;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

type Value = [u32; 3];

struct Slot(AtomicPtr<Value>);

impl Slot {
    fn new(value: Value) -> Slot {
        Slot(AtomicPtr::new(Box::into_raw(Box::new(value))))
    }

    /// The bug: the value may be freed by now.
    fn first(&self) -> Option<u32> {
        let value = self.0.load(Ordering::Acquire);
        // SAFETY: none. This is the bug.
        unsafe { value.as_ref() }.map(|value| value[0])
    }

    fn replace(&self, value: Value) {
        let old = self.0.swap(Box::into_raw(Box::new(value)), Ordering::AcqRel);
        // SAFETY: the swap makes sure that nobody else frees it.
        drop(unsafe { Box::from_raw(old) });
    }

    /// The bug: a load and a store where a swap is needed.
    fn clear(&self) {
        let old = self.0.load(Ordering::Acquire);
        self.0.store(ptr::null_mut(), Ordering::Release);
        if !old.is_null() {
            // SAFETY: none. This is the bug.
            drop(unsafe { Box::from_raw(old) });
        }
    }

    fn clear_once(&self) {
        let old = self.0.swap(ptr::null_mut(), Ordering::AcqRel);
        if !old.is_null() {
            // SAFETY: the swap makes sure that nobody else frees it.
            drop(unsafe { Box::from_raw(old) });
        }
    }
}

#[coyote::test]
fn read_replaced() {
    let slot = Slot::new([1, 2, 3]);
    scope(|s| {
        s.spawn(|| black_box(slot.first()));
        s.spawn(|| slot.replace([4, 5, 6]));
    });
    slot.clear_once();
}

#[coyote::test]
fn read_locked() {
    let slot = Mutex::new(Box::new([1, 2, 3]));
    scope(|s| {
        s.spawn(|| black_box(slot.lock()[0]));
        s.spawn(|| *slot.lock() = Box::new([4, 5, 6]));
    });
}

#[coyote::test]
fn clear_twice() {
    let slot = Slot::new([1, 2, 3]);
    // Nothing is allocated between the two frees: else the second one could free what is somebody else's.
    let gate = Mutex::new(());
    let clear = || {
        drop(gate.lock());
        slot.clear();
    };
    scope(|s| {
        let closed = gate.lock();
        s.spawn(clear);
        s.spawn(clear);
        drop(closed);
    });
}

#[coyote::test]
fn clear_once() {
    let slot = Slot::new([1, 2, 3]);
    scope(|s| {
        s.spawn(|| slot.clear_once());
        s.spawn(|| slot.clear_once());
    });
}
