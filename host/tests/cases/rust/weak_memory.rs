//! Message passing and a lock, with weak memory: what is wrong with Relaxed is found, what is right has no bug.
//! flags: -g -O
//! run: --memory weak -i 2000 -- mp relaxed
//! exit: 2
//! line: reads the value of the beginning, though step
//! run: --memory weak -i 1000 -- mp release
//! exit: 0
//! run: -i 1000 -- mp relaxed
//! exit: 0
//! run: --memory weak -i 2000 -- sb release
//! exit: 2
//! run: --memory weak -i 1000 -- sb seqcst
//! exit: 0
//! run: --memory weak -i 1000 -- mutex release
//! exit: 0
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::thread;

static X: AtomicUsize = AtomicUsize::new(0);
static Y: AtomicUsize = AtomicUsize::new(0);
static LOCK: Mutex<()> = Mutex::new(());

fn set(place: &AtomicUsize, order: &str) {
    match order {
        "relaxed" => place.store(1, Relaxed),
        "release" => place.store(1, Release),
        _ => place.store(1, SeqCst),
    }
}

fn get(place: &AtomicUsize, order: &str) -> usize {
    match order {
        "relaxed" => place.load(Relaxed),
        "release" => place.load(Acquire),
        _ => place.load(SeqCst),
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let order = arguments[2].clone();
    match arguments[1].as_str() {
        "mp" => {
            let o = order.clone();
            let sender = thread::spawn(move || {
                X.store(1, Relaxed);
                set(&Y, &o);
            });
            let seen = get(&Y, &order);
            let message = X.load(Relaxed);
            assert!(seen == 0 || message == 1);
            sender.join().unwrap();
            assert_eq!(X.load(Relaxed), 1);
        }
        "sb" => {
            let o = order.clone();
            let other = thread::spawn(move || {
                set(&X, &o);
                get(&Y, &o)
            });
            set(&Y, &order);
            let here = get(&X, &order);
            let there = other.join().unwrap();
            assert!(here + there > 0);
        }
        _ => {
            let count = || {
                let _held = LOCK.lock().unwrap();
                X.store(X.load(Relaxed) + 1, Relaxed);
            };
            let other = thread::spawn(count);
            count();
            other.join().unwrap();
            assert_eq!(X.load(Relaxed), 2);
        }
    }
}
