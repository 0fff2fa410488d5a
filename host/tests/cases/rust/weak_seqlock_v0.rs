//! The same with the mangling that is nightly's default, in which methods are called `<T>::method`.
//! flags: -C symbol-mangling-version=v0
//! run: --memory weak -s surw -i 2000
//! exit: 0
//! run: --memory weak -s surw -i 2000 -- mine
//! exit: 2
//! run: --races bug -i 100 --suppress race:weak_seqlock*::mine::SeqLock::write* -- mine
//! exit: 0
#[path = "weak_seqlock.rs"]
mod weak_seqlock;

fn main() {
    weak_seqlock::main();
}
