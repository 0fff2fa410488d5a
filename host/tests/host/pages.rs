//! Pages of bugs: opened in a browser, stepped through, filtered and searched; and their contents are true.

use super::browser::Browser;
use super::{c_programs, guest, process};
use coyote_wasm::symbols::Sources;
use coyote_wasm::trace::{Decision, Trace};
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};

const WIDE: [u32; 2] = [1440, 1000];
const PHONE: [u32; 2] = [390, 844];

/// Explores a test of an example, and returns its page.
fn page_of(module: &str, test: &str, outdir: &Path) -> PathBuf {
    let module = format!("examples/wasm/{module}.wasm");
    let outdir = outdir.to_str().unwrap();
    let arguments =
        ["test", &module, "--test", test, "--seed", "1", "-o", outdir, "-j1", "--page", "--races", "off"];
    let ended = process::run(guest::root(), &arguments);
    PathBuf::from(ended.line("  page: ").trim_start_matches("  page:").trim())
}

/// The data that a page shows.
fn data_of(page: &Path) -> Value {
    let text = std::fs::read_to_string(page).unwrap();
    let start = "<script type=\"application/json\" id=\"data\">";
    let (_, rest) = text.split_once(start).unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap()
}

/// Keys, clicks, filters and search work, nothing is loaded, and no script fails.
#[test]
fn a_page_is_stepped_through_and_searched() {
    let Some(mut browser) = Browser::start() else { return };
    let outdir = tempfile::tempdir().unwrap();
    let page = page_of("bounded_buffer", "minimal", outdir.path());
    browser.open(&page, WIDE, false);
    browser.shoot("light");
    let data = data_of(&page);
    let steps = data["steps"]["worker"].as_array().unwrap().len();
    assert!(browser.text("h1").contains("nobody is left to wake them"));
    assert!(browser.text("#why").contains("wakes reader 1"));
    // It begins at the decisive step, whose line shows the source.
    let decisive = browser.text("#position");
    assert!(decisive.starts_with("step "), "{decisive}");
    assert!(browser.text("#code .current").contains("notify_one"));
    assert!(browser.text(".step[aria-selected=true]").contains("notifies"));
    let seen = "(() => { const [a, b] = ['#code .current', '#code'].map((s) => \
                document.querySelector(s).getBoundingClientRect()); return a.top >= b.top && a.bottom <= b.bottom })()";
    assert_eq!(browser.evaluate(seen), Value::Bool(true), "the line can be seen");
    for (key, back) in [("ArrowRight", "ArrowLeft"), ("j", "k"), ("ArrowDown", "ArrowUp")] {
        browser.press(key);
        assert_ne!(browser.text("#position"), decisive, "{key}");
        browser.press(back);
        assert_eq!(browser.text("#position"), decisive, "{back}");
    }
    browser.press("End");
    assert_eq!(browser.text("#position"), format!("the bug · {steps} steps"));
    assert!(browser.text("#now").contains("waits for a notification of the condvar"));
    browser.press("Home");
    let first = browser.text("#position");
    // The next switch is to another worker, and the previous switch from there leads back to the beginning of
    // this worker's steps.
    let worker = |browser: &mut Browser| browser.text(".step[aria-selected=true] .who");
    let one = worker(&mut browser);
    browser.press("n");
    assert_ne!(worker(&mut browser), one);
    browser.press("p");
    assert_eq!((browser.text("#position"), worker(&mut browser)), (first, one));
    browser.press("d");
    assert_eq!(browser.text("#position"), decisive);
    // A search finds the words of the story; Enter goes to the next match, Escape leaves.
    browser.press("/");
    "occupied".chars().for_each(|letter| browser.press(&letter.to_string()));
    let none = browser.text("#found");
    browser.evaluate("document.querySelector('#search').value = ''");
    "unlocks".chars().for_each(|letter| browser.press(&letter.to_string()));
    let found = browser.text("#found");
    assert!(none == "none" || none.contains('/'), "{none}");
    let (_, all) = found.split_once('/').unwrap_or_else(|| panic!("{found}"));
    assert!(all.parse::<u32>().unwrap() > 1, "{found}");
    let at = browser.text("#position");
    browser.press("Enter");
    assert_ne!(browser.text("#position"), at);
    assert!(browser.text(".step[aria-selected=true]").contains("unlocks"));
    browser.press("Escape");
    // A worker is hidden, and an object selected.
    let rows = "document.querySelector('.step').getAttribute('aria-setsize')";
    let all = browser.evaluate(rows);
    browser.click(".chip:nth-child(2)");
    assert_ne!(browser.evaluate(rows), all);
    browser.click(".chip:nth-child(2)");
    assert_eq!(browser.evaluate(rows), all);
    browser.click("#shared");
    assert_eq!(browser.evaluate(rows), Value::from((steps + 1).to_string()));
    browser.click("#shared");
    let things = browser.text("#thing");
    assert!(things.contains("condvar changed") && things.contains("mutex state"), "{things}");
    // Rows of the story, rows of the list, and the timeline lead to their steps.
    browser.click("#rows tr.decisive");
    assert_eq!(browser.text("#position"), decisive);
    browser.press("Home");
    browser.click("#steps .step:nth-child(3)");
    let third = browser.text("#position");
    browser.press("0");
    let left = browser.evaluate(
        "(() => { const lanes = document.querySelector('#lanes'); lanes.scrollIntoView(); \
         const box = lanes.getBoundingClientRect(); \
                                 return [box.right - 40, box.y + 90] })()",
    );
    browser.click_at([left[0].as_f64().unwrap(), left[1].as_f64().unwrap()]);
    assert_ne!(browser.text("#position"), third);
    // Light and dark, by the system's setting and by the button.
    let background = "getComputedStyle(document.body).backgroundColor";
    let light = browser.evaluate(background);
    browser.press("t");
    let dark = browser.evaluate(background);
    assert_ne!(light, dark);
    browser.click("#theme");
    assert_eq!(browser.evaluate(background), light);
    browser.open(&page, WIDE, true);
    browser.shoot("dark");
    assert_eq!(browser.evaluate(background), dark);
    // On a phone nothing is wider than the screen, and one panel is shown at a time.
    browser.open(&page, PHONE, false);
    browser.shoot("phone");
    let wide = browser.evaluate("document.documentElement.scrollWidth");
    assert!(number(&wide) <= 390, "{wide}");
    browser.click("[data-panel=source]");
    assert_eq!(browser.evaluate("getComputedStyle(document.querySelector('#source')).display"), "flex");
    assert_eq!(browser.evaluate("getComputedStyle(document.querySelector('#story')).display"), "none");
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    let loaded = browser.evaluate("performance.getEntriesByType('resource').length");
    assert_eq!(loaded, 0, "something was loaded");
}

/// Texts of the source and the guest may contain anything.
#[test]
fn nothing_in_a_source_becomes_markup() {
    let program = "#include <assert.h>\n#include <pthread.h>\n\
                  int x; // </script><img src=x onerror=\"document.title='hit'\"><!-- <script>\n\
                  static void *add(void *u) { int v = x; x = v + 1; return u; }\n\
                  int main(void) {\n  pthread_t a, b;\n  pthread_create(&a, 0, add, 0);\n  \
                  pthread_create(&b, 0, add, 0);\n  pthread_join(a, 0);\n  pthread_join(b, 0);\n  \
                  assert(x == 2 && \"</script><b>\");\n  return 0;\n}\n";
    let Some(built) = c_programs::build(program, &["-g"]) else { return };
    let directory = built.directory.path();
    let ended =
        process::run(directory, &["test", "program.wasm", "--seed", "1", "-j1", "--page", "--races", "off"]);
    let page = directory.join(ended.line("  page: ").trim_start_matches("  page:").trim());
    let text = std::fs::read_to_string(&page).unwrap();
    assert_eq!(text.matches("</script").count(), 2, "the data and the scripts end once each");
    assert!(!text.contains("<img"));
    let sources = data_of(&page)["sources"].clone();
    assert!(sources.to_string().contains("onerror"), "the source is shown: {sources}");
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&page, WIDE, false);
    assert!(browser.text("h1").contains("</script><b>"));
    assert!(browser.text("#code").contains("</script><img src=x"));
    assert_ne!(browser.evaluate("document.title"), "hit");
    assert_eq!(browser.evaluate("document.images.length"), 0);
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

/// A source that was changed after the module was built is shown with a warning; if the file is missing,
/// nothing is shown.
#[test]
fn sources_that_may_not_belong_to_the_module_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let (module, source) = (directory.path().join("m.wasm"), directory.path().join("m.c"));
    std::fs::write(&module, "a module").unwrap();
    std::fs::write(&source, "one\ntwo\n").unwrap();
    let built = std::fs::metadata(&module).unwrap().modified().unwrap();
    let second = std::time::Duration::from_secs(1);
    let set = |at| File::options().write(true).open(&source).unwrap().set_modified(at).unwrap();
    set(built - second);
    let changed = || Sources::beside(&module).file("m.c").map(|source| source.changed);
    assert_eq!(changed(), Some(false));
    std::fs::write(&source, "other\n").unwrap();
    set(built + second);
    assert_eq!(changed(), Some(false), "files that are copied together");
    let line = |number| Sources::beside(&module).line("m.c", number).map(str::to_owned);
    assert_eq!((line(1), line(2)), (Some("other".into()), None));
    set(built + 3 * second);
    assert_eq!(changed(), Some(true));
    assert_eq!(line(1), None, "it may be another line");
    std::fs::remove_file(&source).unwrap();
    assert_eq!(changed(), None);
}

/// Steps, arrows and spans of pages are those of the trace: all steps, in its order; an arrow goes to a later
/// step of another worker, and only after an operation of its kind; a worker that waits makes no step; a lock
/// has one holder.
#[test]
fn pages_say_what_the_trace_says() {
    let outdir = tempfile::tempdir().unwrap();
    let tests = [
        ("bounded_buffer", "minimal"),
        ("racy_counter", "racy"),
        ("dining_philosophers", "left_first"),
        ("std_threads", "main"),
        ("lost_wakeup", "lost"),
        ("memory_errors", "use_after_free"),
        ("zig_threads", "lost_wakeup"),
        ("account", "overdraft"),
    ];
    let mut kinds = std::collections::BTreeSet::new();
    for (module, test) in tests {
        let page = page_of(module, test, outdir.path());
        let data = data_of(&page);
        let trace = Trace::read(page.with_extension("trace")).unwrap();
        let texts = |index: &Value| data["strings"][number(index) as usize].as_str().unwrap().to_string();
        let mut expected = Vec::new();
        for decision in &trace.decisions {
            match decision {
                Decision::Step { worker, kind, .. } => {
                    expected.push((worker.to_string(), kind.name().to_string()))
                }
                Decision::Timeout { worker } => expected.push((worker.to_string(), "timeout".into())),
                Decision::Value { .. } => {}
            }
        }
        let list = |name: &str| data["steps"][name].as_array().unwrap().clone();
        let (workers, operations) = (list("worker"), list("operation"));
        let shown: Vec<(String, String)> = workers
            .iter()
            .zip(&operations)
            .map(|(worker, operation)| {
                let title = data["workers"][number(worker) as usize]["title"].as_str().unwrap();
                let path = title.split(' ').nth(1).unwrap();
                (path.to_string(), texts(operation))
            })
            .collect();
        // An operation that a detector forbids is not executed.
        if shown.len() < expected.len() {
            assert!(data["kind"] == "use-after-free", "{module} {test}");
            expected.pop();
        }
        assert_eq!(shown, expected, "{module} {test}");
        let operation = |index: &Value| texts(&operations[number(index) as usize]);
        for link in data["links"].as_array().unwrap() {
            let (from, to, kind) = (&link[0], &link[1], texts(&link[2]));
            assert!(number(from) < number(to), "{module} {test}: {link}");
            assert_ne!(
                workers[number(from) as usize],
                workers[number(to) as usize],
                "{module} {test}: {link}"
            );
            let (before, after) = (operation(from), operation(to));
            match kind.as_str() {
                "starts" => {
                    assert_eq!((before.as_str(), after.as_str()), ("spawn", "start"), "{module} {link}")
                }
                "joins" => assert_eq!(after, "join", "{module} {link}"),
                "wakes" => assert!(
                    ["signal", "broadcast", "futex-notify"].contains(&before.as_str()),
                    "{module} {link}: {before}"
                ),
                // A wait releases its mutex, and its second half acquires it again.
                "releases" => assert!(
                    ["unlock", "wait", "rw-unlock", "semaphore-post", "barrier-wait"]
                        .contains(&before.as_str()),
                    "{module} {link}: {before} {after}"
                ),
                "publishes" => assert!(
                    ["store", "atomic-store", "rmw", "compare-exchange"].contains(&before.as_str())
                        && ["load", "atomic-load", "rmw", "compare-exchange", "futex-wait"]
                            .contains(&after.as_str()),
                    "{module} {link}: {before} {after}"
                ),
                other => panic!("{module} {test}: {other}"),
            }
            kinds.insert(kind);
        }
        let steps = workers.len() as i64;
        let mut held: Vec<(i64, i64, i64)> = Vec::new();
        for span in data["spans"].as_array().unwrap() {
            let (worker, from) = (number(&span[0]), number(&span[2]));
            let to = if number(&span[3]) < 0 { steps } else { number(&span[3]) };
            assert!(from < to || to == from, "{module} {test}: {span}");
            match texts(&span[1]).as_str() {
                "waits" => {
                    let own = (from + 1..to).filter(|at| number(&workers[*at as usize]) == worker);
                    assert_eq!(own.count(), 0, "{module} {test}: it steps while it waits: {span}");
                }
                _ if texts(&span[5]).ends_with("to read") => {}
                _ => {
                    let thing = number(&span[4]);
                    let twice =
                        held.iter().find(|(other, begin, end)| *other == thing && *begin < to && from < *end);
                    assert_eq!(twice, None, "{module} {test}: two hold it: {span}");
                    held.push((thing, from, to));
                }
            }
        }
        for (step, rate) in data["curve"].as_array().unwrap().iter().map(|point| (&point[0], point)) {
            assert!(number(step) <= steps && number(&rate[1]) <= number(&rate[2]), "{rate}");
        }
    }
    let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
    assert_eq!(kinds, ["joins", "publishes", "releases", "starts", "wakes"]);
}

/// The values that a step is shown to read and write are those in memory.
#[test]
fn values_are_those_of_the_execution() {
    let outdir = tempfile::tempdir().unwrap();
    let data = data_of(&page_of("racy_counter", "racy", outdir.path()));
    let texts = |index: &Value| data["strings"][number(index) as usize].as_str().unwrap().to_string();
    let mut value = "0".to_string();
    let mut seen = 0;
    let accesses = data["steps"]["accesses"].as_object().unwrap();
    let mut steps: Vec<i64> = accesses.keys().map(|key| key.parse().unwrap()).collect();
    steps.sort();
    for step in steps {
        for access in accesses[&step.to_string()].as_array().unwrap().iter().map(texts) {
            if let Some(read) = access.strip_prefix("x is ") {
                assert_eq!(read, value, "in step {step}");
                seen += 1;
            } else if let Some(written) = access.strip_prefix("x = ") {
                value = written.into();
                seen += 1;
            }
        }
    }
    assert!(seen >= 5, "{seen}");
}

/// A page with 100,000 steps has at most 5 MB, and opens within 2 seconds.
#[test]
fn long_executions_have_pages() {
    let directory = tempfile::tempdir().unwrap();
    let wat = r#"(module
      (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
      (import "coyote" "join" (func $join (param i32)))
      (import "coyote" "fail" (func $fail (param i32 i32)))
      (memory (export "memory") 1)
      (table 1 funcref)
      (elem (i32.const 0) $add)
      (func $add (param i32) (local i32)
        (loop $again
          (i32.store (i32.const 0x800) (i32.add (i32.load (i32.const 0x800)) (i32.const 1)))
          (i32.store offset=0x900 (i32.and (local.get 1) (i32.const 0xfff)) (local.get 1))
          (local.set 1 (i32.add (local.get 1) (i32.const 1)))
          (br_if $again (i32.lt_u (local.get 1) (i32.const 16000)))))
      (func (export "coyote.test.long") (local i32)
        (local.set 0 (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
        (call $add (i32.const 0))
        (call $join (local.get 0))
        (if (i32.ne (i32.load (i32.const 0x800)) (i32.const 32000)) (then (call $fail (i32.const 0) (i32.const 4))))))"#;
    std::fs::write(directory.path().join("long.wat"), wat).unwrap();
    let arguments =
        ["test", "long.wat", "--seed", "1", "-s", "random", "--no-shrink", "--no-experiments", "--page"];
    let bounds = ["--max-steps", "200000", "200000", "-i", "1", "-j1"];
    let ended = process::run(directory.path(), &[&arguments[..], &bounds].concat());
    let page = directory.path().join(ended.line("  page: ").trim_start_matches("  page:").trim());
    let bytes = std::fs::metadata(&page).unwrap().len();
    let steps = data_of(&page)["steps"]["worker"].as_array().unwrap().len();
    println!("{steps} steps, {bytes} bytes");
    assert!(steps > 95_000 && bytes <= 5 << 20, "{steps} steps, {bytes} bytes");
    let Some(mut browser) = Browser::start() else { return };
    let seconds = browser.open(&page, WIDE, false);
    let own = browser.evaluate("document.documentElement.dataset.ready");
    println!("opened in {seconds:.2} s, {own} ms of them the page's own");
    // The machine may be busy with other tests.
    assert!(own.as_str().unwrap().parse::<u32>().unwrap() < 2_000, "{own}");
    browser.press("Home");
    browser.press("j");
    browser.press("0");
    browser.shoot("long");
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}
