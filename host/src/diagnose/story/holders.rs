//! The holders of objects that other workers wait for, and the steps in which they took them.
//!
//! For mutexes and rwlocks, the runtime knows the holders. For a lock that a library implements with a futex, the
//! holder is *inferred*, and reports say so: a worker that waits in a function of a mutex or rwlock waits for the
//! worker that last changed the lock's word from 0 to another value, if no worker has set it to 0 since. The readers of
//! an rwlock are known only if it is that of Rust's std ([`super::lock_words`]). Holders of locks whose free state is not
//! 0 are not determined.

use super::facts::Facts;
use super::lock_words::{LockWord, rwlock_holders};
use super::moment::{Moment, SharedAccess};
use super::recorder::RawAccess;
use super::words::in_brackets;
use crate::runtime::{ObjectId, Request};
use crate::symbols::{SourceFrame, without_generics};
use coyote_strategies::{Class, WorkerId};

/// A worker that a blocked worker waits for.
pub struct Holder<'a> {
    pub worker: WorkerId,
    /// The moment in which it took the lock.
    pub took: Option<&'a Moment>,
    /// The line of the access with which it took it, if that is known and not only the line of the moment.
    pub line: Option<SourceFrame>,
    /// Whether the holder is inferred from the writes of the lock's word alone.
    pub inferred: bool,
}

impl<'a> Facts<'a> {
    /// The workers that hold what a blocked worker waits for.
    pub fn holders(&self, id: WorkerId) -> Vec<Holder<'a>> {
        match self.queue(id) {
            Some(place) => match self.std_rwlock(id) {
                Some(address) => self.rwlock_holders(address),
                None => self.inferred_holder(id, place).into_iter().collect(),
            },
            None => {
                let place = self.runtime.worker(id).request.wants();
                let holders = place.into_iter().flat_map(|place| {
                    let took = move |worker| Holder {
                        worker,
                        took: self.took(worker, place),
                        line: None,
                        inferred: false,
                    };
                    self.runtime.holders(place).into_iter().map(took)
                });
                holders.collect()
            }
        }
    }

    /// The moment in which a worker took an object that it holds.
    fn took(&self, worker: WorkerId, place: ObjectId) -> Option<&'a Moment> {
        self.moments.iter().rev().find(|moment| moment.worker == worker && moment.took.contains(&place))
    }

    /// The address of the word of an rwlock of Rust's std for which a worker waits. Writers wait at the counter beside it.
    fn std_rwlock(&self, id: WorkerId) -> Option<u64> {
        let place = self.queue(id).filter(|place| place.class == Class::Futex)?;
        let near = [place.address, place.address.wrapping_sub(4), place.address.wrapping_add(4)];
        let is_word = |address: &u64| {
            let of = |access: &SharedAccess| {
                access.raw.address == *address && access.word == Some(LockWord::Rwlock)
            };
            self.moments.iter().any(|moment| moment.accesses.iter().any(of))
        };
        let in_lock = |function: &String| function.contains("::rwlock::futex::RwLock");
        if !(self.innermost)(id).iter().any(in_lock) {
            return None;
        }
        near.into_iter().map(u64::from).find(is_word)
    }

    fn rwlock_holders(&self, address: u64) -> Vec<Holder<'a>> {
        let holders = rwlock_holders(self.steps, address).unwrap_or_default();
        let holder = |(worker, step)| {
            let took = self.moments.iter().find(|moment| (moment.step, moment.worker) == (step, worker));
            Holder { worker, took, line: None, inferred: true }
        };
        holders.into_iter().map(holder).collect()
    }

    /// The worker behind whose wait to write a worker waits to read.
    fn waits_behind(&self, id: WorkerId) -> Option<WorkerId> {
        let writes =
            |id: WorkerId| (self.innermost)(id).iter().any(|function| function.contains("write_contended"));
        let address = self.std_rwlock(id).filter(|_| !writes(id))?;
        self.runtime
            .stuck()
            .into_iter()
            .find(|other| writes(*other) && self.std_rwlock(*other) == Some(address))
    }

    /// The worker that took the lock whose futex a worker waits for.
    fn inferred_holder(&self, id: WorkerId, place: ObjectId) -> Option<Holder<'a>> {
        let Request::FutexWait { bytes: 4, .. } = self.runtime.worker(id).request else { return None };
        if place.class != Class::Futex || !(self.innermost)(id).iter().any(|function| is_of_lock(function)) {
            return None;
        }
        let address = u64::from(place.address);
        let touches = |raw: &RawAccess| {
            raw.writes && raw.address < address + 4 && address < raw.address + u64::from(raw.bytes)
        };
        let steps = self.steps.iter().rev();
        let changes = steps.flat_map(|step| step.accesses.iter().rev().map(move |raw| (step, raw)));
        for (step, raw) in changes.filter(|(_, raw)| touches(raw)) {
            if (raw.address, raw.bytes) != (address, 4) {
                return None;
            }
            match (raw.before?, raw.after?) {
                (_, 0) => return None,
                (0, _) if raw.reads => {
                    let took = self
                        .moments
                        .iter()
                        .find(|moment| (moment.step, moment.worker) == (step.number, step.worker));
                    let line = raw.location.and_then(self.line_of);
                    return Some(Holder { worker: step.worker, took, line, inferred: true });
                }
                (0, _) => return None,
                _ => {}
            }
        }
        None
    }

    /// The holders, as a clause that can follow the name of a lock.
    pub fn held(&self, id: WorkerId) -> String {
        let holders = self.holders(id);
        let since = |holder: &Holder<'_>| {
            holder.took.map_or(String::new(), |moment| {
                let line = holder.line.as_ref().or(moment.line.as_ref());
                format!(" since step {}{}", moment.step, in_brackets(line))
            })
        };
        let inferred =
            if holders.iter().any(|holder| holder.inferred) { ", inferred from the lock's word" } else { "" };
        let behind = self.waits_behind(id).map_or(String::new(), |writer| {
            format!(", and no reader passes {}, which waits to write", self.name(writer))
        });
        let held = match holders.as_slice() {
            [] => String::new(),
            [only] if only.worker == id => format!(", which it holds itself{}", since(only)),
            [only] => format!(", which {} holds{}", self.name(only.worker), since(only)),
            several => {
                let each: Vec<String> = several
                    .iter()
                    .map(|holder| format!("{}{}", self.name(holder.worker), since(holder)))
                    .collect();
                format!(", which {} hold", each.join(" and "))
            }
        };
        if held.is_empty() { held } else { format!("{held}{inferred}{behind}") }
    }
}

/// Whether a function belongs to a lock, and does not only have a lock as a parameter.
fn is_of_lock(function: &str) -> bool {
    let path = without_generics(function).to_lowercase();
    [
        "mutex::",
        "rwlock::",
        "mutex_lock",
        "mutex_timedlock",
        "rwlock_rdlock",
        "rwlock_wrlock",
        "lock_contended",
    ]
    .iter()
    .any(|part| path.contains(part))
}

#[cfg(test)]
mod tests {
    use super::is_of_lock;

    #[test]
    fn who_waits_for_a_condvar_waits_for_no_lock() {
        for (function, is) in [
            ("std::sys::sync::mutex::futex::Mutex::lock_contended", true),
            ("std::sys::sync::rwlock::futex::RwLock::write_contended", true),
            ("__pthread_mutex_lock", true),
            ("std::sys::sync::condvar::futex::Condvar::wait_optional_timeout", false),
            ("std::sync::condvar::Condvar::wait<std::sync::mutex::MutexGuard<u32>>", false),
            ("std::sys::sync::thread_parking::futex::Parker::park", false),
        ] {
            assert_eq!(is_of_lock(function), is, "{function}");
        }
    }
}
