//! The columns that a reader of rows has to find.

use super::field_path::FieldPath;

/// The fields that are looked for, for a reader whose rows have them as columns: in the order of `Values`.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    pub(super) paths: Vec<FieldPath>,
    pub(super) n_texts: usize,
    /// Which of them may hold bytes that are no text.
    pub(super) of_bytes: Option<usize>,
}

impl Columns {
    /// Whether a column holds text: the id comes before those that do.
    pub(super) fn is_text(&self, column: usize) -> bool {
        (1..=self.n_texts).contains(&column)
    }
}
