//! Where an input lies: on this machine or elsewhere.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::remote::{Object, Windows};

/// An input, by where it is.
#[derive(Clone)]
pub struct Location(Kind);

#[derive(Clone)]
enum Kind {
    Local(PathBuf),
    Remote(Object),
}

/// An input whose parts can be read in any order.
pub(super) enum Parts {
    Local(File),
    Remote(Windows),
}

/// What tells an input from what it may become.
pub struct Identity {
    /// How many bytes it has, as they are stored.
    pub n_bytes: u64,
    /// Nanoseconds since 1970; 0 where that is not known.
    pub modified: u128,
    /// What a server calls its contents.
    pub e_tag: Option<String>,
}

/// Why it is not known whether an input is still the same.
#[derive(Debug)]
pub enum NoIdentity {
    /// It cannot be looked at.
    Unreadable(io::Error),
    /// It is no file, but a pipe or the like.
    ReadOnce,
    /// Its server names neither `ETag` nor `Last-Modified`.
    Unversioned,
}

impl Location {
    /// A file of this machine.
    pub(crate) fn local(path: PathBuf) -> Self {
        Self(Kind::Local(path))
    }

    /// An object of a server.
    pub(crate) fn remote(object: Object) -> Self {
        Self(Kind::Remote(object))
    }

    /// As the user can find it; the address of what lies elsewhere.
    pub fn path(&self) -> &Path {
        match &self.0 {
            Kind::Local(path) => path,
            Kind::Remote(object) => Path::new(object.name()),
        }
    }

    pub(super) fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        Ok(match &self.0 {
            Kind::Local(path) => Box::new(File::open(path)?),
            Kind::Remote(object) => Box::new(object.open()),
        })
    }

    /// The same, to be read in any order.
    pub(super) fn open_parts(&self) -> io::Result<Parts> {
        Ok(match &self.0 {
            Kind::Local(path) => Parts::Local(File::open(path)?),
            Kind::Remote(object) => Parts::Remote(object.windows()),
        })
    }

    /// How many bytes there are, as far as can be told.
    pub(super) fn n_bytes(&self) -> u64 {
        match &self.0 {
            Kind::Local(path) => path.metadata().map_or(0, |metadata| metadata.len()),
            Kind::Remote(object) => object.n_bytes(),
        }
    }

    /// What tells it from what it may become.
    ///
    /// # Errors
    /// Where that cannot be known: what can be read only once is another input every time.
    pub fn identity(&self) -> Result<Identity, NoIdentity> {
        match &self.0 {
            Kind::Local(path) => {
                let metadata = path.metadata().map_err(NoIdentity::Unreadable)?;
                if !metadata.is_file() {
                    return Err(NoIdentity::ReadOnce);
                }
                let modified = metadata.modified().map_err(NoIdentity::Unreadable)?;
                let modified = modified.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
                Ok(Identity { n_bytes: metadata.len(), modified, e_tag: None })
            }
            Kind::Remote(object) => {
                let e_tag = object.e_tag().map(str::to_owned);
                let modified_ms = object.modified_ms().and_then(|ms| u128::try_from(ms).ok());
                if e_tag.is_none() && modified_ms.is_none() {
                    return Err(NoIdentity::Unversioned);
                }
                // What is written anew with the same contents is the same where they have a name.
                let modified = if e_tag.is_some() { 0 } else { modified_ms.unwrap_or(0) * 1_000_000 };
                Ok(Identity { n_bytes: object.n_bytes(), modified, e_tag })
            }
        }
    }
}
