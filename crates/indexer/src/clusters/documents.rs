//! The documents of the clusters.

use std::collections::HashMap;

use anyhow::ensure;
use engine::clusters::{Parts, Texts};
use index::{DocumentId, Features, Index, MAX_BATCH, Text};
use serde::{Serialize, Serializer};
use simhash::Fingerprint;

/// Marks a document that stays, in place of a centre's number.
const STAYS: u32 = u32::MAX;

/// The documents of the run so far. Each takes some 60 bytes plus the signature and the id; growing
/// may take twice as much.
#[derive(Default)]
pub(super) struct Noted {
    ids: Ids,
    features: Vec<Features>,
    /// For each document, the number of the document for which it was dropped, or [`STAYS`].
    centres: Vec<u32>,
    /// Numbers of the centres, in the order of their first mention. The key includes the
    /// fingerprint, because an index may hold an older version of a document of the run.
    numbers: HashMap<(DocumentId, Fingerprint), u32>,
}

/// All documents of the clusters, by position: first those of the index, then those of the input in
/// its order.
pub(super) struct Documents {
    in_index: Vec<DocumentId>,
    ids: Ids,
    features: Vec<Features>,
    /// For each document, the position of the document for which it was dropped; its own position
    /// if it stays.
    centres: Vec<u32>,
}

/// Result for a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Kept,
    Dropped,
    /// A document of the index for which another was dropped.
    InIndex,
}

/// Many ids in one allocation.
#[derive(Default)]
struct Ids {
    text: String,
    ends: Vec<usize>,
}

impl Noted {
    pub(super) fn len(&self) -> usize {
        self.features.len()
    }

    /// Notes a document and the document for which it was dropped. The latter may come later in the
    /// input, may have come before, or may be in the index.
    pub(super) fn add(
        &mut self,
        id: &DocumentId,
        features: Features,
        dropped_for: Option<(&DocumentId, Fingerprint)>,
    ) -> anyhow::Result<()> {
        let n_documents = self.features.len() + self.numbers.len();
        ensure!(n_documents < STAYS as usize - 1, "--clusters takes fewer than 2^32 documents");
        let centre = dropped_for.map_or(STAYS, |(id, fingerprint)| {
            let n = self.numbers.len() as u32;
            *self.numbers.entry((id.clone(), fingerprint)).or_insert(n)
        });
        self.ids.push(id.as_str());
        self.features.push(features);
        self.centres.push(centre);
        Ok(())
    }

    /// Resolves the centres once all documents are noted. A centre that the run has not kept is a
    /// document of the index.
    pub(super) fn close(self, index: Option<&Index>) -> anyhow::Result<Documents> {
        let Self { ids, mut features, mut centres, numbers } = self;
        let mut positions = vec![None; numbers.len()];
        let number_of: HashMap<(&str, Fingerprint), u32> =
            numbers.iter().map(|((id, fingerprint), &n)| ((id.as_str(), *fingerprint), n)).collect();
        for (i, features) in features.iter().enumerate().filter(|&(i, _)| centres[i] == STAYS) {
            if let Some(&n) = number_of.get(&(ids.get(i), features.fingerprint())) {
                positions[n as usize] = Some(i);
            }
        }
        let mut others: Vec<(u32, DocumentId, Fingerprint)> = numbers
            .into_iter()
            .filter(|&(_, n)| positions[n as usize].is_none())
            .map(|((id, fingerprint), n)| (n, id, fingerprint))
            .collect();
        others.sort_unstable_by_key(|&(n, ..)| n);
        // Documents of the index come before the input and shift its positions.
        let n_in_index = others.len();
        for position in positions.iter_mut().flatten() {
            *position += n_in_index;
        }
        for (i, &(n, ..)) in others.iter().enumerate() {
            positions[n as usize] = Some(i);
        }
        for (i, centre) in centres.iter_mut().enumerate() {
            let position = positions.get(*centre as usize).copied().flatten();
            *centre = position.unwrap_or(i + n_in_index) as u32;
        }
        centres.splice(0..0, 0..n_in_index as u32);
        features.splice(0..0, features_of(&others, index)?);
        let in_index = others.into_iter().map(|(_, id, _)| id).collect();
        Ok(Documents { in_index, ids, features, centres })
    }
}

/// Returns the features of documents in the index; only the fingerprint for a document removed or
/// replaced since.
fn features_of(
    others: &[(u32, DocumentId, Fingerprint)],
    index: Option<&Index>,
) -> anyhow::Result<Vec<Features>> {
    let mut features = Vec::with_capacity(others.len());
    for others in others.chunks(MAX_BATCH) {
        let ids: Vec<DocumentId> = others.iter().map(|(_, id, _)| id.clone()).collect();
        let stored = index.map_or_else(|| Ok(vec![None; ids.len()]), |index| index.get(&ids))?;
        for ((_, _, fingerprint), stored) in others.iter().zip(stored) {
            let stored = stored.map(|stored| stored.document.sketch.features().clone());
            let is_same = |stored: &Features| stored.fingerprint() == *fingerprint;
            features.push(stored.filter(is_same).unwrap_or_else(|| (*fingerprint).into()));
        }
    }
    Ok(features)
}

/// The texts of all documents. Texts of documents in the index are read from it.
pub(super) struct AllTexts<'a> {
    in_index: &'a [DocumentId],
    index: Option<&'a Index>,
    of_run: &'a dyn Texts,
}

impl Texts for AllTexts<'_> {
    fn text(&self, document: u32) -> index::Result<Option<Text>> {
        match (self.in_index.get(document as usize), self.index) {
            (None, _) => self.of_run.text(document - self.in_index.len() as u32),
            (Some(_), None) => Ok(None),
            (Some(id), Some(index)) => Ok(index.texts(std::slice::from_ref(id))?.pop().flatten()),
        }
    }

    fn digest(&self, document: u32) -> Option<u64> {
        self.of_run.digest(document.checked_sub(self.in_index.len() as u32)?)
    }
}

impl Documents {
    /// The texts of all documents; `of_run` has those of the run.
    pub(super) fn texts<'a>(&'a self, index: Option<&'a Index>, of_run: &'a dyn Texts) -> AllTexts<'a> {
        AllTexts { in_index: &self.in_index, index, of_run }
    }

    pub(super) fn features(&self) -> &[Features] {
        &self.features
    }

    pub(super) fn id(&self, document: u32) -> &str {
        let document = document as usize;
        match self.in_index.get(document) {
            Some(id) => id.as_str(),
            None => self.ids.get(document - self.in_index.len()),
        }
    }

    pub(super) fn status(&self, document: u32) -> Status {
        if (document as usize) < self.in_index.len() {
            Status::InIndex
        } else if self.centres[document as usize] == document {
            Status::Kept
        } else {
            Status::Dropped
        }
    }

    /// Splits `members` by centre: each document that stays, together with the documents dropped
    /// for it, if any.
    pub(super) fn by_centre(&self, members: &[u32]) -> Parts {
        Parts::new(members.iter().map(|&document| (self.centres[document as usize], document)).collect())
    }
}

impl Status {
    /// The name in files.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Dropped => "dropped",
            Self::InIndex => "in_index",
        }
    }
}

impl Serialize for Status {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Ids {
    fn push(&mut self, id: &str) {
        self.text.push_str(id);
        self.ends.push(self.text.len());
    }

    fn get(&self, i: usize) -> &str {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.text[start..self.ends[i]]
    }
}
