//! Archives, read member by member: each member by its own name, format and compression, as a file
//! of its own would be.
//!
//! Nothing is written to disk under the name of a member, so a name may hold anything. A member
//! that is not read is counted, or is a record with a reason.

mod bytes;
mod names;
mod tar;
mod zip;

use std::io::{self, Cursor, Read};
use std::sync::Arc;

use super::archive_kind::Archive;
use super::files::Source;
use super::format::Format;
use super::guarded::Guarded;
use super::internal_error::caught;
use super::left_out::{LeftOut, ending};
use super::origin::Origin;
use super::reading::Reading;
use super::records::{RecordError, Records};
use super::side_files::{CARD_BYTES, is_head_of_card, is_side_file, may_be_card};
use names::{Name, Names};

/// One after another, the members of an archive.
trait Walk {
    /// Returns the next member; `None` at the end. Nothing may be read after an error.
    fn next(&mut self) -> io::Result<Option<Member>>;
}

struct Member {
    name: Name,
    holds: Holds,
}

enum Holds {
    /// The bytes of a file. They can be read until the next member is asked for.
    File(Box<dyn Read + Send>),
    Folder,
    /// Something without bytes of its own, by the word by which it is counted.
    Nothing(&'static str),
    /// A file that cannot be read, with the reason.
    Unread(String),
}

/// The records of an archive.
pub(super) struct Archived {
    /// The archive itself.
    origin: Arc<Origin>,
    /// `None` at the end, after an error, and for an empty file, which has no record.
    walk: Option<Box<dyn Walk>>,
    /// Error of an archive that could not be opened.
    failure: Option<String>,
    /// Format of all members, if given by the user.
    given: Option<Format>,
    current: Option<(Arc<Origin>, Guarded)>,
    names: Names,
    /// True once a member gave a record.
    has_any: bool,
    left_out: LeftOut,
}

impl Archived {
    /// Opens a source that is an archive.
    pub(super) fn open(kind: Archive, source: Source, reading: &Reading) -> Self {
        let (origin, given) = (Arc::new(source.origin()), source.given());
        let opened = caught(|| -> io::Result<Option<Box<dyn Walk>>> {
            Ok(match kind {
                Archive::Tar => {
                    tar::Tar::open(reading.unpacked_archive(source)?)?.map(|tar| Box::new(tar) as _)
                }
                Archive::Zip => zip::Zip::open(source.location(), reading)?.map(|zip| Box::new(zip) as _),
            })
        });
        let opened = opened.and_then(|opened| opened.map_err(|error| error.to_string()));
        Self::new(origin, given, opened)
    }

    /// Reads a tar archive from its unpacked bytes.
    pub(super) fn tar(origin: Arc<Origin>, given: Option<Format>, content: Box<dyn Read + Send>) -> Self {
        Self::new(origin, given, Ok(Some(Box::new(tar::Tar::new(content)))))
    }

    fn new(
        origin: Arc<Origin>,
        given: Option<Format>,
        opened: Result<Option<Box<dyn Walk>>, String>,
    ) -> Self {
        let (walk, failure) = opened.map_or_else(|why| (None, Some(why)), |walk| (walk, None));
        let (names, left_out) = (Names::default(), LeftOut::default());
        Self { origin, walk, failure, given, current: None, names, has_any: false, left_out }
    }

    /// Returns the next records of a member, with its origin; `None` at the end.
    pub(super) fn next_records(&mut self, reading: &Reading) -> Option<(Arc<Origin>, Records)> {
        loop {
            if let Some((origin, reader)) = &mut self.current {
                if let Some(records) = reader.next_records() {
                    return Some((Arc::clone(origin), records));
                }
                self.current = None;
            }
            if let Some(why) = self.failure.take() {
                return Some(self.broken(why));
            }
            let next = caught(|| self.walk.as_mut().map_or(Ok(None), |walk| walk.next()));
            match next.unwrap_or_else(|why| Err(io::Error::other(why))) {
                Ok(Some(member)) => {
                    if let Some(records) = self.begin(member, reading) {
                        return Some(records);
                    }
                }
                Ok(None) if self.walk.take().is_none() || self.has_any => return None,
                Ok(None) => return Some(self.broken(nothing_in(&self.left_out))),
                Err(error) => return Some(self.broken(error.to_string())),
            }
        }
    }

    /// Begins a member; returns the record in its place if it is not read.
    fn begin(&mut self, Member { name, holds }: Member, reading: &Reading) -> Option<(Arc<Origin>, Records)> {
        let content = match holds {
            Holds::Folder => return None,
            _ if is_side_file(&name.shown) || is_hidden(&name.shown) => {
                return Some(self.left_out(LeftOut::SIDE_FILES));
            }
            Holds::Nothing(what) => return Some(self.left_out(what)),
            Holds::Unread(why) => return Some(self.refused(&name, why)),
            Holds::File(content) => match without_card(&name.shown, content) {
                Ok(Some(content)) => content,
                Ok(None) => return Some(self.left_out(LeftOut::SIDE_FILES)),
                Err(error) => return Some(self.refused(&name, error.to_string())),
            },
        };
        if Archive::of(&name.shown).is_some() {
            let why = "an archive in an archive is not read; unpack the outer one, and name its folder";
            return Some(self.refused(&name, why.to_owned()));
        }
        let Some(format) = self.given.or_else(|| Format::of(&name.shown)) else {
            return Some(self.left_out(&ending(&name.shown)));
        };
        if !self.names.is_new(&name) {
            let why = "another member of this name came before, and ids may be made of names; unpack the archive, and \
                       name its folder";
            return Some(self.refused(&name, why.to_owned()));
        }
        self.has_any = true;
        let origin = Arc::new(self.origin.member(&name.shown));
        let opened = caught(|| reading.member(format, &origin, content).map_err(|error| error.to_string()));
        match opened.and_then(|opened| opened) {
            Ok(reader) => {
                self.current = Some((origin, Guarded::new(reader)));
                None
            }
            Err(why) => Some(self.refused(&name, why)),
        }
    }

    /// Counts a member that is not read, by its ending or the word in the place of one.
    fn left_out(&mut self, ending: &str) -> (Arc<Origin>, Records) {
        self.left_out.add_kind(ending);
        (Arc::clone(&self.origin), Records::left_out(ending))
    }

    /// Returns a record with the reason in the place of a member.
    fn refused(&mut self, name: &Name, why: String) -> (Arc<Origin>, Records) {
        self.has_any = true;
        let origin = Arc::new(self.origin.member(&name.shown));
        (origin, Records::broken(1, RecordError::Damaged(why)))
    }

    /// Returns a record with the reason why the rest is not read.
    fn broken(&mut self, why: String) -> (Arc<Origin>, Records) {
        self.walk = None;
        (Arc::clone(&self.origin), Records::broken(1, RecordError::Broken(why)))
    }
}

/// Returns the content of a member, whole, unless it is the description of a data set.
fn without_card(name: &str, mut content: Box<dyn Read + Send>) -> io::Result<Option<Box<dyn Read + Send>>> {
    if !may_be_card(name) {
        return Ok(Some(content));
    }
    let mut head = Vec::new();
    (&mut content).take(CARD_BYTES).read_to_end(&mut head)?;
    Ok((!is_head_of_card(&head)).then(|| Box::new(Cursor::new(head).chain(content)) as _))
}

fn is_hidden(name: &str) -> bool {
    name.split('/').any(|step| step.starts_with('.') && step != "." && step != "..")
}

fn nothing_in(left_out: &LeftOut) -> String {
    let beside = if left_out.is_empty() { String::new() } else { format!("; it has {left_out}") };
    format!(
        "no member of the archive has a name that ends in one of {} (and .gz .zst .bz2){beside}; say with --format what \
         all members are",
        Format::suffixes(),
    )
}

#[cfg(test)]
pub(super) mod tests;
