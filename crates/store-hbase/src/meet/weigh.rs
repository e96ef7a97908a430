//! Weighs documents whose texts alone decide if they are near a claimant: their rows are read once
//! more, with their texts. Only few are read where the nearest document is enough.

use std::cmp::Reverse;
use std::collections::HashSet;

use index::{DocumentId, Result};
use minhash::Similarity;

use super::super::access::Access;
use super::super::documents::{self, Stored};
use super::{Found, Lookout, pending};

/// The number of rows of each lookout in the first turn, and the factor from each turn to the next.
const FIRST: usize = 4;

/// Rows to be read.
#[derive(Default)]
pub(super) struct Scales<'a> {
    /// The rows put already, by the number of the lookout.
    known: HashSet<(usize, &'a DocumentId)>,
    left: Vec<Weight<'a>>,
}

/// A row whose text decides.
struct Weight<'a> {
    /// The number of the lookout.
    number: usize,
    id: &'a DocumentId,
    /// True for a pending claim, which has to be decided in any case.
    is_pending: bool,
    /// The greatest possible similarity of the live document; `None` if its text decides nothing.
    at_most: Option<Similarity>,
}

impl<'a> Scales<'a> {
    /// Puts a row that a lookout has met on the scales; returns true if its text decides.
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

    /// Reads the rows with their texts, the most promising first, and lets `found` take them as
    /// they are then. A live document that cannot beat the nearest one found is left out.
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
