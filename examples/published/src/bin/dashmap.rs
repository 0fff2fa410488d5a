//! Two threads count words in one map. Broken: an entry is looked up and inserted in two steps.

use dashmap::DashMap;
use std::thread;

fn main() {
    let words = DashMap::with_shard_amount(2);
    let count = || match published::broken() {
        false => *words.entry("word").or_insert(0) += 1,
        true => {
            let n = words.get("word").map_or(0, |n| *n);
            words.insert("word", n + 1);
        }
    };
    thread::scope(|scope| {
        scope.spawn(count);
        scope.spawn(count);
    });
    assert_eq!(*words.get("word").unwrap(), 2, "a word is not counted");
}
