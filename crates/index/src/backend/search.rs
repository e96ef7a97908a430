//! From the hits of the tables, which know numbers, to matches, which know documents. Shared by every store that
//! searches in memory; the one place that chooses a layout.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

use simhash::Facet;
use tables::{BucketTables, Cost, Hit, Tables};

use crate::backend::runs::Live;
use crate::sketch::Family;
use crate::{DocumentId, Features, Match, Nearness, Neighbours, Result, Rule, Sketch};

/// Empty tables of the layout that this crate uses.
pub fn new_tables() -> Box<dyn Tables> {
    Box::new(BucketTables::new())
}

/// Files a document's number by each of its facets. False, where it is filed already.
pub fn file(tables: &mut dyn Tables, sketch: &Sketch, number: u64) -> bool {
    sketch.facets().iter().fold(true, |all, (_, facet)| tables.insert(facet, number) && all)
}

/// Takes a document's number away from each of its facets. False, where it is not filed there.
pub fn unfile(tables: &mut dyn Tables, sketch: &Sketch, number: u64) -> bool {
    sketch.facets().iter().fold(true, |all, (_, facet)| tables.remove(facet, number) && all)
}

/// What stands for a document in tables: what a search reads of it once it has met its number.
pub trait Documents {
    /// Its name.
    ///
    /// # Errors
    /// Those of a read; `Corrupt` where there is no such document.
    fn id(&self, number: u64) -> Result<DocumentId>;

    /// By what it is compared.
    ///
    /// # Errors
    /// As [`id`](Self::id).
    fn features(&self, number: u64) -> Result<Cow<'_, Features>>;
}

/// For each query the `limit` nearest by nearness, then id, and how many there are, of the documents that are
/// `live`.
///
/// All queries go to the tables together, which serve some of them at a time while the memory is slow. What is held is
/// the answers and one query's work, and where the rule verifies the numbers of all candidates.
pub fn neighbours(
    tables: &dyn Tables,
    queries: &[Sketch],
    rule: &Rule,
    limit: usize,
    live: &Live,
    documents: &dyn Documents,
) -> Result<Vec<Neighbours>> {
    let (mut answers, cost) = match by_simhash(queries, rule) {
        Some(facets) => by_distance(tables, &facets, rule, limit, live, documents)?,
        None => {
            let mut candidates = Candidates::default();
            candidates.propose(tables, queries, rule, &|number| live.contains(number));
            let answers = candidates.confirm(queries, rule, limit, documents)?;
            (answers, candidates.cost)
        }
    };
    share_out(cost, queries, &mut answers);
    Ok(answers)
}

/// For each query how many are near of those numbers that `counts` is true for.
pub fn count(
    tables: &dyn Tables,
    queries: &[Sketch],
    rule: &Rule,
    counts: &dyn Fn(u64) -> bool,
    documents: &dyn Documents,
) -> Result<Vec<u64>> {
    let mut candidates = Candidates::default();
    candidates.propose(tables, queries, rule, counts);
    let found = candidates.confirm(queries, rule, 0, documents)?;
    Ok(found.into_iter().map(|found| found.n_matches).collect())
}

/// The nearest by nearness, then id, of those numbers that `counts` is true for, in several tables.
pub fn nearest(
    tables: &[&dyn Tables],
    query: &Sketch,
    rule: &Rule,
    counts: &dyn Fn(u64) -> bool,
    documents: &dyn Documents,
) -> Result<Option<Match>> {
    let queries = std::slice::from_ref(query);
    if let Some(facets) = by_simhash(queries, rule) {
        let mut nearest = Nearest::new(1);
        let mut outcome = Ok(());
        for tables in tables {
            tables.near(&facets, rule.max_distance, &mut |hit| {
                if outcome.is_ok() {
                    outcome = nearest.take(&hit, counts, documents);
                }
            });
        }
        outcome?;
        return Ok(nearest.into_matches().pop());
    }
    let mut candidates = Candidates::default();
    for tables in tables {
        candidates.propose(*tables, queries, rule, counts);
    }
    let found = candidates.confirm(queries, rule, 1, documents)?;
    Ok(found.into_iter().flat_map(|found| found.matches).next())
}

/// The simhashes of queries, where they decide alone: then no document has to be read to know how near it is.
fn by_simhash(queries: &[Sketch], rule: &Rule) -> Option<Vec<Facet>> {
    let decides = |query: &Sketch| match query.facets() {
        [(Family::Simhash, facet)] => Some(facet.clone()),
        _ => None,
    };
    if rule.min_similarity.is_some() { None } else { queries.iter().map(decides).collect() }
}

fn by_distance(
    tables: &dyn Tables,
    queries: &[Facet],
    rule: &Rule,
    limit: usize,
    live: &Live,
    documents: &dyn Documents,
) -> Result<(Vec<Neighbours>, Cost)> {
    let mut answers: Vec<Neighbours> = Vec::with_capacity(queries.len());
    answers.resize_with(queries.len(), Neighbours::default);
    let mut current = 0;
    let mut nearest = Nearest::new(limit);
    let mut outcome = Ok(());
    let cost = tables.near(queries, rule.max_distance, &mut |hit| {
        if hit.query != current {
            answers[current].matches = std::mem::replace(&mut nearest, Nearest::new(limit)).into_matches();
            current = hit.query;
        }
        answers[hit.query].n_matches += live.n_in(hit.numbers) as u64;
        if outcome.is_ok() {
            outcome = nearest.take(&hit, &|number| live.contains(number), documents);
        }
    });
    outcome?;
    if let Some(last) = answers.get_mut(current) {
        last.matches = nearest.into_matches();
    }
    Ok((answers, cost))
}

/// What the facets of queries propose.
#[derive(Default)]
struct Candidates {
    /// A query's place and the number of a document.
    proposed: Vec<(usize, u64)>,
    cost: Cost,
}

impl Candidates {
    fn propose(
        &mut self,
        tables: &dyn Tables,
        queries: &[Sketch],
        rule: &Rule,
        counts: &dyn Fn(u64) -> bool,
    ) {
        for family in Family::ALL {
            let facet_of = |query: &Sketch| query.facets().iter().find(|(of, _)| *of == family).cloned();
            let (places, facets): (Vec<usize>, Vec<Facet>) = queries
                .iter()
                .enumerate()
                .filter_map(|(place, query)| facet_of(query).map(|(_, facet)| (place, facet)))
                .unzip();
            let cost = tables.near(&facets, rule.within(family), &mut |hit| {
                let numbers = hit.numbers.iter().copied().filter(|&number| counts(number));
                self.proposed.extend(numbers.map(|number| (places[hit.query], number)));
            });
            self.cost.n_buckets += cost.n_buckets;
            self.cost.n_candidates += cost.n_candidates;
        }
    }

    /// What of it is near, each document once, whichever facets proposed it.
    fn confirm(
        &mut self,
        queries: &[Sketch],
        rule: &Rule,
        limit: usize,
        documents: &dyn Documents,
    ) -> Result<Vec<Neighbours>> {
        self.proposed.sort_unstable();
        self.proposed.dedup();
        let mut answers: Vec<Neighbours> = Vec::with_capacity(queries.len());
        answers.resize_with(queries.len(), Neighbours::default);
        for of_query in self.proposed.chunk_by(|a, b| a.0 == b.0) {
            let place = of_query[0].0;
            let mut nearest = Nearest::new(limit);
            for &(_, number) in of_query {
                let features = documents.features(number)?;
                let Some(nearness) = rule.confirms(queries[place].features(), &features) else { continue };
                answers[place].n_matches += 1;
                // Looking an id up is what costs; one that is farther than all we hold needs none.
                if nearest.admits(nearness) {
                    nearest.offer(Match::new(documents.id(number)?, features.fingerprint(), nearness));
                }
            }
            answers[place].matches = nearest.into_matches();
        }
        Ok(answers)
    }
}

/// The buckets of a query are its keys; the candidates of a call are known in sum only.
fn share_out(cost: Cost, queries: &[Sketch], answers: &mut [Neighbours]) {
    let n_queries = queries.len() as u64;
    for ((n, query), answer) in (0..).zip(queries).zip(answers) {
        let n_candidates = cost.n_candidates / n_queries + u64::from(n < cost.n_candidates % n_queries);
        answer.cost = Cost { n_buckets: query.n_keys() as u64, n_candidates };
    }
}

/// A match, and what else is known of it. Ordered by nearness, then id.
struct Ranked<T> {
    found: Match,
    known: T,
}

impl<T> Ranked<T> {
    fn rank(&self) -> (Nearness, &DocumentId) {
        (self.found.nearness(), &self.found.id)
    }
}

impl<T> PartialEq for Ranked<T> {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl<T> Eq for Ranked<T> {}

impl<T> PartialOrd for Ranked<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Ranked<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

/// Never holds more than `limit`, the farthest on top.
pub struct Nearest<T = ()> {
    ranked: BinaryHeap<Ranked<T>>,
    limit: usize,
}

impl Nearest {
    fn take(&mut self, hit: &Hit<'_>, counts: &dyn Fn(u64) -> bool, documents: &dyn Documents) -> Result<()> {
        let nearness = Nearness { similarity: None, distance: hit.distance };
        let one = |number| {
            // Looking an id up is what costs; a hit that is farther than all we hold needs no id.
            if self.admits(nearness) && counts(number) {
                self.offer(Match::new(documents.id(number)?, hit.fingerprint, nearness));
            }
            Ok(())
        };
        hit.numbers.iter().copied().try_for_each(one)
    }

    /// Keeps a match, if it is among the nearest.
    pub fn offer(&mut self, found: Match) {
        self.offer_with(found, || ());
    }
}

impl<T> Nearest<T> {
    /// Nothing yet, of at most `limit`.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { ranked: BinaryHeap::new(), limit }
    }

    /// Whether a match that is so near may be among the nearest.
    #[must_use]
    pub fn admits(&self, nearness: Nearness) -> bool {
        self.ranked.len() < self.limit
            || self.limit > 0
                && self.ranked.peek().is_none_or(|farthest| nearness <= farthest.found.nearness())
    }

    /// Keeps a match and what is known of it, if it is among the nearest.
    pub fn offer_with(&mut self, found: Match, known: impl FnOnce() -> T) {
        if self.admits(found.nearness()) {
            self.ranked.push(Ranked { found, known: known() });
            if self.ranked.len() > self.limit {
                self.ranked.pop();
            }
        }
    }

    /// The matches in their order.
    #[must_use]
    pub fn into_matches(self) -> Vec<Match> {
        self.into_known().map(|(found, _)| found).collect()
    }

    /// The matches in their order, with what is known of them.
    pub fn into_known(self) -> impl Iterator<Item = (Match, T)> {
        self.ranked.into_sorted_vec().into_iter().map(|Ranked { found, known }| (found, known))
    }
}

#[cfg(test)]
mod tests {
    use simhash::Fingerprint;

    use super::*;
    use crate::SketchKind;
    use crate::testsuite::apart;

    /// Documents that are called by their numbers.
    struct Numbered;

    impl Documents for Numbered {
        fn id(&self, number: u64) -> Result<DocumentId> {
            Ok(DocumentId::new(number.to_string()).expect("digits"))
        }

        fn features(&self, number: u64) -> Result<Cow<'_, Features>> {
            Ok(Cow::Owned(Fingerprint(number << 5).into()))
        }
    }

    /// The sum over a call's answers is what the tables say, and one query's is its own.
    #[test]
    fn costs_add_up() {
        let kind = SketchKind::default();
        let mut tables = new_tables();
        for number in 0..50 {
            assert!(file(&mut *tables, &kind.sketch(Fingerprint(number << 5)), number));
        }
        let queries: Vec<_> = (0..7).map(|n| kind.sketch(Fingerprint(n))).collect();
        let rule = Rule::from(apart(3));
        for queries in [&queries[..], &queries[..1], &[]] {
            let facets = by_simhash(queries, &rule).unwrap();
            let expected = tables.near(&facets, apart(3), &mut |_| {});
            let answers = neighbours(&*tables, queries, &rule, 2, &Live::default(), &Numbered).unwrap();
            let sum = |of: fn(&Cost) -> u64| answers.iter().map(|answer| of(&answer.cost)).sum::<u64>();
            assert!(queries.is_empty() || expected.n_candidates > 0);
            assert_eq!(sum(|cost| cost.n_buckets), expected.n_buckets);
            assert_eq!(sum(|cost| cost.n_candidates), expected.n_candidates);
        }
    }
}
