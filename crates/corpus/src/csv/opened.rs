//! A table of text, opened: in UTF-8, with the dialect that its first bytes have.

use std::io::{self, BufReader, Chain, Cursor, Read};

use super::super::compression::READ_BUFFER_BYTES;
use super::super::encoding::BYTE_ORDER_MARK;
use super::super::format::Format;
use super::dialect::{Dialect, SAMPLE_BYTES};
use super::options::TableOptions;
use super::transcoded::Transcoded;

/// Length of `sep=;` with the first byte of its end.
const NAMED_BYTES: usize = 6;

type Content<R> = Chain<Cursor<Vec<u8>>, BufReader<Failing<Transcoded<R>>>>;

pub(crate) struct Opened<R> {
    pub(crate) content: Content<R>,
    pub(crate) dialect: Dialect,
    /// Unusual traits of the table, as shown to the user.
    pub(crate) unusual: Option<String>,
}

/// Opens a table of `format`, whose dialect is told as far as `options` do not say it.
pub(crate) fn open<R: Read>(reader: R, format: Format, options: TableOptions) -> Opened<R> {
    let encoding = options.encoding.map(|encoding| encoding.0);
    let mut inner = Failing { inner: Transcoded::new(reader, encoding), failure: None };
    let mut sample = Vec::new();
    inner.failure = inner.inner.by_ref().take(SAMPLE_BYTES as u64).read_to_end(&mut sample).err();
    let is_whole = sample.len() < SAMPLE_BYTES && inner.failure.is_none();
    let usual = format.delimiter().unwrap_or(b',');
    let named = take_delimiter(&mut sample);
    let delimiter = options.delimiter.or(named);
    let dialect = Dialect::of(&sample, is_whole, usual, delimiter, options.quote);
    let found = inner.inner.encoding().filter(|_| encoding.is_none());
    let found = found.map(|encoding| format!("in {}", encoding.name()));
    let dialect_found = dialect.unusual(format).filter(|_| options.delimiter.is_none());
    let unusual: Vec<String> = found.into_iter().chain(dialect_found).collect();
    let unusual = (!unusual.is_empty()).then(|| unusual.join(", "));
    let rest = BufReader::with_capacity(READ_BUFFER_BYTES, inner);
    Opened { content: Cursor::new(sample).chain(rest), dialect, unusual }
}

/// Takes the delimiter that a first line as `sep=;` names, for Excel. Its end stays as a blank
/// line, so that lines keep their numbers.
fn take_delimiter(sample: &mut Vec<u8>) -> Option<u8> {
    let start = if sample.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let [name @ .., delimiter, b'\r' | b'\n'] = sample.get(start..start + NAMED_BYTES)? else { return None };
    let delimiter = *delimiter;
    let is_named = name.eq_ignore_ascii_case(b"sep=") && delimiter.is_ascii() && delimiter != b'"';
    is_named.then(|| {
        sample.drain(start..start + NAMED_BYTES - 1);
        delimiter
    })
}

/// Reader that begins with a failure, if there is one.
pub(crate) struct Failing<R> {
    inner: R,
    failure: Option<io::Error>,
}

impl<R: Read> Read for Failing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.failure.take().map_or_else(|| self.inner.read(buffer), Err)
    }
}
