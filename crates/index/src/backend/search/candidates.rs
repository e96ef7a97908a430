//! The candidates of a search in memory: proposed by facets, bounded, and confirmed by the rule.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use minhash::Similarity;
use simhash::Facet;
use tables::Cost;

use super::{Documents, Filed};
use crate::backend::nearest::Nearest;
use crate::sketch::Family;
use crate::{Error, Features, Glance, Match, Nearness, Neighbours, Promise, Result, Rule, Sketch};

/// The number of candidates of a query from which a sieve is worth its making.
const SIEVED_FROM: usize = 8;

/// A document proposed by a facet of a query.
#[derive(Clone, Copy)]
struct Candidate {
    /// The place of the query.
    query: usize,
    number: u64,
    promise: Promise,
}

/// The extent of the answer asked for.
#[derive(Clone, Copy)]
pub(super) enum Asked {
    /// The nearest `limit`, and the number of all near documents.
    All { limit: usize },
    /// The nearest one alone.
    Nearest,
}

impl Asked {
    fn limit(self) -> usize {
        match self {
            Self::All { limit } => limit,
            Self::Nearest => 1,
        }
    }
}

/// The candidates proposed by the facets of queries.
#[derive(Default)]
pub(super) struct Candidates {
    proposed: Vec<Candidate>,
    /// The number of searches in tables that proposed any.
    n_sources: usize,
    pub(super) cost: Cost,
    /// The queries with candidates left out.
    bounded: BTreeSet<usize>,
}

impl Candidates {
    pub(super) fn propose(
        &mut self,
        tables: &dyn Filed,
        queries: &[Sketch],
        rule: &Rule,
        counts: &dyn Fn(u64) -> bool,
    ) -> Result<()> {
        for family in Family::ALL {
            let (places, facets): (Vec<usize>, Vec<&Facet>) = queries
                .iter()
                .enumerate()
                .filter_map(|(place, query)| Some((place, query.facet(family)?)))
                .unzip();
            let n_before = self.proposed.len();
            self.cost += tables.near(&facets, rule.within(family), &mut |hit| {
                let numbers = hit.numbers.iter().copied().filter(|&number| counts(number));
                let (query, promise) = (places[hit.query], Promise::new(family, hit.distance));
                self.proposed.extend(numbers.map(|number| Candidate { query, number, promise }));
            })?;
            self.n_sources += usize::from(self.proposed.len() > n_before);
        }
        Ok(())
    }

    /// The candidates of a single query, proposed elsewhere, some perhaps several times.
    pub(super) fn of_query(proposed: impl IntoIterator<Item = (u64, Promise)>) -> Self {
        let candidate = |(number, promise)| Candidate { query: 0, number, promise };
        let proposed = proposed.into_iter().map(candidate).collect();
        Self { proposed, n_sources: Family::ALL.len(), ..Self::default() }
    }

    /// The number of queries with candidates left out.
    pub(super) fn n_bounded(&self) -> u64 {
        self.bounded.len() as u64
    }

    /// Sorts the candidates by queries, each document once, whichever facets proposed it. Of a
    /// query with more candidates than the rule's bound the most promising stay.
    pub(super) fn bound(&mut self, n_queries: usize, rule: &Rule) {
        // With a single query the rest is not even sorted. Each family proposes a document at most
        // once.
        let n_sorted_max =
            rule.candidates_max.filter(|_| n_queries == 1).map(|n_max| n_max * Family::ALL.len());
        if let Some(n_max) = n_sorted_max.filter(|&n_max| self.proposed.len() > n_max) {
            self.proposed.select_nth_unstable_by_key(n_max, |found| (found.promise, found.number));
            self.proposed.truncate(n_max + 1);
        }
        // A single search proposes in the order of its queries, and a document once to each.
        if self.n_sources > 1 {
            self.proposed.sort_unstable_by_key(|found| (found.query, found.number, found.promise));
            self.proposed.dedup_by_key(|found| (found.query, found.number));
        }
        let Some(n_max) = rule.candidates_max else { return };
        let is_above = |of_query: &[Candidate]| of_query.len() > n_max;
        if self.proposed.chunk_by(|a, b| a.query == b.query).any(is_above) {
            let mut kept = Vec::new();
            for of_query in self.proposed.chunk_by_mut(|a, b| a.query == b.query) {
                if of_query.len() > n_max {
                    of_query.select_nth_unstable_by_key(n_max, |found| (found.promise, found.number));
                    self.bounded.insert(of_query[0].query);
                }
                kept.extend_from_slice(&of_query[..of_query.len().min(n_max)]);
            }
            self.proposed = kept;
        }
    }

    /// Returns the near documents among the [bounded](Self::bound) candidates.
    ///
    /// The candidates of a query worth a count come in the order of their signatures' promise. So
    /// equal and very similar texts are counted first, and where the nearest alone is asked for
    /// most texts are never read. Candidates beyond the rule's bound promise least.
    pub(super) fn confirm(
        &mut self,
        queries: &[Sketch],
        rule: &Rule,
        asked: Asked,
        documents: &dyn Documents,
    ) -> Result<Vec<Neighbours>> {
        let mut answers: Vec<Neighbours> = Vec::with_capacity(queries.len());
        answers.resize_with(queries.len(), Neighbours::default);
        let mut worth: Vec<(Similarity, Similarity, u64)> = Vec::new();
        for of_query in self.proposed.chunk_by(|a, b| a.query == b.query) {
            let place = of_query[0].query;
            let (query, answer) = (queries[place].features(), &mut answers[place]);
            let mut nearest = Nearest::new(asked.limit());
            let mut offer = |number: u64, features: &Features, nearness: Nearness, nearest: &mut Nearest| {
                answer.n_matches += 1;
                // Looking an id up is the cost; a document farther than all held ones needs no id.
                if nearest.admits(nearness) {
                    nearest.offer(Match::new(documents.id(number)?, features.fingerprint(), nearness));
                }
                Ok::<_, Error>(())
            };
            worth.clear();
            let sieve = if of_query.len() < SIEVED_FROM { None } else { rule.sieve(query) };
            for &Candidate { number, .. } in of_query {
                if let Some(sieve) = &sieve
                    && documents.signature_bytes(number)?.is_some_and(|bytes| sieve.excludes(bytes))
                {
                    continue;
                }
                let features = documents.features(number)?;
                match rule.glance(query, &features) {
                    Glance::Far => {}
                    Glance::Near(nearness) => offer(number, &features, nearness, &mut nearest)?,
                    Glance::Worth { estimate, at_most } => worth.push((at_most, estimate, number)),
                }
            }
            worth.sort_unstable_by_key(|&(at_most, estimate, number)| {
                Reverse((at_most, estimate, Reverse(number)))
            });
            for (n_counted, &(at_most, _, number)) in worth.iter().enumerate() {
                if matches!(asked, Asked::Nearest) && nearest.excludes(at_most) {
                    break;
                }
                if rule.counted_max.is_some_and(|n_max| n_counted >= n_max) {
                    self.bounded.insert(place);
                    break;
                }
                let mut features = documents.features(number)?.into_owned();
                features.text = documents.text(number)?;
                if let Some(nearness) = rule.count(query, &features) {
                    offer(number, &features, nearness, &mut nearest)?;
                }
            }
            answers[place].matches = nearest.into_matches();
        }
        Ok(answers)
    }
}
