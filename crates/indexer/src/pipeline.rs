//! From the records of the inputs to documents with features, by the pipeline of `engine`.
//!
//! A document has a name for each step of its way:
//!
//! ```text
//! RawRecord      bytes of one record in a file                     corpus, the reading thread
//!     ▼
//! Record         its fields: id, text, source, rank                corpus, a fingerprinting thread
//!     ▼
//! Fingerprinted  the record with features, and the text on         here, the same thread; the
//!                request                                           record's own features: given
//!     ▼
//! Item           the document with its place and its line          here; job hands it to a Sink
//!     ▼
//! NewDocument    id, features and source, for a call of the store  index, with all further names
//! ```

use std::sync::Arc;

use corpus::{Chunk, Fields, Inputs, Origin, Place, Position, Rank, RawRecord, Record, caught};
use engine::{Buffers, Extractor, Load, in_order};
use index::{DocumentId, Features, Source};

use crate::excerpt::excerpt;
use crate::given::Needs;
use crate::memory;
use crate::shard::Shard;
use crate::short_texts::SHORT;

/// The end of a text whose features cannot be made, in tests.
#[cfg(test)]
pub(crate) const PANICKING: &str = "this text panics";

/// The work on each record.
pub(crate) struct Pipeline<'a> {
    /// `None` if the command has the features already; the documents then carry none.
    pub(crate) extractor: Option<&'a Extractor>,
    pub(crate) fields: &'a Fields,
    pub(crate) n_threads: usize,
    pub(crate) wanted: Wanted,
    /// The features that the index needs of records that bring their own. Nothing is made of the
    /// texts then.
    pub(crate) needs: Option<&'a Needs>,
    /// The part of the records that count.
    pub(crate) shard: Option<Shard>,
}

/// The needs of a command beside the features of a record.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    /// The columns of the excerpt from the beginning of the text.
    pub(crate) excerpt_columns: usize,
    /// The line that stands for the record in an output.
    pub(crate) lines: bool,
    /// The text itself.
    pub(crate) texts: bool,
    /// The distinct terms, in place of a fingerprint.
    pub(crate) terms: bool,
    /// True if short texts are to be told apart.
    pub(crate) is_short: bool,
}

/// The records of a chunk, in order.
pub(crate) struct Batch {
    pub(crate) origin: Arc<Origin>,
    pub(crate) records: Vec<Outcome>,
    /// True if the input waits for its writer after these records.
    pub(crate) is_at_rest: bool,
}

/// The result of one record.
pub(crate) struct Outcome {
    pub(crate) number: u64,
    /// The position in the input after the record.
    pub(crate) position: Position,
    /// The document, or the reason for its rejection; `None` for a record that holds none, such as
    /// an answer that is no page.
    pub(crate) item: Result<Option<Item>, String>,
    /// True if the record was read: a rejection is of its document then.
    pub(crate) is_read: bool,
    /// The ending of a file in an archive that stands here and is not read.
    pub(crate) left_out: Option<Box<str>>,
}

/// A document on its way through a command, with its place in the input.
pub(crate) struct Item {
    pub(crate) origin: Arc<Origin>,
    /// The number of the input.
    pub(crate) n_file: usize,
    pub(crate) number: u64,
    /// The line for an output; empty if not requested.
    pub(crate) line: Box<[u8]>,
    /// The encoding of a file of text, if nothing but the text tells it.
    pub(crate) guessed: Option<&'static str>,
    pub(crate) document: Fingerprinted,
}

/// A document: the fields of its record and the features of its text. A run may hold it until its
/// end.
pub(crate) struct Fingerprinted {
    pub(crate) id: DocumentId,
    /// `None` if the text has no features, or none were to be made.
    pub(crate) features: Option<Features>,
    /// The origin of the document, by the record or the command line.
    pub(crate) source: Option<Source>,
    pub(crate) n_text_bytes: usize,
    /// True if the text is that of a whole page, in which no main text was found.
    pub(crate) is_whole_page: bool,
    /// True if the text has fewer than [`SHORT`] characters; false if that was not requested.
    pub(crate) is_short: bool,
    pub(crate) rank: Rank,
    /// The beginning of the text, on one line; empty if not requested.
    pub(crate) excerpt: Box<str>,
    /// Empty if not requested.
    pub(crate) text: Box<str>,
    /// The distinct terms, each followed by a line feed; no term contains one. Empty if not
    /// requested.
    pub(crate) terms: Box<str>,
}

impl Fingerprinted {
    /// A document of which no more is known than its features.
    #[cfg(test)]
    pub(crate) fn of_features(id: DocumentId, features: Option<Features>) -> Self {
        Self {
            id,
            features,
            source: None,
            n_text_bytes: 0,
            is_whole_page: false,
            is_short: false,
            rank: Rank::NONE,
            excerpt: Box::default(),
            text: Box::default(),
            terms: Box::default(),
        }
    }
}

impl Pipeline<'_> {
    /// Reads `inputs` from a position on, and calls `consume` with the batches in the order of the
    /// input, on this thread. An error from `consume` ends the run.
    pub(crate) fn run(
        &self,
        inputs: Inputs,
        from: Position,
        consume: impl FnMut(Batch) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let columns = self.fields.columns();
        let chunks = move || inputs.chunks(from, &columns);
        let work = |buffers: &mut Buffers, chunk: Chunk| self.batch(buffers, &chunk);
        let load = Load { n_bytes: Chunk::n_bytes, n_bytes_max: memory::under_way() };
        in_order(chunks, load, self.n_threads, Buffers::new, work, consume)
    }

    fn batch(&self, buffers: &mut Buffers, chunk: &Chunk) -> Batch {
        let records = chunk.records().filter_map(|(position, (number, raw))| {
            let record = raw.map_err(ToString::to_string);
            let place = Place { origin: &chunk.origin, number, position };
            let record = record.and_then(|raw| Ok((raw, caught(|| self.fields.parse(raw, place))??)));
            let is_other = |shard: Shard| match &record {
                Ok((_, Some(record))) => !shard.holds(record.id.as_str()),
                // A record without an id is known by its place, which is the same for all workers.
                Ok((_, None)) | Err(_) => !shard.holds(&format!("{}:{number}", chunk.origin.stem())),
            };
            if self.shard.is_some_and(is_other) {
                return None;
            }
            let is_read = record.is_ok();
            let left_out = record.as_ref().ok().and_then(|(raw, _)| raw.left_out()).map(Box::from);
            let item = match record {
                Err(reason) => Err(reason),
                Ok((_, None)) => Ok(None),
                Ok((raw, Some(record))) => {
                    let guessed = record.guessed;
                    let made = caught(|| self.document(buffers, raw, record));
                    if made.is_err() {
                        // The buffers are half filled.
                        *buffers = Buffers::new();
                    }
                    made.and_then(|made| made).map(|(line, document)| {
                        let origin = Arc::clone(&chunk.origin);
                        Some(Item { origin, n_file: chunk.n_file, number, line, guessed, document })
                    })
                }
            };
            Some(Outcome { number, position, item, is_read, left_out })
        });
        let records = records.collect();
        let (origin, is_at_rest) = (Arc::clone(&chunk.origin), chunk.is_at_rest());
        Batch { origin, records, is_at_rest }
    }

    /// The document and the line of a record; the error is the reason for which there is none.
    fn document(
        &self,
        buffers: &mut Buffers,
        raw: RawRecord<'_>,
        record: Record<'_>,
    ) -> Result<(Box<[u8]>, Fingerprinted), String> {
        let line = if self.wanted.lines { self.fields.line(raw, &record).into() } else { Box::default() };
        let text = if self.wanted.texts { (&*record.text).into() } else { Box::default() };
        let excerpt = match self.wanted.excerpt_columns {
            0 => Box::default(),
            n_columns => excerpt(&record.text, n_columns).into(),
        };
        let mut terms = String::new();
        if let Some(extractor) = self.extractor.filter(|_| self.wanted.terms) {
            extractor.fingerprinter().for_each_term(buffers.words(), &record.text, |term| {
                terms.push_str(term);
                terms.push('\n');
            });
        }
        let features = match (self.extractor, self.needs, &record.given) {
            (None, ..) => None,
            _ if self.wanted.terms => None,
            (_, Some(needs), Some(given)) => Some(needs.features(given)?),
            (Some(extractor), ..) => {
                #[cfg(test)]
                assert!(!record.text.ends_with(PANICKING), "a text of a test");
                extractor.features(buffers, &record.text)
            }
        };
        let document = Fingerprinted {
            features,
            terms: terms.into(),
            n_text_bytes: record.text.len(),
            is_whole_page: record.is_whole_page,
            // A record that brings its features has no text to be short.
            is_short: self.wanted.is_short
                && record.given.is_none()
                && record.text.chars().nth(SHORT - 1).is_none(),
            id: record.id,
            source: record.source,
            rank: record.rank,
            excerpt,
            text,
        };
        Ok((line, document))
    }
}

#[cfg(test)]
mod tests {
    use features::{Dictionaries, Fingerprinter, Recipe, Segmenter, Weights};

    use super::*;

    /// A panic in the work on one record once ended the program with 101, and every round of
    /// `collect` with it.
    #[test]
    fn a_panic_costs_one_record() {
        let (segmenter, weights) = (Segmenter::Words, Weights::Uniform);
        let recipe = Recipe { segmenter, weights, dictionary: None, idf: None, ..Recipe::default() };
        let extractor = Extractor::from(Fingerprinter::new(recipe, &Dictionaries::default()).unwrap());
        let (chunk, fields) = corpus::testing::chunk_with_a_false_length();
        let wanted = Wanted::default();
        let pipeline = Pipeline {
            extractor: Some(&extractor),
            fields: &fields,
            n_threads: 1,
            wanted,
            needs: None,
            shard: None,
        };
        let batch = pipeline.batch(&mut Buffers::new(), &chunk);
        let ids = batch.records.iter().map(|record| {
            record.item.as_ref().map(|item| item.as_ref().map(|item| item.document.id.as_str()))
        });
        let [Ok(Some("1")), Err(why), Ok(Some("3"))] = ids.collect::<Vec<_>>()[..] else { panic!() };
        assert!(why.contains("internal error") && why.contains("please report it"), "{why}");
    }
}
