//! Sorts more 64-bit words than memory holds, part by part.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::path::{Path, PathBuf};

use crate::sealed::{SEAL_BYTES, Sealed, seal};

/// Words of a block, and of a part that wait in memory for a write.
const BLOCK_WORDS: usize = 4 << 10;

/// Words of a run that are read at a time while runs are merged: some blocks.
const RUN_WORDS: usize = 2 * BLOCK_WORDS;

/// Blocks that are read at a time otherwise.
const READ_BLOCKS: usize = 16;

const WORD_BYTES: usize = size_of::<u64>();

/// Takes 64-bit words in parts that the caller chooses, and returns each part in ascending order,
/// with repetitions. Each part is a file.
///
/// Memory: 32 KiB for each part while words are taken, and the bound of
/// [`finish`](Self::finish) afterwards.
pub struct WordSorter {
    folder: PathBuf,
    parts: Vec<Option<Part>>,
    n_words: u64,
}

struct Part {
    file: Sealed,
    waiting: Vec<u64>,
    n_words: u64,
}

impl WordSorter {
    /// A sorter with its files in `folder`, and at most `n_parts` parts.
    #[must_use]
    pub fn new(folder: &Path, n_parts: usize) -> Self {
        let parts = (0..n_parts).map(|_| None).collect();
        Self { folder: folder.to_owned(), parts, n_words: 0 }
    }

    /// The number of words taken so far.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.n_words
    }

    /// Returns true before the first word.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.n_words == 0
    }

    /// Takes a word. Panics where `part` is not below the number of parts.
    ///
    /// # Errors
    /// A failed write.
    pub fn push(&mut self, part: usize, word: u64) -> io::Result<()> {
        let part = match &mut self.parts[part] {
            Some(part) => part,
            none => none.insert(Part {
                file: Sealed::create(&self.folder)?,
                waiting: Vec::with_capacity(BLOCK_WORDS),
                n_words: 0,
            }),
        };
        part.waiting.push(word);
        part.n_words += 1;
        self.n_words += 1;
        if part.waiting.len() == BLOCK_WORDS {
            write_words(&mut part.file, &part.waiting)?;
            part.waiting.clear();
        }
        Ok(())
    }

    /// Ends the taking. The parts are sorted when their turn comes, in at most `n_bytes_max` bytes
    /// of memory, at least a block, and a buffer for each run of a part that is larger.
    #[must_use]
    pub fn finish(self, n_bytes_max: usize) -> SortedWords {
        let parts = self.parts.into_iter().enumerate();
        // A run begins with a block of the file.
        let n_words_max = (n_bytes_max / WORD_BYTES / BLOCK_WORDS).max(1) * BLOCK_WORDS;
        SortedWords { folder: self.folder, parts, n_words_max, part: 0, current: Sorted::none() }
    }
}

/// The words of all parts: part after part, and ascending in each.
pub struct SortedWords {
    folder: PathBuf,
    parts: std::iter::Enumerate<std::vec::IntoIter<Option<Part>>>,
    n_words_max: usize,
    part: usize,
    current: Sorted,
}

/// The rest of a part.
enum Sorted {
    InMemory { words: Vec<u64>, next: usize },
    Runs { runs: Vec<Run>, heads: BinaryHeap<Reverse<(u64, usize)>> },
}

/// A sorted piece of a part, in a file.
struct Run {
    file: Sealed,
    /// The words in the file that were not read yet.
    n_left: usize,
    words: Vec<u64>,
    next: usize,
}

impl SortedWords {
    /// The next word, `None` after the last one of the last part.
    ///
    /// # Errors
    /// A failed read or write.
    #[inline]
    pub fn next_word(&mut self) -> io::Result<Option<u64>> {
        loop {
            if let Some(word) = self.current.next()? {
                return Ok(Some(word));
            }
            if !self.next_part()? {
                return Ok(None);
            }
        }
    }

    /// The next word, without taking it.
    ///
    /// # Errors
    /// As [`next_word`](Self::next_word).
    #[inline]
    pub fn peek(&mut self) -> io::Result<Option<u64>> {
        loop {
            if let Some(word) = self.current.peek() {
                return Ok(Some(word));
            }
            if !self.next_part()? {
                return Ok(None);
            }
        }
    }

    /// The part of the word that was taken or looked at last.
    #[inline]
    #[must_use]
    pub fn part(&self) -> usize {
        self.part
    }

    /// Sorts the next part. Returns false if there is none.
    fn next_part(&mut self) -> io::Result<bool> {
        // The file of the part before is freed first.
        self.current = Sorted::none();
        let some = self.parts.find_map(|(number, part)| Some((number, part?)));
        let Some((number, part)) = some else { return Ok(false) };
        self.part = number;
        self.current = part.sorted(&self.folder, self.n_words_max)?;
        Ok(true)
    }
}

impl Part {
    fn sorted(self, folder: &Path, n_words_max: usize) -> io::Result<Sorted> {
        let Self { mut file, waiting, n_words } = self;
        let mut n_in_file = n_words - waiting.len() as u64;
        file.rewind()?;
        if n_words <= n_words_max as u64 {
            let mut words = Vec::with_capacity(n_words as usize);
            read_words(&mut file, n_in_file as usize, &mut words)?;
            words.extend(waiting);
            words.sort_unstable();
            return Ok(Sorted::InMemory { words, next: 0 });
        }
        let (mut runs, mut words) = (Vec::new(), waiting);
        while n_in_file > 0 || !words.is_empty() {
            let n = n_in_file.min(n_words_max as u64);
            read_words(&mut file, n as usize, &mut words)?;
            n_in_file -= n;
            words.sort_unstable();
            let mut file = Sealed::create(folder)?;
            write_words(&mut file, &words)?;
            file.rewind()?;
            runs.push(Run { file, n_left: words.len(), words: Vec::new(), next: 0 });
            words.clear();
        }
        drop(words);
        let mut heads = BinaryHeap::new();
        for (n, run) in runs.iter_mut().enumerate() {
            heads.extend(run.next_word()?.map(|word| Reverse((word, n))));
        }
        Ok(Sorted::Runs { runs, heads })
    }
}

impl Run {
    #[inline]
    fn next_word(&mut self) -> io::Result<Option<u64>> {
        if self.next == self.words.len() {
            let n = self.n_left.min(RUN_WORDS);
            self.words.clear();
            read_words(&mut self.file, n, &mut self.words)?;
            self.n_left -= n;
            self.next = 0;
        }
        let word = self.words.get(self.next).copied();
        self.next += usize::from(word.is_some());
        Ok(word)
    }
}

impl Sorted {
    fn none() -> Self {
        Self::InMemory { words: Vec::new(), next: 0 }
    }

    #[inline]
    fn peek(&self) -> Option<u64> {
        match self {
            Self::InMemory { words, next } => words.get(*next).copied(),
            Self::Runs { heads, .. } => heads.peek().map(|&Reverse((word, _))| word),
        }
    }

    #[inline]
    fn next(&mut self) -> io::Result<Option<u64>> {
        match self {
            Self::InMemory { words, next } => {
                let word = words.get(*next).copied();
                *next += usize::from(word.is_some());
                Ok(word)
            }
            Self::Runs { runs, heads } => {
                let Some(mut head) = heads.peek_mut() else { return Ok(None) };
                let Reverse((word, run)) = *head;
                match runs[run].next_word()? {
                    Some(next) => *head = Reverse((next, run)),
                    None => drop(std::collections::binary_heap::PeekMut::pop(head)),
                }
                Ok(Some(word))
            }
        }
    }
}

/// Writes words in blocks. All but the last one of a file are whole.
fn write_words(file: &mut Sealed, words: &[u64]) -> io::Result<()> {
    let mut sealed = Vec::with_capacity(BLOCK_WORDS * WORD_BYTES + SEAL_BYTES);
    for words in words.chunks(BLOCK_WORDS) {
        sealed.clear();
        words.iter().for_each(|word| sealed.extend_from_slice(&word.to_be_bytes()));
        seal(&mut sealed, 0);
        file.write(&sealed)?;
    }
    Ok(())
}

/// Reads the next `n` words, which are whole blocks or end with the file, to the end of `words`.
fn read_words(file: &mut Sealed, n: usize, words: &mut Vec<u64>) -> io::Result<()> {
    let n_sealed = |n: usize| n * WORD_BYTES + n.div_ceil(BLOCK_WORDS) * SEAL_BYTES;
    let mut sealed = vec![0; n_sealed(n.min(BLOCK_WORDS * READ_BLOCKS))];
    let mut rest = n;
    while rest > 0 {
        let n_words = rest.min(BLOCK_WORDS * READ_BLOCKS);
        let sealed = &mut sealed[..n_sealed(n_words)];
        file.read(sealed)?;
        for sealed in sealed.chunks(BLOCK_WORDS * WORD_BYTES + SEAL_BYTES) {
            let (chunks, _) = file.opened(sealed)?.as_chunks::<WORD_BYTES>();
            words.extend(chunks.iter().map(|&chunk| u64::from_be_bytes(chunk)));
        }
        rest -= n_words;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sealed::for_each_damage;

    /// All words of a sorter, with a look at each before it is taken.
    fn all(mut sorted: SortedWords) -> Vec<(usize, u64)> {
        let mut words = Vec::new();
        while let Some(word) = sorted.peek().unwrap() {
            assert_eq!(sorted.next_word().unwrap(), Some(word));
            words.push((sorted.part(), word));
        }
        assert_eq!(sorted.next_word().unwrap(), None);
        words
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Held against a sort of the standard library, in memory and in runs.
        #[test]
        fn each_part_is_sorted(words in proptest::collection::vec((0_usize..3, any::<u64>()), 0..20_000),
            n_bytes_max in prop::sample::select(vec![0, 40_000, 1 << 20])) {
            let folder = tempfile::tempdir().unwrap();
            let mut sorter = WordSorter::new(folder.path(), 4);
            let mut expected = words.clone();
            expected.sort_unstable();
            for (part, word) in words {
                sorter.push(part, word).unwrap();
            }
            prop_assert_eq!(sorter.len(), expected.len() as u64);
            prop_assert_eq!(all(sorter.finish(n_bytes_max)), expected);
            prop_assert_eq!(folder.path().read_dir().unwrap().count(), 0, "no file has a name");
        }
    }

    /// Damage of a part was once a word like others, and the answer another one.
    #[test]
    fn a_damaged_part_is_an_error() {
        const N_WORDS: usize = 2 * BLOCK_WORDS + 5;
        let folder = tempfile::tempdir().unwrap();
        let mut sorter = WordSorter::new(folder.path(), 1);
        (0..N_WORDS as u64).for_each(|word| sorter.push(0, word).unwrap());
        let Part { mut file, waiting, .. } = sorter.parts.remove(0).unwrap();
        // Runs end with blocks that are not whole.
        write_words(&mut file, &waiting).unwrap();
        let same = file.file().try_clone().unwrap();
        let mut read = || {
            let mut words = Vec::new();
            file.rewind().and_then(|()| read_words(&mut file, N_WORDS, &mut words)).map(|()| words)
        };
        assert_eq!(read().unwrap(), (0..N_WORDS as u64).collect::<Vec<_>>());
        for_each_damage(&same, 997, |at| {
            let damaged = read().unwrap_err();
            assert_eq!(damaged.kind(), io::ErrorKind::InvalidData, "at {at}");
        });
        same.set_len(same.metadata().unwrap().len() - 1).unwrap();
        assert_eq!(read().unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
