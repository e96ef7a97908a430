//! The documents of a corpus, one after another, for a program that wants no more than to read them.

use std::fmt;
use std::sync::Arc;
use std::vec;

use index::{DocumentId, Source};

use super::fields::Fields;
use super::inputs::{Chunks, Inputs};
use super::internal_error::caught;
use super::origin::Origin;
use super::records::{Chunk, Numbered, Place, Position};

/// What a record says, and where it was read.
#[derive(Clone, Debug)]
pub struct Document {
    /// As the record has it, or made where ids are made.
    pub id: DocumentId,
    /// All of it.
    pub text: String,
    /// Where the document came from, if that was asked for and is said.
    pub source: Option<Source>,
    /// The label, if that was asked for and is said: see [`Fields::labelled`].
    pub label: Option<String>,
    /// The input that it was read from.
    pub origin: Arc<Origin>,
    /// Its line there, counted from 1; of formats without lines its record.
    pub number: u64,
}

/// A record that is no document, though it should be one.
#[derive(Clone, Debug)]
pub struct Rejected {
    /// The input that it was read from.
    pub origin: Arc<Origin>,
    /// Its line there, counted from 1; of formats without lines its record.
    pub number: u64,
    /// Why, as a person reads it.
    pub reason: String,
}

/// As in "news.jsonl:17: there is no field "text"; …".
impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.origin.name(), self.number, self.reason)
    }
}

impl std::error::Error for Rejected {}

/// All documents of some inputs, in their order, and the records that are none. It blocks while it reads, and holds one
/// portion of records in memory.
pub struct Documents {
    chunks: Chunks,
    fields: Fields,
    /// What is left of the last chunk.
    read: vec::IntoIter<Result<Document, Rejected>>,
}

impl Inputs {
    /// The documents that are in them, and the records that are none, in their order.
    #[must_use]
    pub fn documents(self, fields: Fields) -> Documents {
        Documents::new(self.chunks(Position::default(), &fields.columns()), fields)
    }
}

impl Documents {
    fn new(chunks: Chunks, fields: Fields) -> Self {
        Self { chunks, fields, read: Vec::new().into_iter() }
    }

    fn parse(&self, chunk: &Chunk) -> Vec<Result<Document, Rejected>> {
        let parse = |(position, (number, raw)): (_, Numbered<'_>)| {
            let origin = || Arc::clone(&chunk.origin);
            let place = Place { origin: &chunk.origin, number, position };
            let record = raw.map_err(ToString::to_string);
            match record.and_then(|raw| caught(|| self.fields.parse(raw, place))?) {
                Ok(record) => record.map(|record| {
                    let text = record.text.into_owned();
                    let (id, source, label) = (record.id, record.source, record.label);
                    Ok(Document { id, text, source, label, origin: origin(), number })
                }),
                Err(reason) => Some(Err(Rejected { origin: origin(), number, reason })),
            }
        };
        chunk.records().filter_map(parse).collect()
    }
}

impl Iterator for Documents {
    type Item = Result<Document, Rejected>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(document) = self.read.next() {
                return Some(document);
            }
            let chunk = self.chunks.next()?;
            self.read = self.parse(&chunk).into_iter();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{FieldNames, InputOptions};

    #[test]
    fn bad_records_are_named_and_the_rest_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &str| fs::write(folder.path().join(name), content).unwrap();
        write("a.jsonl", "{\"id\": \"1\", \"text\": \"one\", \"source\": \"x\"}\n\n{\"id\": \"2\"}\n{");
        write("b.csv", "id,text\n3,three\n");
        write("c.pdf", "what is not read");
        let options = InputOptions::of([folder.path()]);
        let inputs = Inputs::open(&options).unwrap();
        assert_eq!(inputs.left_out.to_string(), "1 file (.pdf 1)");
        let source = Some("source".parse().unwrap());
        let fields = Fields::new(FieldNames { source, ..FieldNames::of(&options) });
        let read: Vec<String> = inputs
            .documents(fields)
            .map(|document| match document {
                Ok(Document { id, text, source, origin, number, .. }) => {
                    format!(
                        "{}:{number} {id} {text} {:?}",
                        origin.stem(),
                        source.as_ref().map(Source::as_str)
                    )
                }
                Err(rejected) => {
                    let shown = rejected.to_string();
                    assert!(shown.ends_with(&rejected.reason), "{shown}");
                    format!("{}:{} rejected", rejected.origin.stem(), rejected.number)
                }
            })
            .collect();
        let expected = [
            "a.jsonl:1 1 one Some(\"x\")",
            "a.jsonl:3 rejected",
            "a.jsonl:4 rejected",
            "b.csv:2 3 three None",
        ];
        assert_eq!(read, expected);
    }
}
