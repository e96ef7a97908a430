//! Small files that survive a crash of the process or the machine: whole or absent, and with one
//! writing process at a time.
//!
//! JSON files state their format, and have a checksum of the content as written:
//!
//! ```text
//! {"format":2,"crc32":"0a1b2c3d","content":…}
//! ```

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use index::backend::retry::{Failed, Retry, Tries};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

/// Format of JSON files; format 1 had no checksum.
const FORMAT: u32 = 2;

/// Wait for the lock of a process killed a moment ago, so that its restart does not fail.
const LOCK_WAIT: Duration = Duration::from_secs(3);
const LOCK_RETRY: Retry = Retry::new(Duration::from_millis(20), Duration::from_millis(100));

/// Locks a file until the returned file is closed. Returns `None` if another process holds the
/// lock.
pub(crate) fn lock(path: &Path) -> io::Result<Option<File>> {
    let lock = File::create(path)?;
    let take = |_: &mut Tries| match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(Failed::Away(())),
        taken => taken.map_err(Failed::Final),
    };
    match LOCK_RETRY.run(LOCK_WAIT, take, |(), _| {}) {
        Ok(()) => Ok(Some(lock)),
        Err(Failed::Away(_)) => Ok(None),
        Err(Failed::Final(error)) => Err(error.into()),
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sealed<'a> {
    format: u32,
    crc32: &'a str,
    #[serde(borrow)]
    content: &'a RawValue,
}

/// Writes a JSON file atomically.
pub(crate) fn write_json(path: &Path, content: &impl Serialize) -> io::Result<()> {
    let content = to_raw_value(content)?;
    let sealed = Sealed { format: FORMAT, crc32: &checksum(&content), content: &content };
    write(path, &serde_json::to_vec(&sealed)?)
}

/// Writes a file atomically, like [`write_json`].
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let mut file = File::create(&new)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(new, path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    sync(folder.unwrap_or(Path::new(".")))
}

/// Reads a JSON file; `None` if it is missing. Fails if the content differs from the written one.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read?,
    };
    unsealed(&bytes).map(Some)
}

fn unsealed<T: DeserializeOwned>(bytes: &[u8]) -> io::Result<T> {
    let invalid = |why| io::Error::new(io::ErrorKind::InvalidData, why);
    let sealed: Sealed<'_> = serde_json::from_slice(bytes).map_err(|error| {
        // The first format is JSON, too.
        match serde_json::from_slice::<serde_json::Map<_, _>>(bytes) {
            Ok(object) if !object.contains_key("content") => {
                invalid("an earlier version of this program has written it, without a checksum".to_owned())
            }
            _ => invalid(format!("it is damaged: {error}")),
        }
    })?;
    if sealed.format != FORMAT {
        return Err(invalid(format!("it is of format {}, and this program knows {FORMAT}", sealed.format)));
    }
    if sealed.crc32 != checksum(sealed.content) {
        return Err(invalid("it is damaged: it does not have its checksum".to_owned()));
    }
    Ok(serde_json::from_str(sealed.content.get())?)
}

fn checksum(content: &RawValue) -> String {
    format!("{:08x}", crc32fast::hash(content.get().as_bytes()))
}

/// Removes a file, if it is there.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Makes a folder and its missing ancestors, with durable names. The name of the folder itself is
/// made durable even if it exists: an earlier run may have died before.
pub(crate) fn create_folder(folder: &Path) -> io::Result<()> {
    let is_new = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.is_dir();
    let new: Vec<&Path> = folder.ancestors().take_while(is_new).collect();
    fs::create_dir_all(folder)?;
    let named = new.into_iter().rev().chain([folder]);
    named.filter_map(Path::parent).try_for_each(|parent| match parent.as_os_str().is_empty() {
        true => sync(Path::new(".")),
        false => sync_or_closed(parent),
    })
}

/// Like [`sync`], but accepts a folder that we may not open: it existed before, with the whole path
/// below it.
fn sync_or_closed(folder: &Path) -> io::Result<()> {
    match sync(folder) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        synced => synced,
    }
}

/// Makes the entries of a folder durable.
pub(crate) fn sync(folder: &Path) -> io::Result<()> {
    #[cfg(test)]
    SYNCED.with_borrow_mut(|synced| synced.push(folder.to_owned()));
    File::open(folder)?.sync_all()
}

#[cfg(test)]
thread_local! {
    /// The folders made durable by this thread, for tests: no other sign shows it.
    pub(crate) static SYNCED: std::cell::RefCell<Vec<std::path::PathBuf>> = const { std::cell::RefCell::new(Vec::new()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_new_folders_are_durable() {
        let place = tempfile::tempdir().unwrap();
        let [a, b, c] = ["a", "a/b", "a/b/c"].map(|name| place.path().join(name));
        SYNCED.take();
        create_folder(&c).unwrap();
        assert_eq!(SYNCED.take(), [place.path(), &a, &b, &b]);
        // An earlier run may have died before the name was durable.
        create_folder(&c).unwrap();
        assert_eq!(SYNCED.take(), [b]);
    }

    type Content = (String, u64, Option<f64>);

    /// Fixed bytes: a change here is a new format.
    #[test]
    fn golden() {
        let folder = tempfile::tempdir().unwrap();
        let path = &folder.path().join("file");
        assert_eq!(read_json::<Content>(path).unwrap(), None);
        let content: Content = ("a\"b".to_owned(), 1234, None);
        write_json(path, &content).unwrap();
        let bytes = fs::read_to_string(path).unwrap();
        assert_eq!(bytes, r#"{"format":2,"crc32":"d55b5b55","content":["a\"b",1234,null]}"#);
        assert_eq!(read_json(path).unwrap(), Some(content));
    }

    #[test]
    fn whatever_is_not_as_it_was_written_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = &folder.path().join("file");
        write_json(path, &("a", 1234, 5.5)).unwrap();
        let whole = fs::read(path).unwrap();
        for place in 0..whole.len() {
            assert!(unsealed::<Content>(&whole[..place]).is_err(), "cut at {place}");
            for byte in 0..=u8::MAX {
                let mut damaged = whole.clone();
                damaged[place] = byte;
                let is_same = damaged == whole;
                assert_eq!(unsealed::<Content>(&damaged).is_ok(), is_same, "{byte:#x} at {place}");
            }
        }
        assert!(unsealed::<Content>(&[&whole[..], b"0"].concat()).is_err());
        let old = unsealed::<Content>(br#"{"name":"0"}"#).unwrap_err().to_string();
        assert!(old.contains("an earlier version"), "{old}");
    }
}
