//! Fields of a record, in any format: its id, its text, its source, and whatever else is requested.

mod given;
mod likely;
mod names;
mod pages;
mod record;

use std::borrow::Cow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use index::{DocumentId, Source};

use super::columns::Columns;
use super::field_path::FieldPath;
use super::json::JsonFields;
use super::made_ids::MadeIds;
use super::members::Members;
use super::options::{InputOptions, PageText};
use super::rank::{Rank, RankBy, Ranking};
use super::records::{Cell, Form, Place, RawRecord};
use super::there::{self, unfit};
use super::value::{TEXT_SEPARATOR, Value, Values};
pub use given::{Digits, Given, GivenFields, Told};
pub use names::FieldNames;
pub use record::Record;

/// Default field of the id.
const ID_FIELD: &str = "id";

/// Default field of the id in WARC: no other field differs in every record.
const WARC_ID_FIELD: &str = "WARC-Record-ID";

/// The field of a page's title; any other field of the text is the page's text.
const TITLE_FIELD: &str = "title";

const ID_HELP: &str = "--id-field names the one that holds the id, --make-ids makes ids";
const TEXT_HELP: &str = "--text-field names the one that holds the text";

/// Reader of the named fields from raw records.
#[derive(Debug)]
pub struct Fields {
    id: FieldPath,
    warc_id: FieldPath,
    texts: Vec<FieldPath>,
    /// True for each field of the text that a record has had.
    seen: Vec<AtomicBool>,
    given: Option<GivenFields>,
    source: Option<FieldPath>,
    source_default: Option<Source>,
    made_ids: MadeIds,
    html: PageText,
    ranking: Option<Ranking>,
    label: Option<FieldPath>,
    json: JsonFields,
    /// Flags that the first record without an id or a text suggests, or a first line without JSON.
    suggested: OnceLock<Option<String>>,
}

impl Fields {
    /// Returns a reader for the fields of the options, without sources.
    #[must_use]
    pub fn of(options: &InputOptions) -> Self {
        Self::new(FieldNames::of(options))
    }

    /// Returns a reader for the fields of these names.
    #[must_use]
    pub fn new(names: FieldNames) -> Self {
        let FieldNames { id, texts, given, source, source_default, made_ids, html } = names;
        let id_or = |name: &str| id.clone().unwrap_or_else(|| FieldPath::name(name));
        let (id, warc_id) = (id_or(ID_FIELD), id_or(WARC_ID_FIELD));
        let seen = texts.iter().map(|_| AtomicBool::new(false)).collect();
        let mut fields = Self {
            id,
            warc_id,
            texts,
            seen,
            given,
            source,
            source_default,
            made_ids,
            html,
            ranking: None,
            label: None,
            json: JsonFields::new(std::iter::empty()),
            suggested: OnceLock::new(),
        };
        fields.json = JsonFields::new(fields.paths());
        fields
    }

    /// Also ranks the records.
    #[must_use]
    pub fn ranked(mut self, by: RankBy) -> Self {
        self.ranking = Some(Ranking::new(by));
        self.json = JsonFields::new(self.paths());
        self
    }

    /// Also reads the label of each record from a field: a string of any length or an integer. A
    /// record without the field, with null or with an empty string has no label.
    #[must_use]
    pub fn labelled(mut self, label: FieldPath) -> Self {
        self.label = Some(label);
        self.json = JsonFields::new(self.paths());
        self
    }

    /// Gives a record without an id one of `made_ids`.
    #[must_use]
    pub fn with_made_ids(self, made_ids: MadeIds) -> Self {
        Self { made_ids, ..self }
    }

    /// Returns the fields of the text in no record so far, if others are: they may be misspelt.
    pub fn unseen_texts(&self) -> impl Iterator<Item = &FieldPath> {
        let is_seen = |seen: &AtomicBool| seen.load(Ordering::Relaxed);
        let unseen = move |i: &usize| self.seen.iter().any(is_seen) && !is_seen(&self.seen[*i]);
        (0..self.texts.len()).filter(unseen).map(|i| &self.texts[i])
    }

    /// Returns the names of the fields of a record in which its id and its text lie.
    pub fn own_names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.id).chain(&self.texts).flat_map(FieldPath::outermost)
    }

    /// Returns the flags with which the first record that has no id or text, or is no JSON, might
    /// have been read, as in `--text-field body`.
    pub fn suggested(&self) -> Option<&str> {
        self.suggested.get()?.as_deref()
    }

    /// Returns the columns for a reader of rows to find: the argument of
    /// [`Inputs::chunks`](crate::Inputs::chunks).
    #[must_use]
    pub fn columns(&self) -> Columns {
        Columns { paths: self.paths().cloned().collect(), n_texts: self.texts.len() }
    }

    /// Returns the paths of all requested fields, in the order in which [`Self::record`] takes
    /// them.
    fn paths(&self) -> impl Iterator<Item = &FieldPath> {
        let ranked_by = self.ranking.as_ref().and_then(|ranking| ranking.field.as_ref());
        let given = self
            .given
            .iter()
            .flat_map(|given| [&given.fingerprint_field, &given.signature_field, &given.text_field]);
        let texts = std::iter::once(&self.id).chain(&self.texts);
        texts.chain(given).chain(&self.source).chain(ranked_by).chain(&self.label)
    }

    /// Parses one record; `None` if it is one without a document. The error is the reason shown to
    /// the user.
    pub fn parse<'a>(&self, record: RawRecord<'a>, place: Place<'_>) -> Result<Option<Record<'a>>, String> {
        match record.form {
            Form::Json => {
                let values = self.json.parse(record.bytes).inspect_err(|_| {
                    if place.number == 1
                        && let Some(flag) =
                            likely::format(record.bytes).or_else(|| likely::encoding(record.bytes))
                    {
                        self.suggested.get_or_init(|| Some(flag));
                    }
                })?;
                self.check_presence(&values, Some(record.bytes), |path| there::in_line(record.bytes, path))?;
                self.record(values, place).map(Some)
            }
            Form::Row => {
                let values = self.row(record)?;
                self.check_presence(&values, None, |_| format!("it has {}", record.columns))?;
                self.record(values, place).map(Some)
            }
            Form::LeftOut => Ok(None),
            _ if self.given.is_some() => Err("a file of text has no field with a fingerprint".to_owned()),
            Form::Text | Form::Html => self.file(record, place).map(Some),
            Form::Response => self.response(record, place),
        }
    }

    fn row<'a>(&self, record: RawRecord<'a>) -> Result<Values<'a>, String> {
        let mut rest = record.bytes;
        // After the id, the texts and the fingerprint.
        let signature = self.given.as_ref().map(|_| self.texts.len() + 2);
        let value = |(i, (cell, path)): (usize, (&Cell, &FieldPath))| match *cell {
            Cell::Missing => Ok(None),
            Cell::Null => Ok(Some(Value::Null)),
            Cell::Integer(number) => Ok(Some(Value::Integer(number.to_string().into()))),
            Cell::Unsigned(number) => Ok(Some(Value::Integer(number.to_string().into()))),
            Cell::Float(number) => Ok(Some(Value::Float(number))),
            Cell::Time(ms) => Ok(Some(Value::Time(ms))),
            Cell::Other(what) => Ok(Some(Value::Other(what))),
            Cell::Text(len) => {
                let text;
                (text, rest) = rest.split_at(len);
                let text = std::str::from_utf8(text).map_err(|error| {
                    format!("field {path} is not valid UTF-8 after its byte {}", error.valid_up_to())
                })?;
                Ok(Some(Value::Text(Cow::Borrowed(text))))
            }
            Cell::Bytes(len) => {
                let bytes;
                (bytes, rest) = rest.split_at(len);
                Ok(Some(if signature == Some(i) { given::bytes(bytes) } else { Value::of_untold(bytes) }))
            }
        };
        record.cells.iter().zip(self.paths()).enumerate().map(value).collect()
    }

    /// Refuses a record without an id or a text; `there` formats what it has instead.
    fn check_presence(
        &self,
        values: &Values<'_>,
        line: Option<&[u8]>,
        there: impl Fn(&FieldPath) -> String,
    ) -> Result<(), String> {
        let [id, rest @ ..] = &values[..] else { return Ok(()) };
        let lacks_id = id.is_none() && matches!(self.made_ids, MadeIds::None);
        let lacks_text = !self.texts.is_empty() && rest[..self.texts.len()].iter().all(Option::is_none);
        let (path, help) = match self.texts.first() {
            _ if lacks_id => (&self.id, ID_HELP),
            Some(text) if lacks_text => (text, TEXT_HELP),
            _ => return Ok(()),
        };
        let there = there(path);
        self.suggested.get_or_init(|| likely::flags(&there, line, lacks_id, lacks_text));
        Err(format!("there is no field {path}; {there}; {help}"))
    }

    fn record<'a>(&self, values: Values<'a>, place: Place<'_>) -> Result<Record<'a>, String> {
        // Before a value that will not do: those behind it are seen all the same.
        for (value, seen) in values.iter().skip(1).zip(&self.seen) {
            if value.is_some() && !seen.load(Ordering::Relaxed) {
                seen.store(true, Ordering::Relaxed);
            }
        }
        let mut values = values.into_iter();
        let mut next = || values.next().flatten();
        let (id, has_unique_id) = self.id(next(), &self.id, place)?;
        let mut text: Option<Cow<'a, str>> = None;
        let (mut has_any, mut absent) = (self.texts.is_empty(), None);
        for path in &self.texts {
            let part = match next() {
                Some(Value::Text(part)) => {
                    has_any = true;
                    part
                }
                // One of several counts as empty, as an empty cell does.
                value @ (None | Some(Value::Null)) => {
                    absent = absent.or(value.map(|value| (value, path)));
                    Cow::Borrowed("")
                }
                value => return Err(unfit(value.as_ref(), path, "a string as text", TEXT_HELP)),
            };
            text = Some(match text {
                None => part,
                Some(text) => Cow::Owned(text.into_owned() + TEXT_SEPARATOR + &part),
            });
        }
        if let (false, Some((value, path))) = (has_any, absent) {
            return Err(unfit(Some(&value), path, "a string as text", TEXT_HELP));
        }
        let text = text.unwrap_or_default();
        let given = self.given.as_ref().map(|given| given.given(&mut next)).transpose()?;
        let source = self.source(self.source.as_ref().and_then(|_| next()))?;
        let ranked_by = self.ranking.as_ref().and_then(|ranking| ranking.field.as_ref());
        let rank = self.rank(&text, ranked_by.and_then(|_| next()));
        let label = self.label(self.label.as_ref().and_then(|_| next()))?;
        let (title, is_whole_page, guessed) = (None, false, None);
        Ok(Record { id, has_unique_id, text, title, is_whole_page, guessed, given, source, rank, label })
    }

    /// Returns the output line of a record: the line as read, with the made id if the record got a
    /// unique one. A record without a line gets one of JSON.
    pub fn line<'a>(&self, raw: RawRecord<'a>, record: &Record<'_>) -> Cow<'a, [u8]> {
        let Some(line) = raw.line() else { return record.to_line().into_bytes().into() };
        let members = record.has_unique_id.then(|| Members::of(line)).flatten();
        members.map_or(line.into(), |members| {
            let name = self.id.as_name().unwrap_or(ID_FIELD);
            members.without(&[name]).with_string(name, record.id.as_str()).into()
        })
    }

    /// Returns the id, and true if the record had none and got a unique one.
    fn id(
        &self,
        value: Option<Value<'_>>,
        path: &FieldPath,
        place: Place<'_>,
    ) -> Result<(DocumentId, bool), String> {
        let value = value.map(Value::named);
        let is_empty = matches!(&value, None | Some(Value::Null)) || value == Some(Value::Text("".into()));
        let (id, is_made) = match (value, &self.made_ids) {
            (_, MadeIds::Unique(round)) if is_empty => (round.id(place.position)?, true),
            (_, MadeIds::ByPlace) if is_empty => (format!("{}:{}", place.origin.stem(), place.number), false),
            (Some(Value::Text(id) | Value::Integer(id)), _) => (id.into_owned(), false),
            (value, _) => {
                let help = match self.made_ids {
                    MadeIds::Unique(_) => "--id-field names the one that holds the id",
                    _ => ID_HELP,
                };
                return Err(unfit(value.as_ref(), path, "a string or an integer as id", help));
            }
        };
        Ok((DocumentId::new(id).map_err(|error| error.to_string())?, is_made))
    }

    fn source(&self, value: Option<Value<'_>>) -> Result<Option<Source>, String> {
        let Some(path) = &self.source else { return Ok(None) };
        let help = "--source-field names another field to take it from";
        match value.map(Value::named) {
            None | Some(Value::Null) => Ok(self.source_default.clone()),
            Some(Value::Text(source) | Value::Integer(source)) => {
                Source::new(source).map(Some).map_err(|error| format!("{error}; {help} than {path}"))
            }
            value => Err(unfit(value.as_ref(), path, "a string, an integer or null as source", help)),
        }
    }

    fn label(&self, value: Option<Value<'_>>) -> Result<Option<String>, String> {
        let Some(path) = &self.label else { return Ok(None) };
        match value.map(Value::named) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Text(label) | Value::Integer(label)) => {
                Ok(Some(label.into_owned()).filter(|label| !label.is_empty()))
            }
            value => {
                let help = "name another field";
                Err(unfit(value.as_ref(), path, "a string, an integer or null as label", help))
            }
        }
    }

    fn rank(&self, text: &str, value: Option<Value<'_>>) -> Rank {
        self.ranking.as_ref().map_or(Rank::NONE, |ranking| ranking.rank(text, value.as_ref()))
    }
}

#[cfg(test)]
pub(super) mod testing;

#[cfg(test)]
mod tests;
