//! Connections to the server, at most so many, and what is done when they fail.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use index::backend::Away;
use index::backend::Known;
use index::{ConnectionCounts, Error, ErrorKind, Result};
use redis::io::tcp::TcpSettings;
use redis::{
    Client, Connection, ConnectionAddr, ErrorKind as RedisKind, IntoConnectionInfo, RedisError, RedisResult,
    ServerErrorKind,
};

use super::layout::damaged;

/// More would wait for the server's one thread, not for us.
pub(crate) const CONNECTIONS_MAX: usize = 16;

/// How long to wait, and for what.
#[derive(Clone, Copy)]
pub(super) struct Waits {
    /// For a connection to be made.
    pub(super) connect: Duration,
    /// For one reply.
    pub(super) reply: Duration,
    /// For a server that has answered before to answer again; and for one of our own connections to be free.
    pub(super) server: Duration,
}

impl Default for Waits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            reply: Duration::from_secs(30),
            server: Duration::from_secs(120),
        }
    }
}

/// What a server may take for a reply that has much to do.
const REPLY_MIN: Duration = Duration::from_secs(5);

const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// One Redis server.
pub(super) struct Server {
    client: Client,
    /// For messages.
    address: String,
    db: i64,
    waits: Waits,
    pool: Mutex<Pool>,
    freed: Condvar,
    /// Whether it ever did what it was asked for. A server that never answered is more likely a mistake in the URL.
    has_answered: AtomicBool,
    away: Away,
    /// Whether its settings were complained about, which is done once.
    has_warned: AtomicBool,
}

#[derive(Default)]
struct Pool {
    /// Connections on which the last reply was read to its end.
    idle: Vec<Connection>,
    /// All that there are, idle or not.
    n_open: usize,
}

/// Why an attempt failed.
enum Failure {
    Redis(RedisError),
    /// What no repetition mends.
    Final(Error),
}

impl From<RedisError> for Failure {
    fn from(error: RedisError) -> Self {
        Self::Redis(error)
    }
}

/// One of the connections that the pool counts. What is in it when it is dropped is used again.
struct Lease<'a> {
    server: &'a Server,
    connection: Option<Connection>,
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let mut pool = self.server.pool();
        match self.connection.take() {
            Some(connection) => pool.idle.push(connection),
            None => pool.n_open -= 1,
        }
        self.server.freed.notify_one();
    }
}

impl Server {
    /// Connects when it is used.
    pub(super) fn new(host: &str, port: u16, db: i64, password: Option<&str>, waits: Waits) -> Result<Self> {
        let address = format!("{host}:{port}");
        let refused = |error| Error::invalid(format!("{address} is no address of Redis")).caused_by(error);
        // The brackets of an IPv6 address are the URL's.
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let info = ConnectionAddr::Tcp(host.to_owned(), port).into_connection_info().map_err(refused)?;
        // Of a server that hangs, the library would wait for the answer to its own name first.
        let mut settings = info.redis_settings().clone().set_db(db).set_skip_set_lib_name();
        if let Some(password) = password {
            settings = settings.set_password(password);
        }
        let info =
            info.set_redis_settings(settings).set_tcp_settings(TcpSettings::default().set_nodelay(true));
        let client = Client::open(info).map_err(refused)?;
        Ok(Self {
            client,
            address,
            db,
            waits,
            pool: Mutex::default(),
            freed: Condvar::new(),
            has_answered: AtomicBool::new(false),
            away: Away::default(),
            has_warned: AtomicBool::new(false),
        })
    }

    /// Changes how long a server that is away, or one of our own connections, is waited for. One that keeps its
    /// connections and says nothing is away too.
    pub(super) fn set_patience(&mut self, patience: Duration) {
        self.waits.server = patience;
        self.waits.reply = self.waits.reply.min(patience.max(REPLY_MIN));
    }

    /// As [`run`](Self::run), for a script, which looks first whether the index is there and still the same.
    pub(super) fn run_on<T>(
        &self,
        known: &Known,
        mut work: impl FnMut(&mut Connection) -> RedisResult<T>,
    ) -> Result<T> {
        self.run(|connection| match work(connection) {
            Err(error) if says(&error, "NOINDEX") => Ok(Err(known.gone().caused_by(error))),
            Err(error) if says(&error, "REPLACED") => Ok(Err(known.replaced().caused_by(error))),
            done => done.map(Ok),
        })?
    }

    /// Does `work` on a connection. Where the server does not answer, the work is repeated, so it must be right to do it
    /// twice.
    pub(super) fn run<T>(&self, mut work: impl FnMut(&mut Connection) -> RedisResult<T>) -> Result<T> {
        let begun = Instant::now();
        // The first repetition is at once: most often the server closed a connection that was idle for long.
        let mut pause = Duration::ZERO;
        loop {
            let error = match self.attempt(&mut work) {
                Ok(done) => {
                    self.has_answered.store(true, Ordering::Relaxed);
                    self.away.is_back(&self.address);
                    return Ok(done);
                }
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Redis(error)) => error,
            };
            let is_hopeless = is_away(&error) && !self.has_answered.load(Ordering::Relaxed);
            if !may_pass(&error) || is_hopeless || begun.elapsed() + pause > self.waits.server {
                return Err(self.explain(error));
            }
            if pause > PAUSE_MIN {
                self.away.waits(&self.address, &error);
            }
            thread::sleep(pause);
            pause = (2 * pause).clamp(PAUSE_MIN, PAUSE_MAX);
        }
    }

    fn attempt<T>(&self, work: &mut impl FnMut(&mut Connection) -> RedisResult<T>) -> Result<T, Failure> {
        let mut lease = self.take()?;
        let mut connection = match lease.connection.take() {
            Some(connection) => connection,
            None => self.connect()?,
        };
        let done = work(&mut connection);
        match &done {
            // After an error of the server's the next reply is the next request's.
            Ok(_) => lease.connection = Some(connection),
            Err(error) if error.code().is_some() => lease.connection = Some(connection),
            // The others have most likely lost their server too.
            Err(_) => {
                let mut pool = self.pool();
                pool.n_open -= pool.idle.len();
                pool.idle.clear();
            }
        }
        Ok(done?)
    }

    /// An idle connection, or leave to make one.
    fn take(&self) -> Result<Lease<'_>, Failure> {
        let is_busy = |pool: &mut Pool| pool.idle.is_empty() && pool.n_open == CONNECTIONS_MAX;
        let (mut pool, waited) = self
            .freed
            .wait_timeout_while(self.pool(), self.waits.server, is_busy)
            .unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            return Err(Failure::Final(Error::new(
                ErrorKind::Unavailable,
                format!("all {CONNECTIONS_MAX} connections to Redis at {} are busy; try again", self.address),
            )));
        }
        let connection = pool.idle.pop();
        pool.n_open += usize::from(connection.is_none());
        Ok(Lease { server: self, connection })
    }

    pub(super) fn connections(&self) -> ConnectionCounts {
        let Pool { idle, n_open } = &*self.pool();
        ConnectionCounts { n_max: CONNECTIONS_MAX, n_open: *n_open, n_in_use: n_open - idle.len() }
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        // Every change of it is whole, so a panic leaves it right.
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connect(&self) -> Result<Connection, Failure> {
        let mut connection = self.client.get_connection_with_timeout(self.waits.connect)?;
        connection.set_read_timeout(Some(self.waits.reply))?;
        connection.set_write_timeout(Some(self.waits.reply))?;
        let info: RedisResult<String> = redis::cmd("INFO").query(&mut connection);
        match info {
            Ok(info) => self.check(&info)?,
            Err(error) if says(&error, "NOPERM") || error.to_string().contains("unknown command") => {
                self.warn(
                    "Redis does not allow INFO; make sure yourself that maxmemory-policy is noeviction",
                );
            }
            Err(error) => return Err(error.into()),
        }
        Ok(connection)
    }

    /// Refuses a server that would drop documents by itself, and warns of one that keeps nothing on disk. Looked at
    /// with every connection, because a server may come back with other settings.
    fn check(&self, info: &str) -> Result<(), Failure> {
        let field = |name: &str| {
            let of =
                |line: &str| line.strip_prefix(name)?.strip_prefix(':').map(|value| value.trim().to_owned());
            info.lines().find_map(of)
        };
        let policy = field("maxmemory_policy").unwrap_or_default();
        if field("maxmemory").is_some_and(|bytes| bytes != "0")
            && !policy.is_empty()
            && policy != "noeviction"
        {
            return Err(Failure::Final(Error::new(
                ErrorKind::PermissionDenied,
                format!(
                    "Redis at {} has maxmemory-policy {policy}, so it drops documents when it is full; run \
                     `redis-cli CONFIG SET maxmemory-policy noeviction` and write the same into its redis.conf",
                    self.address
                ),
            )));
        }
        if field("aof_enabled").is_some_and(|enabled| enabled == "0") {
            self.warn(
                "Redis keeps no append-only file, so what was acknowledged may be lost when it stops; run \
                 `redis-cli CONFIG SET appendonly yes` and write the same into its redis.conf",
            );
        }
        Ok(())
    }

    fn warn(&self, what: &str) {
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(address = self.address, "{what}");
        }
    }

    /// The server's error in terms of what a person can do.
    fn explain(&self, error: RedisError) -> Error {
        let Self { address, .. } = self;
        let (kind, what) = match error.kind() {
            _ if says(&error, "DAMAGED") => {
                let detail = error.to_string();
                let id = detail.split_once("DAMAGED ").map_or("", |(_, id)| id);
                let id = id.split_once(" script: ").map_or(id, |(id, _)| id);
                return damaged(id, "the scripts cannot read it");
            }
            _ if says(&error, "OOM") => (
                ErrorKind::StorageFull,
                format!("Redis at {address} has reached its maxmemory; raise it, or remove documents"),
            ),
            _ if says(&error, "MISCONF") => (
                ErrorKind::StorageFull,
                format!("Redis at {address} cannot write to its disk; make room there, its log says more"),
            ),
            _ if says(&error, "WRONGTYPE") => (
                ErrorKind::Corrupt,
                "another program has written under the index's name; use another name".to_owned(),
            ),
            RedisKind::AuthenticationFailed => (ErrorKind::PermissionDenied, self.no_leave()),
            _ if ["NOAUTH", "NOPERM", "WRONGPASS"].iter().any(|code| says(&error, code)) => {
                (ErrorKind::PermissionDenied, self.no_leave())
            }
            RedisKind::Server(ServerErrorKind::ReadOnly) => (
                ErrorKind::PermissionDenied,
                format!("Redis at {address} is a replica, which takes no writes; name the primary"),
            ),
            RedisKind::Server(
                ServerErrorKind::Moved
                | ServerErrorKind::Ask
                | ServerErrorKind::CrossSlot
                | ServerErrorKind::ClusterDown,
            ) => (
                ErrorKind::InvalidArgument,
                format!(
                    "Redis at {address} is a node of a cluster that does not hold this index; name the node that \
                     does, which the error below says"
                ),
            ),
            RedisKind::Io if !self.has_answered.load(Ordering::Relaxed) => (
                ErrorKind::Unavailable,
                format!("no answer from Redis at {address}; is it running, and is that its address?"),
            ),
            _ if may_pass(&error) => (
                ErrorKind::Unavailable,
                format!(
                    "Redis at {address} was away for {} s; start it, and do the same again",
                    self.waits.server.as_secs()
                ),
            ),
            _ if error.to_string().contains("DB index") => (
                ErrorKind::InvalidArgument,
                format!(
                    "Redis at {address} does not have database {}; leave ?db=N out, or raise `databases` in its \
                     redis.conf",
                    self.db
                ),
            ),
            RedisKind::Parse | RedisKind::UnexpectedReturnType => (
                ErrorKind::InvalidArgument,
                format!("what listens at {address} does not answer as Redis does; is that its address?"),
            ),
            _ => (ErrorKind::Internal, format!("Redis at {address} refused what it was asked for")),
        };
        Error::new(kind, what).caused_by(error)
    }

    fn no_leave(&self) -> String {
        format!(
            "Redis at {} does not let us in, or not do this; name the file with its password by ?password-file=PATH",
            self.address
        )
    }
}

/// Whether it is this error of the server's. An old server puts the errors of a script into a text of its own.
fn says(error: &RedisError, code: &str) -> bool {
    error.code() == Some(code) || error.detail().is_some_and(|detail| detail.contains(&format!("{code} ")))
}

fn is_away(error: &RedisError) -> bool {
    error.kind() == RedisKind::Io
}

/// Whether the same may succeed later, without anybody doing anything.
fn may_pass(error: &RedisError) -> bool {
    use ServerErrorKind::{BusyLoading, MasterDown, TryAgain};
    let kind = error.kind();
    is_away(error)
        || matches!(kind, RedisKind::Server(BusyLoading | TryAgain | MasterDown))
        || error.code() == Some("BUSY")
}
