//! Inputs that come only once, such as standard input, kept in files as they are read.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most bytes of a copy after which the room in its folder is looked at again.
const LOOK_BYTES: u64 = 64 << 20;

/// Copies of the inputs that come only once, so that a command may read them again. They are in
/// files without names, which the system frees when the process ends.
///
/// A copy is given up rather than take more than half of the room in its folder, and none is made
/// in a folder that lies in memory. No method waits for an input.
#[derive(Clone)]
pub struct Copies {
    folder: PathBuf,
    by_path: Arc<Mutex<HashMap<PathBuf, Copy>>>,
    /// Lists of inputs that were read.
    lists: Arc<Mutex<HashMap<PathBuf, Vec<u8>>>>,
}

impl fmt::Debug for Copies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Copies({})", self.folder.display())
    }
}

impl Copies {
    /// Copies in a folder, where each input that comes only once makes a file.
    #[must_use]
    pub fn in_folder(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), by_path: Arc::default(), lists: Arc::default() }
    }

    /// Returns true if each input that comes only once, and was opened, has a whole copy.
    #[must_use]
    pub fn are_whole(&self) -> bool {
        lock(&self.by_path).values().all(Copy::is_whole)
    }

    /// Returns the copy of the input at `path`, which was added.
    pub(crate) fn get(&self, path: &Path) -> Option<Copy> {
        lock(&self.by_path).get(path).cloned()
    }

    /// Begins a copy of the input at `path`, of which nothing was read.
    pub(crate) fn add(&self, path: &Path, input: Box<dyn Read + Send>) -> Copy {
        let file = tempfile::tempfile_in(&self.folder).ok().filter(|file| !is_in_memory(file));
        let copy = Copy::new(input, file);
        lock(&self.by_path).insert(path.to_owned(), copy.clone());
        copy
    }

    /// Returns the list of inputs at `path`, which `read` reads the first time: it may come only
    /// once.
    pub(crate) fn list(
        &self,
        path: &Path,
        read: impl FnOnce() -> io::Result<Vec<u8>>,
    ) -> io::Result<Vec<u8>> {
        let mut lists = lock(&self.lists);
        if let Some(list) = lists.get(path) {
            return Ok(list.clone());
        }
        let list = read()?;
        lists.insert(path.to_owned(), list.clone());
        Ok(list)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The copy of one input.
#[derive(Clone)]
pub(crate) struct Copy(Arc<Copied>);

struct Copied {
    /// The bytes that were read; `None` if no file could be made.
    file: Option<File>,
    /// False once the copy is given up.
    is_whole: AtomicBool,
    /// The number of bytes that were read.
    len: AtomicU64,
    /// Held by a reader that waits for the input.
    rest: Mutex<Rest>,
}

/// The input beyond the copy.
struct Rest {
    input: Box<dyn Read + Send>,
    has_ended: bool,
    /// The length at which the room is looked at.
    look_at: u64,
}

impl Copy {
    fn new(input: Box<dyn Read + Send>, file: Option<File>) -> Self {
        Self(Arc::new(Copied {
            is_whole: AtomicBool::new(file.is_some()),
            file,
            len: AtomicU64::new(0),
            rest: Mutex::new(Rest { input, has_ended: false, look_at: 0 }),
        }))
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.0.is_whole.load(Ordering::Acquire)
    }

    /// Returns true if nothing was read so far.
    pub(crate) fn is_fresh(&self) -> bool {
        self.0.len.load(Ordering::Acquire) == 0
    }

    /// Reads the input from its beginning.
    pub(crate) fn reader(&self) -> Box<dyn Read + Send> {
        Box::new(Reader { copy: self.clone(), at: 0 })
    }
}

impl Copied {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        if at < self.len.load(Ordering::Acquire) {
            return self.read_copy(buffer, at);
        }
        let mut rest = lock(&self.rest);
        // Another reader may have read on meanwhile.
        if at < self.len.load(Ordering::Acquire) {
            return self.read_copy(buffer, at);
        }
        if rest.has_ended || buffer.is_empty() {
            return Ok(0);
        }
        let n = rest.input.read(buffer)?;
        rest.has_ended = n == 0;
        self.keep(&buffer[..n], &mut rest.look_at);
        Ok(n)
    }

    fn read_copy(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let whole = self.file.as_ref().filter(|_| self.is_whole.load(Ordering::Acquire));
        let not_whole = || io::Error::other("its copy is not whole");
        let left = self.len.load(Ordering::Acquire) - at;
        let n_max = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let n = whole.ok_or_else(not_whole)?.read_at(&mut buffer[..n_max], at)?;
        // A copy that is given up meanwhile ends there, and the input does not.
        if n == 0 && n_max > 0 { Err(not_whole()) } else { Ok(n) }
    }

    /// Adds what was read to the copy, or gives it up.
    fn keep(&self, bytes: &[u8], look_at: &mut u64) {
        let before = self.len.load(Ordering::Acquire);
        let len = before + bytes.len() as u64;
        if let Some(file) = self.file.as_ref().filter(|_| self.is_whole.load(Ordering::Acquire)) {
            let has_room = len < *look_at || {
                let n_free = rustix::fs::fstatvfs(file).map_or(0, |room| room.f_bavail * room.f_frsize);
                *look_at = len + (n_free / 8).min(LOOK_BYTES);
                len <= n_free
            };
            if !has_room || file.write_all_at(bytes, before).is_err() {
                self.is_whole.store(false, Ordering::Release);
                // What cannot be given back now is given back at the end.
                let _ = file.set_len(0);
            }
        }
        self.len.store(len, Ordering::Release);
    }
}

/// Returns true for a file or folder whose bytes are in memory.
#[cfg(target_os = "linux")]
#[must_use]
pub fn is_in_memory(file: &File) -> bool {
    const TMPFS: i64 = 0x0102_1994;
    const RAMFS: i64 = 0x8584_58f6;
    // The type is narrower on some machines.
    fn wide(kind: impl Into<i64>) -> i64 {
        kind.into()
    }
    rustix::fs::fstatfs(file).is_ok_and(|of| [TMPFS, RAMFS].contains(&wide(of.f_type)))
}

/// Returns true for a file or folder whose bytes are in memory, which this system does not tell.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn is_in_memory(_: &File) -> bool {
    false
}

struct Reader {
    copy: Copy,
    at: u64,
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.copy.0.read_at(buffer, self.at)?;
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
        let copy = Copy::new(Box::new(Cursor::new(content())), Some(file));
        assert!(copy.is_whole());
        let mut whole = Vec::new();
        copy.reader().read_to_end(&mut whole).unwrap();
        assert_eq!(whole, content());
        assert!(!copy.is_whole());
    }

    /// The end of an input is its end for all readers, whatever comes after it, as on a terminal.
    #[test]
    fn an_input_ends_once() {
        /// Bytes, the last first, and ends between them.
        struct Terminal(Vec<Option<u8>>);

        impl Read for Terminal {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let Some(byte) = self.0.pop().flatten() else { return Ok(0) };
                buffer[0] = byte;
                Ok(1)
            }
        }

        let folder = tempfile::tempdir_in(on_disk()).unwrap();
        let terminal = Terminal(vec![Some(b'!'), None, Some(b'b'), Some(b'a')]);
        let copy = Copies::in_folder(folder.path()).add(Path::new("-"), Box::new(terminal));
        for _ in 0..3 {
            let mut whole = String::new();
            copy.reader().read_to_string(&mut whole).unwrap();
            assert_eq!(whole, "ab");
        }
    }

    /// Nothing but a read of what has not come yet waits for it.
    #[test]
    fn what_is_there_is_read_while_another_reader_waits() {
        struct Waiting(std::sync::mpsc::Receiver<Vec<u8>>);

        impl Read for Waiting {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let come = self.0.recv().unwrap_or_default();
                buffer[..come.len()].copy_from_slice(&come);
                Ok(come.len())
            }
        }

        let folder = tempfile::tempdir_in(on_disk()).unwrap();
        let (writer, waiting) = std::sync::mpsc::channel();
        let copies = Copies::in_folder(folder.path());
        let copy = copies.add(Path::new("-"), Box::new(Waiting(waiting)));
        writer.send(b"come".to_vec()).unwrap();
        std::thread::scope(|scope| {
            let mut first = copy.reader();
            let reads = scope.spawn(move || {
                let mut whole = String::new();
                first.read_to_string(&mut whole).map(|_| whole)
            });
            while copy.is_fresh() {
                std::thread::yield_now();
            }
            let mut come = [0; 4];
            copies.get(Path::new("-")).unwrap().reader().read_exact(&mut come).unwrap();
            assert_eq!((&come, copies.are_whole()), (b"come", true));
            drop(writer);
            assert_eq!(reads.join().unwrap().unwrap(), "come");
        });
    }

    #[test]
    fn a_list_is_read_once() {
        let copies = Copies::in_folder(Path::new("no such folder"));
        let list = || copies.list(Path::new("-"), || Ok(b"a\nb\n".to_vec())).unwrap();
        assert_eq!(list(), b"a\nb\n");
        let again = copies.list(Path::new("-"), || panic!("it was read")).unwrap();
        assert_eq!(again, b"a\nb\n");
        copies.list(Path::new("other"), || Err(io::Error::other("no"))).unwrap_err();
    }
}
