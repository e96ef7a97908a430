//! Outputs that cannot be taken back: standard output, open files, pipes. A run that breaks off and
//! begins again in the same process does not write there again what it has written.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The outputs of runs that broke off in this process. They stay open: the reader of a pipe would
/// take it for ended.
static BROKEN_OFF: Mutex<Vec<(PathBuf, Handed)>> = Mutex::new(Vec::new());

/// An open output, and the bytes that it was handed so far.
struct Handed {
    to: Box<dyn Write + Send>,
    n_bytes: u64,
    hasher: crc32fast::Hasher,
}

/// An output that is written directly.
pub(super) struct Direct {
    path: PathBuf,
    /// `None` once the output has ended.
    handed: Option<Handed>,
    /// The bytes of the run before that this one has repeated so far.
    n_repeated: u64,
    repeated: crc32fast::Hasher,
    /// The bytes that the run before has written.
    n_before: u64,
}

impl Direct {
    /// Opens the output, or goes on with that of a run that broke off.
    pub(super) fn open(
        path: &Path,
        open: impl FnOnce() -> io::Result<Box<dyn Write + Send>>,
    ) -> io::Result<Self> {
        let mut broken_off = broken_off();
        // Several outputs of one run may go to a device, which has no reader that they mislead.
        broken_off.retain(|(of, _)| !is_device(of));
        let handed = match broken_off.iter().position(|(of, _)| of == path) {
            Some(at) => broken_off.remove(at).1,
            None => Handed { to: open()?, n_bytes: 0, hasher: crc32fast::Hasher::new() },
        };
        let n_before = handed.n_bytes;
        let repeated = crc32fast::Hasher::new();
        Ok(Self { path: path.to_owned(), handed: Some(handed), n_repeated: 0, repeated, n_before })
    }

    /// Ends the output. One that is dropped before its end has broken off.
    pub(super) fn end(mut self) -> io::Result<()> {
        if self.n_repeated < self.n_before {
            return Err(is_other());
        }
        self.handed.take().map_or(Ok(()), |mut handed| handed.to.flush())
    }
}

impl Write for Direct {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(handed) = &mut self.handed else { return Ok(0) };
        let n_left = self.n_before - self.n_repeated;
        if n_left == 0 {
            let n_bytes = handed.to.write(bytes)?;
            handed.hasher.update(&bytes[..n_bytes]);
            handed.n_bytes += n_bytes as u64;
            return Ok(n_bytes);
        }
        let n_bytes = usize::try_from(n_left).map_or(bytes.len(), |n_left| n_left.min(bytes.len()));
        self.repeated.update(&bytes[..n_bytes]);
        self.n_repeated += n_bytes as u64;
        let is_same = || self.repeated.clone().finalize() == handed.hasher.clone().finalize();
        if self.n_repeated == self.n_before && !is_same() {
            return Err(is_other());
        }
        Ok(n_bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.handed.as_mut().map_or(Ok(()), |handed| handed.to.flush())
    }
}

impl Drop for Direct {
    fn drop(&mut self) {
        if let Some(handed) = self.handed.take() {
            broken_off().push((std::mem::take(&mut self.path), handed));
        }
    }
}

/// The error of a run that begins again and does not write what it has written.
fn is_other() -> io::Error {
    io::Error::other(
        "the run has begun again, and would now write something else there than before; has the input changed?",
    )
}

fn is_device(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_char_device())
}

fn broken_off() -> MutexGuard<'static, Vec<(PathBuf, Handed)>> {
    BROKEN_OFF.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // As a pipe that is nearly full.
            let n_bytes = bytes.len().min(3);
            self.0.lock().unwrap().extend_from_slice(&bytes[..n_bytes]);
            Ok(n_bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_run_that_begins_again_goes_on_where_it_broke_off() {
        let (sink, path) = (Sink::default(), Path::new("of-a-test"));
        let open = || Direct::open(path, || Ok(Box::new(sink.clone())));
        open().unwrap().write_all(b"the first ").unwrap();
        open().unwrap().write_all(b"the").unwrap();
        let mut last = open().unwrap();
        last.write_all(b"the first and").unwrap();
        last.write_all(b" the last").unwrap();
        last.end().unwrap();
        assert_eq!(*sink.0.lock().unwrap(), b"the first and the last");
        // An output that has ended is another one.
        open().unwrap().write_all(b"!").unwrap();
        assert_eq!(*sink.0.lock().unwrap(), b"the first and the last!");
        // Fewer bytes than were there are no end.
        let mut fewer = open().unwrap();
        fewer.write_all(b"").unwrap();
        assert!(fewer.end().is_err());
        // Other bytes are never written after those that were there.
        assert!(open().unwrap().write_all(b"?!").is_err());
        assert_eq!(*sink.0.lock().unwrap(), b"the first and the last!");
    }
}
