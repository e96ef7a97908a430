//! Small files that outlive the process and the machine: whole or not there, and written by one process at a time.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A process that was killed a moment ago may hold its lock still, and whoever starts it again should not fail for that.
const LOCK_WAIT: Duration = Duration::from_secs(3);
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// Locks a file until what is returned is closed; none where another process has it.
pub(crate) fn lock(path: &Path) -> io::Result<Option<File>> {
    let lock = File::create(path)?;
    let begun = Instant::now();
    while flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        if begun.elapsed() >= LOCK_WAIT {
            return Ok(None);
        }
        thread::sleep(LOCK_PAUSE);
    }
    Ok(Some(lock))
}

/// Puts a file in its place as a whole.
pub(crate) fn write_json(path: &Path, content: &impl Serialize) -> io::Result<()> {
    write(path, &serde_json::to_vec(content)?)
}

/// As [`write_json`], whatever is in it.
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

/// What is in the file, if it is there.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => Ok(Some(serde_json::from_slice(&read?)?)),
    }
}

/// Removes a file, if it is there.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Makes durable which files there are in a folder.
pub(crate) fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
