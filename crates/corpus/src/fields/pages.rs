//! Records that have no fields of their own: texts, and pages of HTML and WARC.

use std::borrow::Cow;
use std::sync::atomic::Ordering;

use index::DocumentId;

use super::super::encoding::decode_guessed;
use super::super::field_path::{FieldPath, Step};
use super::super::records::{Form, Place, RawRecord};
use super::super::value::{TEXT_SEPARATOR, Value};
use super::super::warc::{Response, Text, page_text};
use super::{Fields, Record, TITLE_FIELD};

impl Fields {
    /// Returns the record of a file that is one document, a text or a page.
    pub(super) fn file<'a>(&self, record: RawRecord<'a>, place: Place<'_>) -> Result<Record<'a>, String> {
        let id = DocumentId::new(place.origin.stem()).map_err(|error| error.to_string())?;
        let (Text { text, title, is_whole_page }, guessed) = match record.form {
            Form::Html => (self.with_title(page_text(record.bytes, self.html)?)?, None),
            _ => {
                let (text, guessed) = decode_guessed(record.bytes)?;
                (Text { text, title: None, is_whole_page: false }, guessed)
            }
        };
        Ok(Record {
            id,
            has_unique_id: false,
            title,
            is_whole_page,
            guessed,
            given: None,
            source: self.source(None)?,
            rank: self.rank(&text, None),
            label: None,
            text,
        })
    }

    /// Returns the record of an answer in WARC; `None` for one without a document.
    pub(super) fn response<'a>(
        &self,
        record: RawRecord<'a>,
        place: Place<'_>,
    ) -> Result<Option<Record<'a>>, String> {
        let response = Response::new(record.bytes);
        let Some(text) = response.text(self.html)? else { return Ok(None) };
        let Text { text, title, is_whole_page } = self.with_title(text)?;
        let field = |path: &FieldPath| {
            let [Step::Name(name)] = &path.steps[..] else { return None };
            response.field(name).map(|value| Value::Text(value.into()))
        };
        let (id, has_unique_id) = self.id(field(&self.warc_id), &self.warc_id, place)?;
        let path = self.ranking.as_ref().and_then(|ranking| ranking.warc_field.as_ref());
        Ok(Some(Record {
            id,
            has_unique_id,
            title,
            is_whole_page,
            guessed: None,
            given: None,
            source: self.source(self.source.as_ref().and_then(field))?,
            rank: self.rank(&text, path.and_then(field)),
            label: self.label(self.label.as_ref().and_then(field))?,
            text,
        }))
    }

    /// Puts the title of a page into its text, where the fields of the text name it, in their
    /// order. A text that is all of the page has its title already.
    fn with_title<'a>(&self, page: Text<'a>) -> Result<Text<'a>, String> {
        let is_title = |path: &FieldPath| path.as_name() == Some(TITLE_FIELD);
        let Some(place) = self.texts.iter().position(is_title) else { return Ok(page) };
        let title = page.title.as_deref();
        for (i, seen) in self.seen.iter().enumerate() {
            seen.fetch_or(title.is_some() || i != place, Ordering::Relaxed);
        }
        let text = match title {
            _ if self.texts.len() == 1 => Cow::Owned(
                title.ok_or("the page has no title, and --text-field names nothing else")?.to_owned(),
            ),
            None => page.text,
            Some(title) if page.text.trim_start().starts_with(title) => page.text,
            Some(title) if place == 0 => Cow::Owned([title, &page.text].join(TEXT_SEPARATOR)),
            Some(title) => Cow::Owned([&page.text, title].join(TEXT_SEPARATOR)),
        };
        Ok(Text { text, ..page })
    }
}
