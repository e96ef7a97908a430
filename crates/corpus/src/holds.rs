//! Content of a file, by its name, by the flags of the user, and by its beginning.

use super::archive_kind::Archive;
use super::content::Content;
use super::format::Format;

/// Content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    Records(Format),
    Members(Archive),
}

impl Holds {
    /// Returns the content that the ending of a file name implies.
    pub(super) fn of(name: &str) -> Option<Self> {
        Archive::of(name).map(Self::Members).or_else(|| Format::of(name).map(Self::Records))
    }
}

/// Returns the content of a file by its name, or by the format given for all files.
pub(super) fn said(given: Option<Format>, name: &str) -> Option<Holds> {
    let archive = Archive::of(name).map(Holds::Members);
    archive.or(given.map(Holds::Records)).or_else(|| Holds::of(name))
}

/// Returns true if a file of this name is read where no format is given: its ending implies a
/// format or an archive.
#[must_use]
pub fn has_known_ending(name: &str) -> bool {
    Holds::of(name).is_some()
}

/// Returns the endings of the names of such files, as shown to the user.
#[must_use]
pub fn known_endings() -> String {
    format!("{} {}", Format::suffixes(), Archive::suffixes())
}

/// Returns the content of a file, by name or flag and as it was found; the error is the reason
/// why the file cannot be read.
pub(super) fn judge(
    name: &str,
    said: Option<Holds>,
    content: Option<Content>,
) -> Result<Option<Holds>, String> {
    match (said, content) {
        (None, None) => Content::of_ending(name).map_or(Ok(None), |content| Err(content.to_string())),
        (said, None) => Ok(said),
        (_, Some(Content::Archive(Archive::Tar))) if Holds::of(name).is_none() => {
            Ok(Some(Holds::Members(Archive::Tar)))
        }
        (None, Some(Content::Known(format))) => Ok(Some(Holds::Records(format))),
        (None, Some(content)) => Err(content.to_string()),
        (Some(Holds::Records(format)), Some(content)) => content.complaint(format).map_or(Ok(said), Err),
        (Some(Holds::Members(archive)), Some(content)) => {
            content.complaint_of_archive(archive).map_or(Ok(said), Err)
        }
    }
}
