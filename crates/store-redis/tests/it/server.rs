//! Redis servers, one for each test: an examination reads all keys of its database.

use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use index::Clock;
use pigeonhole_store_redis::{RedisStore, RedisUri};
use redis::{Client, Connection};

/// Runs a server until its input ends, which happens whenever and however this process ends.
const RUN: &str =
    r#"redis-server --port "$1" --bind 127.0.0.1 --save '' --appendonly no >/dev/null & cat; kill -9 $!"#;

/// The longest wait for a server's first answer.
const START: Duration = Duration::from_secs(60);

pub(crate) struct Server {
    port: u16,
    shell: Child,
    /// The process of the server, read before its first stop.
    pid: OnceLock<String>,
}

/// Starts a server, if `PIGEONHOLE_TESTS` names the suite.
pub(crate) fn server() -> Option<Server> {
    let asked = std::env::var("PIGEONHOLE_TESTS").unwrap_or_default();
    let is_asked_for = asked.split(',').any(|suite| ["redis", "all"].contains(&suite.trim()));
    is_asked_for.then(Server::start)
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        self.shell.wait().expect("the shell ends with its input");
    }
}

impl Server {
    fn start() -> Self {
        // A port is free for the next one only until a server listens there.
        static STARTING: Mutex<()> = Mutex::new(());
        let _starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there are free ports");
        let port = free.local_addr().expect("it is bound").port();
        drop(free);
        let mut shell = Command::new("sh");
        shell.args(["-c", RUN, "redis", &port.to_string()]).stdin(Stdio::piped());
        let server = Self { port, shell: shell.spawn().expect("sh runs"), pid: OnceLock::new() };
        let begun = Instant::now();
        while server.client().get_connection().is_err() {
            assert!(begun.elapsed() < START, "redis-server does not answer; apt-get install redis-server");
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }

    fn client(&self) -> Client {
        Client::open(format!("redis://127.0.0.1:{}", self.port)).expect("it is an address")
    }

    pub(crate) fn connection(&self) -> Connection {
        self.client().get_connection().expect("the server answers")
    }

    /// The index of this name, by a store that waits for so long.
    pub(crate) fn open_with(&self, name: &str, patience: Duration) -> RedisStore {
        let uri: RedisUri = format!("127.0.0.1:{}/{name}", self.port).parse().expect("it is an address");
        RedisStore::with_patience(&uri, patience).expect("it needs no password")
    }

    /// Stops the server's process, or lets it go on.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.pid.get_or_init(|| {
            let info: String =
                redis::cmd("INFO").arg("server").query(&mut self.connection()).expect("the server answers");
            let pid = info.lines().find_map(|line| line.strip_prefix("process_id:"));
            pid.expect("the server knows its process").to_owned()
        });
        let status = Command::new("kill").args([&format!("-{name}"), pid]).status().expect("kill runs");
        assert!(status.success(), "kill -{name} {pid}");
    }

    /// Opens the index of this name.
    pub(crate) fn open(&self, name: &str, clock: Clock) -> RedisStore {
        let uri: RedisUri = format!("127.0.0.1:{}/{name}", self.port).parse().expect("it is an address");
        RedisStore::with_clock(&uri, clock).expect("it needs no password")
    }
}
