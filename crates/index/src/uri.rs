//! From a URL to the store it names. A new backend is one more arm here, and a folder of its own.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::embedded::EmbeddedStore;
use crate::{Error, MemoryStore, Mode, Result, Store};

/// Where an index is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreUri {
    /// `memory:`: in this process, gone when it ends.
    Memory,
    /// `embedded:PATH`: in a directory of this machine.
    Embedded(PathBuf),
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
            _ => Err(Error::invalid(format!(
                "{uri:?} names no store; use embedded:PATH (a directory, for example embedded:./my-index) or memory:"
            ))),
        }
    }
}

impl fmt::Display for StoreUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory:"),
            Self::Embedded(path) => write!(f, "embedded:{}", path.display()),
        }
    }
}

impl StoreUri {
    /// Opens the store. It may be without metadata yet, also with [`Mode::MustExist`].
    ///
    /// # Errors
    /// `NotFound` where there is none and `mode` does not allow making one.
    pub fn open(&self, mode: Mode) -> Result<Box<dyn Store>> {
        match self {
            Self::Memory => Ok(Box::new(MemoryStore::new())),
            Self::Embedded(path) => Ok(Box::new(EmbeddedStore::open(path, mode)?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        ] {
            assert_eq!(uri.parse().ok(), expected, "{uri}");
        }
    }
}
