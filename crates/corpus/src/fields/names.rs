//! The names of the fields to read.

use index::Source;

use super::super::field_path::FieldPath;
use super::super::made_ids::MadeIds;
use super::super::options::{InputOptions, PageText};
use super::GivenFields;

/// Names of the fields to read from a record.
#[derive(Clone, Debug)]
pub struct FieldNames {
    /// Field of the id; `None` for the format's own.
    pub id: Option<FieldPath>,
    /// Fields of the text; several are joined.
    pub texts: Vec<FieldPath>,
    /// Fields of a record's own features, if requested.
    pub given: Option<GivenFields>,
    /// Field of the source; `None` if sources are not requested.
    pub source: Option<FieldPath>,
    /// Source of a record that states none.
    pub source_default: Option<Source>,
    /// Ids for records without one.
    pub made_ids: MadeIds,
    /// Text that is taken of HTML pages.
    pub html: PageText,
}

impl FieldNames {
    /// Returns the names of the options, without sources.
    #[must_use]
    pub fn of(options: &InputOptions) -> Self {
        Self {
            id: options.records.id_field.clone(),
            texts: options.records.text_field.clone(),
            given: None,
            source: None,
            source_default: None,
            made_ids: if options.make_ids { MadeIds::ByPlace } else { MadeIds::None },
            html: options.records.html,
        }
    }
}
