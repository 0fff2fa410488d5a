// What one function has checked under a lock is no longer so when another one takes it again: the function that calls both
// takes it twice.
// run: -i 10000
// exit: 2
// line: locks `items` in step
// line: (`has_room`, checked_before.rs:
// line: ) and again in step
// line: (`push`, checked_before.rs:
use std::sync::{Arc, Mutex};
use std::thread;

struct Shelf {
    items: Mutex<Vec<u32>>,
}

impl Shelf {
    #[inline(never)]
    fn has_room(&self) -> bool {
        self.items.lock().unwrap().is_empty()
    }

    #[inline(never)]
    fn push(&self, item: u32) {
        self.items.lock().unwrap().push(item);
    }

    fn put(&self, item: u32) {
        if self.has_room() {
            self.push(item);
        }
    }
}

fn main() {
    let shelf = Arc::new(Shelf { items: Mutex::new(Vec::new()) });
    let threads = [1, 2].map(|item| {
        let shelf = shelf.clone();
        thread::spawn(move || shelf.put(item))
    });
    let _ = threads.map(|thread| thread.join().unwrap());
    assert!(shelf.items.lock().unwrap().len() < 2, "too many items");
}
