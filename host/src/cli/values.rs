//! Values of options.

use std::num::ParseIntError;

/// Reads a number that must not be 0.
///
/// # Errors
/// It is 0, or the text is no number.
pub fn positive(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".into()),
        parsed => parsed.map_err(|error: ParseIntError| error.to_string()),
    }
}
