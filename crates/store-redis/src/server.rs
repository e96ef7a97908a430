//! Connections to the server, up to a limit, and the treatment of failures.

mod explained;
mod waits;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use index::backend::retry::{Failed, Pause, Retry, Tries, Until};
use index::backend::{Away, Known};
use index::{ConnectionCounts, Error, ErrorKind, Result};
use redis::io::tcp::TcpSettings;
use redis::{
    Client, Cmd, Connection, ConnectionAddr, FromRedisValue, IntoConnectionInfo, RedisError, RedisResult,
    Value, from_redis_value,
};

pub(super) use self::waits::Waits;
use super::errors::{is_away, is_elsewhere, is_loading, may_pass, says};
use super::losses::{Info, Losses, News, with_news};
use super::uri::RedisUri;

/// The most connections. More would wait for the server's one thread, not for us.
pub(crate) const CONNECTIONS_MAX: usize = 16;

/// The least wait at the start of this program for a server that reads its files.
const LOADING_WAIT: Duration = Duration::from_secs(120);

/// The pauses while the server is away. The first repetition is at once: most often the server has
/// closed a long idle connection.
const RETRY: Retry = Retry::new(Duration::from_millis(20), Duration::from_secs(1)).at_once();

/// The failed tries in a row from which the server counts as away.
const AWAY_FROM: u32 = 3;

/// The limit of a call's wait for a server that is away.
#[derive(Clone, Copy)]
pub(super) enum Wait {
    /// The patience of the store. The first try has its usual times, for a busy server.
    Patient,
    /// A moment, for the first try as for all others.
    Until(Instant),
}

/// One Redis server.
pub(super) struct Server {
    uri: RedisUri,
    /// For messages.
    address: String,
    pub(super) waits: Waits,
    pool: Mutex<Pool>,
    freed: Condvar,
    /// True once the server has completed a call. A server that never has is more likely a mistake
    /// in the URL.
    has_answered: AtomicBool,
    away: Away,
    losses: Losses,
    /// True once a warning about the server's settings was logged: there is one.
    has_warned: AtomicBool,
}

#[derive(Default)]
struct Pool {
    /// Connections on which the last reply was read to its end.
    idle: Vec<Connection>,
    /// The number of connections, idle or not.
    n_open: usize,
}

/// The reason for which an attempt failed.
enum Failure {
    Redis(RedisError),
    /// An error that no repetition mends.
    Final(Error),
}

impl From<RedisError> for Failure {
    fn from(error: RedisError) -> Self {
        Self::Redis(error)
    }
}

/// A place among the counted connections. Its connection, if any, becomes idle when the lease is
/// dropped.
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
    /// A server, without a connection yet.
    pub(super) fn new(uri: &RedisUri, waits: Waits) -> Result<Self> {
        let server = Self {
            uri: uri.clone(),
            address: format!("{}:{}", uri.host, uri.port),
            waits,
            pool: Mutex::default(),
            freed: Condvar::new(),
            has_answered: AtomicBool::new(false),
            away: Away::default(),
            losses: Losses::default(),
            has_warned: AtomicBool::new(false),
        };
        server.client()?;
        Ok(server)
    }

    /// Returns a client, which makes one connection. The password is read each time, because it may
    /// have changed.
    fn client(&self) -> Result<Client> {
        let Self { uri, address, .. } = self;
        let refused = |error| Error::invalid(format!("{address} is no address of Redis")).caused_by(error);
        // The brackets of an IPv6 address belong to the URL.
        let host = uri.host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(&uri.host);
        let info = ConnectionAddr::Tcp(host.to_owned(), uri.port).into_connection_info().map_err(refused)?;
        // If the server hangs, the library would first wait for the answer to its own name.
        let mut settings = info.redis_settings().clone().set_db(uri.db).set_skip_set_lib_name();
        if let Some(user) = &uri.user {
            settings = settings.set_username(user);
        }
        if let Some(password) = uri.read_password()? {
            settings = settings.set_password(password);
        }
        let info =
            info.set_redis_settings(settings).set_tcp_settings(TcpSettings::default().set_nodelay(true));
        Client::open(info).map_err(refused)
    }

    /// Changes the wait for a server that is away, or for a connection of our own. A server that
    /// keeps its connections open without an answer is away too.
    pub(super) fn set_patience(&mut self, patience: Duration) {
        self.waits = self.waits.with_patience(patience);
    }

    /// As [`run_within`](Self::run_within), for a script, which first checks that the index exists
    /// and is the same.
    pub(super) fn run_on<T>(
        &self,
        known: &Known,
        wait: Wait,
        mut work: impl FnMut(&mut Connection) -> RedisResult<T>,
    ) -> Result<T> {
        self.run_within(wait, |connection| match work(connection) {
            Err(error) if says(&error, "NOINDEX") => Ok(Err(known.gone().caused_by(error))),
            Err(error) if says(&error, "REPLACED") => Ok(Err(known.replaced().caused_by(error))),
            done => done.map(Ok),
        })?
    }

    /// Does `work` on a connection. Repeats the work if the server does not answer, so repeated
    /// work must be right.
    pub(super) fn run<T>(&self, work: impl FnMut(&mut Connection) -> RedisResult<T>) -> Result<T> {
        self.run_within(Wait::Patient, work)
    }

    /// As [`run`](Self::run), with another limit of the wait.
    pub(super) fn run_within<T>(
        &self,
        wait: Wait,
        mut work: impl FnMut(&mut Connection) -> RedisResult<T>,
    ) -> Result<T> {
        let limit = match wait {
            Wait::Patient => self.waits.server,
            Wait::Until(end) => end.saturating_duration_since(Instant::now()),
        };
        let outcome = RETRY.run(
            limit,
            |tries| self.attempt(tries, wait, &mut work).map_err(|failure| self.class(failure, wait, tries)),
            |error, Pause { n_failed, .. }| {
                if n_failed >= AWAY_FROM {
                    self.away.waits(&self.address, error);
                }
            },
        );
        match outcome {
            Ok(done) => {
                self.has_answered.store(true, Ordering::Relaxed);
                self.away.is_back(&self.address);
                Ok(done)
            }
            Err(Failed::Final(error)) => Err(error),
            Err(Failed::Away(late)) => Err(self.explain(late.last)),
        }
    }

    /// Returns a failure by the use of another try. A server that reads its files at the start of
    /// this program extends the limit.
    fn class(&self, failure: Failure, wait: Wait, tries: &mut Tries) -> Failed<Error, RedisError> {
        let error = match failure {
            Failure::Final(error) => return Failed::Final(error),
            Failure::Redis(error) => error,
        };
        let is_new = !self.has_answered.load(Ordering::Relaxed);
        if !may_pass(&error) || is_new && is_away(&error) {
            return Failed::Final(self.explain(error));
        }
        if matches!(wait, Wait::Patient) && is_new && is_loading(&error) {
            tries.extend_to(LOADING_WAIT);
        }
        Failed::Away(error)
    }

    fn attempt<T>(
        &self,
        tries: &Tries,
        wait: Wait,
        work: &mut impl FnMut(&mut Connection) -> RedisResult<T>,
    ) -> Result<T, Failure> {
        let mut lease = self.take(tries.until().deadline)?;
        // Made after the wait for a connection, which leaves less of the patience for the reply.
        let until = match wait {
            Wait::Patient => tries.until(),
            Wait::Until(_) => tries.until().late(),
        };
        let waits = self.waits(until);
        let mut connection = match lease.connection.take() {
            Some(connection) => connection,
            None => self.connect(waits)?,
        };
        let is_short = waits.reply < self.waits.reply;
        if is_short {
            connection.set_read_timeout(Some(waits.reply))?;
        }
        let done = work(&mut connection);
        // After an error of the server, the next reply belongs to the next request.
        let is_usable = |error: &RedisError| error.code().is_some() && is_elsewhere(error).is_none();
        match &done {
            Err(error) if !is_usable(error) => {
                // The other connections have most likely lost their server too, or lead to a server
                // that is no longer the right one.
                let mut pool = self.pool();
                pool.n_open -= pool.idle.len();
                pool.idle.clear();
            }
            _ => {
                if is_short {
                    connection.set_read_timeout(Some(self.waits.reply))?;
                }
                lease.connection = Some(connection);
            }
        }
        Ok(done?)
    }

    /// Returns the longest waits of a try.
    fn waits(&self, until: Until) -> Waits {
        let Waits { connect, reply, server } = self.waits;
        Waits { connect: until.within(connect), reply: until.within(reply), server }
    }

    /// Takes an idle connection, or the place of a new one.
    fn take(&self, until: Instant) -> Result<Lease<'_>, Failure> {
        let is_busy = |pool: &mut Pool| pool.idle.is_empty() && pool.n_open == CONNECTIONS_MAX;
        let (mut pool, waited) = self
            .freed
            .wait_timeout_while(self.pool(), until.saturating_duration_since(Instant::now()), is_busy)
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
        // Every change is whole, so a panic leaves the pool right.
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connect(&self, waits: Waits) -> Result<Connection, Failure> {
        let mut connection =
            self.client().map_err(Failure::Final)?.get_connection_with_timeout(waits.connect)?;
        connection.set_read_timeout(Some(waits.reply))?;
        connection.set_write_timeout(Some(waits.reply))?;
        let info: RedisResult<String> = redis::cmd("INFO").query(&mut connection);
        match info {
            Ok(info) => self.check(&Info(&info))?,
            Err(error) if says(&error, "NOPERM") || error.to_string().contains("unknown command") => {
                self.warn(
                    "Redis does not allow INFO; make sure yourself that maxmemory-policy is noeviction",
                );
            }
            Err(error) => return Err(error.into()),
        }
        Ok(connection)
    }

    /// Refuses a server that would drop documents by itself, or has, and warns of one without an
    /// append-only file. Done with every connection, because a server may come back with other
    /// settings.
    fn check(&self, info: &Info<'_>) -> Result<(), Failure> {
        if let Some(policy) = info.evicting_policy() {
            return Err(Failure::Final(Error::new(
                ErrorKind::PermissionDenied,
                format!(
                    "Redis at {} has maxmemory-policy {policy}, so it drops documents when it is full; run \
                     `redis-cli CONFIG SET maxmemory-policy noeviction` and write the same into its redis.conf",
                    self.address
                ),
            )));
        }
        match self.losses.see(info) {
            News::None => {}
            News::Since => return Err(Failure::Final(self.losses.lost(&self.address))),
            News::Before(n) => tracing::warn!(
                address = self.address,
                "Redis has dropped {n} keys since it started, because it was full; where the index was there then, look with \
                 `pigeonhole verify` what is missing (`redis-cli CONFIG RESETSTAT` ends this warning)"
            ),
        }
        if info.field("aof_enabled").is_some_and(|enabled| enabled == "0") {
            self.warn(
                "Redis keeps no append-only file, so what was acknowledged may be lost when it stops; run \
                 `redis-cli CONFIG SET appendonly yes` and write the same into its redis.conf",
            );
        }
        Ok(())
    }

    /// Reads by one command, as [`run`](Self::run), and checks in the same call for dropped keys.
    pub(super) fn read<T: FromRedisValue>(&self, command: &Cmd) -> Result<T> {
        self.read_within(Wait::Patient, command)
    }

    /// As [`read`](Self::read), with another limit of the wait.
    pub(super) fn read_within<T: FromRedisValue>(&self, wait: Wait, command: &Cmd) -> Result<T> {
        let (value, info): (T, Option<String>) = self.run_within(wait, |connection| {
            if self.losses.n_known().is_none() {
                return Ok((command.query(connection)?, None));
            }
            let [value, info] = with_news(connection, command)?.map(Value::extract_error);
            match (value, info) {
                (Ok(value), Ok(info)) => Ok((from_redis_value(value)?, Some(from_redis_value(info)?))),
                // A client without permission for INFO still gets the answer of its command.
                _ => Ok((command.query(connection)?, None)),
            }
        })?;
        let n_evicted = info.as_deref().and_then(|info| Info(info).n_evicted());
        if n_evicted > self.losses.n_known() {
            return Err(self.losses.lost(&self.address));
        }
        Ok(value)
    }

    /// Returns the number of keys that may have been dropped, against which scripts check the
    /// server; empty where the server does not report it.
    pub(super) fn losses_known(&self) -> String {
        self.losses.n_known().map_or_else(String::new, |n| n.to_string())
    }

    fn warn(&self, what: &str) {
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(address = self.address, "{what}");
        }
    }
}
