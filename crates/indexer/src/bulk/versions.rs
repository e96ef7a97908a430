//! Merges several versions of a document into the result of indexing them one by one with
//! `indexer index`.

use ::index::{DocumentId, Features, NewDocument, Source};
use anyhow::{Context, ensure};
use minhash::Signature;
use simhash::Fingerprint;

use crate::report::Indexed;

/// A document as one record gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    /// `None` for a text without features, which removes the document.
    pub(crate) features: Option<Features>,
    pub(crate) source: Option<Source>,
}

impl Version {
    /// The document to insert; `None` if the version removes it.
    pub(crate) fn document(self, id: &DocumentId) -> Option<NewDocument> {
        let Self { features, source } = self;
        Some(NewDocument { id: id.clone(), features: features?, source })
    }
}

/// Encodes a version as a string that sorts by the document's row, then by `number`. Ids have no
/// zero byte, so the zero byte after the row sorts a shorter id before its continuations.
pub(crate) fn encode(id: &DocumentId, number: u64, version: &Version) -> Vec<u8> {
    let mut entry = store_hbase::BulkLoad::document_row(id);
    entry.push(0);
    entry.extend_from_slice(&number.to_be_bytes());
    let Features { simhash, signature, .. } = version.features.clone().unwrap_or_default();
    entry.push(u8::from(version.features.is_some()) | u8::from(simhash.is_some()) << 1);
    entry.extend_from_slice(&simhash.map_or(0, |simhash| simhash.0).to_be_bytes());
    let signature = signature.as_ref().map_or(&[][..], |signature| signature.as_bytes());
    entry.extend_from_slice(&(signature.len() as u16).to_be_bytes());
    entry.extend_from_slice(signature);
    entry.extend_from_slice(version.source.as_ref().map_or("", Source::as_str).as_bytes());
    entry
}

/// Returns the document's row and the version.
pub(crate) fn decode(entry: &[u8]) -> anyhow::Result<(&[u8], Version)> {
    let parse = || {
        let (row, rest) = entry.split_at_checked(memchr::memchr(0, entry)?)?;
        let (_, rest) = rest.split_at_checked(1 + size_of::<u64>())?;
        let (parts, rest) = rest.split_first()?;
        let (simhash, rest) = rest.split_first_chunk()?;
        let (len, rest) = rest.split_first_chunk()?;
        let (signature, source) = rest.split_at_checked(u16::from_be_bytes(*len).into())?;
        let signature = if signature.is_empty() { None } else { Some(Signature::decode(signature).ok()?) };
        let simhash = (parts & 2 != 0).then(|| Fingerprint(u64::from_be_bytes(*simhash)));
        let features = (parts & 1 != 0).then_some(Features { simhash, signature, text: None });
        let source = std::str::from_utf8(source).ok()?;
        let source = if source.is_empty() { None } else { Some(Source::new(source).ok()?) };
        Some((row, Version { features, source }))
    };
    parse().context("what was sorted has come back as something else")
}

/// All versions of one document so far, reduced to the part that decides the result.
#[derive(Clone, Debug)]
pub(crate) struct Versions {
    pub(crate) id: DocumentId,
    row: Vec<u8>,
    first: Option<Features>,
    /// The version before the latest, if its features differ.
    before: Option<Version>,
    latest: Version,
    /// Counts of all versions but the first.
    counts: Indexed,
}

impl Versions {
    pub(crate) fn new(row: &[u8], first: Version) -> anyhow::Result<Self> {
        // The id follows four digits and a colon.
        let id = row.get(5..).and_then(|id| String::from_utf8(id.to_vec()).ok());
        let id = DocumentId::new(id.unwrap_or_default())
            .context("what was sorted has come back as something else")?;
        ensure!(
            store_hbase::BulkLoad::document_row(&id) == row,
            "what was sorted has come back as something else"
        );
        let (row, features) = (row.to_vec(), first.features.clone());
        Ok(Self { id, row, first: features, before: None, latest: first, counts: Indexed::default() })
    }

    pub(crate) fn row(&self) -> &[u8] {
        &self.row
    }

    pub(crate) fn add(&mut self, version: Version) {
        count(&mut self.counts, self.latest.features.as_ref(), version.features.as_ref());
        // The same features again change nothing, not even the source.
        if self.latest.features != version.features {
            self.before = Some(std::mem::replace(&mut self.latest, version));
        }
    }

    /// Counts of all versions in turn, for a document stored as `live` before.
    pub(crate) fn counts(&self, live: Option<&Features>) -> Indexed {
        let mut counts = self.counts;
        count(&mut counts, live, self.first.as_ref());
        counts
    }

    /// Returns the id, the version before the latest, and the latest, for insertion in turn into an
    /// index that may have the document. The latest version alone could equal the stored one, and
    /// so leave a document unchanged that a version in between has replaced.
    pub(crate) fn into_replay(self) -> (DocumentId, Option<Version>, Version) {
        (self.id, self.before, self.latest)
    }

    /// The final state of the document.
    pub(crate) fn latest(self) -> Option<NewDocument> {
        self.latest.document(&self.id)
    }
}

fn count(counts: &mut Indexed, before: Option<&Features>, after: Option<&Features>) {
    match (before, after) {
        (None, None) => counts.n_without_features += 1,
        (Some(_), None) => counts.n_removed += 1,
        (None, Some(_)) => counts.n_new += 1,
        (Some(before), Some(after)) if before == after => counts.n_unchanged += 1,
        (Some(_), Some(_)) => counts.n_replaced += 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Features by number: 1 has only a simhash, 2 has also a signature, 3 and up only a signature.
    fn features(n: u64) -> Features {
        let signature = (n > 1).then(|| Signature::equality(n));
        Features { simhash: (n < 3).then_some(Fingerprint(n)), signature, text: None }
    }

    fn version(n: u64) -> Version {
        // One of the four versions has no features; equal features may have different sources.
        let features =
            [None, Some(features(1)), Some(features(2)), Some(features(2))][n as usize % 4].clone();
        Version { features, source: (n > 1).then(|| Source::new(n.to_string()).unwrap()) }
    }

    #[test]
    fn entries_come_back_and_sort_as_rows_do() {
        let mut entries = Vec::new();
        for id in ["a", "a b", "ab", "é", "\u{10ffff}"] {
            for number in [0, 1, 256, u64::MAX] {
                for n in 0..4 {
                    let id = DocumentId::new(id).unwrap();
                    let entry = encode(&id, number, &version(n));
                    let row = store_hbase::BulkLoad::document_row(&id);
                    assert_eq!(decode(&entry).unwrap(), (&row[..], version(n)));
                    assert_eq!(Versions::new(&row, version(n)).unwrap().id, id);
                    entries.push((entry, row, number));
                }
            }
        }
        for (a, a_row, a_number) in &entries {
            for (b, b_row, b_number) in &entries {
                if (a_row, a_number) < (b_row, b_number) {
                    assert!(a < b, "{} {}", a.escape_ascii(), b.escape_ascii());
                }
            }
        }
        assert!(decode(b"0000:a").is_err());
        assert!(Versions::new(b"0000:a", version(1)).is_err(), "another row than its id's");
    }

    /// Models `indexer index` on an index of one document.
    fn put(there: &mut Option<(Features, Option<Source>)>, version: &Version, counts: &mut Indexed) {
        let before = there.as_ref().map(|(features, _)| features.clone());
        match (before, version.features.clone()) {
            (Some(before), Some(after)) if before == after => counts.n_unchanged += 1,
            (before, Some(after)) => {
                *(if before.is_some() { &mut counts.n_replaced } else { &mut counts.n_new }) += 1;
                *there = Some((after, version.source.clone()));
            }
            (before, None) => {
                *(if before.is_some() { &mut counts.n_removed } else { &mut counts.n_without_features }) += 1;
                *there = None;
            }
        }
    }

    /// Compares with insertion in turn, for all sequences of up to six versions and each earlier
    /// state.
    #[test]
    fn as_one_by_one() {
        let id = DocumentId::new("a").unwrap();
        for len in 1..=6 {
            for sequence in 0..4_u64.pow(len) {
                let versions: Vec<_> = (0..len).map(|i| version(sequence / 4_u64.pow(i))).collect();
                let mut folded =
                    Versions::new(&store_hbase::BulkLoad::document_row(&id), versions[0].clone()).unwrap();
                versions[1..].iter().for_each(|version| folded.add(version.clone()));
                for before in [None, Some(1), Some(2), Some(3)].map(|n| n.map(features)) {
                    let mut expected = before.clone().map(|features| (features, None));
                    let mut replayed = expected.clone();
                    let mut counts = Indexed::default();
                    versions.iter().for_each(|version| put(&mut expected, version, &mut counts));
                    assert_eq!(folded.counts(before.as_ref()), counts, "{versions:?}");
                    let (_, earlier, latest) = folded.clone().into_replay();
                    let mut ignored = Indexed::default();
                    earlier.iter().for_each(|version| put(&mut replayed, version, &mut ignored));
                    put(&mut replayed, &latest, &mut ignored);
                    assert_eq!(replayed, expected, "{versions:?} over {before:?}");
                    if before.is_none() {
                        let latest = folded.clone().latest();
                        assert_eq!(latest.map(|new| (new.features, new.source)), expected, "{versions:?}");
                    }
                }
            }
        }
    }
}
