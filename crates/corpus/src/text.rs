//! A file that is one document, a text or an HTML page. Its path is the id.

use std::io::{BufRead, Read};

use super::reader::RecordReader;
use super::records::{Form, RecordError, Records};

pub(super) struct WholeFile<R> {
    reader: Option<R>,
    form: Form,
    record_bytes_max: usize,
}

impl<R> WholeFile<R> {
    pub(super) fn new(reader: R, form: Form, record_bytes_max: usize) -> Self {
        Self { reader: Some(reader), form, record_bytes_max }
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
            Ok(_) => records.push(1),
            Err(error) => records.push_error(1, RecordError::Broken(error.to_string())),
        }
    }
}
