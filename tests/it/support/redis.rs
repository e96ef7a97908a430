//! Real Redis servers for the tests: one for the whole run, started by the first test that needs
//! it, and others for tests that stop theirs.
//!
//! No server outlives the run, however it ends. A shell waits for the end of a pipe that only this
//! process holds open, and then stops the server, as with HBase.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::{Suite, free_ports, without_settings};

/// The time limit of a start.
const START: Duration = Duration::from_secs(60);

/// A shell script: waits for the end of its input, then ends the server with the process id in
/// `$1/pid`, and deletes its folder.
const WATCHDOG: &str = r#"cat
kill -9 "$(cat "$1/pid")"
rm -rf "$1""#;

/// The settings of a server that loses nothing acknowledged when it is killed.
///
/// With `appendfsync everysec`, Redis acknowledges up to two seconds of writes before it has handed
/// them to the kernel, while a sync of its file is slow (`flushAppendOnlyFile`). `kill -9` then
/// loses these writes.
pub(crate) const DURABLE: [&str; 2] = ["--appendfsync", "always"];

/// A Redis server with an append-only file, on a port of its own.
pub(crate) struct Redis {
    pub(crate) address: SocketAddr,
    folder: TempDir,
    more: Vec<String>,
    child: Mutex<Option<Child>>,
    /// Keeps the watchdog waiting. Never written to, closed when this process ends.
    _until_the_end: ChildStdin,
}

/// Returns the Redis of this run; `None` unless the suite is selected.
pub(crate) fn redis() -> Option<&'static Redis> {
    static REDIS: OnceLock<Option<Redis>> = OnceLock::new();
    REDIS.get_or_init(|| Redis::start(&[])).as_ref()
}

impl Redis {
    /// Starts a separate server with these additional settings; `None` as with [`redis`].
    pub(crate) fn start(more: &[&str]) -> Option<Self> {
        Suite::Redis.is_asked_for().then(|| Self::run(more))
    }

    /// Starts a separate server, even if the suite is not selected.
    pub(crate) fn run(more: &[&str]) -> Self {
        for _ in 0..3 {
            let folder = tempfile::tempdir().expect("a folder for Redis");
            let until_the_end = watch(folder.path());
            let [port] = free_ports();
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            let more = more.iter().map(|&setting| setting.to_owned()).collect();
            let redis =
                Self { address, folder, more, child: Mutex::default(), _until_the_end: until_the_end };
            if redis.try_up() {
                return redis;
            }
            // Another process took the port first; the next attempt uses another.
        }
        panic!("redis-server ended by itself, three times in a row");
    }

    /// Starts the server on the files of its last run.
    pub(crate) fn up(&self) {
        assert!(self.try_up(), "redis-server ended by itself");
    }

    fn try_up(&self) -> bool {
        let mut command = Command::new("redis-server");
        without_settings(&mut command);
        command.args(["--port", &self.address.port().to_string(), "--bind", "127.0.0.1", "--save", ""]);
        command.args(["--appendonly", "yes", "--dir"]).arg(self.folder.path()).args(&self.more);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("redis-server runs; apt-get install redis-server");
        fs::write(self.folder.path().join("pid"), child.id().to_string()).expect("the folder can be written");
        let begun = Instant::now();
        while !self.cli(&["ping"]).contains("PONG") {
            if child.try_wait().expect("a child can be waited for").is_some() {
                return false;
            }
            assert!(begun.elapsed() < START, "redis-server does not answer");
            thread::sleep(Duration::from_millis(20));
        }
        *self.child.lock().unwrap_or_else(PoisonError::into_inner) = Some(child);
        true
    }

    /// Kills the server, as `kill -9` does. Without [`DURABLE`], its last writes may be lost.
    pub(crate) fn down(&self) {
        if let Some(mut child) = self.child.lock().unwrap_or_else(PoisonError::into_inner).take() {
            child.kill().expect("a child can be killed");
            child.wait().expect("a child can be waited for");
        }
    }

    /// Stops the process, like a machine that swaps: connections stay, and no answer comes.
    pub(crate) fn freeze(&self) {
        self.send("-STOP");
    }

    pub(crate) fn thaw(&self) {
        self.send("-CONT");
    }

    fn send(&self, signal: &str) {
        let child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        let id = child.as_ref().expect("the server runs").id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().expect("kill(1) runs").success());
    }

    /// Returns the output of Redis's own client.
    pub(crate) fn cli(&self, args: &[&str]) -> String {
        let mut command = Command::new("redis-cli");
        command.args(["-h", "127.0.0.1", "-p", &self.address.port().to_string()]).args(args);
        let output = command.output().expect("redis-cli runs, it comes with the server");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Returns the URL of an index.
    pub(crate) fn url(&self, name: &str) -> String {
        format!("redis://{}/{name}", self.address)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.down();
    }
}

/// Starts the watchdog ahead of the server. The watchdog has its own process group, because Ctrl-C
/// in a terminal reaches the whole group of this process.
#[expect(clippy::zombie_processes, reason = "it outlives this process, so nothing here can wait for it")]
fn watch(folder: &Path) -> ChildStdin {
    let mut command = Command::new("sh");
    without_settings(&mut command);
    command.args(["-c", WATCHDOG, "watchdog"]).arg(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut watchdog = command.spawn().expect("sh runs");
    watchdog.stdin.take().expect("stdin is piped")
}
