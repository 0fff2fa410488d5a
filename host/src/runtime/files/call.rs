//! A call of a file function as plain data, independent of what serves it.

use super::Errno;
use coyote_abi::file::{FileCall, Param};
use xxhash_rust::xxh3::Xxh3;

/// All flags of a kind.
const LOOKUP_FLAGS: u64 = 0x1;
const OPEN_FLAGS: u64 = 0xf;
const TIME_FLAGS: u64 = 0xf;
const FD_FLAGS: u64 = 0x1f;
/// The flag of a descriptor that never waits.
pub const NONBLOCK: u16 = 4;
/// All rights there are.
pub const RIGHTS: u64 = (1 << 30) - 1;

/// A call of one of [`coyote_abi::file::CALLS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub function: &'static FileCall,
    /// Descriptors, flags, offsets and times, in the order of the parameters.
    pub numbers: Vec<u64>,
    /// Texts and bytes to write, in the order of the parameters.
    pub inputs: Vec<Vec<u8>>,
    /// Number of bytes that it may read.
    pub room: u32,
}

impl Call {
    pub fn number(&self, index: usize) -> u64 {
        self.numbers[index]
    }

    /// Flags or another small number.
    pub fn small(&self, index: usize) -> u32 {
        self.numbers[index] as u32
    }

    /// A path or the target of a link.
    pub fn text(&self, index: usize) -> Result<&str, Errno> {
        std::str::from_utf8(&self.inputs[index]).map_err(|_| Errno::ILSEQ)
    }

    /// Whether a link at the end of the path is followed, for functions that leave it to the caller.
    pub fn follows(&self) -> bool {
        self.numbers[1] & LOOKUP_FLAGS != 0
    }

    /// Indices of the numbers that are descriptors.
    pub fn descriptors(&self) -> impl Iterator<Item = usize> + use<> {
        let numbers =
            self.function.params.iter().filter(|p| matches!(p, Param::Descriptor | Param::I32 | Param::I64));
        numbers.enumerate().filter(|(_, p)| **p == Param::Descriptor).map(|(index, _)| index)
    }

    /// Refuses flags that preview 1 does not have, whatever else is wrong.
    pub fn check_flags(&self) -> Result<(), Errno> {
        // Index of the number, and all of its bits or its largest value.
        let known: &[(usize, u64)] = match self.function.name {
            "fd_advise" => &[(3, 5)],
            "fd_fdstat_set_flags" => &[(1, FD_FLAGS)],
            "fd_fdstat_set_rights" => &[(1, RIGHTS), (2, RIGHTS)],
            "fd_filestat_set_times" => &[(3, TIME_FLAGS)],
            "fd_seek" => &[(2, 2)],
            "path_filestat_get" | "path_link" => &[(1, LOOKUP_FLAGS)],
            "path_filestat_set_times" => &[(1, LOOKUP_FLAGS), (4, TIME_FLAGS)],
            "path_open" => &[(1, LOOKUP_FLAGS), (2, OPEN_FLAGS), (3, RIGHTS), (4, RIGHTS), (5, FD_FLAGS)],
            _ => &[],
        };
        let unknown = known.iter().any(|(index, max)| self.numbers[*index] > *max);
        // A time that is both given and now.
        let times = self.function.name.ends_with("set_times").then(|| self.numbers.last()).flatten();
        let twice = times.is_some_and(|flags| flags & (flags >> 1) & 0b101 != 0);
        if unknown || twice { Err(Errno::INVAL) } else { Ok(()) }
    }

    /// A hash that distinguishes calls; part of the trace format.
    pub fn digest(&self) -> u64 {
        let mut hasher = Xxh3::new();
        hasher.update(self.function.name.as_bytes());
        self.numbers.iter().for_each(|number| hasher.update(&number.to_le_bytes()));
        for input in &self.inputs {
            hasher.update(&(input.len() as u64).to_le_bytes());
            hasher.update(input);
        }
        hasher.update(&self.room.to_le_bytes());
        hasher.digest()
    }
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// `None` is success.
    pub error: Option<Errno>,
    /// The bytes of the fixed result.
    pub result: Vec<u8>,
    /// The bytes that were read.
    pub data: Vec<u8>,
}

impl Answer {
    /// The first 4 bytes of the result as a little-endian number.
    ///
    /// # Panics
    /// The result is shorter: that of a call that failed, or of one that has no such number.
    pub(super) fn first_number(&self) -> u32 {
        u32::from_le_bytes(self.result[..4].try_into().expect("4 bytes"))
    }

    pub fn error(error: Errno) -> Answer {
        Answer { error: Some(error), result: Vec::new(), data: Vec::new() }
    }

    pub fn result(result: impl Into<Vec<u8>>) -> Answer {
        Answer { error: None, result: result.into(), data: Vec::new() }
    }

    pub fn done() -> Answer {
        Answer::result([])
    }

    /// A 32-bit number.
    pub fn size(size: usize) -> Answer {
        Answer::result((size as u32).to_le_bytes())
    }

    /// Bytes that were read, and how many.
    pub fn data(data: Vec<u8>) -> Answer {
        Answer { data: data.clone(), ..Answer::size(data.len()) }
    }

    /// The error number, 0 for success.
    pub fn errno(&self) -> u16 {
        self.error.map_or(0, |e| e.0)
    }
}

impl From<Result<Answer, Errno>> for Answer {
    fn from(result: Result<Answer, Errno>) -> Answer {
        result.unwrap_or_else(Answer::error)
    }
}

/// The result of serving a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Served {
    Here(Answer),
    /// The call with which the host directories must be asked; then [`super::Session::host_answered`].
    ByHost(Call),
}
