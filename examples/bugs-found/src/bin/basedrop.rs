//! basedrop 0.1.3: a thread gets what a `SharedCell` contains while another replaces it. With `--memory weak` only.

use basedrop::{Collector, Shared, SharedCell};
use std::sync::Arc;
use std::thread;

fn main() {
    let mut collector = Collector::new();
    let handle = collector.handle();
    let cell = Arc::new(SharedCell::new(Shared::new(&handle, 1)));
    let same = Arc::clone(&cell);
    let thread = thread::spawn(move || *same.get());
    drop(cell.replace(Shared::new(&handle, 2)));
    collector.collect();
    let got = thread.join().unwrap();
    assert!(got == 1 || got == 2, "{got}");
}
