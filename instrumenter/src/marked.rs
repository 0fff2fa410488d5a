//! Memory orders that C or C++ gives atomic instructions: see the pass `orders`.

use walrus::LocalId;

/// What is known about an atomic instruction's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marked {
    /// As in [`crate::Site::orders`].
    Known(u8),
    /// The same value, in a local at run time. It may also be a number that is no order.
    Local(LocalId),
}

/// Values of [`crate::Site::orders`] of the sites of an instruction whose order is in a local: unknown, and
/// each of C's six; for a compare-exchange, each pair.
pub fn orders_of_sites(compares: bool) -> impl Iterator<Item = u8> {
    let failures = if compares { 0..=6 } else { 0..=0 };
    failures.flat_map(|failure: u8| (0..=6).map(move |success: u8| failure << 4 | success))
}
