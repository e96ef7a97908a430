//! Iterator over the documents of a corpus, for a program that only reads them.

use std::fmt;
use std::sync::Arc;
use std::vec;

use index::{DocumentId, Source};

use super::fields::Fields;
use super::inputs::{Chunks, Inputs};
use super::internal_error::caught;
use super::origin::Origin;
use super::records::{Chunk, Numbered, Place, Position};

/// A document read from an input, with its place there.
#[derive(Clone, Debug)]
pub struct Document {
    /// The id in the record, or a made one where ids are made.
    pub id: DocumentId,
    /// The whole text.
    pub text: String,
    /// Source of the document, if requested: stated in the record, or the default.
    pub source: Option<Source>,
    /// Label of the document, if requested and present in the record: see [`Fields::labelled`].
    pub label: Option<String>,
    /// The input that holds the document.
    pub origin: Arc<Origin>,
    /// Line number in the input, counted from 1; the record number in formats without lines.
    pub number: u64,
}

/// A record that should be a document and is not.
#[derive(Clone, Debug)]
pub struct Rejected {
    /// The input that holds the record.
    pub origin: Arc<Origin>,
    /// Line number in the input, counted from 1; the record number in formats without lines.
    pub number: u64,
    /// The reason, as shown to the user.
    pub reason: String,
}

/// Formats as in `news.jsonl:17: there is no field "text"; …`.
impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.origin.name(), self.number, self.reason)
    }
}

impl std::error::Error for Rejected {}

/// Iterator over all documents of the inputs and all rejected records, in input order. `next`
/// blocks while reading, and one portion of records is held in memory.
pub struct Documents {
    chunks: Chunks,
    fields: Fields,
    /// Items of the last chunk not yet returned.
    read: vec::IntoIter<Result<Document, Rejected>>,
}

impl Inputs {
    /// Returns the documents of the inputs, and the rejected records, in input order.
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
