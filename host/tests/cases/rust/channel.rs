// A thread that waits in a channel of std counts its rounds without end. Nothing can tell those from the eighth on apart, so
// the search sees that the thread spins, and comes to its end.
// run: -s dpor -j 1 -t 300
// exit: 0
// line: Proved: no bug in 1 test
use std::sync::mpsc;
use std::thread;

fn main() {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || sender.send(1).unwrap());
    assert_eq!(receiver.recv().unwrap(), 1);
    thread.join().unwrap();
}
