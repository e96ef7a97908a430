//! The encoding of cells by HBase's `KeyValueCodec`: for each cell its length, then
//!
//! ```text
//! u32 key length  u32 value length
//! u16 row length  row  u8 family length  family  qualifier  i64 time  u8 type
//! value
//! ```
//!
//! All numbers are big-endian; the key is the second line, from the row length to the type.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// The type of a cell: a value, or a tombstone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CellType {
    /// Holds a value.
    Put = 4,
    /// Hides the version of its time.
    Delete = 8,
    /// Hides all versions of its column up to its time.
    DeleteColumn = 12,
    /// Hides all columns of its family up to its time.
    DeleteFamily = 14,
}

impl CellType {
    fn of(byte: u8) -> Option<Self> {
        Some(match byte {
            4 => Self::Put,
            8 => Self::Delete,
            12 => Self::DeleteColumn,
            14 => Self::DeleteFamily,
            _ => return None,
        })
    }
}

/// A cell. The parts of a received cell share the memory of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The key of the row, at most 32,767 bytes.
    pub row: Bytes,
    /// The family, at most 127 bytes.
    pub family: Bytes,
    /// The name of the column within the family: any bytes.
    pub qualifier: Bytes,
    /// The version: milliseconds since 1970, or another number chosen by the writer.
    pub timestamp: i64,
    /// The type.
    pub kind: CellType,
    /// The value: any bytes.
    pub value: Bytes,
}

/// The greatest time, which stands for the server's own time in a request.
pub const LATEST: i64 = i64::MAX;

/// Bytes of a key besides row, family and qualifier: two lengths, time and type.
const KEY_FIXED: usize = 2 + 1 + 8 + 1;
const ROW_MAX: usize = i16::MAX as usize;
const FAMILY_MAX: usize = i8::MAX as usize;

/// The reason bytes are no cell, or a cell cannot be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellError {
    /// A length does not fit the bytes that are there.
    Length,
    /// The type is none of [`CellType`].
    Type(u8),
    /// A row or family is longer than HBase allows, or the whole is longer than its length field
    /// can say.
    TooLong,
}

impl Cell {
    /// Appends the encoded cell to a block.
    ///
    /// # Errors
    /// [`CellError::TooLong`]; then nothing is appended.
    pub(crate) fn encode(&self, block: &mut BytesMut) -> Result<(), CellError> {
        let Self { row, family, qualifier, timestamp, kind, value } = self;
        if row.len() > ROW_MAX || family.len() > FAMILY_MAX {
            return Err(CellError::TooLong);
        }
        let key_len = KEY_FIXED + row.len() + family.len() + qualifier.len();
        let len = |len: usize| i32::try_from(len).map(|len| len as u32).map_err(|_| CellError::TooLong);
        let (whole, key, of_value) = (len(8 + key_len + value.len())?, len(key_len)?, len(value.len())?);
        block.reserve(4 + whole as usize);
        block.put_u32(whole);
        block.put_u32(key);
        block.put_u32(of_value);
        block.put_u16(row.len() as u16);
        block.put_slice(row);
        block.put_u8(family.len() as u8);
        block.put_slice(family);
        block.put_slice(qualifier);
        block.put_i64(*timestamp);
        block.put_u8(*kind as u8);
        block.put_slice(value);
        Ok(())
    }

    /// Decodes one whole cell, without the length before it.
    fn decode(mut bytes: Bytes) -> Result<Self, CellError> {
        let (key_len, value_len) = (take_u32(&mut bytes)?, take_u32(&mut bytes)?);
        let mut key = take(&mut bytes, key_len)?;
        let value = take(&mut bytes, value_len)?;
        if !bytes.is_empty() {
            return Err(CellError::Length);
        }
        let row_len = take(&mut key, 2)?.get_u16();
        let row = take(&mut key, row_len.into())?;
        let family_len = take(&mut key, 1)?.get_u8();
        let family = take(&mut key, family_len.into())?;
        let qualifier_len = key.len().checked_sub(9).ok_or(CellError::Length)?;
        let qualifier = take(&mut key, qualifier_len)?;
        let (timestamp, kind) = (key.get_i64(), key.get_u8());
        let kind = CellType::of(kind).ok_or(CellError::Type(kind))?;
        Ok(Self { row, family, qualifier, timestamp, kind, value })
    }
}

/// Iterator over the cells of a block, which ends after the first error.
#[derive(Clone, Debug, Default)]
pub struct Cells(Bytes);

impl Cells {
    /// Creates an iterator over a block, which is not copied.
    #[must_use]
    pub(crate) fn new(block: Bytes) -> Self {
        Self(block)
    }

    /// Takes and decodes the next `n` cells only: a result names the number of its own cells.
    ///
    /// # Errors
    /// [`CellError`], also if fewer cells are left.
    pub fn take_n(&mut self, n: usize) -> Result<Vec<Cell>, CellError> {
        // Room is bounded by the bytes that are there, not by the peer's count.
        let mut cells = Vec::with_capacity(n.min(self.0.len() / (12 + KEY_FIXED)));
        for _ in 0..n {
            cells.push(self.next().ok_or(CellError::Length)??);
        }
        Ok(cells)
    }
}

impl Iterator for Cells {
    type Item = Result<Cell, CellError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let cell = take_u32(&mut self.0).and_then(|len| take(&mut self.0, len)).and_then(Cell::decode);
        if cell.is_err() {
            self.0.clear();
        }
        Some(cell)
    }
}

fn take_u32(bytes: &mut Bytes) -> Result<usize, CellError> {
    Ok(take(bytes, 4)?.get_u32() as usize)
}

fn take(bytes: &mut Bytes, len: usize) -> Result<Bytes, CellError> {
    if len > bytes.len() { Err(CellError::Length) } else { Ok(bytes.split_to(len)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cell() -> impl Strategy<Value = Cell> {
        let bytes = |max| proptest::collection::vec(any::<u8>(), 0..max).prop_map(Bytes::from);
        let kind = proptest::sample::select(vec![
            CellType::Put,
            CellType::Delete,
            CellType::DeleteColumn,
            CellType::DeleteFamily,
        ]);
        (bytes(300), bytes(127), bytes(300), any::<i64>(), kind, bytes(2000)).prop_map(
            |(row, family, qualifier, timestamp, kind, value)| Cell {
                row,
                family,
                qualifier,
                timestamp,
                kind,
                value,
            },
        )
    }

    #[test]
    fn the_layout_is_hbases() {
        let cell = Cell {
            row: Bytes::from_static(b"r1"),
            family: Bytes::from_static(b"f"),
            qualifier: Bytes::from_static(b"id"),
            timestamp: 0x0102_0304,
            kind: CellType::Put,
            value: Bytes::from_static(b"v"),
        };
        let mut block = BytesMut::new();
        cell.encode(&mut block).unwrap();
        let expected = b"\0\0\0\x1a\0\0\0\x11\0\0\0\x01\0\x02r1\x01fid\0\0\0\0\x01\x02\x03\x04\x04v";
        assert_eq!(&block[..], expected);
    }

    proptest! {
        #[test]
        fn cells_come_back(cells in proptest::collection::vec(cell(), 0..8)) {
            let mut block = BytesMut::new();
            for cell in &cells {
                cell.encode(&mut block).unwrap();
            }
            let mut left = Cells::new(block.freeze());
            prop_assert_eq!(left.take_n(cells.len()).unwrap(), cells);
            prop_assert_eq!(left.take_n(1), Err(CellError::Length));
        }

        /// Arbitrary bytes and damaged cells cause no panic, for any count.
        #[test]
        fn any_bytes(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), n in any::<usize>(),
            cell in cell(), at in any::<prop::sample::Index>()) {
            let _ = Cells::new(Bytes::from(bytes.clone())).take_n(n);
            let mut block = BytesMut::new();
            cell.encode(&mut block).unwrap();
            let place = at.index(block.len());
            bytes.push(0);
            block[place] ^= bytes[0] | 1;
            let _ = Cells::new(block.freeze()).take_n(1);
        }
    }
}
