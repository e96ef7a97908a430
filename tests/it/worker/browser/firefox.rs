//! The same in Firefox, where it and its driver are.

use std::io::Write;
use std::process::Command;

use crate::support::{BROWSER, Engine, Suite};

/// Each test that asks for a browser runs in Chromium, and here once more.
#[test]
fn all_of_it_in_firefox() {
    if !Suite::Browser.is_asked_for() || std::env::var_os(BROWSER).is_some() {
        return;
    }
    if let Some(missing) = Engine::Firefox.missing() {
        writeln!(std::io::stderr(), "left out: the page in Firefox; there is no {missing}").unwrap();
        return;
    }
    let mut tests = Command::new(std::env::current_exe().unwrap());
    let tests = tests.env(BROWSER, "firefox").args(["browser", "--skip", "in_firefox"]);
    let output = tests.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("0 failed"), "{said}");
}
