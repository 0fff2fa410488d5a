// What a detached thread did before it ended, and what another one does after it has created and joined a third one: the
// list of threads within wasi-libc orders neither.
// run: --timers ordered --races bug -i 300
// exit: 2
// line: bug in test main: data-race
use std::thread;
use std::time::Duration;

static mut SHARED: u32 = 0;

fn write(value: u32) {
    unsafe { (&raw mut SHARED).write_volatile(value) }
}

fn main() {
    thread::spawn(|| write(1));
    thread::sleep(Duration::from_millis(100));
    thread::spawn(|| {}).join().unwrap();
    write(2);
}
