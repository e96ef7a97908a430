//! The first row of CSV, looked at before its file is read.

use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::Arc;

use super::compression::Counted;
use super::content::unpacked;
use super::csv::Csv;
use super::files::Source;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What the columns of a file of CSV are called.
pub struct Header {
    /// In their order.
    pub names: Vec<Vec<u8>>,
    /// Whether it begins with a byte order mark, by which some programs know that it is UTF-8.
    pub has_mark: bool,
}

impl Header {
    /// The header of a source, if it has any. One that can be opened only once is as it was afterwards, but for being
    /// unpacked.
    pub(super) fn peek(source: &mut Source, record_bytes_max: usize) -> io::Result<Option<Self>> {
        let format = source.format();
        let delimiter = format.delimiter().expect("only CSV has a header");
        let (raw, is_once) = match source.opened.take() {
            Some(opened) => (opened, true),
            None => (source.location().open()?, false),
        };
        let inner = BufReader::new(unpacked(Counted::new(raw, &Arc::default()), format)?);
        let mut remembering = Remembering { inner, bytes: Vec::new() };
        let names = Csv::new(&mut remembering, delimiter, Default::default(), record_bytes_max).names()?;
        let Remembering { inner, bytes } = remembering;
        let has_mark = bytes.starts_with(BYTE_ORDER_MARK);
        if is_once {
            source.opened = Some(Box::new(Cursor::new(bytes).chain(inner)));
        }
        Ok(names.map(|names| Self { names, has_mark }))
    }
}

/// Remembers what was read through it.
struct Remembering<R> {
    inner: R,
    bytes: Vec<u8>,
}

impl<R: BufRead> Read for Remembering<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.bytes.extend_from_slice(&buffer[..n]);
        Ok(n)
    }
}

impl<R: BufRead> BufRead for Remembering<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, n: usize) {
        let read = self.inner.fill_buf().unwrap_or_default();
        self.bytes.extend_from_slice(&read[..n.min(read.len())]);
        self.inner.consume(n);
    }
}
