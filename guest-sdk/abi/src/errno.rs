//! What synchronisation imports return: the error numbers of WASI preview 1, which are those of wasi-libc's
//! `errno.h`, so that a pthread function can return them as they are.

/// The call did what it is for.
pub const SUCCESS: i32 = 0;
/// A counter is at its end.
pub const EAGAIN: i32 = 6;
/// It is taken.
pub const EBUSY: i32 = 10;
/// The caller has it already.
pub const EDEADLK: i32 = 16;
/// An argument has no meaning.
pub const EINVAL: i32 = 28;
/// The value would be too large.
pub const EOVERFLOW: i32 = 61;
/// The caller does not hold it.
pub const EPERM: i32 = 63;
/// The time was up first.
pub const ETIMEDOUT: i32 = 73;
