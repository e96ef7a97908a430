//! Columns for a reader of rows to find.

use super::field_path::FieldPath;

/// Requested fields, for a reader whose rows have them as columns: in the order of `Values`.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    pub(super) paths: Vec<FieldPath>,
    pub(super) n_texts: usize,
}

impl Columns {
    /// Returns true if `column` holds text. The id precedes the text columns.
    pub(super) fn is_text(&self, column: usize) -> bool {
        (1..=self.n_texts).contains(&column)
    }
}
