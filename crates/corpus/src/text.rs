//! A file that is one document, a text or an HTML page. Its path is the id.

use std::io::{BufRead, Read};

use encoding_rs::Encoding;

use super::encoding::decode_given;
use super::reader::RecordReader;
use super::records::{Form, RecordError, Records};

pub(super) struct WholeFile<R> {
    reader: Option<R>,
    form: Form,
    record_bytes_max: usize,
    encoding: Option<&'static Encoding>,
}

impl<R> WholeFile<R> {
    pub(super) fn new(reader: R, form: Form, record_bytes_max: usize) -> Self {
        Self { reader: Some(reader), form, record_bytes_max, encoding: None }
    }

    /// Reads the text in an encoding, unless a byte order mark says another one. A text that is not
    /// wholly in it is rejected.
    pub(super) fn with_encoding(self, encoding: Option<&'static Encoding>) -> Self {
        Self { encoding, ..self }
    }
}

impl<R: BufRead> RecordReader for WholeFile<R> {
    fn form(&self) -> Form {
        self.form
    }

    fn append_records(&mut self, records: &mut Records) {
        let Some(reader) = self.reader.take() else { return };
        // One byte beyond the limit tells a text that just fits from a longer one.
        match reader.take(self.record_bytes_max as u64 + 1).read_to_end(records.bytes_mut()) {
            Ok(n) if n > self.record_bytes_max => {
                records.push_error(1, RecordError::TooLong(self.record_bytes_max));
            }
            Ok(_) => match self.encoding.map(|encoding| decode_given(records.pending(), encoding)) {
                Some(Err(why)) => records.push_error(1, RecordError::Damaged(why)),
                Some(Ok(text)) => {
                    records.discard_pending();
                    records.bytes_mut().extend_from_slice(text.as_bytes());
                    records.push(1);
                }
                None => records.push(1),
            },
            Err(error) => records.push_error(1, RecordError::Broken(error.to_string())),
        }
    }
}
