//! The origin of a document, as named by the caller.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The longest source, in bytes of UTF-8: its length is stored in one byte.
pub const MAX_SOURCE_BYTES: usize = 255;

/// The caller's name for the origin of a document: 1 to [`MAX_SOURCE_BYTES`] bytes of UTF-8 without
/// control characters.
///
/// A source decides nothing about a document; it makes all documents of one origin removable. Most
/// documents share their source with others, so clones share its bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source(Arc<str>);

/// A text that cannot be a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidSource {
    /// A text without characters.
    Empty,
    /// A text of more than [`MAX_SOURCE_BYTES`]; holds its length in bytes.
    TooLong(usize),
    /// A text with a control character; holds the byte at which the character starts.
    Control(usize),
}

impl fmt::Display for InvalidSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "a source must not be empty; leave it out"),
            Self::TooLong(len) => {
                write!(f, "a source has at most {MAX_SOURCE_BYTES} bytes, this one has {len}")
            }
            Self::Control(position) => {
                write!(f, "a source must not hold control characters, this one has one at byte {position}")
            }
        }
    }
}

impl std::error::Error for InvalidSource {}

impl Source {
    /// Checks `source`.
    ///
    /// # Errors
    /// See [`InvalidSource`].
    pub fn new(source: impl AsRef<str>) -> Result<Self, InvalidSource> {
        let source = source.as_ref();
        if source.is_empty() {
            return Err(InvalidSource::Empty);
        }
        if source.len() > MAX_SOURCE_BYTES {
            return Err(InvalidSource::TooLong(source.len()));
        }
        if let Some(position) = source.find(char::is_control) {
            return Err(InvalidSource::Control(position));
        }
        Ok(Self(source.into()))
    }

    /// The source as given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({:?})", &*self.0)
    }
}

impl FromStr for Source {
    type Err = InvalidSource;

    fn from_str(source: &str) -> Result<Self, InvalidSource> {
        Self::new(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_checked() {
        for (source, expected) in [
            ("", Some(InvalidSource::Empty)),
            ("a\tb", Some(InvalidSource::Control(1))),
            ("é\u{85}", Some(InvalidSource::Control(2))),
            (" ", None),
            ("微博 crawl 7", None),
        ] {
            assert_eq!(Source::new(source).err(), expected, "{source:?}");
        }
        let longest = "x".repeat(MAX_SOURCE_BYTES);
        assert_eq!(Source::new(&longest).unwrap().as_str(), longest);
        assert_eq!(Source::new(longest + "x"), Err(InvalidSource::TooLong(MAX_SOURCE_BYTES + 1)));
    }
}
