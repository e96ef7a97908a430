//! Foreseen verdicts on the documents of one call, and the search for verdicts without ground.

use std::collections::HashMap;

use index::{DocumentId, Match, Result};

use super::too_few;

/// The [foreseen](super::KnownIds::foresee) answers for the documents of a call, in order. Some may
/// have been foreseen again since then.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Foreseen {
    answers: Vec<Answer>,
    /// The number of calls of [`revise`](Foreseen::revise).
    n_revised: u32,
}

#[derive(Clone, Debug, PartialEq)]
struct Answer {
    near: Option<Match>,
    /// Answers of the same revision were foreseen at once: an earlier one may be the ground of a
    /// later one.
    revision: u32,
}

impl Foreseen {
    /// Answers for all documents, foreseen at once.
    #[must_use]
    pub fn new(answers: Vec<Option<Match>>) -> Self {
        let answers = answers.into_iter().map(|near| Answer { near, revision: 0 });
        Self { answers: answers.collect(), n_revised: 0 }
    }

    /// Replaces the answers in these `places` by answers that were foreseen again, at once.
    ///
    /// # Errors
    /// `Internal` where an answer or a place is missing.
    pub fn revise(&mut self, places: &[usize], again: Vec<Option<Match>>) -> Result<()> {
        if places.len() != again.len() {
            return Err(too_few());
        }
        self.n_revised += 1;
        for (&place, near) in places.iter().zip(again) {
            let answer = self.answers.get_mut(place).ok_or_else(too_few)?;
            *answer = Answer { near, revision: self.n_revised };
        }
        Ok(())
    }

    /// The answers, in order.
    #[must_use]
    pub fn into_answers(self) -> Vec<Option<Match>> {
        self.answers.into_iter().map(|answer| answer.near).collect()
    }

    /// The number of documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.answers.len()
    }

    /// True if there are no documents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// The places of the documents foreseen to be new.
    pub(super) fn new_ones(&self) -> Vec<usize> {
        (0..self.len()).filter(|&place| self.near(place).is_none()).collect()
    }

    /// The document foreseen to keep out the one in a place.
    pub(super) fn near(&self, place: usize) -> Option<&Match> {
        self.answers[place].near.as_ref()
    }

    /// The places of answers whose document was foreseen to be new and is `kept_out` after all.
    /// `ids` are the ids of all documents of the call.
    pub(super) fn without_ground(&self, ids: &[&DocumentId], kept_out: &[usize]) -> Vec<usize> {
        if kept_out.is_empty() {
            return Vec::new();
        }
        let kept_out: HashMap<&DocumentId, usize> =
            kept_out.iter().map(|&place| (ids[place], place)).collect();
        let has_lost = |&place: &usize| {
            let of = self.near(place).and_then(|near| kept_out.get(&near.id));
            // Answers of another revision, and those before `of`, stood on a document that the
            // index had under this id.
            of.is_some_and(|&of| of < place && self.answers[of].revision == self.answers[place].revision)
        };
        (0..self.len()).filter(has_lost).collect()
    }

    /// The foreseen verdicts, with `came` for documents foreseen to be new and kept out after all.
    pub(super) fn filled_in(self, mut came: HashMap<usize, Match>) -> Vec<Option<Match>> {
        let answers = self.answers.into_iter().enumerate();
        answers.map(|(place, answer)| answer.near.or_else(|| came.remove(&place))).collect()
    }
}
