//! Values that the tool chooses. Every value is one more dimension of the search: a choice is stored
//! in the trace, replayed, and explored like a scheduling decision.

use crate::sys;
use std::ops::{Bound, RangeBounds};

/// True or false.
pub fn bool() -> bool {
    sys::choose_bool() != 0
}

/// An integer in a range. An open end means the smallest or largest value of the type.
///
/// # Panics
/// If the range is empty or has 2^32 values or more.
///
/// ```no_run
/// let readers = coyote::nondet::int(1..=5);
/// let index: usize = coyote::nondet::int(..10);
/// ```
#[track_caller]
pub fn int<T: Integer>(range: impl RangeBounds<T>) -> T {
    let low = match range.start_bound() {
        Bound::Included(low) => low.widen(),
        Bound::Excluded(low) => low.widen() + 1,
        Bound::Unbounded => T::MIN.widen(),
    };
    let end = match range.end_bound() {
        Bound::Included(high) => high.widen() + 1,
        Bound::Excluded(high) => high.widen(),
        Bound::Unbounded => T::MAX.widen() + 1,
    };
    assert!(low < end, "there is nothing to choose from: the range is empty");
    let bound = u32::try_from(end - low).expect("a choice has fewer than 2^32 values");
    T::narrow(low + i128::from(sys::choose_int(bound as i32) as u32))
}

/// An element of a slice.
///
/// # Panics
/// If the slice is empty.
#[track_caller]
pub fn pick<T>(from: &[T]) -> &T {
    assert!(!from.is_empty(), "there is nothing to choose from: the slice is empty");
    &from[int(..from.len())]
}

/// The integers that [`int`] can choose.
pub trait Integer: Copy + sealed::Sealed {
    /// The smallest value.
    const MIN: Self;
    /// The largest value.
    const MAX: Self;
    /// The same value in a type that holds all of them.
    fn widen(self) -> i128;
    /// The inverse of [`Integer::widen`], for values between [`Integer::MIN`] and [`Integer::MAX`].
    fn narrow(wide: i128) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! integers {
    ($($ty:ident)*) => {$(
        impl sealed::Sealed for $ty {}

        impl Integer for $ty {
            const MIN: Self = $ty::MIN;
            const MAX: Self = $ty::MAX;

            fn widen(self) -> i128 {
                self as i128
            }

            fn narrow(wide: i128) -> Self {
                wide as $ty
            }
        }
    )*};
}

integers! { u8 u16 u32 u64 usize i8 i16 i32 i64 isize }
