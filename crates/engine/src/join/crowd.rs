//! The cells of a bucket that are too many for memory, in a file.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};

use index::{Cell, DocumentId};
use simhash::{ROW_KEY_LEN, RowKey};

/// A file that is written once, then read from any place on. A cell is its row key, the length of
/// its id in two bytes, and the id.
pub(super) struct Crowd {
    file: BufWriter<File>,
}

impl Crowd {
    /// Makes a crowd in an empty file.
    pub(super) fn new(file: File) -> Self {
        Self { file: BufWriter::new(file) }
    }

    pub(super) fn push(&mut self, cell: &Cell) -> io::Result<()> {
        let id = cell.id.as_str().as_bytes();
        let len = u16::try_from(id.len()).map_err(io::Error::other)?;
        self.file.write_all(&cell.row.encode())?;
        self.file.write_all(&len.to_be_bytes())?;
        self.file.write_all(id)
    }

    /// Ends the writing and returns the place of the first cell.
    pub(super) fn start(&mut self) -> io::Result<u64> {
        self.file.flush().map(|()| 0)
    }

    /// Reads at most `limit` cells from a place on, and returns the place after them.
    pub(super) fn read(&mut self, mut place: u64, limit: usize) -> io::Result<(Vec<Cell>, u64)> {
        let mut file = self.file.get_ref();
        file.seek(SeekFrom::Start(place))?;
        let mut reader = BufReader::with_capacity(128 << 10, file);
        let mut cells = Vec::new();
        let mut id = Vec::new();
        while cells.len() < limit {
            let mut head = [0; ROW_KEY_LEN + 2];
            match reader.read_exact(&mut head) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                read => read?,
            }
            let (row, len) = head.split_at(ROW_KEY_LEN);
            id.resize(len.iter().fold(0, |len, byte| len << 8 | usize::from(*byte)), 0);
            reader.read_exact(&mut id)?;
            place += (head.len() + id.len()) as u64;
            cells.push(decode(row, &id).ok_or_else(|| io::Error::other("a scratch file was changed"))?);
        }
        Ok((cells, place))
    }
}

fn decode(row: &[u8], id: &[u8]) -> Option<Cell> {
    let id = DocumentId::new(std::str::from_utf8(id).ok()?).ok()?;
    Some(Cell { row: RowKey::decode(row).ok()?, id })
}
