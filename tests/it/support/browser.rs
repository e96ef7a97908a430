//! A browser without a screen for the tests, Chromium or Firefox, driven over WebDriver. A dozen
//! commands of JSON over HTTP need no client beyond the one of the other tests.
//!
//! fantoccini or thirtyfour would replace some forty of these lines. The start of the driver, its
//! end with the tests, the waiting and each browser's own commands would stay, and each call would
//! need a runtime to block on. fantoccini 0.22 brings 7 crates and second versions of 13,
//! thirtyfour 0.38 brings 9 crates.

mod checks;
mod engine;

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) use self::engine::{BROWSER, Engine};
use super::{Suite, until};

/// The key of an element in answers (WebDriver, 12).
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A shell script behind the command of the driver: it runs until the end of the shell's input,
/// which comes with the end of this process at the latest, and then ends its whole group. Its
/// standard output closes when the driver ends, because the shell keeps no copy of the pipe.
const WATCHDOG: &str = " & exec >/dev/null; cat; kill -9 0";

/// The number of attempts to start the driver. It takes a free port of one IP version, and ends if
/// the port of the other version is taken.
const STARTS_MAX: usize = 5;

/// A browser with one window; closed when dropped.
pub(crate) struct Browser {
    engine: Engine,
    session: String,
    watchdog: Child,
    /// Temporary files of the browser: its profile, and others left behind.
    _folder: TempDir,
    /// Kept open because the driver must never write into a closed pipe.
    _said: BufReader<ChildStdout>,
}

/// Keys that are not characters (WebDriver, 17.4.2).
pub(crate) mod key {
    pub(crate) const TAB: &str = "\u{e004}";
    pub(crate) const ENTER: &str = "\u{e007}";
    pub(crate) const CONTROL: &str = "\u{e009}";
    pub(crate) const RIGHT: &str = "\u{e014}";
    pub(crate) const END: &str = "\u{e010}";
    pub(crate) const DOWN: &str = "\u{e015}";
    pub(crate) const ESCAPE: &str = "\u{e00c}";
}

/// Starts a browser; `None` unless the suite is selected.
pub(crate) fn browser() -> Option<Browser> {
    if !Suite::Browser.is_asked_for() {
        return None;
    }
    let engine = Engine::asked_for();
    if let Some(missing) = engine.missing() {
        panic!("there is no {missing}");
    }
    Some(Browser::start(engine))
}

impl Browser {
    fn start(engine: Engine) -> Self {
        let driver = (0..STARTS_MAX).find_map(|_| Self::start_driver(engine)).expect("the driver starts");
        driver.with_session()
    }

    fn start_driver(engine: Engine) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut watchdog = Command::new("sh");
        watchdog.env("TMPDIR", folder.path()).env("HOME", folder.path()).process_group(0);
        watchdog
            .args(["-c", &format!("{}{WATCHDOG}", engine.driver())])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut watchdog = watchdog.spawn().unwrap();
        let mut said = BufReader::new(watchdog.stdout.take().unwrap());
        let port = said.by_ref().lines().find_map(|line| engine.port(&line.unwrap()));
        // The watchdog ends with its input.
        let port = port.or_else(|| {
            drop(watchdog.stdin.take());
            watchdog.wait().unwrap();
            None
        })?;
        let session = format!("http://127.0.0.1:{port}");
        Some(Self { engine, session, watchdog, _folder: folder, _said: said })
    }

    fn with_session(mut self) -> Self {
        let wanted = json!({ "capabilities": { "alwaysMatch": self.engine.wanted() } });
        let session = self.send("session", &wanted)["sessionId"].as_str().unwrap().to_owned();
        self.session = format!("{}/session/{session}", self.session);
        self.resize(1280, 900);
        self
    }

    fn send(&self, command: &str, body: &Value) -> Value {
        self.try_send(command, body).unwrap_or_else(|error| panic!("{command} {body}: {error:#}"))
    }

    fn try_send(&self, command: &str, body: &Value) -> Result<Value, Value> {
        value(Self::agent().post(format!("{}/{command}", self.session)).send_json(body).unwrap())
    }

    fn get(&self, command: &str) -> Value {
        value(Self::agent().get(format!("{}/{command}", self.session)).call().unwrap()).unwrap()
    }

    fn agent() -> ureq::Agent {
        let agent = ureq::Agent::config_builder().http_status_as_error(false);
        agent.timeout_global(Some(Duration::from_secs(60))).build().into()
    }

    /// Drops a file onto an element, as from a folder.
    pub(crate) fn drop_file(&self, selector: &str, name: &str, bytes: &[u8]) {
        let script = "const [selector, name, bytes] = arguments; const dataTransfer = new DataTransfer(); \
                      dataTransfer.items.add(new File([new Uint8Array(bytes)], name)); \
                      const target = document.querySelector(selector); \
                      const told = (type) => target.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true })); \
                      const isTaken = !told('dragover'); told('drop'); return isTaken;";
        let taken = self.send("execute/sync", &json!({ "script": script, "args": [selector, name, bytes] }));
        assert_eq!(taken, true, "the element takes files");
    }

    pub(crate) fn go_back(&self) {
        self.send("back", &json!({}));
    }

    pub(crate) fn go_forward(&self) {
        self.send("forward", &json!({}));
    }

    pub(crate) fn reload(&self) {
        self.send("refresh", &json!({}));
    }

    pub(crate) fn open(&self, url: &str) {
        self.send("url", &json!({ "url": url }));
    }

    /// Returns the value of an asynchronous function with this body.
    pub(crate) fn script(&self, body: &str) -> Value {
        let script = format!("return (async () => {{ {body} }})()");
        self.send("execute/sync", &json!({ "script": script, "args": [] }))
    }

    fn element(&self, selector: &str) -> Result<String, Value> {
        let found = self.try_send("element", &json!({ "using": "css selector", "value": selector }))?;
        Ok(found[ELEMENT].as_str().unwrap().to_owned())
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub(crate) fn wait(&self, expression: &str) {
        let begun = Instant::now();
        until(|| {
            // Ahead of the limit of `until`, so the message can show the text of the page.
            let is_late = begun.elapsed() > Duration::from_secs(100);
            assert!(!is_late, "this is never so: {expression}; the page says:\n{}", self.text("body"));
            self.script(&format!("return Boolean({expression})")) == true
        });
    }

    /// Waits until an element matches and is visible.
    #[track_caller]
    pub(crate) fn wait_for(&self, selector: &str) {
        self.wait(&format!("document.querySelector({selector:?})?.checkVisibility()"));
    }

    /// Returns the visible text of an element.
    pub(crate) fn text(&self, selector: &str) -> String {
        self.script(&format!("return document.querySelector({selector:?}).innerText"))
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Returns the visible texts of all matching elements.
    pub(crate) fn texts(&self, selector: &str) -> Vec<String> {
        let texts = self
            .script(&format!("return [...document.querySelectorAll({selector:?})].map((e) => e.innerText)"));
        serde_json::from_value(texts).unwrap()
    }

    pub(crate) fn count(&self, selector: &str) -> u64 {
        self.script(&format!("return document.querySelectorAll({selector:?}).length")).as_u64().unwrap()
    }

    /// Clicks in the middle of an element, as a mouse does. An element that covers the target gets
    /// the click, which is an error.
    pub(crate) fn click(&self, selector: &str) {
        let element = self.element(selector).unwrap();
        self.send(&format!("element/{element}/click"), &json!({}));
    }

    /// Replaces the text of an element by typing.
    pub(crate) fn fill(&self, selector: &str, text: &str) {
        let element = self.element(selector).unwrap();
        self.send(&format!("element/{element}/clear"), &json!({}));
        self.send(&format!("element/{element}/value"), &json!({ "text": text }));
    }

    /// Puts a long text into an element at once, like pasting.
    pub(crate) fn paste(&self, selector: &str, text: &str) {
        let script = "const [selector, text] = arguments; const area = document.querySelector(selector); area.value = text; \
                      area.dispatchEvent(new Event('input', { bubbles: true }));";
        self.send("execute/sync", &json!({ "script": script, "args": [selector, text] }));
    }

    /// Presses keys one after another, all down before the first is up: `[CONTROL, ENTER]`.
    pub(crate) fn press(&self, keys: &[&str]) {
        let down = keys.iter().map(|key| json!({ "type": "keyDown", "value": key }));
        let up = keys.iter().rev().map(|key| json!({ "type": "keyUp", "value": key }));
        let actions: Vec<Value> = down.chain(up).collect();
        self.send("actions", &json!({ "actions": [{ "type": "key", "id": "keys", "actions": actions }] }));
    }
}

/// Returns the value of an answer, or its error.
fn value(mut answer: ureq::http::Response<ureq::Body>) -> Result<Value, Value> {
    let is_done = answer.status() == 200;
    // Screenshots are large.
    let text = answer.body_mut().with_config().limit(64 << 20).read_to_string().unwrap();
    let value = serde_json::from_str::<Value>(&text).unwrap()["value"].take();
    if is_done { Ok(value) } else { Err(value) }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver may have ended by itself.
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        drop(agent.delete(&self.session).call());
        drop(self.watchdog.stdin.take());
        self.watchdog.wait().expect("a child can be waited for");
    }
}
