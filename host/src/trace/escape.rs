//! Escapes any text to one line, and back.
//!
//! Characters that would end the line, that an editor might strip or a terminal might interpret are written
//! as escape sequences: `\\`, `\n`, `\r`, `\t`, or `\u{..}` with the character's code in hex.

use std::fmt::Write;

/// Appends the text to a line. Characters in `reserved` are escaped as well.
pub(super) fn escape(text: &str, reserved: &str, line: &mut String) {
    let last = text.chars().count().saturating_sub(1);
    for (i, c) in text.chars().enumerate() {
        match c {
            '\\' => line.push_str("\\\\"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            // Editors strip white space at the ends of lines.
            c if c.is_control()
                || reserved.contains(c)
                || (c.is_whitespace() && (c != ' ' || i == 0 || i == last)) =>
            {
                write!(line, "\\u{{{:x}}}", u32::from(c)).expect("a String takes all")
            }
            c => line.push(c),
        }
    }
}

/// The inverse of [`escape`]; `None` if a backslash does not start an escape sequence.
pub(super) fn unescape(line: &str) -> Option<String> {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let mut after = rest[at + 1..].chars();
        match after.next()? {
            '\\' => text.push('\\'),
            'n' => text.push('\n'),
            'r' => text.push('\r'),
            't' => text.push('\t'),
            'u' => {
                let (code, tail) = after.as_str().strip_prefix('{')?.split_once('}')?;
                text.push(char::from_u32(u32::from_str_radix(code, 16).ok()?)?);
                after = tail.chars();
            }
            _ => return None,
        }
        rest = after.as_str();
    }
    text.push_str(rest);
    Some(text)
}
