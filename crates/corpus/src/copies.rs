//! Inputs that come only once, such as standard input, kept in files as they are read.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The bytes of a copy after which the room in its folder is looked at again.
const LOOK_BYTES: u64 = 64 << 20;

/// Copies of the inputs that come only once, so that a command may read them again. They are in
/// files without names, which the system frees when the process ends.
///
/// A copy is given up rather than take more than half of the room in its folder, and none is made
/// in a folder that lies in memory.
#[derive(Clone)]
pub struct Copies {
    folder: PathBuf,
    by_path: Arc<Mutex<HashMap<PathBuf, Copy>>>,
}

impl fmt::Debug for Copies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Copies({})", self.folder.display())
    }
}

impl Copies {
    /// Copies in a folder, where the first input that comes only once makes a file.
    #[must_use]
    pub fn in_folder(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), by_path: Arc::default() }
    }

    /// Returns true unless an input was read of which there is no whole copy.
    #[must_use]
    pub fn are_whole(&self) -> bool {
        lock(&self.by_path).values().all(Copy::is_whole)
    }

    /// Returns the copy of the input at `path`, which was added.
    pub(crate) fn get(&self, path: &Path) -> Option<Copy> {
        lock(&self.by_path).get(path).cloned()
    }

    /// Begins a copy of the input at `path`, of which nothing was read.
    pub(crate) fn add(&self, path: &Path, rest: Box<dyn Read + Send>) -> Copy {
        let file = tempfile::tempfile_in(&self.folder).ok().filter(|file| !is_in_memory(file));
        let copy = Copy(Arc::new(Mutex::new(Copied { rest, file, len: 0, looked_at: 0 })));
        lock(&self.by_path).insert(path.to_owned(), copy.clone());
        copy
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The copy of one input.
#[derive(Clone)]
pub(crate) struct Copy(Arc<Mutex<Copied>>);

struct Copied {
    /// What was not read yet.
    rest: Box<dyn Read + Send>,
    /// What was read; `None` once it is given up.
    file: Option<File>,
    len: u64,
    /// The length at which the room was looked at.
    looked_at: u64,
}

impl Copy {
    pub(crate) fn is_whole(&self) -> bool {
        lock(&self.0).file.is_some()
    }

    /// Reads the input from its beginning.
    pub(crate) fn reader(&self) -> Box<dyn Read + Send> {
        Box::new(Reader { copy: self.clone(), at: 0 })
    }
}

impl Copied {
    fn read_at(&mut self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        if at < self.len {
            let file = self.file.as_ref().ok_or_else(|| io::Error::other("its copy is not whole"))?;
            let n_max = usize::try_from(self.len - at).unwrap_or(usize::MAX).min(buffer.len());
            return file.read_at(&mut buffer[..n_max], at);
        }
        let n = self.rest.read(buffer)?;
        self.keep(&buffer[..n]);
        Ok(n)
    }

    fn keep(&mut self, bytes: &[u8]) {
        let Some(file) = &self.file else {
            self.len += bytes.len() as u64;
            return;
        };
        let mut fits = file.write_all_at(bytes, self.len).is_ok();
        self.len += bytes.len() as u64;
        if fits && self.len - self.looked_at >= LOOK_BYTES {
            self.looked_at = self.len;
            fits = rustix::fs::fstatvfs(file).is_ok_and(|room| self.len <= room.f_bavail * room.f_frsize);
        }
        if !fits {
            self.file = None;
        }
    }
}

/// Returns true for a file whose bytes are in memory.
#[cfg(target_os = "linux")]
fn is_in_memory(file: &File) -> bool {
    const TMPFS: i64 = 0x0102_1994;
    const RAMFS: i64 = 0x8584_58f6;
    #[allow(clippy::allow_attributes, clippy::useless_conversion, reason = "narrower on some machines")]
    rustix::fs::fstatfs(file).is_ok_and(|of| [TMPFS, RAMFS].contains(&i64::from(of.f_type)))
}

#[cfg(not(target_os = "linux"))]
fn is_in_memory(_: &File) -> bool {
    false
}

struct Reader {
    copy: Copy,
    at: u64,
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = lock(&self.copy.0).read_at(buffer, self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn content() -> Vec<u8> {
        (0..100_000_u32).flat_map(u32::to_be_bytes).collect()
    }

    /// The folder of the test program: that for temporary files may be in memory.
    fn on_disk() -> PathBuf {
        std::env::current_exe().unwrap().parent().unwrap().to_owned()
    }

    fn of_content(copies: &Copies) -> Copy {
        copies.add(Path::new("-"), Box::new(Cursor::new(content())))
    }

    /// Each reader begins at the beginning, however far the others came; the input is read once.
    #[test]
    fn an_input_is_read_again() {
        let folder = tempfile::tempdir_in(on_disk()).unwrap();
        let copies = Copies::in_folder(folder.path());
        of_content(&copies);
        let reader = || copies.get(Path::new("-")).unwrap().reader();
        for n in [0, 1, 70_000, 0, 399_999, 10] {
            let mut reader = reader();
            let mut read = vec![0; n];
            reader.read_exact(&mut read).unwrap();
            assert_eq!(read, content()[..n]);
        }
        for _ in 0..2 {
            let mut whole = Vec::new();
            reader().read_to_end(&mut whole).unwrap();
            assert_eq!(whole, content());
        }
        assert!(copies.are_whole());
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "the file has no name");
    }

    /// Without a folder on a disk there is no copy, and the first reader reads all the same.
    #[test]
    fn an_input_without_a_copy_is_read_once() {
        let in_memory = cfg!(target_os = "linux").then_some("/dev/shm");
        for folder in ["no such folder"].into_iter().chain(in_memory) {
            let copies = Copies::in_folder(Path::new(folder));
            assert!(copies.are_whole());
            let copy = of_content(&copies);
            assert!(!copy.is_whole() && !copies.are_whole());
            let mut whole = Vec::new();
            copy.reader().read_to_end(&mut whole).unwrap();
            assert_eq!(whole, content());
            let error = copy.reader().read(&mut [0]).unwrap_err();
            assert_eq!(error.to_string(), "its copy is not whole");
        }
    }

    /// A copy that cannot be written is given up, and reading goes on.
    #[test]
    fn a_copy_that_fails_is_given_up() {
        let file = File::open(env!("CARGO_MANIFEST_PATH")).unwrap();
        let mut copied =
            Copied { rest: Box::new(Cursor::new(content())), file: Some(file), len: 0, looked_at: 0 };
        let (mut read, mut buffer) = (Vec::new(), [0; 1000]);
        while let n @ 1.. = copied.read_at(&mut buffer, read.len() as u64).unwrap() {
            read.extend_from_slice(&buffer[..n]);
        }
        assert!(copied.file.is_none());
        assert_eq!(read, content());
    }
}
