//! A running `query-worker`, and requests to it.

use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::{Log, command};

/// A running `query-worker` on a port of its own; killed when dropped.
pub(crate) struct Worker {
    child: Child,
    base: String,
    log: Log,
}

impl Worker {
    /// Starts a worker on an existing index, or else on a new one.
    pub(crate) fn start(store: &str, more: &[&str]) -> Self {
        let args = [&["--create-index", "--store", store, "--listen", "127.0.0.1:0"], more].concat();
        Self::start_as(&mut command("query-worker", args))
    }

    pub(crate) fn start_as(command: &mut Command) -> Self {
        let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program was built");
        let log = Log::of(&mut child);
        let mut worker = Self { child, base: String::new(), log };
        let ready = worker.log_until("ready");
        let port = ready
            .split_once("127.0.0.1:")
            .and_then(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next());
        worker.base = format!("http://127.0.0.1:{}", port.expect("the log names the address"));
        worker
    }

    /// Reads the log up to a line that holds `part`.
    pub(crate) fn log_until(&mut self, part: &str) -> String {
        self.log.until(part)
    }

    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        answer(agent().get(format!("{}{path}", self.base)).call())
    }

    /// Returns a header of an answer.
    pub(crate) fn header(&self, path: &str, name: &str) -> Option<String> {
        let response = agent().get(format!("{}{path}", self.base)).call().expect("the worker answers");
        Some(response.headers().get(name)?.to_str().expect("our headers are ASCII").to_owned())
    }

    /// Returns an answer as text.
    pub(crate) fn get_text(&self, path: &str) -> String {
        let mut response = agent().get(format!("{}{path}", self.base)).call().expect("the worker answers");
        assert_eq!(response.status(), 200);
        response.body_mut().read_to_string().expect("answers are UTF-8")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.post_bytes(path, body.to_string().as_bytes())
    }

    pub(crate) fn post_bytes(&self, path: &str, body: &[u8]) -> (u16, Value) {
        answer(agent().post(format!("{}{path}", self.base)).send(body))
    }

    /// Returns an answer of JSON Lines, or of one problem.
    pub(crate) fn post_lines(&self, path: &str, body: &[u8]) -> (u16, Vec<Value>) {
        let response = agent().post(format!("{}{path}", self.base)).send(body);
        let mut response = response.expect("the worker answers");
        let lines = response.body_mut().read_to_string().expect("answers are UTF-8");
        let parse = |line| serde_json::from_str(line).expect("each line is JSON");
        (response.status().as_u16(), lines.lines().map(parse).collect())
    }

    /// Returns `Value::Null` for an answer without a body.
    pub(crate) fn delete(&self, path: &str) -> (u16, Value) {
        answer(agent().delete(format!("{}{path}", self.base)).call())
    }

    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Returns the process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn send_stop(&self) {
        self.send("-TERM");
    }

    pub(crate) fn send_hang_up(&self) {
        self.send("-HUP");
    }

    pub(crate) fn send_kill(&self) {
        self.send("-KILL");
    }

    fn send(&self, signal: &str) {
        super::signal(&self.child, signal);
    }

    /// Waits for the end and returns the exit code and the rest of the log.
    pub(crate) fn wait(mut self) -> (Option<i32>, String) {
        let log = self.log.rest();
        (self.child.wait().expect("a child can be waited for").code(), log)
    }

    /// Waits for the end without reading the rest of the log.
    pub(crate) fn wait_unread(mut self) -> Option<i32> {
        self.child.wait().expect("a child can be waited for").code()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The worker may have ended by itself.
        self.child.kill().unwrap_or(());
        self.child.wait().expect("a child can be waited for");
    }
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder().http_status_as_error(false).build().into()
}

fn answer(response: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> (u16, Value) {
    let mut response = response.expect("the worker answers");
    let body = response.body_mut().read_to_string().expect("answers are UTF-8");
    if body.is_empty() {
        return (response.status().as_u16(), Value::Null);
    }
    let body = serde_json::from_str(&body).unwrap_or_else(|_| panic!("answers are JSON, not {body:?}"));
    (response.status().as_u16(), body)
}
