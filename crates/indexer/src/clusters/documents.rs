//! The documents that clusters are made of.

use std::collections::HashMap;

use anyhow::ensure;
use engine::clusters::{Parts, Texts};
use index::{DocumentId, Features, Index, MAX_BATCH, Text};
use serde::{Serialize, Serializer};
use simhash::Fingerprint;

/// Instead of a centre's number, of a document that stays.
const STAYS: u32 = u32::MAX;

/// The documents of the run so far. Of each it takes some 60 bytes, the signature and the id, with the room to grow twice that.
#[derive(Default)]
pub(super) struct Noted {
    ids: Ids,
    features: Vec<Features>,
    /// The number of the document that each was dropped for, or [`STAYS`].
    centres: Vec<u32>,
    /// What something was dropped for, numbered as it came up. An id alone does not name it: an index may hold an older
    /// version of what the run keeps.
    numbers: HashMap<(DocumentId, Fingerprint), u32>,
}

/// All documents that count, by position: those that were in the index before, then those of the input in its order.
pub(super) struct Documents {
    in_index: Vec<DocumentId>,
    ids: Ids,
    features: Vec<Features>,
    /// Where the document is that each was dropped for; its own position for one that stays.
    centres: Vec<u32>,
}

/// What became of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Kept,
    Dropped,
    /// It was in the index already, and something was dropped for it.
    InIndex,
}

/// Many ids in one piece of memory.
#[derive(Default)]
struct Ids {
    text: String,
    ends: Vec<usize>,
}

impl Noted {
    pub(super) fn len(&self) -> usize {
        self.features.len()
    }

    /// Takes note of a document, and of which it was dropped for, whether that comes later, came before or was in the
    /// index.
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

    /// Once all are there: what was dropped for a document that this run has not kept was dropped for one of the index.
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
        // They come before the input, which moves back.
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

/// The features of documents in the index. Of one that has been removed or replaced since, its fingerprint.
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

/// The texts of all documents: of those that were in the index from there.
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
    /// The texts of all of them, given those of the run.
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

    /// Parts `members` around their centres: each document that stays with those that were dropped for it, where there
    /// are any.
    pub(super) fn by_centre(&self, members: &[u32]) -> Parts {
        Parts::new(members.iter().map(|&document| (self.centres[document as usize], document)).collect())
    }
}

impl Status {
    /// As files have it.
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
