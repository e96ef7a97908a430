//! Location of an input: on this machine or on a server.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::remote::{Object, Windows};

/// Location of an input: a local path or a remote object.
#[derive(Clone)]
pub struct Location(Kind);

#[derive(Clone)]
enum Kind {
    Local(PathBuf),
    Remote(Object),
}

/// Maximum length of content that is written to a file to be read in any order.
const SPOOLED_BYTES_MAX: u64 = 8 << 30;

/// An input opened for reading in any order.
pub(super) enum Parts {
    Local(File),
    Remote(Windows),
}

impl Parts {
    /// Writes content to a file without a name, which is gone when it is closed.
    pub(super) fn spooled(content: impl Read) -> io::Result<Self> {
        let mut file = tempfile::tempfile()?;
        let n = io::copy(&mut content.take(SPOOLED_BYTES_MAX + 1), &mut file)?;
        if n > SPOOLED_BYTES_MAX {
            return Err(io::Error::other(
                "it is longer than 8 GiB and is read in parts; unpack the archive, and name its folder",
            ));
        }
        Ok(Self::Local(file))
    }

    /// Returns the length in bytes.
    pub(super) fn n_bytes(&self) -> io::Result<u64> {
        Ok(match self {
            Self::Local(file) => file.metadata()?.len(),
            Self::Remote(windows) => windows.n_bytes(),
        })
    }

    /// Returns a reader from a place to the end.
    pub(super) fn from(&self, place: u64) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Local(file) => Box::new(FromHere { file: file.try_clone()?, place }),
            Self::Remote(windows) => Box::new(windows.from(place)),
        })
    }

    /// Announces the parts to be read, each from its beginning to its end.
    pub(super) fn expect(&self, extents: Vec<Range<u64>>) {
        match self {
            Self::Local(_) => {}
            Self::Remote(windows) => windows.expect(extents),
        }
    }
}

/// Reader of a local file from some place on, whatever else reads the file.
struct FromHere {
    file: File,
    place: u64,
}

impl Read for FromHere {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read_at(buffer, self.place)?;
        self.place += n as u64;
        Ok(n)
    }
}

/// Length, time and ETag of an input: identifies this version of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Length in bytes, as stored.
    pub n_bytes: u64,
    /// Modification time in nanoseconds since 1970; 0 if unknown, or where `e_tag` identifies the
    /// version.
    pub modified: u128,
    /// Entity tag of the contents, as named by the server.
    pub e_tag: Option<String>,
}

/// Reason why the version of an input cannot be identified.
#[derive(Debug)]
pub enum NoIdentity {
    /// The metadata of the file cannot be read.
    Unreadable(io::Error),
    /// The input is not a file, but a pipe or the like.
    ReadOnce,
    /// The server names neither `ETag` nor `Last-Modified`.
    Unversioned,
}

impl Location {
    /// Returns the location of a file on this machine.
    pub(crate) fn local(path: PathBuf) -> Self {
        Self(Kind::Local(path))
    }

    /// Returns the location of an object on a server.
    pub(crate) fn remote(object: Object) -> Self {
        Self(Kind::Remote(object))
    }

    /// Returns the path of a local file as the user can find it, or the address of a remote object.
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

    /// Opens the input for reading in any order.
    pub(super) fn open_parts(&self) -> io::Result<Parts> {
        Ok(match &self.0 {
            Kind::Local(path) => Parts::Local(File::open(path)?),
            Kind::Remote(object) => Parts::Remote(object.windows()),
        })
    }

    /// Returns the length in bytes, as stored; 0 if the file cannot be examined.
    pub(super) fn n_bytes(&self) -> u64 {
        match &self.0 {
            Kind::Local(path) => path.metadata().map_or(0, |metadata| metadata.len()),
            Kind::Remote(object) => object.n_bytes(),
        }
    }

    /// Returns the identity of this version of the input.
    ///
    /// # Errors
    /// If the identity cannot be known: an input that can be read only once is another one every
    /// time.
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
                // A file written anew with the same contents stays the same if the contents have an
                // ETag.
                let modified = if e_tag.is_some() { 0 } else { modified_ms.unwrap_or(0) * 1_000_000 };
                Ok(Identity { n_bytes: object.n_bytes(), modified, e_tag })
            }
        }
    }
}
