//! A lock that one writer or several readers hold. A reader may lock it again, as long as no writer has it.

use super::lock::{Held, Look, Released};
use super::objects::Object;
use coyote_abi::errno;
use coyote_strategies::WorkerId;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rwlock {
    pub writer: Option<WorkerId>,
    /// By worker.
    pub readers: Vec<Held>,
}

impl Object for Rwlock {}

impl Rwlock {
    fn reader(&self, worker: WorkerId) -> Result<usize, usize> {
        self.readers.binary_search_by_key(&worker, |(reader, _)| *reader)
    }

    /// A writer that wants to read as well would wait for itself.
    pub fn look_to_read(&self, worker: WorkerId) -> Look {
        match self.writer {
            None => match self.reader(worker) {
                Ok(at) if self.readers[at].1 == u32::MAX => Look::Refused(errno::EAGAIN),
                Ok(_) => Look::Again,
                Err(_) => Look::Free,
            },
            Some(writer) if writer == worker => Look::Refused(errno::EDEADLK),
            Some(_) => Look::Busy,
        }
    }

    /// So would a reader that wants to write: there is no way up.
    pub fn look_to_write(&self, worker: WorkerId) -> Look {
        if self.writer == Some(worker) || self.reader(worker).is_ok() {
            return Look::Refused(errno::EDEADLK);
        }
        if self.writer.is_none() && self.readers.is_empty() { Look::Free } else { Look::Busy }
    }

    /// A look must have allowed it.
    pub fn take_to_read(&mut self, worker: WorkerId) {
        match self.reader(worker) {
            Ok(at) => self.readers[at].1 += 1,
            Err(at) => self.readers.insert(at, (worker, 1)),
        }
    }

    /// A look must have allowed it.
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
