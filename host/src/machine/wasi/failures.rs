//! How calls on files fail, with faults of class `io`.

use crate::runtime::files::{Answer, Call, Errno};

/// A way in which a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Fails with this error, without any effect.
    Error(Errno),
    /// Fails with this error, although the call has had its effect.
    Late(Errno),
    /// Succeeds with half of the bytes.
    Short,
}

use Way::{Error, Late, Short};

impl Way {
    /// What becomes of a call of this function, as a clause.
    pub fn told(self, function: &str) -> String {
        match self {
            Error(error) => format!("{function} fails with {}", error.name()),
            Late(error) => format!("{function} has its effect and fails with {}", error.name()),
            Short => format!("{function} transfers half of the bytes"),
        }
    }
}

/// The ways in which a function may fail, by POSIX and in practice; none for others.
///
/// No call has EAGAIN: every file here is always ready.
const WAYS: &[(&[&str], &[Way])] = &[
    (&["fd_read", "fd_pread"], &[Error(Errno::IO), Short, Error(Errno::INTR)]),
    (&["fd_write", "fd_pwrite"], &[Error(Errno::NOSPC), Short, Error(Errno::IO), Error(Errno::INTR)]),
    (&["path_open"], &[Error(Errno::MFILE), Error(Errno::IO), Error(Errno::INTR)]),
    (&["fd_sync", "fd_datasync"], &[Error(Errno::IO), Error(Errno::NOSPC)]),
    (&["fd_allocate", "fd_filestat_set_size"], &[Error(Errno::NOSPC), Error(Errno::IO)]),
    // As in Linux, the descriptor is closed all the same.
    (&["fd_close"], &[Late(Errno::IO)]),
    (
        &["path_create_directory", "path_link", "path_symlink", "path_rename"],
        &[Error(Errno::NOSPC), Error(Errno::IO)],
    ),
    (&["path_unlink_file", "path_remove_directory", "fd_readdir", "path_filestat_get"], &[Error(Errno::IO)]),
];

/// The ways in which the function of this name may fail, numbered from 1 on.
pub fn ways(name: &str) -> &'static [Way] {
    WAYS.iter().find(|(names, _)| names.contains(&name)).map_or(&[], |(_, ways)| ways)
}

/// Makes a call transfer half of the bytes that it would transfer. `reads`: how many it would read, which may be fewer than
/// it has room for. Whether it is shorter now.
pub fn shorten(call: &mut Call, reads: usize) -> bool {
    let writes: usize = call.inputs.iter().map(Vec::len).sum();
    call.room = half(reads.min(call.room as usize)) as u32;
    call.inputs.iter_mut().for_each(|input| input.truncate(half(input.len())));
    reads.max(writes) > 1
}

/// Half of a number of bytes, and not none.
pub fn half(bytes: usize) -> usize {
    bytes - bytes / 2
}

/// The answer to a call that is not to be served.
pub fn before(way: Option<Way>) -> Option<Answer> {
    match way? {
        Error(error) => Some(Answer::error(error)),
        Late(_) | Short => None,
    }
}

/// The answer to a call that was served.
pub fn after(way: Option<Way>, answer: Answer) -> Answer {
    match way {
        Some(Late(error)) if answer.error.is_none() => Answer::error(error),
        _ => answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coyote_abi::file;

    /// A name that is misspelt would never fail.
    #[test]
    fn all_names_are_functions_and_once() {
        let names: Vec<&str> = WAYS.iter().flat_map(|(names, _)| names.iter().copied()).collect();
        for name in &names {
            assert!(file::call(name).is_some_and(|call| call.point), "{name}");
            assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name}");
        }
    }
}
