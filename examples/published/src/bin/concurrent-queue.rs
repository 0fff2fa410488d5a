//! Two threads push, two pop. Broken: whether there is something to pop is asked before popping it.

use concurrent_queue::ConcurrentQueue;
use std::thread;

fn main() {
    let queue = ConcurrentQueue::bounded(2);
    queue.push(1).unwrap();
    let pop = || match published::broken() {
        false => queue.pop().unwrap_or(0),
        true if queue.is_empty() => 0,
        true => queue.pop().unwrap(),
    };
    let sum = thread::scope(|scope| {
        let workers = [scope.spawn(pop), scope.spawn(pop)];
        workers.map(|w| w.join().unwrap()).iter().sum::<i32>()
    });
    assert_eq!(sum, 1);
}
