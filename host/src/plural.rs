//! Plurals for messages.

/// `1 worker`, `2 workers`: a count with a noun whose plural adds an s.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// `1 byte`, `2 bytes`.
pub fn amount(bytes: u32) -> String {
    counted(bytes.into(), "byte")
}
