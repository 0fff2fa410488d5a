//! A bug as a page: one file of HTML that needs neither a network nor a server.
//!
//! The static parts are `page.html`, `style.css` and the scripts beside this file; the data is `data`, embedded as
//! JSON. A source text may contain anything, so the data is encoded such that it cannot end the script that contains it
//! (see `embedded`), the scripts only create text nodes from texts, and the page forbids itself to load or send
//! anything.

mod data;

use crate::report::model::BugReport;
use data::Detail;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");

/// The scripts, in the order of their dependencies.
const SCRIPTS: [&str; 4] = [
    include_str!("data.js"),
    include_str!("timeline.js"),
    include_str!("panels.js"),
    include_str!("main.js"),
];

/// If the data is larger than this, details are left out.
const DATA_BYTES_MAX: usize = 4_500_000;

/// The page of a bug of a test; `None` without its history.
pub fn page(module: &str, test: &str, bug: &BugReport) -> Option<String> {
    let mut data = String::new();
    for detail in Detail::ALL {
        data = embedded(&data::of(module, test, bug, detail)?);
        if data.len() <= DATA_BYTES_MAX {
            break;
        }
    }
    let title = format!("{} in test {test}", bug.kind.name());
    let script = format!("(() => {{\n\"use strict\";\n{}}})();\n", SCRIPTS.concat());
    let parts = [("TITLE", escaped(&title)), ("STYLE", STYLE.into()), ("DATA", data), ("SCRIPT", script)];
    Some(filled(PAGE, &parts))
}

/// A page with its parts, in their order. They are filled in one after the other, so that placeholders within filled-in
/// content are not replaced.
pub fn filled(page: &str, parts: &[(&str, String)]) -> String {
    let (mut text, mut rest) = (String::new(), page);
    for (name, content) in parts {
        let (before, after) = rest.split_once(&format!("<!--{name}-->")).expect("it is in the page");
        text += before;
        text += content;
        rest = after;
    }
    text + rest
}

/// Escapes a text for the content of an element of HTML.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// JSON for a script element: without `<`, it contains neither `</script` nor `<!--`.
fn embedded(data: &data::Data<'_>) -> String {
    serde_json::to_string(data).expect("names are texts").replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_every_part_once_and_in_this_order() {
        let places = ["TITLE", "STYLE", "DATA", "SCRIPT"].map(|name| {
            let marker = format!("<!--{name}-->");
            assert_eq!(PAGE.matches(&marker).count(), 1, "{marker}");
            PAGE.find(&marker)
        });
        assert!(places.is_sorted());
        assert!(
            SCRIPTS.iter().chain([&STYLE]).all(|part| !part.contains("</")),
            "a part would end its element"
        );
        assert_eq!(escaped("a<b> & c"), "a&lt;b> &amp; c");
    }
}
