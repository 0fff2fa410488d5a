//! A lock that one writer or several readers hold. A reader may lock it again, as long as no writer has it.

use super::lock::{Availability, Held, Released};
use super::objects::Object;
use coyote_abi::errno;
use coyote_strategies::WorkerId;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rwlock {
    pub writer: Option<WorkerId>,
    /// Sorted by worker.
    pub readers: Vec<Held>,
}

impl Object for Rwlock {}

impl Rwlock {
    fn reader(&self, worker: WorkerId) -> Result<usize, usize> {
        self.readers.binary_search_by_key(&worker, |(reader, _)| *reader)
    }

    /// Whether a worker can take the lock to read. A writer that wants to read as well would wait for itself.
    pub fn availability_to_read(&self, worker: WorkerId) -> Availability {
        match self.writer {
            None => match self.reader(worker) {
                Ok(at) if self.readers[at].1 == u32::MAX => Availability::Refused(errno::EAGAIN),
                Ok(_) => Availability::Again,
                Err(_) => Availability::Free,
            },
            Some(writer) if writer == worker => Availability::Refused(errno::EDEADLK),
            Some(_) => Availability::Busy,
        }
    }

    /// Whether a worker can take the lock to write. Its writer is refused, as with glibc; a reader waits for itself, as
    /// with glibc and musl: POSIX allows both.
    pub fn availability_to_write(&self, worker: WorkerId) -> Availability {
        if self.writer == Some(worker) {
            return Availability::Refused(errno::EDEADLK);
        }
        if self.writer.is_none() && self.readers.is_empty() { Availability::Free } else { Availability::Busy }
    }

    /// Its availability must have allowed it.
    pub fn take_to_read(&mut self, worker: WorkerId) {
        match self.reader(worker) {
            Ok(at) => self.readers[at].1 += 1,
            Err(at) => self.readers.insert(at, (worker, 1)),
        }
    }

    /// Its availability must have allowed it.
    pub fn take_to_write(&mut self, worker: WorkerId) {
        self.writer = Some(worker);
    }

    pub fn release(&mut self, worker: WorkerId) -> Released {
        if self.writer == Some(worker) {
            self.writer = None;
            return Released::Free;
        }
        let Ok(at) = self.reader(worker) else { return Released::Misuse };
        self.readers[at].1 -= 1;
        if self.readers[at].1 > 0 {
            return Released::Still;
        }
        self.readers.remove(at);
        Released::Shared
    }
}
