//! What an id means that the index has from an earlier run, when a document comes under it.

use std::fmt;
use std::str::FromStr;

use index::{
    DocumentId, Error, ErrorKind, Index, Insertion, Match, NewDocument, Result, Rule, StoredDocument,
};

use super::Candidate;

/// What becomes of a document whose id the index has from before: its earlier version. Of two documents of one run
/// under one id [`Kept`](super::Kept) tells.
///
/// | its text | `Keep` | `Compare` | `Replace` |
/// |---|---|---|---|
/// | has the same features | kept | duplicate of its earlier version | kept, unless near to another id |
/// | is near to its earlier version | kept in its place, unless near to another id | duplicate of it | kept in its place, unless near to another id |
/// | is near to nothing | kept in its place | kept in its place | kept in its place |
/// | is near to another id | duplicate; the earlier version stays | duplicate; the earlier version stays | duplicate; the earlier version leaves |
/// | has no features | kept; the earlier version stays | kept; the earlier version stays | kept; the earlier version leaves |
///
/// What the index has under another id counts as long as it is there, also where a later document is about to take its
/// place.
///
/// ```
/// use pigeonhole_engine::dedup::{Candidate, Kept, KnownIds, Verdict};
/// use pigeonhole_engine::{Engine, Options};
/// use index::DocumentId;
///
/// let engine = Engine::open("memory:", &Options::default())?;
/// let dedup = |known_ids, id: &DocumentId, text: &str| {
///     let features = engine.features(&[text]).remove(0);
///     let candidate = Candidate { id, features: features.as_ref(), source: None };
///     Kept::new(known_ids).decide(engine.index(), &[candidate])
/// };
/// let page: DocumentId = "https://example.org/harbour".parse()?;
/// let last_month = dedup(KnownIds::Keep, &page, "The harbour office closes at noon.")?;
/// assert_eq!(last_month, [Some(Verdict::Kept)]);
///
/// let unchanged = dedup(KnownIds::Compare, &page, "the harbour office closes at noon")?;
/// assert!(matches!(&unchanged[..], [Some(Verdict::Duplicate { of, .. })] if of.id == page));
/// let rewritten = dedup(KnownIds::Compare, &page, "A dog ran past the bakery and into the gravel pit.")?;
/// assert_eq!(rewritten, [Some(Verdict::Kept)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KnownIds {
    /// The earlier version never makes its document a duplicate. Where the document is one of another id, it stays.
    #[default]
    Keep,
    /// The earlier version counts as any other document does.
    Compare,
    /// The earlier version neither counts nor stays, as if it were removed just before its document is decided about.
    Replace,
}

impl KnownIds {
    /// All of them, with their names.
    pub const ALL: [(Self, &str); 3] =
        [(Self::Keep, "keep"), (Self::Compare, "compare"), (Self::Replace, "replace")];

    /// The name it goes by.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Compare => "compare",
            Self::Replace => "replace",
        }
    }

    /// Decides about documents, each before those after it, and takes those into the index that are new. The answers
    /// are of those with features, in their order: what keeps each out, which may be its own earlier version. No id may
    /// be among them twice, nor one that this run has kept.
    ///
    /// # Errors
    /// Those of the store. A call that failed may have been made in part, and the same call answers otherwise then:
    /// under [`Compare`](Self::Compare) what the first one has taken in is a duplicate of itself. A caller that must
    /// not take it for that writes down what is [foreseen](Self::foresee), and [carries it out](Self::carry_out) as
    /// often as it takes.
    pub fn insert_if_new(self, index: &Index, candidates: &[Candidate<'_>]) -> Result<Vec<Option<Match>>> {
        let documents = with_features(candidates);
        let decided = match self {
            Self::Keep => return Ok(originals(index.insert_if_new(&documents)?)),
            Self::Compare => own_versions(index, &documents)?,
            Self::Replace => foresee_replacing(index, candidates)?,
        };
        self.carry_out(index, candidates, decided)
    }

    /// What [`insert_if_new`](Self::insert_if_new) would answer now; nothing is written.
    ///
    /// # Errors
    /// Those of a read.
    pub fn foresee(self, index: &Index, candidates: &[Candidate<'_>]) -> Result<Vec<Option<Match>>> {
        let documents = with_features(candidates);
        let foresee = |documents: &[NewDocument]| Ok(originals(index.foresight().insert_if_new(documents)?));
        match self {
            Self::Keep => foresee(&documents),
            Self::Compare => {
                let own = own_versions(index, &documents)?;
                let others = foresee(&undecided(&documents, &own))?;
                filled_in(own, others)
            }
            Self::Replace => foresee_replacing(index, candidates),
        }
    }

    /// Does what was [foreseen](Self::foresee) for the same candidates. What others have inserted since then keeps a
    /// document out all the same, which the answers tell. Doing it again changes nothing.
    ///
    /// # Errors
    /// Those of the store, and `Internal` where something else was foreseen than for these candidates.
    pub fn carry_out(
        self,
        index: &Index,
        candidates: &[Candidate<'_>],
        foreseen: Vec<Option<Match>>,
    ) -> Result<Vec<Option<Match>>> {
        let documents = with_features(candidates);
        if foreseen.len() != documents.len() {
            return Err(too_few());
        }
        let new = undecided(&documents, &foreseen);
        if self == Self::Replace {
            let empty = candidates.iter().filter(|candidate| candidate.features.is_none());
            let dropped = documents.iter().zip(&foreseen).filter(|(_, near)| near.is_some());
            let leaving: Vec<DocumentId> =
                empty.map(|empty| empty.id.clone()).chain(dropped.map(|(new, _)| new.id.clone())).collect();
            // Before the others come: some are new only without these.
            index.remove(&leaving)?;
        }
        let answers = originals(index.insert_if_new(&new)?);
        if self == Self::Replace && answers.iter().any(Option::is_some) {
            let kept_out = new.iter().zip(&answers).filter(|(_, near)| near.is_some());
            index.remove(&kept_out.map(|(new, _)| new.id.clone()).collect::<Vec<_>>())?;
        }
        filled_in(foreseen, answers)
    }
}

impl fmt::Display for KnownIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for KnownIds {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let known = Self::ALL.iter().find(|(_, known)| *known == name);
        known.map(|(known_ids, _)| *known_ids).ok_or_else(|| {
            Error::invalid(format!("{name:?} is not known here: take keep, compare or replace"))
        })
    }
}

fn with_features(candidates: &[Candidate<'_>]) -> Vec<NewDocument> {
    let document = |&Candidate { id, features, source }: &Candidate<'_>| {
        Some(NewDocument { id: id.clone(), features: features?.clone(), source: source.cloned() })
    };
    candidates.iter().filter_map(document).collect()
}

fn originals(insertions: Vec<Insertion>) -> Vec<Option<Match>> {
    insertions.into_iter().map(Insertion::original).collect()
}

/// Of each document its earlier version, if the two are near.
fn own_versions(index: &Index, documents: &[NewDocument]) -> Result<Vec<Option<Match>>> {
    let ids: Vec<DocumentId> = documents.iter().map(|document| document.id.clone()).collect();
    let rule = index.rule();
    Ok(documents
        .iter()
        .zip(index.get(&ids)?)
        .map(|(document, stored)| own(&rule, document, stored?))
        .collect())
}

fn own(rule: &Rule, document: &NewDocument, stored: StoredDocument) -> Option<Match> {
    let sketch = stored.document.sketch;
    let nearness = rule.confirms(sketch.features(), &document.features)?;
    Some(Match::new(document.id.clone(), sketch.fingerprint(), nearness))
}

/// The answers where each earlier version leaves when it is the turn of its document, be that one without features.
fn foresee_replacing(index: &Index, candidates: &[Candidate<'_>]) -> Result<Vec<Option<Match>>> {
    let foresight = index.foresight();
    let mut answers = Vec::new();
    // Runs of some without features, and then some with.
    for run in candidates.chunk_by(|one, next| one.features.is_none() || next.features.is_some()) {
        let empty = run.iter().filter(|candidate| candidate.features.is_none());
        let empty: Vec<DocumentId> = empty.map(|candidate| candidate.id.clone()).collect();
        if !empty.is_empty() {
            foresight.remove(&empty)?;
        }
        let documents = with_features(run);
        if !documents.is_empty() {
            answers.extend(originals(foresight.replace_if_new(&documents)?));
        }
    }
    Ok(answers)
}

/// Those that nothing keeps out yet.
fn undecided(documents: &[NewDocument], decided: &[Option<Match>]) -> Vec<NewDocument> {
    let new = documents.iter().zip(decided).filter(|(_, near)| near.is_none());
    new.map(|(document, _)| document.clone()).collect()
}

/// What was decided, with the `answers` for those about which it was not.
fn filled_in(decided: Vec<Option<Match>>, answers: Vec<Option<Match>>) -> Result<Vec<Option<Match>>> {
    let mut answers = answers.into_iter();
    decided
        .into_iter()
        .map(|near| near.map_or_else(|| answers.next().ok_or_else(too_few), |near| Ok(Some(near))))
        .collect()
}

pub(super) fn too_few() -> Error {
    Error::new(ErrorKind::Internal, "the store answered for fewer documents than it was given")
}

#[cfg(test)]
mod tests;
