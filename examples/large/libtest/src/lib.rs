//! A counter and a bounded queue, with the tests that a crate has.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

/// Counts up to a limit, from any number of threads.
#[derive(Default)]
pub struct Tickets {
    taken: AtomicUsize,
}

impl Tickets {
    /// The next ticket, or `None` if all are taken.
    pub fn take(&self, limit: usize) -> Option<usize> {
        let next = |taken| (taken < limit).then_some(taken + 1);
        self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).ok()
    }
}

/// A queue that holds so many items at most.
pub struct Queue<T> {
    places: usize,
    items: Mutex<VecDeque<T>>,
    changed: Condvar,
}

impl<T> Queue<T> {
    pub fn new(places: usize) -> Queue<T> {
        Queue { places, items: Mutex::default(), changed: Condvar::new() }
    }

    pub fn put(&self, item: T) {
        let items = self.items.lock().unwrap();
        let mut items = self.changed.wait_while(items, |items| items.len() == self.places).unwrap();
        items.push_back(item);
        self.changed.notify_all();
    }

    pub fn take(&self) -> T {
        let items = self.items.lock().unwrap();
        let mut items = self.changed.wait_while(items, |items| items.is_empty()).unwrap();
        let item = items.pop_front().expect("it is not empty");
        self.changed.notify_all();
        item
    }
}

#[cfg(test)]
mod tests {
    use super::{Queue, Tickets};
    use std::sync::{Arc, mpsc};
    use std::thread;

    #[test]
    fn every_ticket_is_taken_once() {
        let tickets = Tickets::default();
        let mut taken: Vec<usize> = thread::scope(|scope| {
            let threads: Vec<_> = (0..3)
                .map(|_| scope.spawn(|| std::iter::from_fn(|| tickets.take(5)).collect::<Vec<_>>()))
                .collect();
            threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
        });
        taken.sort();
        assert_eq!(taken, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_queue_keeps_the_order_of_its_writer() {
        let queue = Arc::new(Queue::new(2));
        let writer = thread::spawn({
            let queue = queue.clone();
            move || (0..6).for_each(|n| queue.put(format!("item {n}")))
        });
        let items: Vec<String> = (0..6).map(|_| queue.take()).collect();
        writer.join().unwrap();
        assert_eq!(items.join(", "), "item 0, item 1, item 2, item 3, item 4, item 5");
    }

    #[test]
    fn what_is_sent_arrives() {
        let (sender, receiver) = mpsc::channel();
        for n in 1..=3 {
            let sender = sender.clone();
            thread::spawn(move || sender.send(n * n).unwrap());
        }
        drop(sender);
        assert_eq!(receiver.iter().sum::<i32>(), 14);
    }

    #[test]
    fn nothing_to_do_in_a_thread() {
        assert_eq!(thread::spawn(|| "done").join().unwrap(), "done");
    }

    #[cfg(feature = "dependency")]
    #[test]
    fn names_have_letters() {
        assert!(regex::Regex::new("^[a-z]+$").unwrap().is_match("name"));
    }

    #[test]
    #[ignore = "shows how libtest reports it"]
    fn never_run() {
        unreachable!();
    }
}
