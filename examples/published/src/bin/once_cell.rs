//! A cell that is initialised once, whoever is first. Broken: looked at and set in two steps.

use once_cell::sync::OnceCell;
use std::thread;

fn main() {
    let cell = OnceCell::new();
    let get = |n| match published::broken() {
        false => *cell.get_or_init(|| n),
        true if cell.get().is_none() => {
            cell.set(n).expect("nobody has set it");
            n
        }
        true => *cell.get().unwrap(),
    };
    let get = &get;
    let seen = thread::scope(|scope| [1, 2].map(|n| scope.spawn(move || get(n))).map(|t| t.join().unwrap()));
    assert_eq!(seen[0], seen[1]);
}
