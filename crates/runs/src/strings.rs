//! Sorts more byte strings than memory holds: sorted runs in nameless files, merged at the end.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::io;
use std::path::{Path, PathBuf};

use crate::sealed::{SEAL_BYTES, Sealed, seal};

/// Runs of a level that are merged into one. Each is an open file and a buffer.
const FAN_IN: usize = 64;

/// Bytes of a block of a run.
const BLOCK_BYTES: usize = 128 << 10;

/// Takes byte strings, and returns all of them in their order, with repetitions.
pub struct StringSorter {
    folder: PathBuf,
    n_bytes_max: usize,
    items: Items,
    /// Runs by the number of merges before. Each string is written once for each level, and a run
    /// of one level holds [`FAN_IN`] runs of the level before.
    levels: Vec<Vec<Run>>,
}

/// All strings, ascending.
pub struct SortedStrings {
    sources: BinaryHeap<Source>,
    /// True once the first source's item was returned.
    is_taken: bool,
}

impl StringSorter {
    /// A sorter with its files in `folder`, which vanish with the process. Memory is bounded by
    /// `n_bytes_max`, and by 64 buffers for each level.
    #[must_use]
    pub fn new(folder: &Path, n_bytes_max: usize) -> Self {
        let n_bytes_max = n_bytes_max.min(u32::MAX as usize);
        Self { folder: folder.to_owned(), n_bytes_max, items: Items::default(), levels: Vec::new() }
    }

    /// Takes a byte string.
    ///
    /// # Errors
    /// A failed write.
    pub fn push(&mut self, item: &[u8]) -> io::Result<()> {
        if self.items.n_bytes_with(item) > self.n_bytes_max && !self.items.entries.is_empty() {
            let items = std::mem::take(&mut self.items);
            self.spill(items.into_source())?;
        }
        self.items.push(item);
        Ok(())
    }

    /// Ends the taking.
    ///
    /// # Errors
    /// A failed read.
    pub fn finish(self) -> io::Result<SortedStrings> {
        let mut sources = vec![self.items.into_source()];
        for run in self.levels.into_iter().flatten() {
            sources.push(Source::of_run(run)?);
        }
        Ok(SortedStrings::of(sources))
    }

    /// Writes a run, and merges the runs of each level that is full.
    fn spill(&mut self, source: Source) -> io::Result<()> {
        let mut sorted = SortedStrings::of(vec![source]);
        for level in 0.. {
            let run = write_run(&self.folder, &mut sorted)?;
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            self.levels[level].push(run);
            if self.levels[level].len() < FAN_IN {
                break;
            }
            let runs = self.levels[level].drain(..).map(Source::of_run).collect::<io::Result<_>>()?;
            sorted = SortedStrings::of(runs);
        }
        Ok(())
    }
}

impl SortedStrings {
    fn of(sources: Vec<Source>) -> Self {
        let sources = sources.into_iter().filter(|source| !source.is_at_end()).collect();
        Self { sources, is_taken: false }
    }

    /// The next string, `None` after the last one.
    ///
    /// # Errors
    /// A failed read.
    pub fn next_string(&mut self) -> io::Result<Option<&[u8]>> {
        if self.is_taken
            && let Some(mut first) = self.sources.peek_mut()
        {
            first.advance()?;
            if first.is_at_end() {
                PeekMut::pop(first);
            }
        }
        self.is_taken = true;
        Ok(self.sources.peek().map(Source::current))
    }
}

/// Ascending strings in a file, each after its length, in blocks with checksums.
struct Run {
    file: Sealed,
    /// The bytes before the place in the file, without checksums: of blocks still to be read, or
    /// already written.
    n_bytes: u64,
    /// The block at the place.
    block: Vec<u8>,
    /// The bytes of the block that were read.
    n_read: usize,
}

/// Writes a run, which is at its start then.
fn write_run(folder: &Path, sorted: &mut SortedStrings) -> io::Result<Run> {
    let block = Vec::with_capacity(BLOCK_BYTES + SEAL_BYTES);
    let mut run = Run { file: Sealed::create(folder)?, n_bytes: 0, block, n_read: 0 };
    while let Some(item) = sorted.next_string()? {
        run.write(&(item.len() as u32).to_be_bytes())?;
        run.write(item)?;
    }
    run.write_block()?;
    // A run that waits for its merge holds no block.
    run.block = Vec::new();
    run.file.rewind()?;
    Ok(run)
}

impl Run {
    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK_BYTES - self.block.len()));
            self.block.extend_from_slice(now);
            bytes = later;
            if self.block.len() == BLOCK_BYTES {
                self.write_block()?;
            }
        }
        Ok(())
    }

    fn write_block(&mut self) -> io::Result<()> {
        if !self.block.is_empty() {
            self.n_bytes += self.block.len() as u64;
            seal(&mut self.block, 0);
            self.file.write(&self.block)?;
            self.block.clear();
        }
        Ok(())
    }

    fn read_block(&mut self) -> io::Result<()> {
        let n_bytes = self.n_bytes.min(BLOCK_BYTES as u64);
        self.n_bytes -= n_bytes;
        self.block.resize(n_bytes as usize + SEAL_BYTES, 0);
        self.file.read(&mut self.block)?;
        self.file.opened(&self.block)?;
        self.block.truncate(n_bytes as usize);
        self.n_read = 0;
        Ok(())
    }

    fn is_at_end(&self) -> bool {
        self.n_bytes == 0 && self.n_read == self.block.len()
    }

    fn read(&mut self, mut bytes: &mut [u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.is_at_end() {
                return Err(self.file.damaged());
            }
            if self.n_read == self.block.len() {
                self.read_block()?;
            }
            let left = &self.block[self.n_read..];
            let (now, later) = bytes.split_at_mut(bytes.len().min(left.len()));
            now.copy_from_slice(&left[..now.len()]);
            self.n_read += now.len();
            bytes = later;
        }
        Ok(())
    }
}

/// Strings in memory, end to end.
#[derive(Default)]
struct Items {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

/// The place of a string. Its first bytes decide nearly all comparisons, without access to the
/// others.
#[derive(Clone, Copy)]
struct Entry {
    prefix: u64,
    start: u32,
    len: u32,
}

impl Items {
    fn n_bytes_with(&self, item: &[u8]) -> usize {
        self.bytes.len() + item.len() + (self.entries.len() + 1) * size_of::<Entry>()
    }

    fn push(&mut self, item: &[u8]) {
        let mut prefix = [0; 8];
        let n = item.len().min(8);
        prefix[..n].copy_from_slice(&item[..n]);
        let (start, len) = (self.bytes.len() as u32, item.len() as u32);
        self.entries.push(Entry { prefix: u64::from_be_bytes(prefix), start, len });
        self.bytes.extend_from_slice(item);
    }

    fn get(&self, entry: Entry) -> &[u8] {
        &self.bytes[entry.start as usize..][..entry.len as usize]
    }

    fn into_source(mut self) -> Source {
        let mut entries = std::mem::take(&mut self.entries);
        entries.sort_unstable_by(|a, b| a.prefix.cmp(&b.prefix).then_with(|| self.get(*a).cmp(self.get(*b))));
        self.entries = entries;
        Source::Memory { items: self, next: 0 }
    }
}

/// Ascending strings with a position.
enum Source {
    Memory { items: Items, next: usize },
    Run { run: Box<Run>, item: Vec<u8>, is_at_end: bool },
}

impl Source {
    fn of_run(run: Run) -> io::Result<Self> {
        let mut source = Self::Run { run: Box::new(run), item: Vec::new(), is_at_end: false };
        source.advance()?;
        Ok(source)
    }

    fn is_at_end(&self) -> bool {
        match self {
            Self::Memory { items, next } => *next == items.entries.len(),
            Self::Run { is_at_end, .. } => *is_at_end,
        }
    }

    fn current(&self) -> &[u8] {
        match self {
            Self::Memory { items, next } => items.entries.get(*next).map_or(&[], |&entry| items.get(entry)),
            Self::Run { item, .. } => item,
        }
    }

    fn advance(&mut self) -> io::Result<()> {
        match self {
            Self::Memory { next, .. } => *next += 1,
            Self::Run { run, is_at_end, .. } if run.is_at_end() => *is_at_end = true,
            Self::Run { run, item, .. } => {
                let mut len = [0; 4];
                run.read(&mut len)?;
                item.resize(u32::from_be_bytes(len) as usize, 0);
                run.read(item)?;
            }
        }
        Ok(())
    }
}

/// Reversed, because a heap has the greatest source on top: that of the least item.
impl Ord for Source {
    fn cmp(&self, other: &Self) -> Ordering {
        other.current().cmp(self.current())
    }
}

impl PartialOrd for Source {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Source {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sealed::for_each_damage;

    fn check(mut items: Vec<Vec<u8>>, n_bytes_max: usize) {
        let folder = tempfile::tempdir().unwrap();
        let mut sorter = StringSorter::new(folder.path(), n_bytes_max);
        for item in &items {
            sorter.push(item).unwrap();
        }
        let mut sorted = sorter.finish().unwrap();
        items.sort();
        for item in &items {
            assert_eq!(sorted.next_string().unwrap(), Some(&item[..]), "with {n_bytes_max} bytes");
        }
        assert_eq!(sorted.next_string().unwrap(), None);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "no file has a name");
    }

    /// Compares with a sort of the standard library: in memory, in some runs, and in runs of runs.
    #[test]
    fn all_come_back_in_their_order() {
        let mut state = 1_u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize
        };
        // Many are equal in full or in their first eight bytes, or continue another one, or begin
        // with zeros.
        let mut item = || {
            let len = random() % 14;
            (0..len).map(|_| [0, 1, 1, 255][random() % 4]).collect::<Vec<u8>>()
        };
        let items: Vec<_> = (0..5_000).map(|_| item()).collect();
        for n_bytes_max in [1 << 20, 20_000, 1_000, 20, 0] {
            check(items.clone(), n_bytes_max);
        }
        check(Vec::new(), 10);
        check(vec![Vec::new()], 10);
    }

    #[test]
    fn a_damaged_run_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let mut items = Items::default();
        (0..30_000_u32).for_each(|n| items.push(&n.to_be_bytes()[..(n % 5) as usize]));
        items.push(&vec![7; 2 * BLOCK_BYTES]);
        let mut run = write_run(folder.path(), &mut SortedStrings::of(vec![items.into_source()])).unwrap();
        let (same, n_bytes) = (run.file.file().try_clone().unwrap(), run.n_bytes);
        let mut read_all = || {
            run.file.rewind().unwrap();
            (run.n_bytes, run.block, run.n_read) = (n_bytes, Vec::new(), 0);
            let mut bytes = vec![0; n_bytes as usize];
            run.read(&mut bytes).map(|()| run.is_at_end())
        };
        assert!(read_all().unwrap() && n_bytes > 3 * BLOCK_BYTES as u64);
        for_each_damage(&same, 4_999, |at| {
            assert_eq!(read_all().unwrap_err().kind(), io::ErrorKind::InvalidData, "at {at}");
        });
    }
}
