//! The subject of a query: a text, a fingerprint or a document.

use index::{DocumentId, Features};
use simhash::Fingerprint;

use super::Query;
use crate::api::compare::counted;
use crate::api::document_id;
use crate::api::documents::stored;
use crate::problem::Problem;
use crate::worker::{Worker, features_bytes};

pub(super) enum Subject {
    Text(String),
    Fingerprint(Fingerprint),
    /// A document that is not looked up yet.
    Id(DocumentId),
    Document(DocumentId, Box<Features>),
}

/// Returns the subject that a query names.
pub(super) fn subject(worker: &Worker, query: Query) -> Result<Subject, Problem> {
    match (query.text, query.fingerprint, query.id) {
        (Some(text), None, None) => worker.check_text(&text).map(|()| Subject::Text(text)),
        (None, Some(_), None) if !worker.index().kind().files_by_simhash() => Err(Problem::bad_request(
            "this index finds documents by their n-grams, and not by fingerprints; give \"text\"",
        )),
        (None, Some(digits), None) => match digits.parse() {
            Ok(fingerprint) => Ok(Subject::Fingerprint(fingerprint)),
            Err(error) => Err(Problem::bad_request(&format!("{error}"))),
        },
        (None, None, Some(id)) => document_id(id).map(Subject::Id),
        _ => Err(Problem::bad_request("give one of \"text\", \"fingerprint\" and \"id\"")),
    }
}

impl Subject {
    /// Reads a document, with its text where the index counts similarities.
    pub(super) fn looked_up(worker: &Worker, id: DocumentId) -> Result<Self, Problem> {
        let features = counted(worker, stored(worker, id.clone())?)?;
        Ok(Self::Document(id, Box::new(features)))
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }

    /// Returns the id of the document that is the subject.
    pub(super) fn own(&self) -> Option<DocumentId> {
        match self {
            Self::Id(id) | Self::Document(id, _) => Some(id.clone()),
            Self::Text(_) | Self::Fingerprint(_) => None,
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Document(_, features) => features.text.as_deref().unwrap_or_default(),
            Self::Fingerprint(_) | Self::Id(_) => "",
        }
    }

    /// Returns the bytes of a text that came from the index and not with the body.
    pub(super) fn n_bytes_read(&self) -> usize {
        if self.is_text() { 0 } else { self.text().len() }
    }

    /// Returns the bytes of memory that the search takes.
    pub(super) fn n_bytes(&self) -> usize {
        features_bytes(self.text())
    }

    /// Makes the features, or returns those that are known.
    pub(super) fn features(self, worker: &Worker) -> Result<Features, Problem> {
        match self {
            Self::Text(text) => worker.features(&text).ok_or_else(Problem::no_features),
            Self::Fingerprint(fingerprint) => Ok(fingerprint.into()),
            Self::Document(_, features) => Ok(*features),
            Self::Id(id) => Self::looked_up(worker, id)?.features(worker),
        }
    }

    /// Makes the features of a line of a batch, which holds a place already.
    pub(super) fn features_in_batch(self, worker: &Worker) -> Result<Features, Problem> {
        let _memory = worker.memory_for(self.text())?;
        self.features(worker)
    }
}
