//! Reports for other programs: JSON and SARIF are checked by their schemas, traces for Perfetto are read
//! back, and the summary of a step of GitHub Actions is compared.

use super::{guest, process};
use boon::{Compiler, Schemas};
use coyote_wasm::outcome::BugKind;
use coyote_wasm::verdict::Verdict;
use prost::Message;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Explores a test of an example, with more options.
fn explore(module: &str, test: &str, outdir: &Path, options: &[&str]) -> process::Ended {
    let module = format!("examples/wasm/{module}.wasm");
    let outdir = outdir.to_str().unwrap();
    let arguments = ["test", &module, "--test", test, "--seed", "1", "-o", outdir, "-j1"];
    process::run(guest::root(), &[&arguments[..], options].concat())
}

/// Bugs of several kinds, and tests without one.
const TESTS: [(&str, &str, &[&str]); 9] = [
    ("bounded_buffer", "minimal", &[]),
    ("racy_counter", "racy", &["--explore", "-i", "50"]),
    ("racy_counter", "racy", &["-s", "dpor"]),
    ("memory_errors", "use_after_free", &[]),
    ("endless_loop", "*", &["-i", "3"]),
    ("stack_overflow", "*", &["-i", "3"]),
    ("std_threads_fixed", "*", &["-i", "3"]),
    ("racy_counter", "racy", &["--detect", "races"]),
    ("bounded_buffer", "minimal_notify_all", &["-i", "50", "--faults", "spurious=1"]),
];

fn validate(schema: Value, document: &Value) {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("report.json", schema).unwrap();
    let schema = compiler.compile("report.json", &mut schemas).unwrap();
    if let Err(error) = schemas.validate(document, schema) {
        panic!("{error:#}\n{document:#}");
    }
}

fn parsed(path: impl AsRef<Path>) -> Value {
    let path = path.as_ref();
    serde_json::from_str(&std::fs::read_to_string(guest::root().join(path)).unwrap()).unwrap()
}

/// Forbids fields that a schema does not name.
fn closed(schema: &mut Value) {
    if let Value::Object(fields) = schema {
        if fields.contains_key("properties") {
            fields.entry("additionalProperties").or_insert(Value::Bool(false));
        }
        // Alternatives are distinguished by their fields.
        fields.iter_mut().for_each(|(_, value)| closed(value));
    } else if let Value::Array(values) = schema {
        values.iter_mut().for_each(closed);
    }
}

/// JSON conforms to its schema, without fields that the schema does not name.
#[test]
fn json_has_its_schema() {
    let mut schema = parsed("docs/report.schema.json");
    closed(&mut schema);
    let names = |pointer: &str| -> BTreeSet<String> {
        let names = schema.pointer(pointer).unwrap().as_array().unwrap();
        names.iter().map(|name| name.as_str().unwrap().to_string()).collect()
    };
    let kinds = names("/$defs/bug/properties/kind/enum");
    assert_eq!(kinds, BugKind::ALL.iter().map(|kind| kind.name().to_string()).collect());
    let verdicts = names("/$defs/test/properties/verdict/enum");
    assert_eq!(verdicts, Verdict::NAMES.iter().map(|name| name.to_string()).collect());
    let outdir = tempfile::tempdir().unwrap();
    for (module, test, options) in TESTS {
        let ended =
            explore(module, test, outdir.path(), &[&["--format", "json", "--page"], options].concat());
        let document = serde_json::from_str(&ended.stdout).unwrap_or_else(|e| panic!("{e}: {ended:?}"));
        validate(schema.clone(), &document);
        assert_eq!(document["schema"], 1);
    }
    let broken = std::panic::catch_unwind(|| validate(schema.clone(), &json!({ "schema": 2 })));
    assert!(broken.is_err(), "the schema refuses something");
}

/// An agent needs the place of the decisive choice to see the bug in the source.
#[test]
fn json_says_where_the_decisive_choice_is() {
    let outdir = tempfile::tempdir().unwrap();
    let ended = explore("bounded_buffer", "minimal", outdir.path(), &["--format", "json"]);
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    let bug = &document["tests"][0]["bugs"][0];
    let place = &bug["explanation"]["decisive_place"];
    let source = std::fs::read_to_string(guest::root().join(place["file"].as_str().unwrap())).unwrap();
    let line = source.lines().nth(place["line"].as_u64().unwrap() as usize - 1).unwrap();
    assert!(line.contains("notify_one"), "{place}: {line}");
    let rows = bug["story"]["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["decisive"] == true).unwrap();
    assert_eq!((&row["place"]["file"], &row["place"]["line"]), (&place["file"], &place["line"]));
}

#[test]
fn sarif_has_its_schema() {
    let schema = parsed("host/tests/host/schemas/sarif-2.1.0.json");
    let outdir = tempfile::tempdir().unwrap();
    let mut flows = 0;
    for (module, test, options) in TESTS {
        let file = outdir.path().join("report.sarif");
        let both = [&["--sarif", file.to_str().unwrap(), "--format", "json"], options].concat();
        let ended = explore(module, test, outdir.path(), &both);
        let sarif: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        validate(schema.clone(), &sarif);
        let json: Value = serde_json::from_str(&ended.stdout).unwrap();
        let run = &sarif["runs"][0];
        let results = run["results"].as_array().unwrap();
        let bugs = json["tests"].as_array().unwrap().iter().flat_map(|test| test["bugs"].as_array().unwrap());
        let bugs: Vec<&Value> = bugs.filter(|bug| bug["kind"] != "limit").collect();
        assert_eq!(results.len(), bugs.len(), "{module}: each bug is a result, and nothing else");
        for (result, bug) in results.iter().zip(bugs) {
            assert_eq!(result["ruleId"], bug["kind"]);
            assert_eq!(result["partialFingerprints"]["coyoteBug/v1"], bug["identity"]);
            let Some(threads) = result["codeFlows"][0]["threadFlows"].as_array() else { continue };
            let rows = bug["story"]["rows"].as_array().unwrap();
            for step in threads.iter().flat_map(|thread| thread["locations"].as_array().unwrap()) {
                let row = &rows[step["executionOrder"].as_u64().unwrap() as usize - 1];
                assert_eq!(step["location"]["message"]["text"], row["text"]);
                let region = &step["location"]["physicalLocation"]["region"];
                assert_eq!(region["startLine"], row["place"]["line"]);
                flows += 1;
            }
        }
        let told = run["invocations"][0]["toolExecutionNotifications"].as_array().unwrap();
        let without = json["tests"].as_array().unwrap().iter();
        let without =
            without.filter(|test| ["limit", "inconclusive"].contains(&test["verdict"].as_str().unwrap()));
        assert_eq!(told.is_empty(), without.count() == 0, "{module}: tests without a verdict are told");
    }
    assert!(flows > 20, "{flows}");
    let broken = std::panic::catch_unwind(|| validate(schema, &json!({ "version": "2.1.0" })));
    assert!(broken.is_err(), "the schema refuses something");
}

/// Commands of a step append to its summary one after the other; other formats do not touch it.
#[test]
fn the_summary_of_a_step_is_added_to() {
    let outdir = tempfile::tempdir().unwrap();
    let summary = outdir.path().join("summary.md");
    std::fs::write(&summary, "before\n").unwrap();
    let run = |format: &str| {
        let module = "examples/wasm/bounded_buffer.wasm";
        let outdir = outdir.path().to_str().unwrap();
        let arguments =
            ["test", module, "--test", "minimal", "--seed", "1", "-o", outdir, "--format", format];
        let mut command = process::command(&process::cache(), guest::root(), &arguments);
        let ended = process::ended(command.env("GITHUB_STEP_SUMMARY", &summary).output().unwrap());
        (ended, std::fs::read_to_string(&summary).unwrap())
    };
    let (_, text) = run("text");
    assert_eq!(text, "before\n");
    let (_, text) = run("github");
    assert!(text.starts_with("before\n### coyote-wasm: examples/wasm/bounded"), "{text}");
    assert!(text.contains("| minimal | bug |") && text.contains("#### deadlock in test minimal"), "{text}");
    assert!(text.contains("notifies `changed`: wakes reader 1"), "{text}");
    let (_, again) = run("github");
    assert_eq!(again.matches("#### deadlock in test minimal").count(), 2);
    assert_eq!(again.lines().filter(|line| line.starts_with("```")).count() % 2, 0, "blocks end: {again}");
}

/// Colours are used if they are requested or on a terminal, add nothing but themselves, and are in no file.
#[test]
fn colours_are_where_they_are_wanted() {
    let outdir = tempfile::tempdir().unwrap();
    explore("bounded_buffer", "minimal", outdir.path(), &[]);
    let trace = outdir.path().join("bounded_buffer-minimal-0.trace");
    let replayed = |variables: &[(&str, &str)]| {
        let arguments = ["replay", "examples/wasm/bounded_buffer.wasm", trace.to_str().unwrap()];
        let mut command = process::command(&process::cache(), guest::root(), &arguments);
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CARGO_TERM_COLOR"] {
            command.env_remove(name);
        }
        process::ended(command.envs(variables.iter().copied()).output().unwrap()).stdout
    };
    let plain = replayed(&[]);
    assert!(!plain.contains('\x1b') && plain.contains("bug in test minimal"), "a pipe is no terminal");
    for (variables, coloured) in [
        (&[("CLICOLOR_FORCE", "1")][..], true),
        (&[("CARGO_TERM_COLOR", "always")], true),
        (&[("CLICOLOR", "1")], false),
        (&[("NO_COLOR", "1"), ("CARGO_TERM_COLOR", "always")], false),
        (&[("CLICOLOR_FORCE", "1"), ("CARGO_TERM_COLOR", "never")], false),
    ] {
        let text = replayed(variables);
        assert_eq!(text.contains('\x1b'), coloured, "{variables:?}: {text}");
        let mut bare = text.clone();
        ["\x1b[1m", "\x1b[31m", "\x1b[0m"].iter().for_each(|code| bare = bare.replace(code, ""));
        assert_eq!(bare, plain, "{variables:?}");
    }
    let arguments = ["test", "examples/wasm/bounded_buffer.wasm", "--seed", "1", "--junit", "report.xml"];
    let arguments = [&arguments[..], &["-o", outdir.path().to_str().unwrap(), "--test", "minimal"]].concat();
    let junit = outdir.path().join("report.xml");
    let arguments: Vec<&str> =
        arguments.iter().map(|a| if *a == "report.xml" { junit.to_str().unwrap() } else { a }).collect();
    let mut command = process::command(&process::cache(), guest::root(), &arguments);
    let ended = process::ended(command.env_remove("NO_COLOR").env("CLICOLOR_FORCE", "1").output().unwrap());
    assert!(ended.stdout.contains('\x1b'), "{ended:?}");
    for file in [junit, trace.with_extension("log")] {
        assert!(!std::fs::read_to_string(&file).unwrap().contains('\x1b'), "{}", file.display());
    }
}

#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packets: Vec<Packet>,
}

#[derive(Clone, PartialEq, Message)]
struct Packet {
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(message, optional, tag = "11")]
    event: Option<Event>,
    #[prost(message, optional, tag = "60")]
    track: Option<Track>,
}

#[derive(Clone, PartialEq, Message)]
struct Track {
    #[prost(uint64, tag = "1")]
    uuid: u64,
    #[prost(uint64, optional, tag = "5")]
    parent: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct Event {
    #[prost(int32, tag = "9")]
    kind: i32,
    #[prost(uint64, tag = "11")]
    track: u64,
    #[prost(string, optional, tag = "23")]
    name: Option<String>,
    #[prost(fixed64, repeated, tag = "47")]
    flows: Vec<u64>,
    #[prost(fixed64, repeated, tag = "48")]
    flows_that_end: Vec<u64>,
}

/// Every slice ends before the next one of its track begins; every arrow begins at a slice and ends at a
/// later one, and is one of those that the page shows as happens-before.
#[test]
fn perfetto_reads_what_is_written() {
    let outdir = tempfile::tempdir().unwrap();
    for (module, test) in
        [("bounded_buffer", "minimal"), ("std_threads", "main"), ("dining_philosophers", "left_first")]
    {
        let ended = explore(module, test, outdir.path(), &["--perfetto", "--page"]);
        let path = ended.line("  perfetto: ").trim_start_matches("  perfetto:").trim();
        let trace = Trace::decode(&*std::fs::read(path).unwrap()).unwrap();
        let tracks: BTreeSet<u64> =
            trace.packets.iter().filter_map(|p| Some(p.track.as_ref()?.uuid)).collect();
        let parents = trace.packets.iter().filter_map(|p| p.track.as_ref()?.parent);
        assert!(parents.into_iter().all(|parent| tracks.contains(&parent)));
        let (mut open, mut begun, mut ended_flows) =
            (BTreeMap::<u64, i64>::new(), BTreeMap::new(), BTreeMap::new());
        let mut before = 0;
        for packet in trace.packets.iter().filter(|packet| packet.event.is_some()) {
            let (time, event) = (packet.timestamp.unwrap(), packet.event.as_ref().unwrap());
            assert!(time >= before && tracks.contains(&event.track));
            before = time;
            let depth = open.entry(event.track).or_default();
            match event.kind {
                1 => *depth += 1,
                2 => *depth -= 1,
                _ => {}
            }
            assert!((0..=1).contains(depth), "{module}: {event:?} at {time}");
            event.flows.iter().for_each(|flow| assert_eq!(begun.insert(*flow, time), None));
            event.flows_that_end.iter().for_each(|flow| assert_eq!(ended_flows.insert(*flow, time), None));
        }
        assert!(open.values().all(|depth| *depth == 0), "{module}: {open:?}");
        assert_eq!(begun.keys().collect::<Vec<_>>(), ended_flows.keys().collect::<Vec<_>>());
        assert!(begun.iter().all(|(flow, time)| *time < ended_flows[flow]));
        let page = std::fs::read_to_string(Path::new(path).with_extension("html")).unwrap();
        let data = page.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
        let data: Value = serde_json::from_str(data).unwrap();
        let kind = |link: &Value| data["strings"][link[2].as_u64().unwrap() as usize].clone();
        let orders = data["links"].as_array().unwrap().iter().filter(|link| kind(link) != "wakes");
        let orders: BTreeSet<(u64, u64)> =
            orders.map(|link| (link[0].as_u64().unwrap() * 1000, link[1].as_u64().unwrap() * 1000)).collect();
        let arrows: BTreeSet<(u64, u64)> =
            begun.iter().map(|(flow, time)| (*time, ended_flows[flow])).collect();
        assert_eq!(arrows, orders, "{module}");
    }
}
