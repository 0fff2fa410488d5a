//! Reads the names that Rust's standard library gives to threads.
//!
//! Rust does not specify the layout of an `Option<String>` in memory. Bytes that do not look like one are no
//! name: a thread without a name in a report is better than one with a wrong name.

use super::guest_memory::GuestMemory;

/// The capacity that stands for `None`: no vector has more than `isize::MAX` bytes.
const NONE: u32 = 1 << 31;

/// Maximum length of a name, in bytes. Longer names are cut off.
const BYTES_MAX: u32 = 64;

/// The text of the `Option<String>` at an address: capacity, pointer, length. This is no access of the
/// worker: the read belongs to std.
pub fn name_at(memory: &GuestMemory, address: u32) -> Option<String> {
    let word = |number: u32| {
        let bytes = memory.peek(address.checked_add(4 * number)?, 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    };
    let (capacity, pointer, length) = (word(0)?, word(1)?, word(2)?);
    if capacity >= NONE || length > capacity || length == 0 {
        return None;
    }
    let mut text = std::str::from_utf8(memory.peek(pointer, length)?).ok()?;
    text = &text[..text.floor_char_boundary(BYTES_MAX as usize)];
    (!text.contains(char::is_control)).then(|| text.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A string of these parts at address 4, and the text "reader" at 32.
    fn name(capacity: u32, pointer: u32, length: u32) -> Option<String> {
        let mut bytes = vec![0; 64];
        for (word, value) in bytes[4..].chunks_mut(4).zip([capacity, pointer, length]) {
            word.copy_from_slice(&value.to_le_bytes());
        }
        bytes[32..38].copy_from_slice(b"reader");
        let mut written = Vec::new();
        let memory = GuestMemory::new(&mut bytes, &mut written);
        let name = name_at(&memory, 4);
        assert!(memory.into_touched().is_empty());
        name
    }

    #[test]
    fn what_is_no_string_is_no_name() {
        assert_eq!(name(6, 32, 6).as_deref(), Some("reader"));
        assert_eq!(name(64, 32, 4).as_deref(), Some("read"));
        assert_eq!(name(NONE, 32, 6), None, "None");
        assert_eq!(name(5, 32, 6), None, "longer than there is room");
        assert_eq!(name(6, 60, 6), None, "outside of memory");
        assert_eq!(name(6, u32::MAX, 6), None);
        assert_eq!(name(6, 36, 6), None, "a zero in it");
        assert_eq!(name(0, 1, 0), None, "nothing to show");
    }
}
