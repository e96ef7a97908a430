//! Files of an address: a single file, those in a folder, or those that a glob matches. The rules
//! are those for local files.

use std::sync::Arc;

use anyhow::{anyhow, bail};
use glob::Pattern;
use tokio::time::timeout;

use super::storage::{Entry, Failure, Storage, Version};
use super::url::{Scheme, Url};
use super::{Object, Remote};
use crate::wildcards::{GLOB, GLOB_CHARACTERS, for_library};

/// Files found at an address.
pub(crate) enum Found {
    File(Object),
    /// Files of a folder, in their order, with the length in bytes of the beginning common to their
    /// names.
    Folder(Vec<Object>, usize),
    /// Files matched by a glob, likewise.
    Matches(Vec<Object>, usize),
}

/// The way to a file that is not named itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// A glob matches the file.
    Match,
    /// The file lies in a folder that is named, or that a glob matches.
    Folder,
}

impl Remote {
    /// Finds the files at the address `text`. Of a folder and a glob, only files that `takes`
    /// accepts are taken. It is called once for each, with the path in the storage, or that of a
    /// match after the folders without wildcards.
    pub(crate) fn find(
        &self,
        text: &str,
        may_be_glob: bool,
        mut takes: impl FnMut(&str, By) -> bool,
    ) -> anyhow::Result<Found> {
        let url = Url::parse(text)?;
        let storage = self.storage(&url)?;
        let failed = |failure: Failure| anyhow!("failed to look at {}: {}", url.name(), failure.why());
        let (path, key) = (url.path, url.key());
        let is_folder = url.scheme != Scheme::Web && (path.is_empty() || path.ends_with('/'));
        if !is_folder {
            match self.wait_for(storage.look(&key)) {
                Ok(Entry::File(version)) => {
                    return Ok(Found::File(self.object(&storage, url.name(), &key, version)));
                }
                Ok(Entry::Folder) => {}
                Err(Failure::NotFound(_)) if url.scheme == Scheme::Web => {
                    bail!("there is no {}", url.name());
                }
                Err(Failure::NotFound(_)) if may_be_glob && path.contains(GLOB_CHARACTERS) => {
                    return self.find_matches(&url, &storage, takes);
                }
                // A folder in a bucket is no more than a beginning of names.
                Err(Failure::NotFound(_)) => {}
                Err(failure) => return Err(failed(failure)),
            }
        }
        let folder = path.trim_end_matches('/');
        let files = match self.list(&storage, folder) {
            Err(Failure::NotFound(why)) => bail!("there is no {}: {why}", url.name()),
            files => files.map_err(failed)?,
        };
        if files.is_empty() && !is_folder {
            bail!("there is no {}", url.name());
        }
        let start = if folder.is_empty() { 0 } else { folder.len() + 1 };
        let mut is_taken =
            |key: &str| key.get(start..).is_some_and(|name| !is_hidden(name)) && takes(key, By::Folder);
        let files = files.into_iter().filter(|(key, _)| is_taken(key));
        let objects = files.map(|(key, version)| self.object(&storage, url.name_of(&key), &key, version));
        Ok(Found::Folder(objects.collect(), url.name_of("").len() + start))
    }

    /// Finds the files that a glob matches. A matching folder stands for the files in it.
    fn find_matches(
        &self,
        url: &Url<'_>,
        storage: &Arc<dyn Storage>,
        mut takes: impl FnMut(&str, By) -> bool,
    ) -> anyhow::Result<Found> {
        let pattern = Pattern::new(&for_library(url.path))
            .map_err(|error| anyhow!("failed to read the glob: {error}"))?;
        let literal = url.path.find(GLOB_CHARACTERS).unwrap_or_default();
        let start = url.path[..literal].rfind('/').map_or(0, |slash| slash + 1);
        let files = match self.list(storage, url.path[..start].trim_end_matches('/')) {
            Err(Failure::NotFound(_)) => Vec::new(),
            Err(failure) => bail!("failed to look at {}: {}", url.name(), failure.why()),
            Ok(files) => files,
        };
        let mut is_match = |key: &str| {
            // With `**` a glob may match a folder and what is in it, which the folder stands for.
            let mut slashes = key.match_indices('/').map(|(slash, _)| slash);
            match slashes.find(|slash| pattern.matches_with(&key[..*slash], GLOB)) {
                Some(end) => !is_hidden(&key[end + 1..]) && takes(key, By::Folder),
                None => pattern.matches_with(key, GLOB) && takes(&key[start..], By::Match),
            }
        };
        let files = files.into_iter().filter(|(key, _)| is_match(key));
        let objects = files.map(|(key, version)| self.object(storage, url.name_of(&key), &key, version));
        Ok(Found::Matches(objects.collect(), url.name_of("").len() + start))
    }

    /// Lists files in the order of a walk through the folders: sorted by the names of each step.
    fn list(&self, storage: &Arc<dyn Storage>, folder: &str) -> Result<Vec<(String, Version)>, Failure> {
        let mut files = self.0.runtime.block_on(storage.list(folder))?;
        files.sort_by(|(one, _), (other, _)| one.split('/').cmp(other.split('/')));
        // The consoles of buckets make an empty object for each new folder, named after it with a
        // slash. In this order the files of a folder follow its object.
        let is_marker = |(key, version): &(String, Version), next: Option<&(String, Version)>| {
            let is_folder =
                |next: &str| next.strip_prefix(key.as_str()).is_some_and(|rest| rest.starts_with('/'));
            version.n_bytes == 0 && (key == folder || next.is_some_and(|(next, _)| is_folder(next)))
        };
        let markers: Vec<bool> =
            files.iter().enumerate().map(|(i, file)| is_marker(file, files.get(i + 1))).collect();
        let mut markers = markers.into_iter();
        files.retain(|_| markers.next() == Some(false));
        Ok(files)
    }

    fn wait_for<T>(&self, answer: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let look = self.0.patience.look;
        let answer = self.0.runtime.block_on(async { timeout(look, answer).await });
        answer.unwrap_or_else(|_| Err(Failure::Passing(format!("nothing came for {} s", look.as_secs()))))
    }
}

/// Returns true if a step of `path` begins with a dot.
fn is_hidden(path: &str) -> bool {
    path.split('/').any(|step| step.starts_with('.'))
}
