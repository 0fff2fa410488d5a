//! A key-value store on files, with four mistakes that only faults show.
//!
//! Two workers put and delete, each its own key, and one of them compacts the log. Of each change that the store has
//! confirmed a customer is told, in a file of its own. When the store is opened again, after a crash or at the end of a
//! test, it must hold what customers were told.
//!
//! Expected: without faults all tests pass. `new_log_unsynced`, `directory_unsynced` and `put_forgotten` are found
//! with `--faults crash=1`, `write_error_ignored` with `--faults io=1`. `store` passes with all classes but `alloc-rust`.

mod store;

use coyote::thread;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use store::{Mistake, Store};

const DIRECTORY: &str = "/store";
const KEYS: [&str; 2] = ["first", "second"];

/// What each worker does with its key, one after the other.
const CHANGES: [Option<&str>; 3] = [Some("1"), Some("2"), None];

#[coyote::setup]
fn setup() {
    fs::create_dir(DIRECTORY).unwrap();
    fs::create_dir("/told").unwrap();
    for key in KEYS {
        File::create(told(key)).unwrap();
    }
}

fn told(key: &str) -> String {
    format!("/told/{key}")
}

/// The customer of a key is told that one more change is made: a byte each.
fn tell(key: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).open(told(key))?;
    file.write_all(b".")?;
    file.sync_data()
}

fn work(store: &Store, key: &str) -> io::Result<()> {
    for (number, value) in CHANGES.into_iter().enumerate() {
        match value {
            Some(value) => store.put(key, value)?,
            None => store.delete(key)?,
        }
        tell(key)?;
        if key == KEYS[0] && number == 0 {
            // If that fails, the old log is as good.
            let _ = store.compact();
        }
    }
    Ok(())
}

fn use_store(mistake: Mistake) {
    let Ok(store) = Store::open(Path::new(DIRECTORY), mistake) else { return };
    thread::scope(|scope| {
        let other = scope.spawn(|| work(&store, KEYS[1]));
        let done = work(&store, KEYS[0]).and(other.join());
        let deleted = KEYS.iter().all(|key| store.get(key).is_none());
        assert!(done.is_err() || deleted, "a value that was deleted is there");
    });
}

/// The value of a key after so many changes.
fn value_after(changes: usize) -> Option<&'static str> {
    CHANGES[..changes.min(CHANGES.len())].last().copied().flatten()
}

/// Each key has the value after the changes that its customer was told of, or after one more.
fn check() {
    let store = Store::open(Path::new(DIRECTORY), Mistake::None).expect("faults have stopped");
    for key in KEYS {
        let told = fs::metadata(told(key)).expect("it was there").len() as usize;
        let value = store.get(key);
        let possible = [told, told + 1].map(value_after);
        assert!(possible.contains(&value.as_deref()), "{key} is {value:?} after {told} changes");
    }
}

/// Opens the store again, as the next start of a program does.
fn open_again() {
    coyote::fault::stop();
    check();
}

#[coyote::recover]
fn recover() {
    // A first start may crash as well, or fail.
    let _ = Store::open(Path::new(DIRECTORY), Mistake::None);
    open_again();
}

#[coyote::test]
fn store() {
    use_store(Mistake::None);
    open_again();
}

#[coyote::test]
fn new_log_unsynced() {
    use_store(Mistake::NewLogUnsynced);
    open_again();
}

#[coyote::test]
fn directory_unsynced() {
    use_store(Mistake::DirectoryUnsynced);
    open_again();
}

/// The map in memory has the value: only a new start misses it.
#[coyote::test]
fn put_forgotten() {
    use_store(Mistake::PutForgotten);
}

#[coyote::test]
fn write_error_ignored() {
    use_store(Mistake::WriteErrorIgnored);
    open_again();
}
