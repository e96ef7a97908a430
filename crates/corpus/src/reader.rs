//! What cuts a source into records: the seam behind which the formats are.

use super::records::{Form, Records};

/// Cuts one source into records.
pub(crate) trait RecordReader {
    /// How its records are to be understood.
    fn form(&self) -> Form;

    /// Appends the next records, in their order, until there are enough for a portion; none at the end. A source that
    /// cannot be read on ends with a record that says so.
    fn append_records(&mut self, records: &mut Records);

    /// The next records; `None` at the end.
    #[cfg(test)]
    fn next_records(&mut self) -> Option<Records> {
        let mut records = Records::new(self.form());
        self.append_records(&mut records);
        records.if_any()
    }
}
