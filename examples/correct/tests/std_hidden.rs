//! What threads share in std without seeing it: output, the environment, files, the heap, names, time.

use correct::{Place, message};
use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn output() {
    thread::scope(|scope| {
        for number in [1, 2] {
            scope.spawn(move || {
                println!("thread {number}");
                eprintln!("thread {number}");
            });
        }
        let mut out = std::io::stdout().lock();
        writeln!(out, "first").unwrap();
        writeln!(std::io::stdout(), "second").unwrap();
    });
}

#[test]
fn environment() {
    thread::scope(|scope| {
        // SAFETY: std's lock protects the environment from all readers here, which are std's.
        scope.spawn(|| unsafe { std::env::set_var("CORRECT", "1") });
        scope.spawn(|| assert!(std::env::var("CORRECT").map_or(true, |value| value == "1")));
        assert!(std::env::vars().count() < 100);
    });
}

#[test]
fn files() {
    let file = Mutex::new(fs::File::create("log").unwrap());
    thread::scope(|scope| {
        for letter in ["a", "b"] {
            let file = &file;
            scope.spawn(move || file.lock().unwrap().write_all(letter.as_bytes()).unwrap());
        }
        scope.spawn(|| {
            let mut seen = String::new();
            fs::File::open("log").unwrap().read_to_string(&mut seen).unwrap();
            assert!(seen.len() <= 2);
        });
    });
    assert_eq!(fs::read("log").unwrap().len(), 2);
    fs::remove_file("log").unwrap();
}

#[test]
fn blocks_that_are_used_again() {
    let kept = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for number in [1, 2] {
            let kept = &kept;
            scope.spawn(move || {
                drop(vec![number; 5]);
                let block = vec![number + 1; 5];
                kept.lock().unwrap().push(block.clone());
                drop(block);
            });
        }
        let mut own = vec![7; 5];
        own.extend([8; 40]);
        assert_eq!(own.iter().sum::<u32>(), 5 * 7 + 40 * 8);
    });
    assert_eq!(kept.into_inner().unwrap().concat().iter().sum::<u32>(), 25);
}

#[test]
fn stacks_that_are_used_again() {
    for number in 0..3 {
        let mut here = [number; 16];
        thread::scope(|scope| {
            scope.spawn(|| here[3] += 1);
        });
        assert_eq!(here[3], number + 1);
    }
}

#[test]
fn names_and_identities() {
    let threads = ["a", "b"].map(|name| {
        let thread = thread::Builder::new().name(name.into());
        thread.spawn(move || (thread::current().name() == Some(name), thread::current().id())).unwrap()
    });
    let [first, second] = threads.map(|thread| thread.join().unwrap());
    assert!(first.0 && second.0 && first.1 != second.1);
}

#[test]
fn time() {
    let start = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| thread::sleep(Duration::from_millis(2)));
        scope.spawn(|| thread::park_timeout(Duration::from_millis(1)));
    });
    assert!(start.elapsed() >= Duration::from_millis(1));
}

#[test]
fn maps() {
    let counts = Mutex::new(HashMap::new());
    thread::scope(|scope| {
        for key in [1, 2] {
            let counts = &counts;
            scope.spawn(move || *counts.lock().unwrap().entry(key).or_insert(0) += key);
        }
    });
    assert_eq!(counts.into_inner().unwrap().values().sum::<i32>(), 3);
}

#[test]
fn cycles_of_arcs() {
    struct Node {
        own: Weak<Node>,
        number: Place,
    }
    let node = Arc::new_cyclic(|own| Node { own: own.clone(), number: Place::default() });
    node.number.write(1);
    let other = thread::spawn({
        let node = node.clone();
        move || node.own.upgrade().is_some_and(|node| node.number.read() == 1)
    });
    drop(node);
    assert!(other.join().unwrap());
}

#[test]
fn pointers_that_are_swapped() {
    let current = AtomicPtr::new(Box::into_raw(message(0)));
    thread::scope(|scope| {
        for number in [1, 2] {
            let current = &current;
            scope.spawn(move || {
                let old = current.swap(Box::into_raw(message(number)), AcqRel);
                // SAFETY: who takes a pointer out owns it.
                assert!(unsafe { *Box::from_raw(old) } <= 2);
            });
        }
    });
    // SAFETY: as above.
    drop(unsafe { Box::from_raw(current.into_inner()) });
}

#[test]
fn atomics_of_all_sizes() {
    let (small, large, place) = (AtomicU8::new(0), AtomicU64::new(0), Place::default());
    thread::scope(|scope| {
        scope.spawn(|| {
            place.write(1);
            small.fetch_or(1, Release);
            large.fetch_add(1 << 40, SeqCst);
        });
        if small.load(Acquire) == 1 || large.fetch_max(5, Acquire) == 1 << 40 {
            assert_eq!(place.read(), 1);
        }
        let _ = large.fetch_update(AcqRel, Relaxed, |value| value.checked_sub(1 << 40));
    });
}
