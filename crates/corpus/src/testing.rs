//! Chunks that no file yields, for tests of their consumers.

use std::sync::Arc;

use super::fields::Fields;
use super::options::InputOptions;
use super::origin::Origin;
use super::records::{Cell, Chunk, Form, Records};

/// Returns three rows and the fields to read them by. The second row declares a longer text than it
/// has: reading that row panics.
#[must_use]
pub fn chunk_with_a_false_length() -> (Chunk, Fields) {
    let mut records = Records::new(Form::Row);
    for number in 1..=3 {
        records.push_text_cell(number.to_string().as_bytes());
        records.push_cell(Cell::Text(if number == 2 { 1 } else { 0 }));
        records.push(number);
    }
    let origin = Arc::new(Origin::named("rows", 0));
    let fields = Fields::of(&InputOptions::of(["rows"]));
    (Chunk { origin, n_file: 0, records, n_before: 0, n_skipped: 0 }, fields)
}
