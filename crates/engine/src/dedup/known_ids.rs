//! The meaning of an id that the index has from an earlier run.

mod foreseen;

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use index::{
    DocumentId, Error, ErrorKind, Index, Insertion, Match, NewDocument, Result, Rule, StoredDocument, Text,
};

pub use self::foreseen::Foreseen;
use super::Candidate;

/// The treatment of a document whose id the index has from an earlier run. The stored document is
/// called its earlier version, `old` in the table. [`Kept`](super::Kept) treats two documents of
/// one run under one id.
///
/// | its text | `Keep` | `Compare` | `Replace` |
/// |---|---|---|---|
/// | has the same features | kept | duplicate of `old` | kept\* |
/// | is near to `old` | replaces `old`\* | duplicate of `old` | replaces `old`\* |
/// | is near to nothing | replaces `old` | replaces `old` | replaces `old` |
/// | is near to another id | dropped, `old` stays | dropped, `old` stays | dropped, `old` leaves |
/// | has no features | kept, `old` stays | kept, `old` stays | kept, `old` leaves |
///
/// \* Unless the text is near to another id too; then that row applies.
///
/// A document under another id counts while it is in the index, even if a later document is about
/// to take its place.
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
    /// The earlier version never makes its document a duplicate. If the document is a duplicate of
    /// another id, the earlier version stays.
    #[default]
    Keep,
    /// The earlier version counts as any other document does.
    Compare,
    /// The earlier version neither counts nor stays, as if removed just before its document is
    /// decided about.
    Replace,
}

impl KnownIds {
    /// All variants, with their names.
    pub const ALL: [(Self, &str); 3] =
        [(Self::Keep, "keep"), (Self::Compare, "compare"), (Self::Replace, "replace")];

    /// The name of the variant.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Compare => "compare",
            Self::Replace => "replace",
        }
    }

    /// Decides about documents, each before the later ones, and inserts the new ones into the
    /// index. The answers are for the candidates with features, in order: the document that keeps
    /// each out, which may be its own earlier version. No id may be among the candidates twice, and
    /// none kept by this run.
    ///
    /// # Errors
    /// The errors of the store. A failed call may have been made in part. The same call then
    /// answers otherwise: under [`Compare`](Self::Compare) a document inserted by the first call is
    /// a duplicate of itself. A caller that cannot accept this writes down the answers of
    /// [`foresee`](Self::foresee), and repeats [`carry_out`](Self::carry_out) until success.
    pub fn insert_if_new(self, index: &Index, candidates: &[Candidate<'_>]) -> Result<Vec<Option<Match>>> {
        let documents = with_features(candidates);
        let foreseen = match self {
            Self::Keep => return Ok(originals(index.insert_if_new(&documents)?)),
            Self::Compare => own_versions(index, &documents)?,
            Self::Replace => foresee_replacing(index, candidates)?,
        };
        let foresee_again = |_: &[usize], again: &[Candidate<'_>]| self.foresee(index, again);
        self.carry_out(index, candidates, Foreseen::new(foreseen), foresee_again)
    }

    /// Returns the present answers of [`insert_if_new`](Self::insert_if_new) and writes nothing.
    ///
    /// # Errors
    /// A failed read.
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

    /// Carries out the [foreseen](Self::foresee) answers for the same candidates. A document
    /// inserted by another program since then still keeps a candidate out, and shows in the
    /// answers. Repeating the call changes nothing.
    ///
    /// An answer loses its ground if the document named by the answer is kept out now.
    /// `foresee_again` is asked about such candidates, to the end of the chain, with their places
    /// among the candidates with features, and the candidates. These are decided after the others,
    /// and may be dropped for a document that comes later.
    ///
    /// # Errors
    /// The errors of the store and of `foresee_again`, and `Internal` if the numbers of answers and
    /// of candidates with features differ.
    pub fn carry_out<E: From<Error>>(
        self,
        index: &Index,
        candidates: &[Candidate<'_>],
        mut foreseen: Foreseen,
        mut foresee_again: impl FnMut(&[usize], &[Candidate<'_>]) -> Result<Vec<Option<Match>>, E>,
    ) -> Result<Vec<Option<Match>>, E> {
        let with_features: Vec<&Candidate<'_>> =
            candidates.iter().filter(|candidate| candidate.features.is_some()).collect();
        if foreseen.len() != with_features.len() {
            return Err(too_few().into());
        }
        let ids: Vec<&DocumentId> = with_features.iter().map(|candidate| candidate.id).collect();
        // Earlier versions leave before the others come: some are new only without these.
        self.clear(index, candidates, &foreseen)?;
        let (mut new, mut came) = (foreseen.new_ones(), HashMap::new());
        loop {
            let kept_out = self.take_in(index, &with_features, &new)?;
            let places: Vec<usize> = kept_out.iter().map(|(place, _)| *place).collect();
            came.extend(kept_out);
            let again = foreseen.without_ground(&ids, &places);
            if again.is_empty() {
                return Ok(foreseen.filled_in(came));
            }
            let asked: Vec<Candidate<'_>> = again.iter().map(|&place| *with_features[place]).collect();
            foreseen.revise(&again, foresee_again(&again, &asked)?)?;
            new = again.into_iter().filter(|&place| foreseen.near(place).is_none()).collect();
        }
    }

    /// Writes what an index lacks of a call that was [carried out](Self::carry_out), with these
    /// answers, before others came. The answers stay: a document of a later call may have the place
    /// of one of this call by now, or keep it out.
    ///
    /// # Errors
    /// As [`carry_out`](Self::carry_out).
    pub fn repeat(self, index: &Index, candidates: &[Candidate<'_>], answers: &Foreseen) -> Result<()> {
        self.clear(index, candidates, answers)?;
        let documents = with_features(candidates);
        if answers.len() != documents.len() {
            return Err(too_few());
        }
        let new: Vec<NewDocument> =
            answers.new_ones().into_iter().map(|place| documents[place].clone()).collect();
        index.insert_if_new(&new)?;
        Ok(())
    }

    /// Removes the earlier versions of candidates that are kept out or have no features, where
    /// these replace them.
    fn clear(self, index: &Index, candidates: &[Candidate<'_>], foreseen: &Foreseen) -> Result<()> {
        if self == Self::Replace {
            let mut answers = (0..foreseen.len()).map(|place| foreseen.near(place));
            let is_leaving = |candidate: &&Candidate<'_>| {
                candidate.features.is_none() || answers.next().flatten().is_some()
            };
            let leaving = candidates.iter().filter(is_leaving).map(|candidate| candidate.id.clone());
            index.remove(&leaving.collect::<Vec<_>>())?;
        }
        Ok(())
    }

    /// Inserts the new candidates among these `places`; returns the others, each with the document
    /// that keeps the candidate out.
    fn take_in(
        self,
        index: &Index,
        candidates: &[&Candidate<'_>],
        places: &[usize],
    ) -> Result<Vec<(usize, Match)>> {
        let new = with_features(places.iter().map(|&place| candidates[place]));
        let answers = originals(index.insert_if_new(&new)?);
        let kept_out: Vec<(usize, Match)> =
            places.iter().zip(answers).filter_map(|(&place, near)| Some((place, near?))).collect();
        if self == Self::Replace && !kept_out.is_empty() {
            let leaving: Vec<DocumentId> =
                kept_out.iter().map(|(place, _)| candidates[*place].id.clone()).collect();
            index.remove(&leaving)?;
        }
        Ok(kept_out)
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

fn with_features<'a>(candidates: impl IntoIterator<Item = &'a Candidate<'a>>) -> Vec<NewDocument> {
    let document = |&Candidate { id, features, source }: &Candidate<'_>| {
        Some(NewDocument { id: id.clone(), features: features?.clone(), source: source.cloned() })
    };
    candidates.into_iter().filter_map(document).collect()
}

fn originals(insertions: Vec<Insertion>) -> Vec<Option<Match>> {
    insertions.into_iter().map(Insertion::original).collect()
}

/// For each document its earlier version, if the two are near.
fn own_versions(index: &Index, documents: &[NewDocument]) -> Result<Vec<Option<Match>>> {
    let ids: Vec<DocumentId> = documents.iter().map(|document| document.id.clone()).collect();
    let rule = index.insertion_rule();
    let texts = if rule.counter.is_some() { index.texts(&ids)? } else { vec![None; ids.len()] };
    let stored = index.get(&ids)?.into_iter().zip(texts);
    Ok(documents
        .iter()
        .zip(stored)
        .map(|(document, (stored, text))| own(&rule, document, stored?, text))
        .collect())
}

fn own(rule: &Rule, document: &NewDocument, stored: StoredDocument, text: Option<Text>) -> Option<Match> {
    let sketch = stored.document.sketch.with_text(text);
    let nearness = rule.confirms(&document.features, sketch.features())?;
    Some(Match::new(document.id.clone(), sketch.fingerprint(), nearness))
}

/// The answers under `Replace`: each earlier version leaves at the turn of its document, even of a
/// document without features.
fn foresee_replacing(index: &Index, candidates: &[Candidate<'_>]) -> Result<Vec<Option<Match>>> {
    let foresight = index.foresight();
    let mut answers = Vec::new();
    // A run is some candidates without features, then some with.
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

/// The documents that no decision keeps out.
fn undecided(documents: &[NewDocument], decided: &[Option<Match>]) -> Vec<NewDocument> {
    let new = documents.iter().zip(decided).filter(|(_, near)| near.is_none());
    new.map(|(document, _)| document.clone()).collect()
}

/// The decisions, with `answers` in the place of each `None`.
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
