//! What an id means that the index has from an earlier run, when a document comes under it.

mod foreseen;

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use index::{
    DocumentId, Error, ErrorKind, Index, Insertion, Match, NewDocument, Result, Rule, StoredDocument, Text,
};

pub use self::foreseen::Foreseen;
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
        let foreseen = match self {
            Self::Keep => return Ok(originals(index.insert_if_new(&documents)?)),
            Self::Compare => own_versions(index, &documents)?,
            Self::Replace => foresee_replacing(index, candidates)?,
        };
        let foresee_again = |_: &[usize], again: &[Candidate<'_>]| self.foresee(index, again);
        self.carry_out(index, candidates, Foreseen::new(foreseen), foresee_again)
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
    /// What was foreseen on the ground of a document that is kept out now has no ground any more.
    /// `foresee_again` is asked about these, to the end of the chain: it is given their places
    /// among the candidates with features, and the candidates. They are decided about after the
    /// others, so that one may be dropped for a document that comes later.
    ///
    /// # Errors
    /// Those of the store and of `foresee_again`, and `Internal` where something else was foreseen
    /// than for these candidates.
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
        if self == Self::Replace {
            let empty = candidates.iter().filter(|candidate| candidate.features.is_none());
            let dropped = (0..ids.len()).filter(|&place| foreseen.near(place).is_some());
            let leaving: Vec<DocumentId> =
                empty.map(|empty| empty.id.clone()).chain(dropped.map(|place| ids[place].clone())).collect();
            // Before the others come: some are new only without these.
            index.remove(&leaving)?;
        }
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

    /// Takes in those of the candidates in these `places` that are new; gives those that are kept
    /// out, and by what.
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

/// Of each document its earlier version, if the two are near.
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
