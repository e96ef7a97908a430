//! Cells, as HBase's `KeyValueCodec` writes them: for each its length, then
//!
//! ```text
//! u32 key length  u32 value length  u16 row length  row  u8 family length  family  qualifier  i64 time  u8 type  value
//! ```
//!
//! All big-endian; the key is all from the length of the row to the type.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// What a cell does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CellType {
    /// Has a value.
    Put = 4,
    /// Hides the version of its time.
    Delete = 8,
    /// Hides all versions up to its time.
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

/// A cell. Its parts share the memory of the answer that it came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// At most 32,767 bytes.
    pub row: Bytes,
    /// At most 127 bytes.
    pub family: Bytes,
    /// Any bytes.
    pub qualifier: Bytes,
    /// Milliseconds since 1970, or what the writer takes for them.
    pub timestamp: i64,
    /// What it does.
    pub kind: CellType,
    /// Any bytes.
    pub value: Bytes,
}

/// The newest there can be: in a request the server's own time stands for it.
pub const LATEST: i64 = i64::MAX;

/// Length of row, of family, time and type.
const KEY_FIXED: usize = 2 + 1 + 8 + 1;
const ROW_MAX: usize = i16::MAX as usize;
const FAMILY_MAX: usize = i8::MAX as usize;

/// Bytes that are no cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellError {
    /// Something says that it is longer than what there is.
    Length,
    /// A type that no cell here has.
    Type(u8),
    /// A row or family is longer than HBase allows, or all is longer than can be written.
    TooLong,
}

impl Cell {
    /// Appends it to a block.
    ///
    /// # Errors
    /// [`CellError::TooLong`]; then nothing is appended.
    pub fn encode(&self, block: &mut BytesMut) -> Result<(), CellError> {
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

    /// One whole cell.
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

/// The cells of a block, one after another. What is no cell ends it.
#[derive(Clone, Debug, Default)]
pub struct Cells(Bytes);

impl Cells {
    /// Those of a block, which is not copied.
    #[must_use]
    pub fn new(block: Bytes) -> Self {
        Self(block)
    }

    /// Takes off so many, which are all that is decoded: a result says how many cells of the block are its own.
    ///
    /// # Errors
    /// [`CellError`], also where there are fewer.
    pub fn take_n(&mut self, n: usize) -> Result<Vec<Cell>, CellError> {
        // The peer's count is not what room is made for.
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

        /// Whatever a peer sends: no panic, and no more cells than there are bytes for.
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
