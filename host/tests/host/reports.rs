//! Reports: a run in every format, word for word; fields that programs rely on are documented and
//! well-formed.

use super::{golden, guest, process};
use coyote_wasm::exit::Exit;
use coyote_wasm::report::build::Builder;
use coyote_wasm::report::model::{IgnoredTest, RunHeader, RunReport};
use coyote_wasm::report::render::{self, RENDERERS, RenderOptions};
use coyote_wasm::results::{Subject, TestResult};
use coyote_wasm::statistics::{IterationRecord, StepsMax};
use coyote_wasm::symbols::Symbols;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// A test that fails, with a name and a message that formats have to escape; one that passes, one without a
/// choice, and one that does not end within the bound.
const TESTS: &str = r#"(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "fail" (func $fail (param i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0x900) "not <two> & \"more\": 100%\nsecond line")
  (table 1 funcref)
  (elem (i32.const 0) $add)
  (func $add (param i32)
    (i32.store (i32.const 0x800) (i32.add (i32.load (i32.const 0x800)) (i32.const 1))))
  (func $start (result i32) (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
  (func $two (local i32 i32)
    (local.set 0 (call $start))
    (local.set 1 (call $start))
    (call $join (local.get 0))
    (call $join (local.get 1)))
  (func (export "coyote.test.a<b> & \"c\": 100%, d")
    (call $two)
    (if (i32.ne (i32.load (i32.const 0x800)) (i32.const 2)) (then (call $fail (i32.const 0x900) (i32.const 36)))))
  (func (export "coyote.test.alone") nop)
  (func (export "coyote.test.fine") (call $two))
  (func (export "coyote.test.long") (local i32)
    (call $two)
    (loop $again
      (i32.store (i32.const 0x800) (local.get 0))
      (local.set 0 (i32.add (local.get 0) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get 0) (i32.const 1000))))))"#;

const OPTIONS: [&str; 12] =
    ["test", "tests.wat", "--seed", "0", "-i", "20", "-s", "random", "--max-steps", "100", "100", "-j1"];

fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("tests.wat"), TESTS).unwrap();
    directory
}

/// The text without times and without the version of the tool.
fn timeless(text: &str) -> String {
    let version = format!("\"{}\"", env!("CARGO_PKG_VERSION"));
    let mut timeless = String::new();
    for line in process::timeless(&text.replace(&version, "\"VERSION\"")).lines() {
        let mut line = line.to_string();
        for (before, after) in [("time=\"", "\""), ("\"elapsed_seconds\": ", ","), ("finished in ", "s")] {
            if let Some(from) = line.find(before).map(|at| at + before.len()) {
                let to = from + line[from..].find(after).unwrap();
                line.replace_range(from..to, "TIME");
            }
        }
        timeless += &(line + "\n");
    }
    timeless
}

/// The same run in all formats of the table.
#[test]
fn every_format_is_as_it_was() {
    let directory = directory();
    for entry in RENDERERS {
        let ended = process::run(directory.path(), &[&OPTIONS[..], &["--format", entry.name]].concat());
        assert_eq!(ended.code, Some(2), "{ended:?}");
        golden::check(&format!("report_{}", entry.name), &timeless(&ended.stdout));
    }
}

/// A file written next to the text on the terminal is the same document as on standard output.
#[test]
fn junit_goes_to_a_file_beside_the_text() {
    let directory = directory();
    let text = process::run(directory.path(), &OPTIONS);
    let both = process::run(directory.path(), &[&OPTIONS[..], &["--junit", "report.xml"]].concat());
    assert_eq!(both.timeless(), text.timeless());
    let alone = process::run(directory.path(), &[&OPTIONS[..], &["--format", "junit"]].concat());
    let written = std::fs::read_to_string(directory.path().join("report.xml")).unwrap();
    assert_eq!(timeless(&written), timeless(&alone.stdout));
    check_junit(&written, [4, 1, 1, 0]);
    let nowhere = process::run(directory.path(), &[&OPTIONS[..], &["--junit", "none/report.xml"]].concat());
    assert_eq!((nowhere.code, nowhere.stdout.as_str()), (Some(1), ""), "{nowhere:?}");
    assert!(nowhere.stderr.contains("cannot write none/report.xml"), "{nowhere:?}");
}

/// An error in one test, here that its trace cannot be written, leaves the results of those before it.
#[test]
fn an_error_leaves_the_results_of_other_tests() {
    let directory = directory();
    let failing = "(func (export \"coyote.test.a<b>";
    let tests = TESTS.replace(failing, &format!("(func (export \"coyote.test.a\") nop) {failing}"));
    std::fs::write(directory.path().join("tests.wat"), tests).unwrap();
    process::run(directory.path(), &OPTIONS);
    let output = directory.path().join("coyote-output");
    let files = std::fs::read_dir(&output).unwrap().map(|entry| entry.unwrap().path());
    let trace = files.into_iter().find(|path| path.extension().is_some_and(|e| e == "trace")).unwrap();
    std::fs::remove_dir_all(&output).unwrap();
    std::fs::create_dir_all(&trace).unwrap();
    let ended = process::run(directory.path(), &[&OPTIONS[..], &["--junit", "report.xml"]].concat());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.contains("Not complete, because of an error: results of 1 of 5 tests"), "{ended:?}");
    let written = std::fs::read_to_string(directory.path().join("report.xml")).unwrap();
    assert!(written.contains("<testcase"), "{written}");
}

/// Every field of JSON that occurs here is documented.
#[test]
fn fields_of_json_are_documented() {
    fn names(value: &Value, all: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, value)| {
                all.insert(name.clone());
                names(value, all);
            }),
            Value::Array(values) => values.iter().for_each(|value| names(value, all)),
            _ => {}
        }
    }
    let document = std::fs::read_to_string(guest::root().join("docs/reports.md")).unwrap();
    let directory = directory();
    let mut all = BTreeSet::new();
    for strategy in ["random", "pct:3", "dfs"] {
        let options = ["--format", "json", "--explore", "-s", strategy];
        let without = OPTIONS.iter().filter(|option| !["-s", "random"].contains(option)).copied();
        let arguments: Vec<&str> = without.chain(options).collect();
        let ended = process::run(directory.path(), &arguments);
        names(&serde_json::from_str(&ended.stdout).unwrap_or_else(|e| panic!("{e}: {ended:?}")), &mut all);
    }
    assert!(all.len() > 40, "{all:?}");
    let missing: Vec<&String> = all.iter().filter(|name| !document.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "docs/reports.md does not name {missing:?}");
}

/// An annotation is at the line of the guest's source.
#[test]
fn annotations_have_places() {
    let outdir = tempfile::tempdir().unwrap();
    let outdir = outdir.path().to_str().unwrap();
    let module = "examples/wasm/bounded_buffer.wasm";
    let arguments = ["test", module, "--seed", "0", "--format", "github", "-o", outdir];
    let ended = process::run(guest::root(), &arguments);
    let command = ended.line("::error ");
    let (place, message) = command.split_once(",title=").unwrap();
    let (file, line) = place.strip_prefix("::error file=").unwrap().split_once(",line=").unwrap();
    let source = std::fs::read_to_string(guest::root().join(file)).unwrap();
    assert!((1..=source.lines().count()).contains(&line.parse().unwrap()), "{command}");
    let (title, message) = message.split_once("::").unwrap();
    assert!(title.starts_with("deadlock in test "), "{command}");
    assert!(message.contains(&format!("%0Acoyote-wasm replay {module} ")), "{command}");
}

/// Cases that no run above has: tests that are ignored, and tests that this tool cannot execute.
#[test]
fn junit_tells_limits_and_ignored_tests() {
    let mut limit = TestResult::new(Subject::default(), StepsMax { unfair: 1, fair: 1 }, false);
    limit.statistics.add(&IterationRecord { decisions: 1, ..IterationRecord::default() });
    limit.incidents.limits.insert("it nests too deeply\u{1}".into());
    let symbols = Symbols::new(&[]);
    let builder = Builder { module: Path::new("m.wasm"), symbols: &symbols, host_directories: true };
    let run = RunReport {
        header: RunHeader {
            version: "1",
            module: "target/queue-0123456789abcdef.wasm".into(),
            seed: 0,
            strategy: "random".into(),
            tests: 2,
            filtered_out: 0,
            iterations_max: 1,
            timeout: None,
            total_timeout: None,
            explore: false,
            not_on_target: None,
        },
        tests: vec![builder.test("deep", &limit)],
        ignored: vec![IgnoredTest { name: "slow".into(), reason: "takes long".into() }],
        exit: Exit::Limit,
        not_run: None,
        broken: 0,
        elapsed: Duration::from_millis(1_500),
    };
    let mut xml = Vec::new();
    let junit = render::by_name("junit").unwrap();
    (junit.make)(&RenderOptions::default()).run_finished(&mut xml, &run).unwrap();
    let suites = check_junit(std::str::from_utf8(&xml).unwrap(), [2, 0, 1, 1]);
    let cases: Vec<&Element> = suites.children[0].children.iter().filter(|c| c.name == "testcase").collect();
    let error = cases[0].children.iter().find(|c| c.name == "error").unwrap();
    assert_eq!(error.attributes["type"], "limit");
    assert_eq!(cases[0].attributes["classname"], "queue", "without what cargo adds to a name");
    // A control character is not allowed in XML.
    assert_eq!(error.attributes["message"], "it nests too deeply");
    assert!(cases[0].children.iter().any(|c| c.text.contains("only traces reproduce it")));
    assert_eq!(cases[1].children[0].attributes["message"], "takes long");
}

/// Checks a document against the strictest rules of readers of JUnit XML (`junit-10.xsd` of Jenkins' plugin xunit):
/// elements, their places, their attributes, and the numbers of tests, failures, errors and skipped tests.
fn check_junit(xml: &str, numbers: [usize; 4]) -> Element {
    let root = parse(xml);
    assert_eq!(root.name, "testsuites");
    check_element(&root);
    let all = root.all();
    let count = |name: &str| all.iter().filter(|element| element.name == name).count();
    let found = [count("testcase"), count("failure"), count("error"), count("skipped")];
    assert_eq!(found, numbers, "{xml}");
    for element in &all {
        if let "testsuites" | "testsuite" = element.name.as_str() {
            let of = |name: &str| element.all().iter().filter(|element| element.name == name).count();
            for (attribute, name) in [("tests", "testcase"), ("failures", "failure"), ("errors", "error")] {
                assert_eq!(element.attributes[attribute], of(name).to_string(), "{attribute}: {xml}");
            }
        }
        if element.name == "testsuite" {
            let skipped = ["skipped", "disabled"].iter().filter_map(|name| element.attributes.get(*name));
            let skipped: usize = skipped.map(|number| number.parse::<usize>().unwrap()).sum();
            assert_eq!(skipped, numbers[3], "{xml}");
        }
    }
    root
}

fn check_element(element: &Element) {
    let (required, optional, children): (&[&str], &[&str], &[&str]) = match element.name.as_str() {
        "testsuites" => (&["name", "tests", "failures", "errors"], &["time"], &["testsuite"]),
        "testsuite" => (
            &["name", "tests", "failures", "errors"],
            &["time", "skipped", "disabled"],
            &["properties", "testcase"],
        ),
        "testcase" => (&["name", "classname"], &["time"], &["failure", "error", "skipped", "system-out"]),
        "properties" => (&[], &[], &["property"]),
        "property" => (&["name", "value"], &[], &[]),
        "failure" | "error" => (&["type", "message"], &[], &[]),
        "skipped" => (&[], &["message"], &[]),
        "system-out" => (&[], &[], &[]),
        name => panic!("JUnit knows no element {name}"),
    };
    let has: Vec<&str> = element.attributes.keys().map(String::as_str).collect();
    assert!(required.iter().all(|name| has.contains(name)), "{element:?}");
    assert!(has.iter().all(|name| required.contains(name) || optional.contains(name)), "{element:?}");
    if let Some(time) = element.attributes.get("time") {
        assert!(time.parse::<f64>().is_ok_and(|time| time >= 0.0), "{element:?}");
    }
    assert!(element.children.iter().all(|child| children.contains(&child.name.as_str())), "{element:?}");
    element.children.iter().for_each(check_element);
}

#[derive(Debug, Default)]
struct Element {
    name: String,
    attributes: BTreeMap<String, String>,
    children: Vec<Element>,
    text: String,
}

impl Element {
    /// The element and all that it contains.
    fn all(&self) -> Vec<&Element> {
        std::iter::once(self).chain(self.children.iter().flat_map(Element::all)).collect()
    }
}

/// Reads a document of elements, attributes and text: no comments, no CDATA.
fn parse(xml: &str) -> Element {
    let xml = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>").expect("a declaration");
    let (root, rest) = element(xml.trim_start());
    assert_eq!(rest.trim(), "");
    root
}

/// An element, and the text after it.
fn element(xml: &str) -> (Element, &str) {
    let (tag, mut rest) =
        xml.strip_prefix('<').expect("an element").split_once('>').expect("an end of the tag");
    let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
    let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag, ""));
    let mut read = Element { name: name.into(), ..Element::default() };
    while !attributes.trim().is_empty() {
        let (name, value) = attributes.trim_start().split_once("=\"").expect("an attribute");
        let (value, after) = value.split_once('"').expect("an end of the value");
        assert!(read.attributes.insert(name.into(), plain(value)).is_none(), "{name} stands twice");
        attributes = after;
    }
    if is_empty {
        return (read, rest);
    }
    loop {
        let (text, markup) = rest.split_at(rest.find('<').expect("an end of the element"));
        read.text += &plain(text);
        if let Some(after) = markup.strip_prefix("</") {
            let (end, after) = after.split_once('>').unwrap();
            assert_eq!(end, read.name);
            return (read, after);
        }
        let (child, after) = element(markup);
        read.children.push(child);
        rest = after;
    }
}

/// A text with its escapes resolved.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for (number, part) in text.split('&').enumerate() {
        let (entity, after) = if number == 0 { ("", part) } else { part.split_once(';').expect("an entity") };
        plain += match entity {
            "" => "",
            "lt" => "<",
            "gt" => ">",
            "amp" => "&",
            "quot" => "\"",
            "apos" => "'",
            "#10" | "#xA" => "\n",
            _ => panic!("no entity of XML: {entity}"),
        };
        assert!(after.chars().all(|c| c == '\n' || !c.is_control()), "{after:?}");
        plain += after;
    }
    plain
}
