//! From a URL to the store it names. A new backend is one more arm here, and a folder of its own.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use std::{fmt, fs};

use crate::embedded::EmbeddedStore;
use crate::redis::CONNECTIONS_MAX as REDIS_CONNECTIONS_MAX;
use crate::{Clock, Error, HbaseStore, MemoryStore, Mode, RedisStore, Result, Store};

/// Where an index is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreUri {
    /// `memory:`: in this process, gone when it ends.
    Memory,
    /// `embedded:PATH`: in a directory of this machine.
    Embedded(PathBuf),
    /// `hbase://HOST:PORT/NAME`: in two tables of HBase.
    Hbase(HbaseUri),
    /// `redis://HOST:PORT/NAME`: in a Redis server.
    Redis(RedisUri),
}

/// The place of an index in HBase, and how to get there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HbaseUri {
    /// `HOST:PORT` of a Thrift gateway.
    pub gateway: String,
    /// The table of the index; the documents' has `_docs` after it. With its namespace, where it has one.
    pub name: String,
    /// The most connections to the gateway at a time.
    pub n_connections: usize,
}

/// The port of a Thrift gateway, unless somebody chose another.
const HBASE_PORT: u16 = 9090;

/// Enough to keep a gateway of a few cores busy.
const HBASE_CONNECTIONS: usize = 8;

/// More would be the gateway's threads, not ours.
const HBASE_CONNECTIONS_MAX: usize = 1_000;

impl FromStr for HbaseUri {
    type Err = Error;

    /// Reads what comes after `hbase://`.
    fn from_str(rest: &str) -> Result<Self> {
        let malformed = |what: String| {
            Error::invalid(format!(
                "{what}; write hbase://HOST:PORT/NAME, for example hbase://localhost:9090/news"
            ))
        };
        let (place, query) = rest.split_once('?').map_or((rest, None), |(place, query)| (place, Some(query)));
        let (host, port, name) = split_place(place, HBASE_PORT).map_err(malformed)?;
        check_table_name(name)?;
        let mut n_connections = HBASE_CONNECTIONS;
        if query.is_some_and(|query| query.matches("connections=").count() > 1) {
            return Err(malformed("connections is there twice".to_owned()));
        }
        for parameter in query.into_iter().flat_map(|query| query.split('&')) {
            let number = match parameter.split_once('=') {
                Some(("connections", number)) => number.parse().ok(),
                _ => None,
            };
            n_connections = number.filter(|number| (1..=HBASE_CONNECTIONS_MAX).contains(number)).ok_or_else(
                || {
                    malformed(format!(
                        "{parameter:?} is not a parameter; there is connections=N, from 1 to {HBASE_CONNECTIONS_MAX}"
                    ))
                },
            )?;
        }
        Ok(Self { gateway: format!("{host}:{port}"), name: name.to_owned(), n_connections })
    }
}

/// Takes `HOST[:PORT]/NAME` apart, or says what is wrong with it.
fn split_place(place: &str, default_port: u16) -> Result<(&str, u16, &str), String> {
    let (authority, name) = place.split_once('/').ok_or("the name of the index is missing")?;
    let (host, port) = match authority.rsplit_once(':') {
        // The colons of an IPv6 address are inside of brackets.
        Some((host, port)) if !port.ends_with(']') => {
            let port = port.parse().ok().filter(|&port: &u16| port > 0);
            (host, port.ok_or_else(|| format!("{authority:?} has no valid port"))?)
        }
        _ => (authority, default_port),
    };
    if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c == '@') {
        return Err(format!("{host:?} is not a host"));
    }
    Ok((host, port, name))
}

/// The place of an index in Redis, and how to get there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisUri {
    /// Where the server is. An IPv6 address is in brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// What the keys of the index have between their braces.
    pub name: String,
    /// The number of the database in the server.
    pub db: i64,
    /// A file with the password in its first line.
    pub password_file: Option<PathBuf>,
}

/// The port of Redis, unless somebody chose another.
const REDIS_PORT: u16 = 6379;

/// The longest name: every key has it.
const REDIS_NAME_BYTES_MAX: usize = 128;

impl FromStr for RedisUri {
    type Err = Error;

    /// Reads what comes after `redis://`.
    fn from_str(rest: &str) -> Result<Self> {
        let malformed = |what: String| {
            Error::invalid(format!(
                "{what}; write redis://HOST:PORT/NAME, for example redis://localhost:6379/news"
            ))
        };
        let (place, query) = rest.split_once('?').map_or((rest, None), |(place, query)| (place, Some(query)));
        if place.contains('@') {
            return Err(Error::invalid(
                "a password in a URL is seen by all users of the machine; write it into a file, and \
                 redis://HOST:PORT/NAME?password-file=PATH",
            ));
        }
        let (host, port, name) = split_place(place, REDIS_PORT).map_err(malformed)?;
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_valid = name.len() <= REDIS_NAME_BYTES_MAX
            && name.starts_with(is_word)
            && name.chars().all(|c| is_word(c) || ".-:".contains(c));
        if !is_valid {
            return Err(malformed(format!(
                "{name:?} cannot be the name of an index; use at most {REDIS_NAME_BYTES_MAX} letters, digits, '_', '-', \
                 '.' and ':'"
            )));
        }
        let unknown = |parameter: &str| {
            malformed(format!(
                "{parameter:?} is not a parameter; there are db=N, from 0 on, and password-file=PATH"
            ))
        };
        let mut uri = Self { host: host.to_owned(), port, name: name.to_owned(), db: 0, password_file: None };
        for parameter in query.into_iter().flat_map(|query| query.split('&')) {
            match parameter.split_once('=') {
                Some(("db", number)) => {
                    uri.db = number.parse::<u16>().map_err(|_| unknown(parameter))?.into();
                }
                Some(("password-file", path)) if !path.is_empty() => uri.password_file = Some(path.into()),
                _ => return Err(unknown(parameter)),
            }
        }
        Ok(uri)
    }
}

impl RedisUri {
    /// The password, where there is a file for it.
    pub(crate) fn read_password(&self) -> Result<Option<String>> {
        let Some(path) = &self.password_file else { return Ok(None) };
        let text = fs::read_to_string(path).map_err(|error| {
            Error::invalid(format!("the password file {} cannot be read", path.display())).caused_by(error)
        })?;
        Ok(Some(text.lines().next().unwrap_or_default().to_owned()))
    }
}

/// HBase's own rule: a namespace of letters, digits and underscores, and a name that may also have dots and dashes, but
/// not at its start.
fn check_table_name(name: &str) -> Result<()> {
    let (namespace, table) = name.split_once(':').unwrap_or(("default", name));
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_valid = !namespace.is_empty()
        && namespace.chars().all(is_word)
        && table.starts_with(is_word)
        && table.chars().all(|c| is_word(c) || c == '.' || c == '-');
    if table.ends_with("_docs") {
        return Err(Error::invalid(format!(
            "{name:?} is the name of an index's table of documents; give the index's own name, without _docs"
        )));
    }
    if is_valid {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{name:?} cannot be the name of a table; use letters, digits, '_', '-' and '.', with NAMESPACE: before it if \
         it has one"
    )))
}

impl FromStr for StoreUri {
    type Err = Error;

    fn from_str(uri: &str) -> Result<Self> {
        match uri.split_once(':') {
            Some(("memory", "")) => Ok(Self::Memory),
            Some(("memory", _)) => Err(Error::invalid("memory: takes nothing after the colon")),
            Some(("embedded", "")) => Err(Error::invalid(
                "embedded: needs the path of a directory, for example embedded:./my-index",
            )),
            // Not a URL with an authority, but people will write one; an empty one does no harm.
            Some(("embedded", path)) => match path.strip_prefix("//") {
                Some(path) if !path.starts_with('/') => Err(Error::invalid(format!(
                    "embedded: names no host; write embedded:{path} or embedded:/{path}"
                ))),
                without_authority => Ok(Self::Embedded(without_authority.unwrap_or(path).into())),
            },
            Some(("hbase", rest)) => match rest.strip_prefix("//") {
                Some(rest) => Ok(Self::Hbase(rest.parse()?)),
                None => Err(Error::invalid(
                    "hbase: needs a gateway and a name, for example hbase://localhost:9090/news",
                )),
            },
            Some(("redis", rest)) => match rest.strip_prefix("//") {
                Some(rest) => Ok(Self::Redis(rest.parse()?)),
                None => Err(Error::invalid(
                    "redis: needs a server and a name, for example redis://localhost:6379/news",
                )),
            },
            Some(("rediss", _)) => Err(Error::invalid(
                "rediss: is Redis over TLS, which this program does not speak; run a TLS proxy such as stunnel on this \
                 machine, and name it by redis://localhost:PORT/NAME",
            )),
            _ => Err(Error::invalid(format!(
                "{uri:?} names no store; use embedded:PATH (a directory, for example embedded:./my-index), \
                 hbase://HOST:PORT/NAME, redis://HOST:PORT/NAME or memory:"
            ))),
        }
    }
}

impl fmt::Display for StoreUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory:"),
            Self::Embedded(path) => write!(f, "embedded:{}", path.display()),
            Self::Hbase(HbaseUri { gateway, name, n_connections }) => {
                write!(f, "hbase://{gateway}/{name}?connections={n_connections}")
            }
            Self::Redis(RedisUri { host, port, name, db, password_file }) => {
                write!(f, "redis://{host}:{port}/{name}?db={db}")?;
                match password_file {
                    Some(path) => write!(f, "&password-file={}", path.display()),
                    None => Ok(()),
                }
            }
        }
    }
}

impl StoreUri {
    /// How many file handles the store may have open at once in this process.
    #[must_use]
    pub fn n_handles_max(&self) -> usize {
        match self {
            Self::Memory => 0,
            // The directory, LMDB's two files, and those again while the map grows or the directory is synced.
            Self::Embedded(_) => 8,
            Self::Hbase(HbaseUri { n_connections, .. }) => *n_connections,
            Self::Redis(_) => REDIS_CONNECTIONS_MAX,
        }
    }

    /// Opens the store. It may be without metadata yet, also with [`Mode::MustExist`].
    ///
    /// # Errors
    /// `NotFound` where there is none and `mode` does not allow making one.
    pub fn open(&self, mode: Mode) -> Result<Box<dyn Store>> {
        self.open_with_clock(mode, Clock::system(), None)
    }

    /// As [`open`](Self::open), with a clock, and a `patience`: calls wait for a server that has answered before, or for a
    /// turn to write, no longer than that. Without it they wait as long as suits a batch job: two minutes.
    ///
    /// # Errors
    /// As [`open`](Self::open); `InvalidArgument` for a clock that refuses where the store does not know when it was last
    /// written to.
    pub fn open_with_clock(
        &self,
        mode: Mode,
        clock: Clock,
        patience: Option<Duration>,
    ) -> Result<Box<dyn Store>> {
        match self {
            Self::Memory => Ok(Box::new(MemoryStore::with_clock(clock))),
            Self::Embedded(path) => Ok(Box::new(EmbeddedStore::opened(path, mode, clock, patience)?)),
            Self::Hbase(_) if clock.refuses_ahead() => Err(Error::invalid(
                "an index in HBase does not know when it was last written to; leave --clock-ahead-max out (what has \
                 expired is dropped by the clocks of HBase's servers, not by this machine's)",
            )),
            Self::Hbase(HbaseUri { gateway, name, n_connections }) => {
                Ok(Box::new(HbaseStore::opened(gateway.clone(), name, *n_connections, clock, patience)))
            }
            Self::Redis(uri) => Ok(Box::new(RedisStore::opened(uri, clock, patience)?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hbase(gateway: &str, name: &str, n_connections: usize) -> Option<StoreUri> {
        let (gateway, name) = (gateway.to_owned(), name.to_owned());
        Some(StoreUri::Hbase(HbaseUri { gateway, name, n_connections }))
    }

    fn redis(host: &str, port: u16, name: &str, db: i64, password_file: Option<&str>) -> Option<StoreUri> {
        let (host, name) = (host.to_owned(), name.to_owned());
        Some(StoreUri::Redis(RedisUri {
            host,
            port,
            name,
            db,
            password_file: password_file.map(PathBuf::from),
        }))
    }

    #[test]
    fn urls() {
        for (uri, expected) in [
            ("memory:", Some(StoreUri::Memory)),
            ("embedded:./a b", Some(StoreUri::Embedded("./a b".into()))),
            ("embedded:/var/lib/x", Some(StoreUri::Embedded("/var/lib/x".into()))),
            ("embedded:///var/lib/x", Some(StoreUri::Embedded("/var/lib/x".into()))),
            ("embedded:x:y", Some(StoreUri::Embedded("x:y".into()))),
            ("embedded://x", None),
            ("memory:x", None),
            ("memory", None),
            ("embedded:", None),
            ("", None),
            ("./index", None),
            ("lmdb:./index", None),
            ("hbase://localhost:9091/news", hbase("localhost:9091", "news", 8)),
            ("hbase://10.0.0.1/crawl:news-2.v1", hbase("10.0.0.1:9090", "crawl:news-2.v1", 8)),
            ("hbase://[::1]:9090/a?connections=3", hbase("[::1]:9090", "a", 3)),
            ("hbase://[::1]/a", hbase("[::1]:9090", "a", 8)),
            ("hbase:", None),
            ("hbase:localhost:9090/news", None),
            ("hbase://localhost:9090", None),
            ("hbase://localhost:9090/", None),
            ("hbase://localhost:0/news", None),
            ("hbase://localhost:x/news", None),
            ("hbase://:9090/news", None),
            ("hbase://me@localhost/news", None),
            ("hbase://localhost/a/b", None),
            ("hbase://localhost/-a", None),
            ("hbase://localhost/:a", None),
            ("hbase://localhost/a?connections=0", None),
            ("hbase://localhost/a?connection=4", None),
            ("hbase://localhost/a?connections=4&connections=5", None),
            ("hbase://localhost/a_docs", None),
            ("redis://localhost:6380/news", redis("localhost", 6380, "news", 0, None)),
            ("redis://10.0.0.1/crawl:news-2.v1", redis("10.0.0.1", 6379, "crawl:news-2.v1", 0, None)),
            ("redis://[::1]/a?db=3", redis("[::1]", 6379, "a", 3, None)),
            ("redis://[::1]:1/a", redis("[::1]", 1, "a", 0, None)),
            ("redis://h/a?db=1&password-file=/run/x y", redis("h", 6379, "a", 1, Some("/run/x y"))),
            ("redis:", None),
            ("redis:localhost/news", None),
            ("redis://localhost", None),
            ("redis://localhost/", None),
            ("redis://localhost/0/news", None),
            ("redis://localhost:0/news", None),
            ("redis://localhost/{news}", None),
            ("redis://localhost/-a", None),
            ("redis://:secret@localhost/news", None),
            ("redis://localhost/a?db=-1", None),
            ("redis://localhost/a?db=", None),
            ("redis://localhost/a?database=1", None),
            ("redis://localhost/a?password-file=", None),
            ("rediss://localhost/news", None),
        ] {
            let parsed: Option<StoreUri> = uri.parse().ok();
            assert_eq!(parsed, expected, "{uri}");
            if let Some(parsed) = parsed {
                assert_eq!(parsed.to_string().parse().ok(), Some(parsed), "{uri}");
            }
        }
    }
}
