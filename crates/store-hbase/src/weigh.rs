//! Whom a claimant meets that only texts can tell to be near or not: their rows are read once more, with their texts, and
//! few of them where the nearest is all that is asked for.

use std::cmp::Reverse;
use std::collections::HashSet;

use index::{DocumentId, Result};
use minhash::Similarity;

use super::Access;
use super::documents::{self, Stored};
use super::meet::{Found, Lookout, pending};

/// So many rows of each lookout are read first, and in each turn after that so many times more.
const FIRST: usize = 4;

/// Rows that are to be read.
#[derive(Default)]
pub(super) struct Scales<'a> {
    /// By the numbers of the lookouts, without repeats.
    known: HashSet<(usize, &'a DocumentId)>,
    left: Vec<Weight<'a>>,
}

/// A row whose text decides.
struct Weight<'a> {
    /// The number of the lookout.
    number: usize,
    id: &'a DocumentId,
    /// Of a claim that is pending, which has to be decided whatever else is near.
    is_pending: bool,
    /// How similar what is there is at most; none where that is of no interest.
    at_most: Option<Similarity>,
}

impl<'a> Scales<'a> {
    /// Puts a row that a lookout has met on the scales, if it has to be weighed.
    pub(super) fn put(
        &mut self,
        number: usize,
        lookout: &Lookout<'_>,
        id: &'a DocumentId,
        stored: &Stored,
    ) -> bool {
        let live = stored.live.as_ref();
        let at_most = live.and_then(|live| lookout.is_worth(&live.sketch, live.text));
        let claim = pending(stored);
        let is_pending = claim.is_some_and(|claim| lookout.is_worth(&claim.sketch, claim.text).is_some());
        let is_worth = is_pending || at_most.is_some();
        if is_worth && self.known.insert((number, id)) {
            self.left.push(Weight { number, id, is_pending, at_most });
        }
        is_worth
    }

    /// Reads them with their texts and lets `found` take what they say then, the most promising first. One that is there,
    /// and farther at best than the nearest that was found, is left.
    pub(super) fn weigh(
        mut self,
        access: &Access<'_>,
        lookouts: &[Lookout<'_>],
        found: &mut [Found],
    ) -> Result<()> {
        let rank = |weight: &Weight<'_>| (weight.number, !weight.is_pending, Reverse(weight.at_most));
        self.left.sort_by(|a, b| (rank(a), a.id).cmp(&(rank(b), b.id)));
        let mut n_each = FIRST;
        while !self.left.is_empty() {
            let mut n_taken = 0;
            let mut last = None;
            let mut turn = Vec::new();
            self.left.retain_mut(|weight| {
                let best = found[weight.number].best();
                if !weight.is_pending && best.is_some() && best > weight.at_most {
                    return false;
                }
                n_taken = if last == Some(weight.number) { n_taken + 1 } else { 1 };
                last = Some(weight.number);
                let is_taken = n_taken <= n_each;
                if is_taken {
                    turn.push((weight.number, weight.id));
                }
                !is_taken
            });
            let rows = documents::read_told(access, turn.iter().map(|(_, id)| *id))?;
            for (number, id) in turn {
                if let Some(stored) = rows.get(id) {
                    found[number].take(&lookouts[number], id, stored);
                }
            }
            n_each *= FIRST;
        }
        Ok(())
    }
}
