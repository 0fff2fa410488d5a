//! Colours and links of reports for readers, on terminals that support them; elsewhere nothing is added.

use crate::symbols::SourceFrame;
use anstyle::{AnsiColor, Style};
use std::path::Path;

/// See the module's documentation. The default adds nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Styles {
    pub colours: bool,
    /// Whether places are links to their files (OSC 8).
    pub links: bool,
}

impl Styles {
    /// A bug, and the step that decided it.
    pub fn bug(self, text: &str) -> String {
        self.paint(AnsiColor::Red.on_default().bold(), text)
    }

    /// No bug was found.
    pub fn good(self, text: &str) -> String {
        self.paint(AnsiColor::Green.on_default().bold(), text)
    }

    /// No verdict.
    pub fn doubt(self, text: &str) -> String {
        self.paint(AnsiColor::Yellow.on_default().bold(), text)
    }

    pub fn strong(self, text: &str) -> String {
        self.paint(Style::new().bold(), text)
    }

    fn paint(self, style: Style, text: &str) -> String {
        match self.colours && !text.is_empty() {
            true => format!("{style}{text}{style:#}"),
            false => text.into(),
        }
    }

    /// The text as a link to the file of a frame, if the file is known.
    pub fn place(self, text: &str, frame: Option<&SourceFrame>) -> String {
        let file = frame.filter(|_| self.links && !text.is_empty()).and_then(|frame| frame.file.as_deref());
        // Files of libraries mostly do not exist on this machine.
        let path = file.and_then(|file| std::path::absolute(file).ok()).filter(|path| path.is_file());
        match path {
            Some(path) => format!("\x1b]8;;{}\x1b\\{text}\x1b]8;;\x1b\\", url(&path)),
            None => text.into(),
        }
    }
}

fn url(path: &Path) -> String {
    let mut url = String::from("file://");
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                url.push(char::from(byte))
            }
            byte => url += &format!("%{byte:02X}"),
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_asked_for_is_added() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let frame =
            SourceFrame { function: "f".into(), file: Some(file.into()), line: Some(1), column: None };
        let none = Styles::default();
        assert_eq!((none.bug("a"), none.place("b", Some(&frame))), ("a".into(), "b".into()));
        let all = Styles { colours: true, links: true };
        assert_eq!(all.bug("a"), "\x1b[1m\x1b[31ma\x1b[0m");
        assert_eq!(all.place("b", Some(&frame)), format!("\x1b]8;;file://{file}\x1b\\b\x1b]8;;\x1b\\"));
        let gone = SourceFrame { file: Some("/none/of them".into()), ..frame };
        assert_eq!(all.place("b", Some(&gone)), "b", "no link to a file that is not there");
        assert_eq!(url(Path::new("/a b")), "file:///a%20b");
    }
}
