//! The Debug Adapter Protocol, tested with a client in these tests, and with the client that Visual Studio
//! Code uses to test adapters.

use super::c_programs;
use super::examples::module_path;
use super::process::{self, cache};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A server and its client.
struct Client {
    process: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    seq: u64,
    /// Events that were received and not yet awaited.
    events: VecDeque<Value>,
}

impl Client {
    fn start(directory: &Path) -> Client {
        let mut command = process::command(&cache(), directory, &["dap"]);
        let mut process = command.stdin(Stdio::piped()).spawn().unwrap();
        let (to, from) = (process.stdin.take(), BufReader::new(process.stdout.take().unwrap()));
        Client { process, to, from, seq: 0, events: VecDeque::new() }
    }

    fn read(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(self.from.read_line(&mut line).unwrap() > 0, "the server is gone");
            match line.trim_end() {
                "" => break,
                line => {
                    if let Some(value) = line.strip_prefix("Content-Length: ") {
                        length = value.parse().unwrap();
                    }
                }
            }
        }
        let mut body = vec![0; length];
        self.from.read_exact(&mut body).unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    /// The complete answer to a request.
    fn answer(&mut self, command: &str, arguments: Value) -> Value {
        self.seq += 1;
        let text = json!({ "seq": self.seq, "type": "request", "command": command, "arguments": arguments })
            .to_string();
        let to = self.to.as_mut().unwrap();
        write!(to, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        loop {
            let message = self.read();
            match message["type"].as_str() {
                Some("event") => self.events.push_back(message),
                _ => {
                    assert_eq!(
                        (message["request_seq"].as_u64(), message["command"].as_str()),
                        (Some(self.seq), Some(command))
                    );
                    return message;
                }
            }
        }
    }

    fn ask(&mut self, command: &str, arguments: Value) -> Value {
        let answer = self.answer(command, arguments);
        assert_eq!(answer["success"], true, "{command}: {answer}");
        answer["body"].clone()
    }

    fn event(&mut self, name: &str) -> Value {
        loop {
            let event = match self.events.pop_front() {
                Some(event) => event,
                None => self.read(),
            };
            if event["event"] == name {
                return event["body"].clone();
            }
        }
    }

    /// Executes a motion, and returns where it stops.
    fn go(&mut self, command: &str, thread: u64) -> Value {
        self.ask(command, json!({ "threadId": thread }));
        let stopped = self.event("stopped");
        assert_eq!(stopped["allThreadsStopped"], true);
        stopped
    }

    fn launch(&mut self, arguments: Value) -> Value {
        let capabilities = self.ask("initialize", json!({ "adapterID": "coyote-wasm" }));
        for name in ["supportsStepBack", "supportsConfigurationDoneRequest", "supportsDataBreakpoints"] {
            assert_eq!(capabilities[name], true, "{name}");
        }
        self.ask("launch", arguments);
        let said = self.event("output");
        self.event("initialized");
        said
    }

    /// The variables of a worker's scope of this name, in its outermost frame: names and values.
    fn variables(&mut self, thread: u64, scope: &str) -> Vec<(String, String)> {
        let frames = self.ask("stackTrace", json!({ "threadId": thread }))["stackFrames"].clone();
        let frame = frames.as_array().unwrap().last().expect("the worker is in a function")["id"].clone();
        let scopes = self.ask("scopes", json!({ "frameId": frame }))["scopes"].clone();
        let scope =
            scopes.as_array().unwrap().iter().find(|s| s["name"] == scope).unwrap()["variablesReference"]
                .clone();
        let variables = self.ask("variables", json!({ "variablesReference": scope }))["variables"].clone();
        let text = |value: &Value| value.as_str().unwrap().to_string();
        variables.as_array().unwrap().iter().map(|v| (text(&v["name"]), text(&v["value"]))).collect()
    }

    /// Disconnects, and returns the exit code of the server.
    fn end(mut self) -> Option<i32> {
        self.ask("disconnect", json!({}));
        drop(self.to.take());
        let mut rest = String::new();
        self.from.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "", "nothing follows");
        self.process.wait().unwrap().code()
    }
}

/// A directory with a bug's trace, and the launch arguments of its replay.
fn found(module: &str, test: &str) -> (tempfile::TempDir, PathBuf, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = module_path(module);
    let arguments = [
        "test",
        path.to_str().unwrap(),
        "--test",
        test,
        "--seed",
        "1",
        "-j",
        "1",
        "--no-experiments",
        "--races",
        "off",
    ];
    let ended = process::run(directory.path(), &arguments);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let files = std::fs::read_dir(directory.path().join("coyote-output")).unwrap();
    let mut traces =
        files.map(|entry| entry.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "trace"));
    let trace = traces.next().unwrap();
    (directory, path, trace)
}

/// Steps back over a context switch, and reads another worker and memory there.
#[test]
fn a_client_steps_back_over_a_switch_and_reads_another_worker() {
    let (directory, module, trace) = found("racy_counter", "racy");
    let mut client = Client::start(directory.path());
    let said = client.launch(json!({ "module": module, "trace": trace }));
    assert!(said["output"].as_str().unwrap().ends_with("Reproduced: assertion\n"), "{said}");
    let set = client.ask(
        "setBreakpoints",
        json!({
            "source": { "path": super::guest::root().join("examples/c/racy_counter.c") },
            "breakpoints": [{ "line": 14 }, { "line": 15 }],
        }),
    );
    assert_eq!(set["breakpoints"][0]["verified"], true, "{set}");
    assert_eq!(set["breakpoints"][1]["verified"], false, "{set}");
    client.ask("configurationDone", json!({}));
    assert_eq!(client.event("stopped")["reason"], "entry");
    // Continues to the last access of the counter by a worker that adds, then to the end.
    let mut at_line = 0;
    let last = loop {
        let stopped = client.go("continue", 1);
        if stopped["reason"] != "breakpoint" {
            break stopped;
        }
        at_line += 1;
    };
    assert_eq!(at_line, 4, "two workers load and store");
    assert_eq!(last["reason"], "exception");
    assert!(last["text"].as_str().unwrap().starts_with("assertion: racy_counter.c:39"), "{last}");
    let why = client.ask("exceptionInfo", json!({ "threadId": 1 }));
    assert_eq!(why["exceptionId"], "assertion");
    let x = |client: &mut Client| client.ask("evaluate", json!({ "expression": "x" }))["result"].clone();
    assert_eq!(x(&mut client), "1", "an update is lost");
    // Steps back until another worker's step is next: a context switch was crossed.
    let first = last["threadId"].as_u64().unwrap();
    let mut here = first;
    while here == first {
        let stopped = client.go("stepBack", here);
        assert_eq!(stopped["reason"], "step", "{stopped}");
        here = stopped["threadId"].as_u64().unwrap();
    }
    // The worker that continues after the switch is another one: its operation and memory are read there.
    let threads = client.ask("threads", json!({}))["threads"].clone();
    let threads: Vec<u64> = threads.as_array().unwrap().iter().map(|t| t["id"].as_u64().unwrap()).collect();
    assert!(threads.contains(&first) && threads.contains(&here), "{threads:?}");
    let own = client.variables(first, "Worker");
    assert!(own.contains(&("worker".into(), "worker 0".into())), "{own:?}");
    assert!(own.contains(&("state".into(), "blocked".into())), "{own:?}");
    assert!(
        own.contains(&("doing".into(), format!("waits for the end of worker 0.{}", here - 2))),
        "{own:?}"
    );
    let globals = client.variables(first, "Globals");
    assert!(globals.contains(&("x".into(), "1".into())), "{globals:?}");
    // Back to the beginning, where nothing was written yet.
    while client.go("reverseContinue", here)["reason"] == "breakpoint" {}
    assert_eq!(x(&mut client), "0");
    assert_eq!(client.end(), Some(0));
}

/// A data breakpoint, set from the list of variables, finds the writes backwards.
/// The local variables of each frame, their parts, and expressions with them.
#[test]
fn local_variables_are_those_of_the_frame() {
    let program = r#"
#include <assert.h>
#include <pthread.h>
struct account { int id; volatile int balance; };
static void *deposit(void *start) {
    struct account *account = start;
    int seen = account->balance;
    account->balance = seen + 10;
    return NULL;
}
int main(void) {
    struct account savings = { 7, 100 };
    pthread_t one, two;
    pthread_create(&one, NULL, deposit, &savings);
    pthread_create(&two, NULL, deposit, &savings);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    assert(savings.balance == 120);
}"#;
    let Some(built) = c_programs::build(program, &["-g", "-O0"]) else { return };
    let arguments = ["test", "program.wasm", "--seed", "0", "--no-experiments", "--races", "off"];
    let ended = process::run(built.directory.path(), &arguments);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let files = std::fs::read_dir(built.directory.path().join("coyote-output")).unwrap();
    let mut traces =
        files.map(|file| file.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "trace"));
    let mut client = Client::start(built.directory.path());
    client.launch(json!({ "module": built.module, "trace": traces.next().unwrap() }));
    client.ask("configurationDone", json!({}));
    client.event("stopped");
    client.ask("setFunctionBreakpoints", json!({ "breakpoints": [{ "name": "deposit" }] }));
    let worker = client.go("continue", 1)["threadId"].as_u64().unwrap();
    for (thread, function, name, value) in
        [(worker, "deposit", "account", "100"), (1, "main", "savings", "100")]
    {
        let frames = client.ask("stackTrace", json!({ "threadId": thread }))["stackFrames"].clone();
        let frame = frames.as_array().unwrap().iter().find(|frame| frame["name"] == function);
        let id = frame.unwrap_or_else(|| panic!("{frames}"))["id"].clone();
        let scopes = client.ask("scopes", json!({ "frameId": id }))["scopes"].clone();
        assert_eq!(scopes[0]["name"], "Locals");
        let of = |client: &mut Client, number: &Value| {
            client.ask("variables", json!({ "variablesReference": number }))["variables"].clone()
        };
        let locals = of(&mut client, &scopes[0]["variablesReference"]);
        let local = locals.as_array().unwrap().iter().find(|local| local["name"] == name).unwrap();
        assert_eq!(local["evaluateName"], name);
        let parts = of(&mut client, &local["variablesReference"]);
        assert!(
            parts.to_string().contains(&format!(r#""value":"{value}""#)) || function == "deposit",
            "{parts}"
        );
        let expression = format!("{name}.balance");
        let shown = client.ask("evaluate", json!({ "expression": expression, "frameId": id }));
        assert_eq!(shown["result"], value, "{locals}");
    }
    assert_eq!(client.end(), Some(0));
}

#[test]
fn data_breakpoints_stop_at_writes() {
    let (directory, module, trace) = found("racy_counter", "racy");
    let mut client = Client::start(directory.path());
    client.launch(json!({ "module": module, "trace": trace, "stopOnEntry": false }));
    client.ask("configurationDone", json!({}));
    assert_eq!(client.event("stopped")["reason"], "exception");
    let info = client.ask("dataBreakpointInfo", json!({ "name": "x" }));
    assert_eq!((&info["dataId"], &info["accessTypes"]), (&json!("x"), &json!(["write"])));
    assert_eq!(client.ask("dataBreakpointInfo", json!({ "name": "nothing" }))["dataId"], Value::Null);
    let set = client.ask("setDataBreakpoints", json!({ "breakpoints": [{ "dataId": "x" }] }));
    assert_eq!(set["breakpoints"][0]["verified"], true);
    let mut writes = 0;
    loop {
        let stopped = client.go("reverseContinue", 1);
        if stopped["reason"] == "entry" {
            break;
        }
        assert_eq!(stopped["reason"], "data breakpoint", "{stopped}");
        let thread = stopped["threadId"].clone();
        let frames = client.ask("stackTrace", json!({ "threadId": thread, "levels": 1 }));
        let frame = &frames["stackFrames"][0];
        assert_eq!((&frame["name"], &frame["line"]), (&json!("add"), &json!(14)), "{frames}");
        let path = frame["source"]["path"].as_str().unwrap();
        assert!(Path::new(path).is_file(), "{path}");
        writes += 1;
    }
    assert_eq!(writes, 2);
    // After the breakpoint is removed, nothing stops it.
    client.ask("setDataBreakpoints", json!({ "breakpoints": [] }));
    assert_eq!(client.go("continue", 1)["reason"], "exception");
    assert_eq!(client.go("next", 1)["reason"], "exception");
    assert_eq!(client.go("pause", 1)["reason"], "pause");
    assert_eq!(client.end(), Some(0));
}

/// Invalid requests are answered, and the session continues.
#[test]
fn mistakes_of_a_client_are_answered() {
    let (directory, module, trace) = found("racy_counter", "racy");
    let mut client = Client::start(directory.path());
    let refused = |client: &mut Client, command: &str, arguments: Value| {
        let answer = client.answer(command, arguments);
        assert_eq!(answer["success"], false, "{answer}");
        answer["message"].as_str().unwrap().to_string()
    };
    assert_eq!(refused(&mut client, "threads", json!({})), "nothing was launched");
    assert_eq!(refused(&mut client, "stepBack", json!({ "threadId": 1 })), "nothing was launched");
    assert_eq!(refused(&mut client, "launch", json!({})), "launch: missing field `trace`");
    let missing = refused(&mut client, "launch", json!({ "module": module, "trace": "missing.trace" }));
    assert!(missing.contains("missing.trace"), "{missing}");
    client.launch(json!({ "module": module, "trace": trace }));
    client.ask("configurationDone", json!({}));
    assert_eq!(
        refused(&mut client, "evaluate", json!({ "expression": "nothing" })),
        "there is no variable nothing with a place in memory here"
    );
    assert_eq!(
        refused(&mut client, "variables", json!({ "variablesReference": 9 })),
        "there is nothing of the number 9 at this position"
    );
    assert_eq!(refused(&mut client, "stackTrace", json!({ "threadId": 0 })), "there is no thread 0");
    assert_eq!(
        refused(&mut client, "restartFrame", json!({ "frameId": 1 })),
        "restartFrame is not supported"
    );
    let function =
        client.ask("setFunctionBreakpoints", json!({ "breakpoints": [{ "name": "add" }, { "name": "no" }] }));
    assert_eq!(
        (&function["breakpoints"][0]["verified"], &function["breakpoints"][1]["verified"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(client.ask("stackTrace", json!({ "threadId": 77 }))["totalFrames"], 0);
    assert_eq!(client.end(), Some(0));
    // Input that is no message ends the server with one error.
    let mut client = Client::start(directory.path());
    client.to.as_mut().unwrap().write_all(b"hello\r\n\r\n").unwrap();
    drop(client.to.take());
    let ended = process::ended(client.process.wait_with_output().unwrap());
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (Some(1), "error: the debugger's client: a header without a colon\n")
    );
}

/// The client with which Visual Studio Code's own adapters are tested, from its package registry.
#[test]
fn the_client_of_visual_studio_code_understands_it() {
    let Some(packages) = packages() else { return };
    let (directory, module, trace) = found("bounded_buffer", "minimal");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/host/programs/dap_client.js");
    let output = Command::new("node")
        .arg(script)
        .args([env!("CARGO_BIN_EXE_coyote-wasm").as_ref(), module.as_os_str(), trace.as_os_str()])
        .env("NODE_PATH", packages)
        .env("COYOTE_CACHE_DIR", cache())
        .current_dir(directory.path())
        .output()
        .unwrap();
    let ended = process::ended(output);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert!(ended.stdout.ends_with("done\n"), "{ended:?}");
}

/// The directory of the client's packages. `None`, with a message, if they cannot be installed.
fn packages() -> Option<PathBuf> {
    const CLIENT: &str = "@vscode/debugadapter-testsupport@1.68.0";
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dap-client");
    let packages = prefix.join("node_modules");
    if packages.join("@vscode/debugadapter-testsupport/lib/main.js").is_file() {
        return Some(packages);
    }
    std::fs::create_dir_all(&prefix).unwrap();
    let install = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--silent", CLIENT, "--prefix"])
        .arg(&prefix)
        .output();
    if install.is_ok_and(|output| output.status.success()) {
        return Some(packages);
    }
    eprintln!("SKIPPED: node, npm or the package {CLIENT} cannot be had");
    None
}
