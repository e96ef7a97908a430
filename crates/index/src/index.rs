//! The index with its own description: a store, and the rules for its use.

mod digest;
mod foresight;
mod preparing;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use minhash::Similarity;
use simhash::Distance;

use crate::overlay::Overlay;
use crate::{
    CellPage, Counter, Cursor, Document, DocumentId, Error, ErrorKind, Examined, Features, Insertion,
    Metadata, Mode, NearDocuments, Neighbours, OpenOptions, Page, Result, Rule, Segments, Selection, Sketch,
    SketchKind, Source, Status, Store, StoredDocument, Text, TextKeeping, WriteMark,
};

pub use self::foresight::Foresight;

/// Sketches under document ids, in a store.
pub struct Index {
    store: Box<dyn Store>,
    metadata: Metadata,
    counter: Option<Counter>,
    /// See [`Index::containing`].
    contained: Option<Similarity>,
}

/// A document to be inserted: the index makes the sketch, by its kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NewDocument {
    /// The caller's name for the document.
    pub id: DocumentId,
    /// The features of its text.
    pub features: Features,
    /// The origin of the document, if the caller gives one.
    pub source: Option<Source>,
}

impl<F: Into<Features>> From<(DocumentId, F)> for NewDocument {
    fn from((id, features): (DocumentId, F)) -> Self {
        Self { id, features: features.into(), source: None }
    }
}

/// The progress of a removal by selection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// The number of documents of the index that were examined.
    pub n_read: u64,
    /// The number of matching documents.
    pub n_matching: u64,
    /// The number of removed documents: all matching ones that no other writer replaced or removed
    /// meanwhile.
    pub n_removed: u64,
}

impl Index {
    /// Opens the index in an open store, or makes one there.
    ///
    /// # Errors
    /// `Mismatch` for an index that differs from `options`, with the names of the fields;
    /// `NotFound` where there is none and `options` allow no new one; and those of the store.
    pub fn over(store: Box<dyn Store>, options: &OpenOptions) -> Result<Self> {
        let metadata = match (store.metadata()?, options.mode) {
            (Some(metadata), _) => metadata,
            (None, Mode::CreateIfMissing) => {
                let mut metadata = options.new_metadata()?;
                let is_open = options.texts.is_none() && metadata.texts != TextKeeping::None;
                if is_open && !store.has_room_for_texts()? {
                    let texts = Some(TextKeeping::None);
                    metadata = OpenOptions { texts, ..options.clone() }.new_metadata()?;
                }
                store.create(&metadata)?
            }
            (None, Mode::MustExist) => {
                return Err(Error::new(
                    ErrorKind::NotFound,
                    "there is no index here yet; make one with `indexer index --store URL FILE`",
                ));
            }
        };
        options.check(&metadata)?;
        Ok(Self { store, metadata, counter: None, contained: None })
    }

    /// The same index with a way to count texts, which is ignored by an index without texts.
    #[must_use]
    pub fn counting(mut self, counter: Option<Counter>) -> Self {
        self.counter = counter.filter(|_| self.metadata.texts != TextKeeping::None);
        self
    }

    /// The same index with an overlay over its store: later writes stay in memory, and reads
    /// answer as if the writes had been made. For dry runs.
    #[must_use]
    pub fn overlaid(self) -> Self {
        let Self { store, metadata, counter, contained } = self;
        Self { store: Box::new(Overlay::new(store)), metadata, counter, contained }
    }

    /// The same index with another ground for duplicates in this process: a document is a duplicate
    /// too if at least `share` of it, counted, stands in a stored one: see [`Rule::contained`].
    /// Searches do not change. A store that cannot decide so
    /// ([`Capabilities::contained`](crate::Capabilities::contained)) refuses insertions.
    ///
    /// # Errors
    /// `InvalidArgument` where no texts are at hand for the count.
    pub fn containing(self, share: Option<Similarity>) -> Result<Self> {
        if share.is_some() && self.counter.is_none() {
            return Err(Error::invalid(
                "what is contained is counted over texts, and this index keeps none or does not verify",
            ));
        }
        Ok(Self { contained: share, ..self })
    }

    /// The stored description of the index.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The kind of the index's sketches.
    #[must_use]
    pub fn kind(&self) -> &SketchKind {
        &self.metadata.kind
    }

    /// The distance up to which simhashes propose near-duplicates.
    #[must_use]
    pub fn max_distance(&self) -> Distance {
        self.metadata.max_distance
    }

    /// The least similarity of near-duplicates, where the index verifies.
    #[must_use]
    pub fn min_similarity(&self) -> Option<Similarity> {
        self.metadata.min_similarity
    }

    /// Returns true if nothing in the index tells by which program its fingerprints were made: it
    /// has neither signatures nor texts. A search for a text may then find nothing of documents
    /// that are near.
    #[must_use]
    pub fn may_be_foreign(&self) -> bool {
        self.metadata.min_similarity.is_none() && self.metadata.texts == TextKeeping::None
    }

    /// The index's definition of near.
    #[must_use]
    pub fn rule(&self) -> Rule {
        Rule { counter: self.counter, ..self.metadata.rule() }
    }

    /// The definition of near for insertions if new: the index's own [`rule`](Self::rule), with at
    /// most [`CANDIDATES_MAX`](crate::CANDIDATES_MAX) candidates, and with the share of
    /// [`containing`](Self::containing).
    #[must_use]
    pub fn insertion_rule(&self) -> Rule {
        Rule { contained: self.contained, ..self.rule().of_insertion() }
    }

    /// The recipe by which a text becomes a fingerprint of this index.
    #[must_use]
    pub fn recipe(&self) -> &BTreeMap<String, String> {
        &self.metadata.recipe
    }

    /// See [`Store::insert`].
    ///
    /// # Errors
    /// Those of the store.
    pub fn insert(&self, documents: &[impl Into<NewDocument> + Clone]) -> Result<Vec<Insertion>> {
        self.store.insert(&self.documents(documents))
    }

    /// See [`Store::insert_if_new`]; near by the index's own
    /// [`insertion_rule`](Self::insertion_rule).
    ///
    /// # Errors
    /// Those of the store.
    pub fn insert_if_new(&self, documents: &[impl Into<NewDocument> + Clone]) -> Result<Vec<Insertion>> {
        self.store.insert_if_new(&self.documents(documents), &self.insertion_rule())
    }

    /// A preview of calls: their answers, without any write.
    #[must_use]
    pub fn foresight(&self) -> Foresight<'_> {
        Foresight::new(self, &*self.store)
    }

    /// See [`Store::near`]. The rule is the index's own, or one that
    /// [`check_rule`](Self::check_rule) accepts.
    ///
    /// # Errors
    /// `InvalidArgument` for a distance above the index's own, at which the tables would miss some
    /// documents; for a least similarity in an index without signatures, and for none in an index
    /// that verifies; and those of the store.
    pub fn near(
        &self,
        queries: &[impl Into<Features> + Clone],
        rule: &Rule,
        limit: usize,
    ) -> Result<Vec<Neighbours>> {
        self.check_rule(rule)?;
        self.store.near(&self.sketches(queries), rule, limit)
    }

    /// See [`Store::near_documents`].
    ///
    /// # Errors
    /// As [`near`](Self::near).
    pub fn near_documents(
        &self,
        queries: &[impl Into<Features> + Clone],
        rule: &Rule,
        limit: usize,
    ) -> Result<Vec<NearDocuments>> {
        self.check_rule(rule)?;
        self.store.near_documents(&self.sketches(queries), rule, limit)
    }

    /// See [`Store::remove`].
    ///
    /// # Errors
    /// Those of the store.
    pub fn remove(&self, ids: &[DocumentId]) -> Result<Vec<bool>> {
        self.store.remove(ids)
    }

    /// See [`Store::remove_if`].
    ///
    /// # Errors
    /// Those of the store.
    pub fn remove_if(&self, ids: &[DocumentId], selection: &Selection) -> Result<Vec<bool>> {
        self.store.remove_if(ids, selection)
    }

    /// Removes every document that `selection` matches, page by page; none in a `dry_run`. Calls
    /// `progress` after each page, with the matching documents of the page; `progress` may end the
    /// removal. A document inserted meanwhile may be removed or not. A document replaced meanwhile
    /// stays unless the new version matches. An interrupted removal is completed by the same call.
    ///
    /// # Errors
    /// Those of the store; removed documents stay removed.
    pub fn remove_matching(
        &self,
        selection: &Selection,
        dry_run: bool,
        progress: &mut dyn FnMut(&Removed, &[StoredDocument]) -> ControlFlow<()>,
    ) -> Result<Removed> {
        let mut removed = Removed::default();
        let mut next = Some(Cursor::start());
        while let Some(after) = next {
            let mut page = self.store.scan(after, crate::MAX_BATCH)?;
            removed.n_read += page.documents.len() as u64;
            page.documents.retain(|stored| selection.matches(stored));
            removed.n_matching += page.documents.len() as u64;
            if !dry_run && !page.documents.is_empty() {
                let ids: Vec<_> = page.documents.iter().map(|stored| stored.document.id.clone()).collect();
                let gone = self.store.remove_if(&ids, selection)?;
                removed.n_removed += gone.into_iter().filter(|&gone| gone).count() as u64;
            }
            if progress(&removed, &page.documents).is_break() {
                break;
            }
            next = page.next;
        }
        Ok(removed)
    }

    /// See [`Store::get`].
    ///
    /// # Errors
    /// Those of the store.
    pub fn get(&self, ids: &[DocumentId]) -> Result<Vec<Option<StoredDocument>>> {
        self.store.get(ids)
    }

    /// See [`Store::texts`].
    ///
    /// # Errors
    /// Those of the store.
    pub fn texts(&self, ids: &[DocumentId]) -> Result<Vec<Option<Text>>> {
        self.store.texts(ids)
    }

    /// See [`Store::scan`].
    ///
    /// # Errors
    /// Those of the store.
    pub fn scan(&self, after: Cursor, limit: usize) -> Result<Page> {
        self.store.scan(after, limit)
    }

    /// See [`Store::cells`].
    ///
    /// # Errors
    /// Those of the store.
    pub fn cells(&self, segments: Segments, after: &Cursor, limit: usize) -> Result<Option<CellPage>> {
        self.store.cells(segments, after, limit)
    }

    /// See [`Store::examine`].
    ///
    /// # Errors
    /// Those of the store.
    pub fn examine(&self, mends: bool, report: &mut dyn FnMut(Examined)) -> Result<()> {
        self.store.examine(mends, report)
    }

    /// See [`Store::last_write`].
    ///
    /// # Errors
    /// Those of the store.
    pub fn last_write(&self) -> Result<Option<WriteMark>> {
        self.store.last_write()
    }

    /// See [`Store::mark`].
    ///
    /// # Errors
    /// Those of the store.
    pub fn mark(&self, counts: bool) -> Result<Option<WriteMark>> {
        self.store.mark(counts)
    }

    /// See [`Store::has_written`].
    ///
    /// # Errors
    /// Those of the store.
    pub fn has_written(&self, mark: &WriteMark) -> Result<bool> {
        self.store.has_written(mark)
    }

    /// See [`Store::status`].
    ///
    /// # Errors
    /// Those of the store.
    pub fn status(&self) -> Result<Status> {
        self.store.status()
    }

    /// Refuses a rule beyond the index: with a greater distance, with a least similarity where
    /// there are no signatures, or without one where the index verifies. A similarity below the
    /// index's own is accepted, but the index then finds only the share [`SketchKind::recall`] of
    /// such pairs. The caller should say so to its user.
    ///
    /// # Errors
    /// `InvalidArgument`.
    pub fn check_rule(&self, rule: &Rule) -> Result<()> {
        let Rule { max_distance, min_similarity, .. } = *rule;
        if max_distance > self.metadata.max_distance {
            return Err(Error::invalid(format!(
                "distance {max_distance} is above the {} that this index finds; ask for less",
                self.metadata.max_distance
            )));
        }
        match (min_similarity, self.metadata.min_similarity) {
            (Some(_), None) => Err(Error::invalid(
                "this index has no signatures to tell similarities by; leave the similarity out, or carry the \
                 index over with `indexer reindex`",
            )),
            (None, Some(_)) => Err(Error::invalid(
                "this index tells by similarity what is near, and finds nothing without one; ask for one",
            )),
            _ => Ok(()),
        }
    }

    fn sketches(&self, queries: &[impl Into<Features> + Clone]) -> Vec<Sketch> {
        queries.iter().map(|features| self.metadata.kind.sketch(features.clone())).collect()
    }

    fn documents(&self, documents: &[impl Into<NewDocument> + Clone]) -> Vec<Document> {
        let to_document = |document| {
            let NewDocument { id, features, source } = document;
            Document { id, sketch: self.metadata.kind.sketch(features), source }
        };
        documents.iter().cloned().map(Into::into).map(to_document).collect()
    }
}
