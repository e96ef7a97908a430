//! A headless Chromium for the tests, driven over WebDriver. A dozen commands of JSON over HTTP
//! need no client beyond the one of the other tests. Chromium's log and its emulation of media are
//! commands of its own protocol.
//!
//! fantoccini or thirtyfour would replace some forty of these lines. The start of the driver, its
//! end with the tests, the waiting and Chromium's own commands would stay, and each call would need
//! a runtime to block on. fantoccini 0.22 brings 7 crates and second versions of 13, thirtyfour
//! 0.38 brings 9 crates.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Suite, until};

/// The key of an element in answers (WebDriver, 12).
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Flags of Chromium. Root, the user in CI, has no sandbox. Only the worker is reachable.
const ARGS: [&str; 9] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--lang=en",
    // As on a telephone, where scroll bars take no room.
    "--hide-scrollbars",
];

/// A shell script: runs the driver until the end of the shell's input, which comes with the end of
/// this process at the latest. The driver ends its browser. Its standard output closes when the
/// driver ends, because the shell keeps no copy of the pipe.
const WATCHDOG: &str = "chromedriver --port=0 & exec >/dev/null; cat; kill -9 $!";

/// The number of attempts to start the driver. It takes a free port of one IP version, and ends if
/// the port of the other version is taken.
const STARTS_MAX: usize = 5;

/// A script: finds texts with a contrast below 4.5 to 1 against their background (WCAG 2.2, 1.4.3).
const TOO_PALE: &str = "
    const channels = (color) => color.match(/[\\d.]+/g).map(Number);
    const luminance = (color) => {
        const [r, g, b] = channels(color).map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const color = getComputedStyle(at).backgroundColor;
            if (channels(color)[3] !== 0) return color;
        }
        return 'rgb(255, 255, 255)';
    };
    const texts = [...document.querySelectorAll('body *')].filter((element) => element.checkVisibility()
        && [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()));
    const pale = texts.flatMap((element) => {
        const pair = [luminance(getComputedStyle(element).color), luminance(behind(element))].sort((a, b) => b - a);
        const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
        return ratio < 4.5 ? [`${element.tagName}.${element.className} ${ratio.toFixed(2)}: ${element.textContent.slice(0, 40)}`] : [];
    });
    return [texts.length, pale];";

/// A script: finds what has no name for a screen reader, ids that come twice, headings out of
/// order, and texts that scroll and cannot have the focus.
const NAMELESS: &str = "
    const seen = (selector) => [...document.querySelectorAll(selector)].filter((element) => element.checkVisibility());
    const said = (element) => `${element.tagName}#${element.id}.${element.className}`;
    const isNamed = (element) => element.ariaLabel || element.labels?.length > 0 || element.textContent.trim();
    const nameless = seen('input, textarea, select, button, a, [role=region], [role=tablist]').filter((element) => !isNamed(element)
        || (element.matches('input, textarea, select') && !element.ariaLabel && !element.labels.length));
    const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
    const twice = ids.filter((id, n) => ids.indexOf(id) !== n);
    const levels = seen('h1, h2, h3, h4').map((element) => Number(element.tagName[1]));
    const jumps = levels.filter((level, n) => level > (levels[n - 1] ?? 0) + 1).map((level) => `h${level} comes too early`);
    const fixed = seen('div').filter((element) => getComputedStyle(element).overflowY === 'auto' && element.tabIndex < 0);
    return [...nameless.map(said), ...twice, ...jumps, ...fixed.map(said)];";

/// A browser with one window; closed when dropped.
pub(crate) struct Browser {
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
    static MISSING: OnceLock<Option<&str>> = OnceLock::new();
    if !Suite::Browser.is_asked_for() {
        return None;
    }
    let missing = MISSING.get_or_init(|| {
        let version = |name: &str| {
            Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status()
        };
        ["chromium", "chromedriver"].into_iter().find(|name| version(name).is_err())
    });
    if let Some(missing) = missing {
        panic!("there is no {missing}; apt-get install chromium chromium-driver");
    }
    Some(Browser::start())
}

impl Browser {
    fn start() -> Self {
        let driver = (0..STARTS_MAX).find_map(|_| Self::start_driver()).expect("chromedriver starts");
        driver.with_session()
    }

    fn start_driver() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut watchdog = Command::new("sh");
        watchdog.env("TMPDIR", folder.path());
        watchdog.args(["-c", WATCHDOG]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut watchdog = watchdog.spawn().unwrap();
        let mut said = BufReader::new(watchdog.stdout.take().unwrap());
        let port = said.by_ref().lines().find_map(|line| {
            let line = line.unwrap();
            Some(line.split_once("successfully on port ")?.1.trim().trim_end_matches('.').to_owned())
        });
        // The watchdog ends with its input.
        let port = port.or_else(|| {
            drop(watchdog.stdin.take());
            watchdog.wait().unwrap();
            None
        })?;
        let session = format!("http://127.0.0.1:{port}");
        Some(Self { session, watchdog, _folder: folder, _said: said })
    }

    fn with_session(mut self) -> Self {
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": { "args": ARGS },
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let session = self.send("session", &wanted)["sessionId"].as_str().unwrap().to_owned();
        self.session = format!("{}/session/{session}", self.session);
        self.resize(1280, 900);
        self
    }

    fn send(&self, command: &str, body: &Value) -> Value {
        self.try_send(command, body).unwrap_or_else(|error| panic!("{command} {body}: {error:#}"))
    }

    fn try_send(&self, command: &str, body: &Value) -> Result<Value, Value> {
        let agent = ureq::Agent::config_builder().http_status_as_error(false);
        let agent: ureq::Agent = agent.timeout_global(Some(Duration::from_secs(60))).build().into();
        let mut answer = agent.post(format!("{}/{command}", self.session)).send_json(body).unwrap();
        let is_done = answer.status() == 200;
        // Screenshots are large.
        let text = answer.body_mut().with_config().limit(64 << 20).read_to_string().unwrap();
        let value = serde_json::from_str::<Value>(&text).unwrap()["value"].take();
        if is_done { Ok(value) } else { Err(value) }
    }

    /// Sends a command of Chromium's own protocol.
    fn chromium(&self, command: &str, params: &Value) -> Value {
        self.send("goog/cdp/execute", &json!({ "cmd": command, "params": params }))
    }

    /// Sets the size of the visible page, in CSS pixels.
    pub(crate) fn resize(&self, width: u32, height: u32) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.chromium("Emulation.setDeviceMetricsOverride", &metrics);
    }

    /// Sets the preferred color scheme: `dark` or `light`.
    pub(crate) fn prefer(&self, scheme: &str) {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.chromium("Emulation.setEmulatedMedia", &features);
    }

    /// Sets the language that pages are told; pages opened later know it.
    pub(crate) fn speak(&self, language: &str) {
        let agent = self.script("return navigator.userAgent");
        let params = json!({ "userAgent": agent, "acceptLanguage": language });
        self.chromium("Emulation.setUserAgentOverride", &params);
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

    /// Returns the value of a function with this body.
    pub(crate) fn script(&self, body: &str) -> Value {
        self.send("execute/sync", &json!({ "script": body, "args": [] }))
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
            let is_late = begun.elapsed() > Duration::from_secs(25);
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

    /// Returns the console messages since the last call, without those for answers of these
    /// statuses. Chromium logs each failed request, even one that the page handles.
    pub(crate) fn console(&self, statuses: &[u16]) -> Vec<String> {
        let entries = self.send("se/log", &json!({ "type": "browser" }));
        let said =
            entries.as_array().unwrap().iter().map(|entry| entry["message"].as_str().unwrap().to_owned());
        let is_expected =
            |line: &String| statuses.iter().any(|s| line.contains(&format!("with a status of {s} (")));
        said.filter(|line| !is_expected(line)).collect()
    }

    /// Checks that every visible text has enough contrast.
    #[track_caller]
    pub(crate) fn is_readable(&self, place: &str) {
        self.wait("!document.querySelector('[aria-busy]') && document.getAnimations().length === 0");
        let measured = self.script(TOO_PALE);
        assert!(measured[0].as_u64().unwrap() > 10, "{place}: {measured}");
        assert_eq!(measured[1], json!([]), "{place}");
    }

    /// Checks that all on the page has a name and its place for screen readers and keyboards.
    #[track_caller]
    pub(crate) fn is_named(&self, place: &str) {
        assert_eq!(self.script(NAMELESS), json!([]), "{place}");
    }

    /// Checks that the page is not wider than the window.
    #[track_caller]
    pub(crate) fn fits(&self, place: &str) {
        let wide = "return document.documentElement.scrollWidth > document.documentElement.clientWidth";
        assert_eq!(self.script(wide), false, "{place}");
    }

    /// Checks that a page that a program wrote is a few screens of a telephone, that all is there
    /// when it is unfolded, also without a script, and that no table is cut.
    #[track_caller]
    pub(crate) fn is_short_on_a_telephone(&self, path: &Path) {
        const SCREENS_MAX: f64 = 4.0;
        let written = fs::read_to_string(path).unwrap();
        let (begin, end) = (written.find("<script").unwrap(), written.find("</script>").unwrap());
        let without = path.with_extension("without.html");
        fs::write(&without, [&written[..begin], &written[end..]].concat()).unwrap();
        for (path, height) in [(path, 812), (&*without, 812)] {
            self.resize(375, height);
            self.open(&format!("file://{}", path.display()));
            let place = path.display().to_string();
            let screens = self.script("return document.documentElement.scrollHeight / innerHeight");
            assert!(screens.as_f64().unwrap() <= SCREENS_MAX, "{place}: {screens} screens");
            self.is_readable(&place);
            let folds = self.count("details:not([open]) > summary");
            assert!(folds > 0, "{place}: nothing is folded");
            let open = "document.querySelectorAll('details').forEach((details) => { details.open = true; })";
            self.script(open);
            for width in [375, 768, 1280] {
                self.resize(width, height);
                let cut = "return [...document.querySelectorAll('.wide, table')].filter((table) => table.scrollWidth > table.clientWidth + 1).map((table) => table.textContent.slice(0, 60))";
                assert_eq!(self.script(cut), json!([]), "{place}, {width} px");
                self.fits(&place);
                self.is_readable(&place);
            }
        }
        self.resize(1280, 900);
        self.open(&format!("file://{}", path.display()));
        assert_eq!(self.count("details[data-fold]:not([open])"), 0, "where there is room all is open");
    }

    /// Draws the whole page into `target/tmp/page`, for visual review.
    pub(crate) fn draw(&self, name: &str) {
        let size = &self.chromium("Page.getLayoutMetrics", &json!({}))["cssContentSize"];
        let clip = json!({ "x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1 });
        let params = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let drawn = self.chromium("Page.captureScreenshot", &params);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page");
        fs::create_dir_all(&folder).unwrap();
        let decoded = BASE64_STANDARD.decode(drawn["data"].as_str().unwrap()).unwrap();
        assert!(decoded.starts_with(b"\x89PNG"), "{name}");
        fs::write(folder.join(format!("{name}.png")), decoded).unwrap();
    }
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
