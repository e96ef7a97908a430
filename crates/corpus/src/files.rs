//! Selection of files: order and names of files, folders, globs, lists of files, standard input,
//! and remote addresses.

mod folders;
mod globs;
mod lists;
mod source;

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail, ensure};

use super::archive_kind::Archive;
use super::content::Content;
use super::copies::{Copies, Copy};
use super::format::Format;
use super::holds::{Holds, judge, known_endings, said};
use super::left_out::LeftOut;
use super::location::Location;
use super::options::InputOptions;
use super::remote::{self, Remote, is_remote};
use super::side_files::is_side_file;
use super::table_folders;
use super::wildcards::{GLOB_CHARACTERS, on_braces};

use self::folders::no_file;
pub(super) use self::source::Source;

/// The files to be read.
pub(super) struct Listing {
    /// In the order of the arguments.
    pub(super) sources: Vec<Source>,
    /// Sum of the lengths in bytes, if each source has one.
    pub(super) n_bytes: Option<u64>,
    pub(super) left_out: LeftOut,
}

/// Finds all inputs of the options and tries to open each.
pub(super) fn find(options: &InputOptions) -> anyhow::Result<Listing> {
    let lists = options.files_from.iter();
    let n_stdin = options.files.iter().chain(lists).filter(|path| is_stdin(path)).count();
    ensure!(n_stdin <= 1, "standard input (-) can be read only once");
    let format = options.records.format;
    let listing = Listing { sources: Vec::new(), n_bytes: Some(0), left_out: LeftOut::default() };
    let window_log_max = options.records.zstd_window_log_max;
    let (wait, copies) = (options.wait, options.copies.clone());
    let mut found = Found { listing, format, window_log_max, remote: None, wait, copies };
    for path in &options.files {
        match path.to_str() {
            Some(address) if is_remote(path) => found.add_remote(address, true)?,
            Some(pattern) if pattern.contains(GLOB_CHARACTERS) && !path.exists() => {
                found.add_glob(pattern)?;
            }
            _ => {
                found.add(path, path.parent().unwrap_or(Path::new("")))?;
            }
        }
    }
    if let Some(list) = &options.files_from {
        found.add_list(list)?;
    }
    found.check_stems(options.make_ids)?;
    Ok(found.listing)
}

/// The way to a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// The user names the file. It is refused if it cannot be read.
    Name,
    /// A glob matches the file. If its name implies no format, the content decides.
    Glob,
    /// The file lies in a folder, and its name implies the format, unless one is given for all.
    Folder,
}

struct Found {
    listing: Listing,
    /// Format of all files, if given by the user.
    format: Option<Format>,
    /// Binary logarithm of the largest window of zstd.
    window_log_max: u32,
    /// Client for remote files, once one is named.
    remote: Option<Remote>,
    /// Time to keep retrying remote files.
    wait: Duration,
    /// The place of copies of inputs that come only once.
    copies: Option<Copies>,
}

impl Found {
    /// Adds a file, or the files in a folder. Records are known by the path below `base`, or below
    /// the folder.
    fn add(&mut self, path: &Path, base: &Path) -> anyhow::Result<()> {
        if !path.is_dir() {
            return self.add_file(path, base, By::Name);
        }
        let (n_before, left_out) = (self.listing.sources.len(), self.add_folder(path, path, None)?);
        if self.listing.sources.len() == n_before && !left_out.is_empty() && left_out.is_side_files() {
            bail!(
                "the folder {} has nothing to read: by its log, names or kinds, its files are no data: {left_out}",
                path.display()
            );
        }
        ensure!(self.listing.sources.len() > n_before, nothing_known_in(&path.to_string_lossy(), &left_out));
        self.listing.left_out.merge(&left_out);
        Ok(())
    }

    fn add_file(&mut self, path: &Path, base: &Path, by: By) -> anyhow::Result<()> {
        let name = path.to_string_lossy();
        let said = said(self.format, &name);
        let mut holds = said;
        let known = self.copies.as_ref().and_then(|copies| copies.get(path));
        let (mut opened, len): (Option<Box<dyn Read + Send>>, _) = if known.is_some() {
            (None, None)
        } else if is_stdin(path) {
            (Some(Box::new(io::stdin())), None)
        } else {
            if by == By::Glob
                && let Some(kind) = no_file(path)
            {
                self.listing.left_out.add_kind(kind);
                return Ok(());
            }
            let failed = || format!("failed to open {}{}", path.display(), on_braces(&name));
            let file = File::open(path).with_context(failed)?;
            let metadata = file.metadata().with_context(failed)?;
            if metadata.is_file() {
                if by == By::Name || (by == By::Glob && said.is_none()) {
                    let content = Content::look(file, said.is_some(), self.window_log_max);
                    match judge(&name, said, content) {
                        Ok(judged) => holds = judged,
                        Err(_) if by == By::Glob => {
                            self.listing.left_out.add(&name);
                            return Ok(());
                        }
                        Err(why) => bail!("{} {why}", path.display()),
                    }
                }
                (None, Some(metadata.len()))
            } else {
                (Some(Box::new(file)), None)
            }
        };
        let copy = known.or_else(|| Some(self.copies.as_ref()?.add(path, opened.take()?)));
        let opened = copy.as_ref().map(Copy::reader).or(opened);
        let holds = holds.unwrap_or(Holds::Records(Format::Jsonl));
        let in_parts = match holds {
            Holds::Records(Format::Parquet) => Some("Parquet"),
            Holds::Members(Archive::Zip) => Some("ZIP"),
            Holds::Records(_) | Holds::Members(_) => None,
        };
        if let Some(what) = in_parts.filter(|_| opened.is_some()) {
            bail!(
                "{what} begins with its end, so {} cannot be read as it comes; write it to a file first",
                path.display()
            );
        }
        let listing = &mut self.listing;
        listing.n_bytes = listing.n_bytes.zip(len).map(|(sum, len)| sum + len);
        let n_bytes = |path: &Path| path.as_os_str().as_encoded_bytes().len();
        let stem_start = path.strip_prefix(base).map_or(0, |stem| n_bytes(path) - n_bytes(stem));
        listing.sources.push(Source {
            location: Location::local(path.to_owned()),
            stem_start,
            holds,
            given: self.format,
            opened,
            copy,
        });
        Ok(())
    }

    /// Adds the files at an address, by the rules for local files. An argument may be a glob, and
    /// its records are known by the last step of the path; records of a list are known by the full
    /// address.
    fn add_remote(&mut self, address: &str, is_argument: bool) -> anyhow::Result<()> {
        let remote = match &self.remote {
            Some(remote) => remote,
            None => self.remote.insert(Remote::new(self.wait)?),
        };
        let given = self.format;
        let mut left_out = LeftOut::default();
        let mut table = None;
        let takes = |name: &str, by: remote::By| {
            if by == remote::By::Folder {
                table = table.or_else(|| table_folders::complaint(name));
            }
            if is_side_file(name) {
                left_out.add_side_file();
                return false;
            }
            // The content of a match decides where its name does not, as on this machine.
            let is_taken = by == remote::By::Match || said(given, name).is_some();
            if !is_taken {
                left_out.add(name);
            }
            is_taken
        };
        let found = remote.find(address, is_argument, takes)?;
        if let Some(table) = table {
            bail!("{address} holds {table}; write what it has now as Parquet, and read that");
        }
        let (is_file, is_glob) =
            (matches!(found, remote::Found::File(_)), matches!(found, remote::Found::Matches(..)));
        let (objects, stem_start) = match found {
            remote::Found::File(object) => {
                let last = object.name().rfind('/').map_or(0, |slash| slash + 1);
                (vec![object], if is_argument { last } else { 0 })
            }
            remote::Found::Folder(objects, _) if objects.is_empty() => {
                bail!(nothing_known_in(address, &left_out))
            }
            remote::Found::Folder(objects, start) | remote::Found::Matches(objects, start) => {
                (objects, start)
            }
        };
        let n_before = self.listing.sources.len();
        for object in objects {
            let mut holds = said(given, object.name());
            if holds.is_none() {
                let content = Content::look(object.open_head(), false, self.window_log_max);
                match judge(object.name(), None, content) {
                    Ok(judged) => holds = judged,
                    Err(why) if is_file => bail!("{} {why}", object.name()),
                    Err(_) => {
                        left_out.add(object.name());
                        continue;
                    }
                }
            }
            let holds = holds.unwrap_or(Holds::Records(Format::Jsonl));
            self.listing.n_bytes = self.listing.n_bytes.map(|sum| sum + object.n_bytes());
            let location = Location::remote(object);
            self.listing.sources.push(Source {
                location,
                stem_start,
                holds,
                given,
                opened: None,
                copy: None,
            });
        }
        if is_glob && self.listing.sources.len() == n_before {
            ensure!(!left_out.is_empty(), "there is no {address}, and as a glob it matches nothing");
            bail!(globs::nothing_in_matches(address, &left_out));
        }
        self.listing.left_out.merge(&left_out);
        Ok(())
    }

    /// Refuses two sources with the same stem if ids are made from it: for documents named after
    /// their files, and for all formats under `make_ids`.
    fn check_stems(&self, make_ids: bool) -> anyhow::Result<()> {
        let mut stems = HashSet::new();
        let is_named = |source: &&Source| make_ids || source.format().is_none_or(Format::is_document);
        for source in self.listing.sources.iter().filter(is_named) {
            let origin = source.origin();
            ensure!(
                stems.insert(origin.stem().to_owned()),
                "two inputs are called {}, and the ids made for their records would be the same; name the folder that \
                 holds both instead, or rename one",
                origin.stem()
            );
        }
        Ok(())
    }
}

/// Advice on files that are left out.
pub const WHAT_TO_DO: &str =
    "write what is in them as text or JSON Lines, or say with --format what they are";

fn nothing_known_in(folder: &str, left_out: &LeftOut) -> String {
    format!(
        "no file in the folder {folder} has a name that ends in one of {} (and .gz .zst .bz2){}; name the files, or say \
         with --format what all files in it are",
        known_endings(),
        beside(left_out)
    )
}

/// Formats the files found instead.
fn beside(left_out: &LeftOut) -> String {
    if left_out.is_empty() { String::new() } else { format!("; it has {left_out}{}", left_out.advice()) }
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

#[cfg(test)]
mod tests;
