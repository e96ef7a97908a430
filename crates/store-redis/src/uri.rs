//! `redis://HOST:PORT/NAME`: the place of an index in Redis.

use std::path::PathBuf;
use std::str::FromStr;
use std::{fmt, fs};

use index::backend::split_authority;
use index::{Error, Result};

/// The place of an index in Redis, and the access to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisUri {
    /// The host of the server. An IPv6 address is in brackets.
    pub host: String,
    /// The port of the server.
    pub port: u16,
    /// The name of the index: the part of its keys between the braces.
    pub name: String,
    /// The number of the database in the server.
    pub db: i64,
    /// The user of the server's access control list; `None` for the default user.
    pub user: Option<String>,
    /// A file with the password in its first line.
    pub password_file: Option<PathBuf>,
}

/// The default port of Redis.
const REDIS_PORT: u16 = 6379;

/// The longest name of an index: it is part of every key.
const REDIS_NAME_BYTES_MAX: usize = 128;

impl FromStr for RedisUri {
    type Err = Error;

    /// Parses the part after `redis://`.
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
                 redis://HOST:PORT/NAME?user=NAME&password-file=PATH; without user=NAME it is the default user's",
            ));
        }
        let (host, port, name) = split_authority(place, REDIS_PORT).map_err(malformed)?;
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
                "{parameter:?} is not a parameter; there are db=N, from 0 on, user=NAME and password-file=PATH"
            ))
        };
        let (host, name) = (host.to_owned(), name.to_owned());
        let mut uri = Self { host, port, name, db: 0, user: None, password_file: None };
        for parameter in query.into_iter().flat_map(|query| query.split('&')) {
            match parameter.split_once('=') {
                Some(("db", number)) => {
                    uri.db = number.parse::<u16>().map_err(|_| unknown(parameter))?.into();
                }
                Some(("user", user)) if !user.is_empty() => uri.user = Some(user.to_owned()),
                Some(("password-file", path)) if !path.is_empty() => uri.password_file = Some(path.into()),
                _ => return Err(unknown(parameter)),
            }
        }
        Ok(uri)
    }
}

impl RedisUri {
    /// Reads the password from its file, if one is named.
    pub(super) fn read_password(&self) -> Result<Option<String>> {
        let Some(path) = &self.password_file else { return Ok(None) };
        let text = fs::read_to_string(path).map_err(|error| {
            Error::invalid(format!("the password file {} cannot be read", path.display())).caused_by(error)
        })?;
        Ok(Some(text.lines().next().unwrap_or_default().to_owned()))
    }
}

impl fmt::Display for RedisUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, name, db, user, password_file } = self;
        write!(f, "redis://{host}:{port}/{name}?db={db}")?;
        if let Some(user) = user {
            write!(f, "&user={user}")?;
        }
        match password_file {
            Some(path) => write!(f, "&password-file={}", path.display()),
            None => Ok(()),
        }
    }
}
