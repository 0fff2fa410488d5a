//! The words of the mutexes and rwlocks of Rust's std, which are futexes: what their values mean, and who holds an rwlock.
//!
//! By library/std/src/sys/sync/{mutex,rwlock}/futex.rs, whose values are the same since Rust 1.62. A word is known by the
//! functions of std that access it.

use super::recorder::{RawAccess, RawStep};
use crate::plural::counted;
use crate::symbols::SourceFrame;
use coyote_strategies::WorkerId;

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

/// Functions of an rwlock that access the counter, at which writers wait, and not only the word.
const OF_COUNTER: [&str; 2] = ["write_contended", "wake_writer"];

impl LockWord {
    /// The lock to which the code of these frames belongs, innermost first, and whether that code accesses nothing of it
    /// but the word.
    pub fn of(frames: &[SourceFrame]) -> Option<(LockWord, bool)> {
        let kinds =
            [(LockWord::Mutex, "::mutex::futex::Mutex"), (LockWord::Rwlock, "::rwlock::futex::RwLock")];
        frames.iter().find_map(|frame| {
            let path = frame.function.trim_start_matches('<').strip_prefix("std::sys::")?;
            let (kind, rest) =
                kinds.into_iter().find_map(|(kind, of)| Some((kind, path.split_once(of)?.1)))?;
            let rest = rest.trim_start_matches(['>', ':']);
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            Some((kind, kind == LockWord::Mutex || !OF_COUNTER.contains(&&rest[..end])))
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
