//! The words of the mutexes and rwlocks of Rust's std, which are futexes: what their values mean, and who holds an rwlock.
//!
//! By library/std/src/sys/sync/{mutex,rwlock}/futex.rs, whose values are the same since Rust 1.62. A word is known by the
//! functions of std that access it.

use super::recorder::{RawAccess, RawStep};
use crate::plural::counted;
use crate::symbols::SourceFrame;
use coyote_strategies::WorkerId;
use std::collections::BTreeMap;

/// A kind of lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockWord {
    Mutex,
    Rwlock,
}

/// The part of an rwlock's word that counts readers. All bits stand for a writer.
const COUNT: u64 = (1 << 30) - 1;
const READERS_WAIT: u64 = 1 << 30;
const WRITERS_WAIT: u64 = 1 << 31;

const WORD_BYTES: u64 = 4;

/// Functions of an rwlock that access the counter, at which writers wait, and not only the word.
const OF_COUNTER: [&str; 2] = ["write_contended", "wake_writer"];

impl LockWord {
    /// The lock to which the code of these frames belongs, innermost first, and whether that code accesses nothing of it
    /// but the word.
    pub fn of(frames: &[SourceFrame]) -> Option<(LockWord, bool)> {
        let kinds =
            [(LockWord::Mutex, "::mutex::futex::Mutex"), (LockWord::Rwlock, "::rwlock::futex::RwLock")];
        frames.iter().find_map(|frame| {
            let (kind, method) =
                kinds.into_iter().find_map(|(kind, of)| Some((kind, method_of(frame, of)?)))?;
            Some((kind, kind == LockWord::Mutex || !OF_COUNTER.contains(&method)))
        })
    }

    /// Whether a change of the word's value takes the lock: `Some(true)` for an exclusive holder, `Some(false)` for a
    /// reader.
    pub fn takes(self, before: u64, after: u64) -> Option<bool> {
        match self {
            LockWord::Mutex => (before == 0 && after != 0).then_some(true),
            LockWord::Rwlock => match (before & COUNT, after & COUNT) {
                (0, COUNT) => Some(true),
                (readers, after) if readers < COUNT && after == readers + 1 => Some(false),
                _ => None,
            },
        }
    }

    /// Whether a change of the word's value says only who waits for the lock, of which stories tell when they do.
    pub fn same_holders(self, before: Option<u64>, after: Option<u64>) -> bool {
        let held = |value: Option<u64>| value.map(|value| value & COUNT);
        self == LockWord::Rwlock && before.is_some() && held(before) == held(after)
    }

    /// The address of the word of a lock whose code waits at a futex: a writer waits at an rwlock's counter, the word after it.
    /// `known`: objects, of which none is nearer to another one than its size.
    pub fn word_of(self, futex: u64, known: &BTreeMap<u64, String>) -> u64 {
        match self {
            LockWord::Rwlock if !known.contains_key(&futex) => futex.saturating_sub(WORD_BYTES),
            _ => futex,
        }
    }

    /// What becomes of a lock of this name by a change of the word. `None` if that is not all that it means.
    pub fn change(self, before: u64, after: u64, name: &str) -> Option<String> {
        let readers = |value: u64| value & COUNT;
        let waits = self == LockWord::Mutex && before != 0 && after == 2;
        Some(match (self, self.takes(before, after)) {
            (LockWord::Mutex, Some(_)) => format!("locks `{name}`"),
            (LockWord::Rwlock, Some(true)) => format!("locks `{name}` to write"),
            (LockWord::Rwlock, Some(false)) => format!("locks `{name}` to read"),
            (LockWord::Mutex, None) if waits => format!("waits to lock `{name}`"),
            (LockWord::Mutex, None) if after == 0 => format!("unlocks `{name}`"),
            (LockWord::Rwlock, None) if readers(after) == 0 && readers(before) == COUNT => {
                format!("unlocks `{name}`")
            }
            (LockWord::Rwlock, None) if readers(before) < COUNT && readers(after) + 1 == readers(before) => {
                format!("unlocks `{name}`")
            }
            _ => return None,
        })
    }

    /// The meaning of a value.
    pub fn text(self, value: u64) -> String {
        if self == LockWord::Mutex {
            return match value {
                0 => "unlocked".into(),
                1 => "locked".into(),
                2 => "locked, others wait".into(),
                value => value.to_string(),
            };
        }
        let mut text = match value & COUNT {
            0 => "unlocked".to_string(),
            COUNT => "locked by a writer".into(),
            readers => format!("locked by {}", counted(readers, "reader")),
        };
        text += match (value & READERS_WAIT != 0, value & WRITERS_WAIT != 0) {
            (true, true) => ", readers and writers wait",
            (true, false) => ", readers wait",
            (false, true) => ", writers wait",
            (false, false) => "",
        };
        text
    }
}

/// The method of a frame of std's implementation of a type.
pub fn method_of<'a>(frame: &'a SourceFrame, of: &str) -> Option<&'a str> {
    let path = frame.function.trim_start_matches('<').strip_prefix("std::sys::")?;
    let rest = path.split_once(of)?.1.trim_start_matches(['>', ':']);
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    Some(&rest[..end])
}

/// The workers that hold the rwlock whose word is at an address, and the steps in which they took it. `None` if the steps do
/// not tell.
pub fn rwlock_holders(steps: &[RawStep], address: u64) -> Option<Vec<(WorkerId, u64)>> {
    let overlaps =
        |raw: &&RawAccess| raw.address < address + 4 && address < raw.address + u64::from(raw.bytes);
    let mut holders: Vec<(WorkerId, u64)> = Vec::new();
    for step in steps {
        for raw in step.accesses.iter().filter(|raw| raw.writes).filter(overlaps) {
            if (raw.address, raw.bytes) != (address, 4) {
                holders.clear();
                continue;
            }
            let (before, after) = (raw.before?, raw.after?);
            let holder = (step.worker, step.number);
            match (LockWord::Rwlock.takes(before, after), before & COUNT, after & COUNT) {
                (Some(true), ..) => holders = vec![holder],
                (Some(false), ..) => holders.push(holder),
                (None, before, after) if before == after => {}
                (None, _, 0) => holders.clear(),
                // A writer becomes a reader.
                (None, COUNT, 1) => holders = vec![holder],
                (None, before, after) if before == after + 1 => {
                    let own = holders.iter().rposition(|(worker, _)| *worker == step.worker)?;
                    holders.remove(own);
                }
                _ => return None,
            }
        }
    }
    Some(holders)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(functions: &[&str]) -> Vec<SourceFrame> {
        let frame = |function: &&str| SourceFrame {
            function: function.to_string(),
            file: None,
            line: None,
            column: None,
        };
        functions.iter().map(frame).collect()
    }

    #[test]
    fn a_word_is_known_by_the_functions_of_its_lock() {
        let (mutex, rwlock) = (Some((LockWord::Mutex, true)), Some((LockWord::Rwlock, true)));
        for (functions, expected) in [
            (&["std::sys::sync::rwlock::futex::RwLock::read"][..], rwlock),
            (&["<std::sys::sync::rwlock::futex::RwLock>::read_contended"], rwlock),
            (&["std::sys::sync::rwlock::futex::RwLock::write_contended"], Some((LockWord::Rwlock, false))),
            (&["std::sys::sync::rwlock::futex::RwLock::wake_writer_or_readers"], rwlock),
            (
                &[
                    "core::sync::atomic::Atomic<u32>::load",
                    "std::sys::sync::rwlock::futex::RwLock::spin_until::<closure>",
                    "std::sys::sync::rwlock::futex::RwLock::write_contended",
                ],
                rwlock,
            ),
            (&["std::sys::sync::mutex::futex::Mutex::lock"], mutex),
            (&["std::sync::poison::mutex::Mutex<u32>::lock"], None),
            (&["mine::rwlock::futex::RwLock::read"], None),
        ] {
            assert_eq!(LockWord::of(&frames(functions)), expected, "{functions:?}");
        }
    }

    #[test]
    fn a_lock_is_taken_by_what_becomes_of_its_word() {
        for (word, before, after, takes) in [
            (LockWord::Mutex, 0, 1, Some(true)),
            (LockWord::Mutex, 0, 2, Some(true)),
            (LockWord::Mutex, 1, 2, None),
            (LockWord::Mutex, 2, 0, None),
            (LockWord::Rwlock, 0, 1, Some(false)),
            (LockWord::Rwlock, 2, 3, Some(false)),
            (LockWord::Rwlock, 2, 1, None),
            (LockWord::Rwlock, 0, COUNT, Some(true)),
            (LockWord::Rwlock, WRITERS_WAIT, WRITERS_WAIT | COUNT, Some(true)),
            (LockWord::Rwlock, COUNT, 0, None),
            (LockWord::Rwlock, COUNT, COUNT | READERS_WAIT, None),
        ] {
            assert_eq!(word.takes(before, after), takes, "{word:?} {before:#x} {after:#x}");
        }
    }

    #[test]
    fn changes_of_a_word_are_those_of_its_lock() {
        for (word, before, after, text) in [
            (LockWord::Mutex, 0, 1, Some("locks `m`")),
            (LockWord::Mutex, 0, 2, Some("locks `m`")),
            (LockWord::Mutex, 1, 2, Some("waits to lock `m`")),
            (LockWord::Mutex, 2, 2, Some("waits to lock `m`")),
            (LockWord::Mutex, 2, 0, Some("unlocks `m`")),
            (LockWord::Rwlock, 0, COUNT, Some("locks `m` to write")),
            (LockWord::Rwlock, 2, 3, Some("locks `m` to read")),
            (LockWord::Rwlock, READERS_WAIT | 3, READERS_WAIT | 2, Some("unlocks `m`")),
            (LockWord::Rwlock, READERS_WAIT | COUNT, 0, Some("unlocks `m`")),
            (LockWord::Rwlock, COUNT, COUNT | READERS_WAIT, None),
            (LockWord::Rwlock, COUNT, 1, None),
            (LockWord::Rwlock, WRITERS_WAIT, 0, None),
        ] {
            assert_eq!(word.change(before, after, "m").as_deref(), text, "{word:?} {before:#x} {after:#x}");
        }
    }

    #[test]
    fn values_have_meanings() {
        for (word, value, text) in [
            (LockWord::Mutex, 0, "unlocked"),
            (LockWord::Mutex, 2, "locked, others wait"),
            (LockWord::Rwlock, 0, "unlocked"),
            (LockWord::Rwlock, 1, "locked by 1 reader"),
            (LockWord::Rwlock, COUNT, "locked by a writer"),
            (LockWord::Rwlock, WRITERS_WAIT | 2, "locked by 2 readers, writers wait"),
            (LockWord::Rwlock, WRITERS_WAIT | READERS_WAIT, "unlocked, readers and writers wait"),
        ] {
            assert_eq!(word.text(value), text);
        }
    }
}
