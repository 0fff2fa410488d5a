//! thread_local: a value for each thread, and places that are used again.

use correct::message;
use std::cell::Cell;
use std::thread;
use thread_local::ThreadLocal;

#[test]
fn thread_locals() {
    let mut numbers = ThreadLocal::new();
    thread::scope(|scope| {
        for number in [1, 2, 3] {
            let numbers = &numbers;
            scope.spawn(move || {
                let own = numbers.get_or(|| Cell::new(message(0)));
                own.set(message(number));
                assert_eq!(*own.take(), number);
                own.set(message(number));
            });
        }
    });
    // A thread that ends gives its place to another one, which then replaces the number.
    assert!(numbers.iter_mut().map(|number| **number.get_mut()).sum::<u32>() <= 6);
}
