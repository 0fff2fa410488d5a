//! A stock of items that threads take from, and the tests that a crate has: some with threads, some not.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// So many items are left.
pub struct Stock {
    left: AtomicU32,
    log: Mutex<Vec<u32>>,
}

impl Stock {
    pub fn new(items: u32) -> Stock {
        Stock { left: AtomicU32::new(items), log: Mutex::default() }
    }

    /// Takes an item if one is left.
    pub fn take(&self) -> bool {
        let taken = self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| n.checked_sub(1));
        if let Ok(left) = taken {
            self.log.lock().unwrap().push(left);
        }
        taken.is_ok()
    }

    /// Takes an item if one is left. Wrong: another thread may take the last one in between.
    pub fn take_in_two_steps(&self) -> bool {
        if self.left.load(Ordering::Acquire) == 0 {
            return false;
        }
        self.left.fetch_sub(1, Ordering::AcqRel);
        true
    }

    pub fn left(&self) -> u32 {
        self.left.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::Stock;
    use std::thread;

    #[test]
    fn a_new_stock_is_full() {
        println!("no thread here");
        assert_eq!(Stock::new(3).left(), 3);
    }

    #[test]
    fn the_last_item_is_taken_once() {
        let stock = Stock::new(1);
        let taken = thread::scope(|scope| {
            let other = scope.spawn(|| stock.take());
            [stock.take(), other.join().unwrap()]
        });
        assert_eq!(taken.iter().filter(|t| **t).count(), 1);
    }

    #[test]
    fn the_last_item_is_taken_once_in_two_steps() {
        let stock = Stock::new(1);
        thread::scope(|scope| {
            scope.spawn(|| stock.take_in_two_steps());
            stock.take_in_two_steps();
        });
        assert_eq!(stock.left(), 0, "items left");
    }

    #[test]
    fn an_error_is_returned() -> Result<(), String> {
        let stock = Stock::new(0);
        let taken = thread::scope(|scope| scope.spawn(|| stock.take()).join().unwrap());
        if taken { Ok(()) } else { Err("nothing was left".into()) }
    }

    #[test]
    #[should_panic]
    fn no_item_is_taken_from_nothing() {
        assert!(Stock::new(0).take());
    }

    #[test]
    #[ignore = "takes long"]
    fn a_large_stock() {
        let stock = Stock::new(20);
        thread::scope(|scope| scope.spawn(|| while stock.take() {}).join().unwrap());
        assert_eq!(stock.left(), 0);
    }
}
