//! A program of one thread with a `HashMap`: the note says which values were chosen.
//! run: -i 5
//! exit: 0
//! line: No iteration had a second worker: only values were chosen, such as random bytes
use std::collections::HashMap;

fn main() {
    let squares: HashMap<u32, u32> = (0..4).map(|number| (number, number * number)).collect();
    assert_eq!(squares.values().sum::<u32>(), 14);
}
