//! The content of a record, by its fields.

use std::borrow::Cow;

use index::{DocumentId, Source};
use serde_json::json;

use super::super::rank::Rank;
use super::{Given, TITLE_FIELD};

/// Content of a record.
#[derive(Debug)]
pub struct Record<'a> {
    /// The id in the record, or a made one.
    pub id: DocumentId,
    /// True if the record had no id and got a unique one.
    pub has_unique_id: bool,
    /// The whole text; of an HTML page what [`FieldNames::html`](super::FieldNames::html) says.
    pub text: Cow<'a, str>,
    /// The title of a page that has one; it is no part of the text, unless the fields of the text
    /// name it.
    pub title: Option<String>,
    /// True if the text is that of a whole page, in which no main text was found.
    pub is_whole_page: bool,
    /// Encoding of a file of text, if nothing but the text tells it.
    pub guessed: Option<&'static str>,
    /// Features given in the record, if requested.
    pub given: Option<Given>,
    /// Source of the document, if requested: stated in the record, or the default.
    pub source: Option<Source>,
    /// Rank of the record; the lowest if ranks are not requested.
    pub rank: Rank,
    /// Label of the record, if requested and present: see
    /// [`Fields::labelled`](super::Fields::labelled).
    pub label: Option<String>,
}

impl Record<'_> {
    /// Formats the record as a line of JSON for an output, for a record not read as one.
    pub fn to_line(&self) -> String {
        let mut line = json!({ "id": self.id.as_str(), "text": self.text });
        let more =
            [("source", self.source.as_ref().map(Source::as_str)), (TITLE_FIELD, self.title.as_deref())];
        for (name, value) in more {
            if let Some(value) = value {
                line[name] = value.into();
            }
        }
        line.to_string()
    }
}
