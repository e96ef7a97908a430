//! Interface of the formats: a reader cuts a source into records.

use super::records::{Form, Records};

/// Cuts one source into records.
pub(crate) trait RecordReader {
    /// Returns the form of the bytes in its records.
    fn form(&self) -> Form;

    /// Appends the next records, in order, until a portion is full; none at the end. A source that
    /// breaks off ends with a record of the error.
    fn append_records(&mut self, records: &mut Records);

    /// Returns the next records; `None` at the end.
    #[cfg(test)]
    fn next_records(&mut self) -> Option<Records> {
        let mut records = Records::new(self.form());
        self.append_records(&mut records);
        records.if_any()
    }
}
