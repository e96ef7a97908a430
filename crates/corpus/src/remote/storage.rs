//! What is asked of a storage, and how it may fail.

use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;

/// A bucket, a web server, an HDFS.
#[async_trait]
pub(super) trait Storage: Send + Sync {
    /// What there is under this name.
    async fn look(&self, key: &str) -> Result<Entry, Failure>;

    /// All files in a folder and in the folders in it, by their whole keys, in any order. Where names are all there is,
    /// a folder without files is one that is not there.
    async fn list(&self, folder: &str) -> Result<Vec<(String, Version)>, Failure>;

    /// The bytes of a range, which is not empty, and of which version they are. The stream may break off and may be
    /// longer, but never holds bytes of another version.
    async fn open(&self, key: &str, range: Range<u64>) -> Result<(Version, Content), Failure>;
}

/// Bytes on their way.
pub(super) type Content = BoxStream<'static, Result<Bytes, Failure>>;

pub(super) enum Entry {
    File(Version),
    Folder,
}

/// What tells the contents of a file from those that it had before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) n_bytes: u64,
    pub(super) e_tag: Option<String>,
    pub(super) modified_ms: Option<i64>,
}

impl Version {
    /// Whether both are the same, as far as both of them say. What was written anew with the same contents is, where
    /// there are tags.
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

    /// Whether it says more than a length, which most changes leave as it is or not.
    pub(super) fn is_certain(&self) -> bool {
        self.e_tag.is_some() || self.modified_ms.is_some()
    }
}

/// Why something could not be had, in words for people.
#[derive(Debug)]
pub(super) enum Failure {
    NotFound(String),
    /// It would be no better the next time.
    Final(String),
    /// It may be better the next time.
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
