//! The cells of an index in their order, part by part, from a store with this order, or sorted
//! here.
//!
//! To sort, all documents are read once. The sorted cells go into a nameless file, which vanishes
//! with the process.

use std::io;
use std::path::Path;

use anyhow::Context;
use index::{Cell, Cursor, DocumentId, Index, MAX_BATCH, Segments};
use simhash::{ROW_KEY_LEN, RowKey};

use runs::{SortedStrings, StringSorter};

use crate::memory;
use crate::string_file::{self, StringFile};

/// The most memory of the sorter.
const SORTED_BYTES_MAX: usize = 256 << 20;

/// Bound on the cells read at once from a store with an order. A row has a cell for each of its
/// documents, so the bound exceeds the number of rows in a page.
const PAGE_CELLS: usize = 65_536;

/// The parts of an index.
pub(crate) struct Walk<'a> {
    index: &'a Index,
    parts: Vec<Segments>,
    /// `None` if the store keeps the order.
    sorted: Option<SortedCells>,
}

/// Cells in a file, part by part.
struct SortedCells {
    file: StringFile,
    /// The place of each part, and the end of the last one.
    places: Vec<u64>,
}

/// Returns true if the store keeps the index in the order of its cells.
pub(crate) fn is_in_order(index: &Index) -> index::Result<bool> {
    Ok(index.cells(Segments::ALL, &Cursor::start(), 1)?.is_some())
}

impl<'a> Walk<'a> {
    /// A walk over an index that its store keeps in order.
    pub(crate) fn in_order(index: &'a Index, parts: Vec<Segments>) -> Self {
        Self { index, parts, sorted: None }
    }

    /// Reads all documents, and sorts in `folder` their cells in the `wanted` parts. Passes the
    /// number of documents read so far to `progress`.
    pub(crate) fn sorted(
        index: &'a Index,
        parts: Vec<Segments>,
        wanted: &[bool],
        folder: &Path,
        progress: &mut dyn FnMut(u64),
    ) -> anyhow::Result<Self> {
        let failed = || format!("failed to sort in {}", folder.display());
        let part_of = |row: &RowKey| parts.partition_point(|part| part.start() <= row.segment) - 1;
        let mut sorter = StringSorter::new(folder, SORTED_BYTES_MAX.min(memory::share()));
        let mut entry = Vec::new();
        let mut n_read = 0;
        let mut next = Some(Cursor::start());
        while let Some(after) = next {
            let page = index.scan(after, MAX_BATCH)?;
            for stored in &page.documents {
                let id = stored.document.id.as_str().as_bytes();
                for row in stored.document.sketch.rows().filter(|row| wanted[part_of(row)]) {
                    entry.clear();
                    entry.extend(row.encode());
                    entry.extend(id);
                    sorter.push(&entry).with_context(failed)?;
                }
            }
            n_read += page.documents.len() as u64;
            progress(n_read);
            next = page.next;
        }
        let sorted = sorter.finish().and_then(|sorted| SortedCells::write(sorted, &parts, folder));
        Ok(Self { index, sorted: Some(sorted.with_context(failed)?), parts })
    }

    /// The cells of a part, ascending.
    pub(crate) fn pages(&self, part: u32) -> Box<dyn Iterator<Item = anyhow::Result<Vec<Cell>>> + '_> {
        match &self.sorted {
            None => {
                let mut next = Some(Cursor::start());
                let segments = self.parts[part as usize];
                Box::new(std::iter::from_fn(move || {
                    let page = self.index.cells(segments, &next.take()?, PAGE_CELLS);
                    let page = page.map(Option::unwrap_or_default);
                    if let Ok(page) = &page {
                        next.clone_from(&page.next);
                    }
                    Some(page.map(|page| page.cells).map_err(anyhow::Error::from))
                }))
            }
            Some(sorted) => {
                let mut place = sorted.places[part as usize];
                let end = sorted.places[part as usize + 1];
                Box::new(std::iter::from_fn(move || {
                    (place < end)
                        .then(|| sorted.read(&mut place, end).context("failed to read what was sorted"))
                }))
            }
        }
    }
}

impl SortedCells {
    fn write(sorted: SortedStrings, parts: &[Segments], folder: &Path) -> io::Result<Self> {
        let (file, places) = StringFile::write_in_parts(folder, sorted, parts)?;
        Ok(Self { file, places })
    }

    /// Reads the cells of one page from `place` on, and advances `place` beyond them.
    fn read(&self, place: &mut u64, end: u64) -> io::Result<Vec<Cell>> {
        let page = self.file.read(place, end)?;
        page.strings().map(|entry| decode(entry).ok_or_else(string_file::changed)).collect()
    }
}

fn decode(entry: &[u8]) -> Option<Cell> {
    let (row, id) = entry.split_at_checked(ROW_KEY_LEN)?;
    let id = DocumentId::new(std::str::from_utf8(id).ok()?).ok()?;
    Some(Cell { row: RowKey::decode(row).ok()?, id })
}

#[cfg(test)]
mod tests {
    use index::{OpenOptions, Profile};
    use simhash::Fingerprint;

    use super::*;

    /// Long ids make a part longer than a page of the file.
    #[test]
    fn what_is_sorted_comes_part_by_part() {
        let options =
            OpenOptions { profile: Some(Profile::Classic), verify: Some(false), ..OpenOptions::default() };
        let index = engine::open_index("memory:", &options).unwrap();
        assert!(!is_in_order(&index).unwrap());
        let id = |n: u64| DocumentId::new(format!("{n}{}", "x".repeat(4_000))).unwrap();
        let bits = |n: u64| Fingerprint((n / 2).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let documents: Vec<_> = (0..300).map(|n| (id(n), bits(n))).collect();
        index.insert(&documents).unwrap();
        let sketch = |n: u64| index.kind().sketch(bits(n));
        let cells = (0..300).flat_map(|n| Cell::of_document(&id(n), &sketch(n)).collect::<Vec<_>>());
        let mut expected: Vec<Cell> = cells.collect();
        expected.sort();
        let folder = tempfile::tempdir().unwrap();
        let parts = Segments::parts(index.kind(), 3).unwrap();
        for wanted in [[true; 3], [false, true, false], [false; 3]] {
            let mut n_read = 0;
            let progress = &mut |n| n_read = n;
            let walk = Walk::sorted(&index, parts.clone(), &wanted, folder.path(), progress).unwrap();
            for (part, segments) in (0..).zip(&parts) {
                let pages: Vec<Vec<Cell>> = walk.pages(part).map(Result::unwrap).collect();
                let is_wanted = wanted[part as usize];
                assert_eq!(pages.len() > 1, is_wanted);
                let of_part = |cell: &&Cell| is_wanted && segments.contains(cell.row.bucket());
                assert!(pages.iter().flatten().eq(expected.iter().filter(of_part)), "part {part}");
            }
            assert_eq!(n_read, 300);
        }
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "the file has no name");
    }
}
