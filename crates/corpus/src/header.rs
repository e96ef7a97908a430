//! The first row of a CSV file, read before the file itself.

use std::io::{self, BufReader, Cursor, Read};
use std::sync::Arc;

use super::compression::Counted;
use super::content::unpacked;
use super::csv::TableOptions;
use super::csv::{self, Csv};
use super::encoding::BYTE_ORDER_MARK;
use super::files::Source;
use super::remembering::Remembering;

/// Column names of a CSV file.
pub struct Header {
    /// Names in column order.
    pub names: Vec<Vec<u8>>,
    /// True if the file begins with a byte order mark, by which some programs recognize UTF-8.
    pub has_mark: bool,
}

impl Header {
    /// Reads the header of `source`, if there is one. A source that can be opened only once stands
    /// at its beginning again afterwards, but unpacked.
    pub(super) fn peek(
        source: &mut Source,
        tables: TableOptions,
        record_bytes_max: usize,
        window_log_max: u32,
    ) -> io::Result<Option<Self>> {
        let Some(format) = source.format() else { return Ok(None) };
        let (raw, is_once) = match source.opened.take() {
            Some(opened) => (opened, true),
            None => (source.location().open()?, false),
        };
        let content = unpacked(Counted::new(raw, &Arc::default()), format, window_log_max)?;
        let mut content = content.of_once(is_once);
        if is_once && content.is_tar() {
            source.opened = Some(Box::new(content));
            return Ok(None);
        }
        let inner = BufReader::new(content);
        let mut remembering = Remembering::new(inner);
        let csv::Opened { content, dialect, .. } = csv::open(&mut remembering, format, tables);
        let names = Csv::new(content, dialect, Default::default(), record_bytes_max).names()?;
        let Remembering { inner, bytes } = remembering;
        let has_mark = bytes.starts_with(BYTE_ORDER_MARK);
        if is_once {
            source.opened = Some(Box::new(Cursor::new(bytes).chain(inner)));
        }
        Ok(names.map(|names| Self { names, has_mark }))
    }
}
