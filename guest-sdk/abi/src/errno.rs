//! Results of synchronisation imports: the error numbers of WASI preview 1, which are those of wasi-libc's
//! `errno.h`, so that a pthread function can return them as they are.

/// No error.
pub const SUCCESS: i32 = 0;
/// A counter cannot be changed further: a recursive mutex is locked too often, a semaphore is 0.
pub const EAGAIN: i32 = 6;
/// The lock is not free.
pub const EBUSY: i32 = 10;
/// The caller already holds the lock.
pub const EDEADLK: i32 = 16;
/// An argument is not valid.
pub const EINVAL: i32 = 28;
/// The value would be too large.
pub const EOVERFLOW: i32 = 61;
/// The caller does not hold the lock.
pub const EPERM: i32 = 63;
/// The timeout expired.
pub const ETIMEDOUT: i32 = 73;
