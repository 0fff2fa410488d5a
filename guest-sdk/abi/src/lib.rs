//! The contract between guests, instrumenter and host.
//!
//! Three parties meet here and nowhere else: a guest's SDK declares the imports of [`guest`], the
//! instrumenter turns them into the runtime imports of [`rt`], and the host implements those. [`mod@file`]
//! lists the functions of WASI that are scheduling points.
//! `coyote_raw.h` is generated from [`guest::IMPORTS`]. No dependencies, no `std`.
#![no_std]

pub mod errno;
pub mod file;
mod fingerprint;
pub mod guest;
pub mod operation;
pub mod ordering;
pub mod rt;

pub use fingerprint::FINGERPRINT;
pub use operation::OpKind;
pub use ordering::Ordering;

/// Version of everything in this crate. A module instrumented under another version is refused.
pub const VERSION: u32 = 4;

/// A wasm value type, as far as the ABI uses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A 32-bit integer; addresses, handles and error numbers too.
    I32,
    /// A 64-bit integer; spans of time in nanoseconds too.
    I64,
}
