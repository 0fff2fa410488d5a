//! once_cell: cells that are written once.

use correct::message;
use once_cell::{race, sync};
use std::thread;

#[test]
fn cell() {
    let cell = sync::OnceCell::new();
    thread::scope(|scope| {
        for number in [1, 2] {
            let cell = &cell;
            scope.spawn(move || {
                let first = **cell.get_or_init(|| message(number));
                assert_eq!(first, **cell.get().unwrap());
            });
        }
        assert!(cell.get().is_none_or(|number: &Box<u32>| **number <= 2));
    });
}

#[test]
fn cell_that_is_waited_for() {
    let cell = sync::OnceCell::new();
    thread::scope(|scope| {
        scope.spawn(|| cell.set(message(1)).unwrap());
        assert_eq!(**cell.wait(), 1);
    });
}

#[test]
fn cell_whose_initialisation_fails() {
    let cell = sync::OnceCell::new();
    thread::scope(|scope| {
        scope.spawn(|| cell.get_or_try_init(|| Err::<Box<u32>, ()>(())).map_or(1, |number| **number));
        scope.spawn(|| assert_eq!(**cell.get_or_init(|| message(1)), 1));
        assert!(cell.get().is_none_or(|number| **number == 1));
    });
}

#[test]
fn lazy() {
    let lazy = sync::Lazy::new(|| message(1));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(**lazy, 1));
        }
    });
}

#[test]
fn boxes_of_which_one_wins() {
    let cell = race::OnceBox::new();
    thread::scope(|scope| {
        for number in [1, 2] {
            let cell = &cell;
            scope.spawn(move || {
                let first: u32 = **cell.get_or_init(|| Box::new(message(number)));
                assert_eq!(first, **cell.get().unwrap());
            });
        }
    });
}
