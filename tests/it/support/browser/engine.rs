//! The two browsers, and what each does in its own way: its start, the size of its page, what pages
//! are told of the reader, its log, and its pictures.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::Browser;

/// Names the browser of the tests: `firefox`, or Chromium without it.
pub(crate) const BROWSER: &str = "PIGEONHOLE_BROWSER";

/// Flags of Chromium. Root, the user in CI, has no sandbox. Only the worker is reachable.
const CHROMIUM: [&str; 9] = [
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Chromium,
    Firefox,
}

impl Engine {
    /// The browser of this run.
    pub(super) fn asked_for() -> Self {
        match std::env::var(BROWSER).as_deref() {
            Ok("firefox") => Self::Firefox,
            Ok(other) if other != "chromium" => panic!("{BROWSER} is firefox or chromium, got {other}"),
            _ => Self::Chromium,
        }
    }

    /// Returns the first of the programs that is not here, with how it gets here.
    pub(crate) fn missing(self) -> Option<&'static str> {
        static MISSING: [OnceLock<Option<&str>>; 2] = [const { OnceLock::new() }; 2];
        let is_here = |name: &str| {
            let mut version = Command::new(name);
            version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
        };
        let programs = match self {
            Self::Chromium => [
                ("chromium", "chromium: apt-get install chromium"),
                ("chromedriver", "chromedriver: apt-get install chromium-driver"),
            ],
            Self::Firefox => [
                ("firefox", "firefox: apt-get install firefox-esr"),
                ("geckodriver", "geckodriver: cargo install geckodriver --locked"),
            ],
        };
        let missing = || programs.into_iter().find(|(name, _)| !is_here(name)).map(|(_, how)| how);
        *MISSING[usize::from(self == Self::Firefox)].get_or_init(missing)
    }

    /// The command that starts the driver, on a port of its choice.
    pub(super) fn driver(self) -> &'static str {
        match self {
            Self::Chromium => "chromedriver --port=0",
            Self::Firefox => "geckodriver --port 0 --allow-system-access",
        }
    }

    /// Returns the port from a line that the driver says.
    pub(super) fn port(self, line: &str) -> Option<String> {
        let before = match self {
            Self::Chromium => "successfully on port ",
            Self::Firefox => "Listening on 127.0.0.1:",
        };
        Some(line.split_once(before)?.1.trim().trim_end_matches('.').to_owned())
    }

    /// The capabilities asked of a new session.
    pub(super) fn wanted(self) -> Value {
        match self {
            Self::Chromium => json!({
                "browserName": "chrome",
                "goog:chromeOptions": { "args": CHROMIUM },
                "goog:loggingPrefs": { "browser": "ALL" },
            }),
            Self::Firefox => json!({
                "browserName": "firefox",
                "moz:firefoxOptions": { "args": ["-headless"], "prefs": {
                    "intl.accept_languages": "en",
                    "ui.useOverlayScrollbars": 1,
                    "layout.css.prefers-color-scheme.content-override": 1,
                } },
            }),
        }
    }
}

impl Browser {
    /// Sends a command of Chromium's own protocol.
    fn chromium(&self, command: &str, params: &Value) -> Value {
        self.send("goog/cdp/execute", &json!({ "cmd": command, "params": params }))
    }

    /// Returns the value of a function with this body in Firefox's own window, around the page.
    fn firefox(&self, body: &str) -> Value {
        self.send("moz/context", &json!({ "context": "chrome" }));
        let value = self.send("execute/sync", &json!({ "script": body, "args": [] }));
        self.send("moz/context", &json!({ "context": "content" }));
        value
    }

    /// Sets the size of the visible page, in CSS pixels.
    pub(crate) fn resize(&self, width: u32, height: u32) {
        match self.engine {
            Engine::Chromium => {
                let metrics =
                    json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
                self.chromium("Emulation.setDeviceMetricsOverride", &metrics);
            }
            // No window is as narrow as a telephone; the page in it may be.
            Engine::Firefox => {
                let sizes = [("width", width), ("height", height)];
                let style = sizes.map(|(side, n)| format!("min-{side}: {n}px; max-{side}: {n}px;")).concat();
                self.firefox(&format!(
                    "window.resizeTo(1400, 1100); gBrowser.selectedBrowser.style.cssText = '{style}'"
                ));
                self.wait(&format!("innerWidth === {width} && innerHeight === {height}"));
            }
        }
    }

    /// Sets the preferred color scheme: `dark` or `light`.
    pub(crate) fn prefer(&self, scheme: &str) {
        match self.engine {
            Engine::Chromium => {
                let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
                self.chromium("Emulation.setEmulatedMedia", &features);
            }
            Engine::Firefox => {
                let n = i32::from(scheme == "light");
                self.firefox(&format!(
                    "Services.prefs.setIntPref('layout.css.prefers-color-scheme.content-override', {n})"
                ));
                self.wait(&format!("matchMedia('(prefers-color-scheme: {scheme})').matches"));
            }
        }
    }

    /// Sets the language that pages are told; pages opened later know it.
    pub(crate) fn speak(&self, language: &str) {
        match self.engine {
            Engine::Chromium => {
                let agent = self.script("return navigator.userAgent");
                let params = json!({ "userAgent": agent, "acceptLanguage": language });
                self.chromium("Emulation.setUserAgentOverride", &params);
            }
            Engine::Firefox => {
                self.firefox(&format!("Services.prefs.setStringPref('intl.accept_languages', '{language}')"));
            }
        }
    }

    /// Returns what was wrong in the page since the last call, without answers of these statuses.
    /// Chromium logs each failed request, even one that the page handles, and Firefox none.
    pub(crate) fn console(&self, statuses: &[u16]) -> Vec<String> {
        let said = match self.engine {
            Engine::Chromium => {
                let entries = self.send("se/log", &json!({ "type": "browser" }));
                entries.as_array().unwrap().iter().map(|entry| entry["message"].clone()).collect()
            }
            Engine::Firefox => self.firefox(
                "const said = Services.console.getMessageArray().filter((one) => one instanceof Ci.nsIScriptError \
                   && !(one.flags & Ci.nsIScriptError.warningFlag) && /^(http|file):/.test(one.sourceName)); \
                 Services.console.reset(); return said.map((one) => one.errorMessage)",
            ),
        };
        let said: Vec<String> = serde_json::from_value(said).unwrap();
        let is_expected =
            |line: &String| statuses.iter().any(|s| line.contains(&format!("with a status of {s} (")));
        said.into_iter().filter(|line| !is_expected(line)).collect()
    }

    /// Returns a picture of the whole page, as PNG.
    pub(crate) fn picture(&self) -> Vec<u8> {
        let drawn = match self.engine {
            Engine::Chromium => {
                let size = &self.chromium("Page.getLayoutMetrics", &json!({}))["cssContentSize"];
                let clip =
                    json!({ "x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1 });
                let params = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
                self.chromium("Page.captureScreenshot", &params)["data"].take()
            }
            Engine::Firefox => self.get("moz/screenshot/full"),
        };
        let picture = BASE64_STANDARD.decode(drawn.as_str().unwrap()).unwrap();
        assert!(picture.starts_with(b"\x89PNG"));
        picture
    }

    /// Returns a picture of what is in the window, as PNG.
    pub(crate) fn screenshot(&self) -> Vec<u8> {
        BASE64_STANDARD.decode(self.get("screenshot").as_str().unwrap()).unwrap()
    }

    /// Draws the whole page into `target/tmp/page`, for visual review.
    pub(crate) fn draw(&self, name: &str) {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(match self.engine {
            Engine::Chromium => "page",
            Engine::Firefox => "page-firefox",
        });
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{name}.png")), self.picture()).unwrap();
    }
}
