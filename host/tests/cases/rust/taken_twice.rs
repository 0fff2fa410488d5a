//! A value is checked under one lock, and used under the next one: the report names both, and who came in between.
//! run: --shrink-time 10 -- checked
//! exit: 2
//! line: panic: two values of one key
//! line: locks `values` in step
//! line: (taken_twice.rs:26) and again in step
//! line: (taken_twice.rs:30), and in between worker
//! line: locks `values` to read: if let Some(value) = self.values.r
//! run: --shrink-time 10 -- counted
//! exit: 2
//! line: panic: a ticket is sold twice
//! line: locks `left` in step
//! run: -i 300 -- entered
//! exit: 0
//! line: No bug found
use std::collections::HashMap;
use std::sync::{Arc, Mutex, RwLock};

#[derive(Default)]
struct Cache {
    values: RwLock<HashMap<u32, Arc<u32>>>,
}

impl Cache {
    fn checked(&self, key: u32) -> Arc<u32> {
        if let Some(value) = self.values.read().unwrap().get(&key) {
            return value.clone();
        }
        let value = Arc::new(key);
        self.values.write().unwrap().insert(key, value.clone());
        value
    }

    fn entered(&self, key: u32) -> Arc<u32> {
        self.values.write().unwrap().entry(key).or_insert_with(|| Arc::new(key)).clone()
    }
}

#[derive(Default)]
struct Sale {
    left: Mutex<u32>,
    sold: Mutex<Vec<u32>>,
}

impl Sale {
    fn sell(&self) {
        let ticket = *self.left.lock().unwrap();
        if ticket > 0 {
            *self.left.lock().unwrap() = ticket - 1;
            self.sold.lock().unwrap().push(ticket);
        }
    }
}

fn main() {
    let how = std::env::args().nth(1).unwrap();
    if how == "counted" {
        let sale = Arc::new(Sale { left: Mutex::new(2), ..Sale::default() });
        let threads = [(); 2].map(|()| {
            let sale = sale.clone();
            std::thread::spawn(move || sale.sell())
        });
        for thread in threads {
            thread.join().unwrap();
        }
        let mut sold = std::mem::take(&mut *sale.sold.lock().unwrap());
        sold.dedup();
        assert!(sold.len() == 2, "a ticket is sold twice");
        return;
    }
    let cache = Arc::new(Cache::default());
    let threads = [(); 2].map(|()| {
        let (cache, checked) = (cache.clone(), how == "checked");
        std::thread::spawn(move || if checked { cache.checked(7) } else { cache.entered(7) })
    });
    let [first, second] = threads.map(|thread| thread.join().unwrap());
    assert!(Arc::ptr_eq(&first, &second), "two values of one key");
}
