//! Reads the numbers of a trace.

/// Reads a hexadecimal number. Unlike `from_str_radix`, refuses a plus sign and upper case: each value has
/// one spelling, except for leading zeros.
pub(super) fn hex(text: &str) -> Option<u128> {
    let lower = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    lower.then(|| u128::from_str_radix(text, 16).ok())?
}

/// Reads a decimal number. Unlike `from_str`, refuses a plus sign.
pub(super) fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}
