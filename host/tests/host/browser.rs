//! A browser without a window, driven by the DevTools protocol over a pair of pipes: JSON, each message
//! terminated by a zero. This needs neither a network nor a library.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A browser process: see the module's documentation. It ends when this value is dropped.
pub struct Browser {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: Option<String>,
    calls: u64,
    /// Errors of the page's scripts, and requests that were refused.
    pub complaints: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// `None`, with a message, if there is no chromium.
    pub fn start() -> Option<Browser> {
        let named = std::env::var("COYOTE_BROWSER").unwrap_or_else(|_| "chromium".into());
        if Command::new(&named).arg("--version").stdout(Stdio::null()).status().is_err() {
            eprintln!(
                "SKIPPED: there is no {named}; `cargo xtask ci --install` gets it, COYOTE_BROWSER names another"
            );
            return None;
        }
        let profile = tempfile::tempdir().unwrap();
        // The browser reads commands from the third descriptor and answers on the fourth.
        let script = "exec \"$0\" --headless --no-sandbox --disable-gpu --no-first-run --remote-debugging-pipe \
                      --user-data-dir=\"$1\" 3<&0 4>&1 >/dev/null 2>&1";
        let mut process = Command::new("sh")
            .args(["-c", script, &named])
            .arg(profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, from) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        let (session, complaints) = (None, Vec::new());
        let mut browser = Browser { process, to, from, session, calls: 0, complaints, _profile: profile };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let arguments = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", arguments);
        browser.session = Some(attached["sessionId"].as_str().unwrap().into());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    pub fn call(&mut self, method: &str, arguments: Value) -> Value {
        self.calls += 1;
        let mut message = json!({ "id": self.calls, "method": method, "params": arguments });
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        self.to.write_all(&[message.to_string().as_bytes(), b"\0"].concat()).unwrap();
        loop {
            let mut bytes = Vec::new();
            self.from.read_until(0, &mut bytes).unwrap();
            assert_eq!(bytes.pop(), Some(0), "the browser has ended");
            let answer: Value = serde_json::from_slice(&bytes).unwrap();
            if answer["id"] == self.calls {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
            if let Some("Runtime.exceptionThrown" | "Log.entryAdded") = answer["method"].as_str() {
                self.complaints.push(answer);
            }
        }
    }

    /// Opens a file in a window of this many pixels, and returns the seconds until its scripts have run.
    pub fn open(&mut self, page: &Path, [width, height]: [u32; 2], dark: bool) -> f64 {
        let phone = width < 600;
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let scheme = if dark { "dark" } else { "light" };
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", features);
        // The marker of the present page must not be taken for that of the new one.
        self.evaluate("delete document.documentElement.dataset.ready");
        let started = Instant::now();
        self.call("Page.navigate", json!({ "url": format!("file://{}", page.display()) }));
        let ready = "document.documentElement?.dataset.ready && location.href != 'about:blank'";
        while self.evaluate(ready) != json!(true) {
            assert!(started.elapsed() < Duration::from_secs(60), "{:?}", self.complaints);
            std::thread::sleep(Duration::from_millis(20));
        }
        started.elapsed().as_secs_f64()
    }

    /// The value of an expression in the page.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let arguments = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let result = self.call("Runtime.evaluate", arguments);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    pub fn text(&mut self, selector: &str) -> String {
        let text = self.evaluate(&format!("document.querySelector({selector:?}).textContent"));
        text.as_str().unwrap_or_default().to_string()
    }

    /// Presses a key as a user does.
    pub fn press(&mut self, key: &str) {
        let text = if key.chars().count() == 1 { key } else { "" };
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({ "type": kind, "key": key, "text": text }));
        }
    }

    /// Clicks the middle of an element.
    pub fn click(&mut self, selector: &str) {
        let element = format!("document.querySelector({selector:?})");
        self.evaluate(&format!("{element}.scrollIntoView({{ block: 'nearest' }})"));
        let at = self.evaluate(&format!(
            "(() => {{ const box = {element}.getBoundingClientRect(); \
             return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        ));
        self.click_at([at[0].as_f64().unwrap(), at[1].as_f64().unwrap()]);
    }

    pub fn click_at(&mut self, [x, y]: [f64; 2]) {
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Writes a screenshot into the directory that `COYOTE_PAGE_SHOTS` names, if it is set.
    pub fn shoot(&mut self, name: &str) {
        let Some(directory) = std::env::var_os("COYOTE_PAGE_SHOTS") else { return };
        std::thread::sleep(Duration::from_millis(200));
        let shot = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        // To be decoded by the person who wants to see it.
        let path = Path::new(&directory).join(format!("{name}.png.base64"));
        std::fs::write(path, shot["data"].as_str().unwrap()).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
