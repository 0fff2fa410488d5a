//! sharded-slab 0.1.7: two threads remove the same item, and both are told that they did.

use sharded_slab::Slab;
use std::sync::Arc;
use std::thread;

fn main() {
    let slab = Arc::new(Slab::<usize>::new());
    let key = slab.insert(7).unwrap();
    let other = Arc::clone(&slab);
    let thread = thread::spawn(move || other.remove(key));
    let removed = slab.take(key).is_some();
    let other_removed = thread.join().unwrap();
    assert!(!(removed && other_removed), "one item was removed twice");
}
