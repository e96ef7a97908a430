//! Interface of a storage, and its failures.

use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;

/// A storage of files: a bucket, a web server, or an HDFS.
#[async_trait]
pub(super) trait Storage: Send + Sync {
    /// Looks up the entry under this name.
    async fn look(&self, key: &str) -> Result<Entry, Failure>;

    /// Lists all files in a folder and its subfolders, by their whole keys, in any order. In a
    /// storage of names only, a folder without files does not exist.
    async fn list(&self, folder: &str) -> Result<Vec<(String, Version)>, Failure>;

    /// Opens the bytes of a range, which is not empty, and returns their version. The stream may
    /// break off and may be longer, but never holds bytes of another version.
    async fn open(&self, key: &str, range: Range<u64>) -> Result<(Version, Content), Failure>;
}

/// Stream of the bytes of a file.
pub(super) type Content = BoxStream<'static, Result<Bytes, Failure>>;

pub(super) enum Entry {
    File(Version),
    Folder,
}

/// Length, ETag and time of a file: identifies the version of its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) n_bytes: u64,
    pub(super) e_tag: Option<String>,
    pub(super) modified_ms: Option<i64>,
}

impl Version {
    /// Returns true if both versions agree: by their tags where both have one, else by their times
    /// where both are known. A file rewritten with the same contents keeps its tag.
    pub(super) fn fits(&self, other: &Self) -> bool {
        self.n_bytes == other.n_bytes
            && match (&self.e_tag, &other.e_tag) {
                (Some(this), Some(other)) => this == other,
                _ => match (self.modified_ms, other.modified_ms) {
                    (Some(this), Some(other)) => this == other,
                    _ => true,
                },
            }
    }

    /// Returns true if the version has more than a length, which a change may leave the same.
    pub(super) fn is_certain(&self) -> bool {
        self.e_tag.is_some() || self.modified_ms.is_some()
    }
}

/// Reason for a failed request, as shown to the user.
#[derive(Debug)]
pub(super) enum Failure {
    NotFound(String),
    /// Another attempt would fail, too.
    Final(String),
    /// Another attempt may succeed.
    Passing(String),
}

impl Failure {
    pub(super) fn why(self) -> String {
        match self {
            Self::NotFound(why) | Self::Final(why) | Self::Passing(why) => why,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_fit_or_not() {
        let version = |n_bytes, e_tag: &str, modified_ms| Version {
            n_bytes,
            e_tag: (!e_tag.is_empty()).then(|| e_tag.to_owned()),
            modified_ms: (modified_ms > 0).then_some(modified_ms),
        };
        let this = version(5, "a", 1000);
        for (other, expected) in [
            (version(5, "a", 1000), true),
            (version(5, "a", 2000), true),
            (version(5, "b", 1000), false),
            (version(6, "a", 1000), false),
            (version(5, "", 1000), true),
            (version(5, "", 2000), false),
            (version(5, "", 0), true),
        ] {
            assert_eq!((this.fits(&other), other.fits(&this)), (expected, expected), "{other:?}");
        }
        assert!(!version(5, "", 0).is_certain());
    }
}
