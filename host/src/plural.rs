//! Numbers as sentences have them.

/// So many of something, whose plural ends with an s.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A number of bytes.
pub fn amount(bytes: u32) -> String {
    counted(bytes.into(), "byte")
}
