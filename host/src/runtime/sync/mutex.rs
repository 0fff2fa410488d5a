//! A mutex: its kind, its holder, and how many times that worker holds it.

use super::lock::{Availability, Held, Released};
use super::objects::Object;
use coyote_abi::errno;
use coyote_strategies::WorkerId;

/// What happens when the holder locks once more, and when another worker unlocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The holder blocks itself; a misuse.
    #[default]
    Normal,
    /// The holder holds it once more; an error.
    Recursive,
    /// Both are errors.
    ErrorChecking,
}

impl Kind {
    /// The kind for the number that guests pass.
    pub fn from_number(number: u32) -> Option<Kind> {
        [Kind::Normal, Kind::Recursive, Kind::ErrorChecking].get(number as usize).copied()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mutex {
    pub kind: Kind,
    pub holder: Option<Held>,
}

impl Object for Mutex {}

impl Mutex {
    pub fn new(kind: Kind) -> Mutex {
        Mutex { kind, holder: None }
    }

    pub fn availability(&self, worker: WorkerId) -> Availability {
        match (self.holder, self.kind) {
            (None, _) => Availability::Free,
            (Some((holder, _)), _) if holder != worker => Availability::Busy,
            (Some(_), Kind::Normal) => Availability::Busy,
            (Some(_), Kind::ErrorChecking) => Availability::Refused(errno::EDEADLK),
            (Some((_, u32::MAX)), Kind::Recursive) => Availability::Refused(errno::EAGAIN),
            (Some(_), Kind::Recursive) => Availability::Again,
        }
    }

    /// Takes the mutex, possibly once more; its availability must have allowed it.
    pub fn take(&mut self, worker: WorkerId) {
        let times = self.holder.map_or(0, |(_, times)| times);
        self.holder = Some((worker, times + 1));
    }

    pub fn release(&mut self, worker: WorkerId) -> Released {
        match (self.holder, self.kind) {
            (Some((holder, 1)), _) if holder == worker => {
                self.holder = None;
                Released::Free
            }
            (Some((holder, times)), _) if holder == worker => {
                self.holder = Some((worker, times - 1));
                Released::Still
            }
            (_, Kind::Normal) => Released::Misuse,
            _ => Released::Refused(errno::EPERM),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recursive_mutex_is_locked_four_billion_times_at_most() {
        let worker = WorkerId(1);
        let mut mutex = Mutex::new(Kind::Recursive);
        mutex.holder = Some((worker, u32::MAX - 1));
        assert_eq!(mutex.availability(worker), Availability::Again);
        mutex.take(worker);
        assert_eq!(mutex.availability(worker), Availability::Refused(errno::EAGAIN));
        assert_eq!(mutex.release(worker), Released::Still);
        assert_eq!(mutex.availability(worker), Availability::Again);
    }
}
