//! One input, found and not read yet.

use std::io::{self, Read};
use std::path::Path;

use super::super::archive_kind::Archive;
use super::super::content::Content;
use super::super::copies::Copy;
use super::super::format::Format;
use super::super::holds::{Holds, said};
use super::super::location::Location;
use super::super::origin::{Origin, readable};
use super::is_stdin;

/// One file to be read, or standard input.
pub(crate) struct Source {
    pub(super) location: Location,
    /// Start of the stem in the path: the part by which records are known.
    pub(super) stem_start: usize,
    pub(super) holds: Holds,
    /// Format of all files, if given by the user.
    pub(super) given: Option<Format>,
    /// An input that can be opened only once, such as standard input or a pipe. Files are opened
    /// when their turn comes: there may be more of them than a process may have open.
    pub(crate) opened: Option<Box<dyn Read + Send>>,
    /// The copy of such an input, if one is made.
    pub(super) copy: Option<Copy>,
}

impl Source {
    /// Returns the same source for another pass, if the source can be read again.
    pub(crate) fn again(&self) -> Option<Self> {
        let copy = self.copy.clone().filter(Copy::is_whole);
        let opened = copy.as_ref().map(Copy::reader);
        let can_open = self.opened.is_none() || opened.is_some();
        can_open.then(|| Self { location: self.location.clone(), opened, copy, ..*self })
    }

    pub(crate) fn location(&self) -> &Location {
        &self.location
    }

    pub(crate) fn path(&self) -> &Path {
        self.location.path()
    }

    /// Returns the format of the records; `None` for an archive.
    pub(crate) fn format(&self) -> Option<Format> {
        match self.holds {
            Holds::Records(format) => Some(format),
            Holds::Members(_) => None,
        }
    }

    /// Returns the kind of the archive, if it is one.
    pub(crate) fn archive(&self) -> Option<Archive> {
        match self.holds {
            Holds::Records(_) => None,
            Holds::Members(archive) => Some(archive),
        }
    }

    /// Returns the format given by the user for all files.
    pub(crate) fn given(&self) -> Option<Format> {
        self.given
    }

    /// Returns true if the user or the name says what the source holds.
    pub(crate) fn is_told(&self) -> bool {
        said(self.given, &self.location.path().to_string_lossy()).is_some()
    }

    /// Returns the reason why the source cannot be read in its format, if it can be opened again
    /// and plainly is something else.
    pub(crate) fn complaint(&self, window_log_max: u32) -> Option<String> {
        let content = Content::look(self.location.open().ok()?, true, window_log_max)?;
        content.complaint(self.format()?)
    }

    /// Returns true for standard input of which nothing was read: lines may arrive one by one.
    pub(crate) fn arrives(&self) -> bool {
        is_stdin(self.path()) && self.copy.as_ref().is_none_or(Copy::is_fresh)
    }

    pub(crate) fn origin(&self) -> Origin {
        if is_stdin(self.path()) {
            return Origin { name: "stdin".to_owned(), stem_start: 0 };
        }
        let (folder, stem) = self.path().as_os_str().as_encoded_bytes().split_at(self.stem_start);
        let mut name = readable(folder).into_owned();
        let stem_start = name.len();
        name.push_str(&readable(stem));
        Origin { name, stem_start }
    }

    pub(crate) fn open(self) -> io::Result<Box<dyn Read + Send>> {
        self.opened.map_or_else(|| self.location.open(), Ok)
    }
}
