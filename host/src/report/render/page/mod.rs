//! A bug as a page: one file of HTML that needs nothing else, neither a network nor a server.
//!
//! The page's own parts are `page.html`, `style.css` and the scripts beside this file; what it shows is
//! `data`, embedded as JSON. A source text can hold anything, so nothing of the data ends the script that it stands in
//! (see `embedded`), the scripts write texts as texts alone, and the page forbids itself to load or send anything.

mod data;

use crate::report::model::BugReport;
use data::Detail;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");

/// In the order in which they rest on each other.
const SCRIPTS: [&str; 4] = [
    include_str!("data.js"),
    include_str!("timeline.js"),
    include_str!("panels.js"),
    include_str!("main.js"),
];

/// Of data with more bytes, details are left out.
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
    let mut page = String::new();
    let mut rest = PAGE;
    // One after the other, so that nothing is looked for within what was filled in.
    for (name, content) in parts {
        let (before, after) = rest.split_once(&format!("<!--{name}-->")).expect("it is in the page");
        page += before;
        page += &content;
        rest = after;
    }
    Some(page + rest)
}

/// As the content of an element of HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// JSON that can stand in a script: without `<`, neither `</script` nor `<!--` is in it.
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
