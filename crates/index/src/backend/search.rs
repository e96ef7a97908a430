//! The search in memory: from the hits of the tables, by numbers, to matches, by documents. Shared
//! by every store that searches in memory; the one place that chooses a layout.

mod candidates;

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use simhash::{Distance, Facet};
use tables::{BucketTables, Cost, Hit, Tables};

use self::candidates::{Asked, Candidates};
use crate::backend::nearest::Nearest;
use crate::backend::runs::Live;
use crate::sketch::Family;
use crate::{DocumentId, Features, Match, Nearness, Neighbours, Promise, Result, Rule, Sketch, Text};

/// Empty tables of the layout used by this crate.
pub fn new_tables() -> Box<dyn Tables> {
    Box::new(BucketTables::new())
}

/// Files a document's number by each of its facets. Returns false if it was filed already.
pub fn file(tables: &mut dyn Tables, sketch: &Sketch, number: u64) -> bool {
    sketch.facets().iter().fold(true, |all, (_, facet)| tables.insert(facet, number) && all)
}

/// Removes a document's number from each of its facets. Returns false if it was not filed there.
pub fn unfile(tables: &mut dyn Tables, sketch: &Sketch, number: u64) -> bool {
    sketch.facets().iter().fold(true, |all, (_, facet)| tables.remove(facet, number) && all)
}

/// Sketches under numbers, in tables in memory or in more than these.
pub trait Filed {
    /// As [`Tables::near`], where the numbers may have to be read.
    ///
    /// # Errors
    /// Those of a read.
    fn near(
        &self,
        queries: &[&Facet],
        max_distance: Distance,
        visit: &mut dyn FnMut(Hit<'_>),
    ) -> Result<Cost>;
}

impl Filed for Box<dyn Tables> {
    fn near(
        &self,
        queries: &[&Facet],
        max_distance: Distance,
        visit: &mut dyn FnMut(Hit<'_>),
    ) -> Result<Cost> {
        Ok((**self).near(queries, max_distance, visit))
    }
}

/// The documents behind the numbers in tables: a search reads them once it has met their numbers.
pub trait Documents {
    /// The id of a document.
    ///
    /// # Errors
    /// Those of a read; `Corrupt` where there is no such document.
    fn id(&self, number: u64) -> Result<DocumentId>;

    /// The features of a document.
    ///
    /// # Errors
    /// As [`id`](Self::id).
    fn features(&self, number: u64) -> Result<Cow<'_, Features>>;

    /// The bytes of a document's signature, where they are at hand without the rest of its
    /// features; `None` says nothing.
    ///
    /// # Errors
    /// As [`id`](Self::id).
    fn signature_bytes(&self, _number: u64) -> Result<Option<&[u8]>> {
        Ok(None)
    }

    /// The text of a document, if kept.
    ///
    /// # Errors
    /// As [`id`](Self::id).
    fn text(&self, number: u64) -> Result<Option<Text>>;
}

/// The number of searches with more candidates than were judged.
#[derive(Debug, Default)]
pub struct Bounded(AtomicU64);

impl Bounded {
    /// The number so far.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }
}

/// Finds for each query the `limit` nearest documents by nearness, then id, among those in `live`,
/// and counts all near ones.
///
/// All queries go to the tables together, which serve several at a time while the memory is slow.
/// Memory holds the answers, one query's work, and the numbers of all candidates where the rule
/// verifies.
pub fn neighbours(
    tables: &dyn Filed,
    queries: &[Sketch],
    rule: &Rule,
    limit: usize,
    live: &Live,
    documents: &dyn Documents,
    bounded: &Bounded,
) -> Result<Vec<Neighbours>> {
    let (mut answers, cost) = match by_simhash(queries, rule) {
        Some(facets) => by_distance(tables, &facets, rule, limit, live, documents)?,
        None => {
            let mut candidates = Candidates::default();
            candidates.propose(tables, queries, rule, &|number| live.contains(number))?;
            candidates.bound(queries.len(), rule);
            let answers = candidates.confirm(queries, rule, Asked::All { limit }, documents)?;
            bounded.add(candidates.n_bounded());
            (answers, candidates.cost)
        }
    };
    share_out(cost, queries, &mut answers);
    Ok(answers)
}

/// Counts for each query the near documents among the numbers for which `counts` is true.
pub(crate) fn count(
    tables: &dyn Filed,
    queries: &[Sketch],
    rule: &Rule,
    counts: &dyn Fn(u64) -> bool,
    documents: &dyn Documents,
) -> Result<Vec<u64>> {
    let mut candidates = Candidates::default();
    candidates.propose(tables, queries, rule, counts)?;
    let rule = &Rule { candidates_max: None, counted_max: None, ..*rule };
    candidates.bound(queries.len(), rule);
    let found = candidates.confirm(queries, rule, Asked::All { limit: 0 }, documents)?;
    Ok(found.into_iter().map(|found| found.n_matches).collect())
}

/// Finds the nearest document by nearness, then id, among the numbers for which `counts` is true,
/// in several tables.
pub fn nearest(
    tables: &[&dyn Filed],
    query: &Sketch,
    rule: &Rule,
    counts: &dyn Fn(u64) -> bool,
    documents: &dyn Documents,
    bounded: &Bounded,
) -> Result<Option<Match>> {
    let queries = std::slice::from_ref(query);
    if let Some(facets) = by_simhash(queries, rule) {
        let mut nearest = Nearest::new(1);
        let mut outcome = Ok(());
        for tables in tables {
            tables.near(&facets, rule.max_distance, &mut |hit| {
                if outcome.is_ok() {
                    outcome = take(&mut nearest, &hit, counts, documents);
                }
            })?;
        }
        outcome?;
        return Ok(nearest.into_matches().pop());
    }
    let mut candidates = Candidates::default();
    for tables in tables {
        candidates.propose(*tables, queries, rule, counts)?;
    }
    candidates.bound(queries.len(), rule);
    let found = candidates.confirm(queries, rule, Asked::Nearest, documents)?;
    bounded.add(candidates.n_bounded());
    Ok(found.into_iter().flat_map(|found| found.matches).next())
}

/// Finds the nearest document by nearness, then id, among those that a store without tables
/// proposes. The answer is that of [`nearest`] over tables that propose the same documents.
pub fn nearest_among(
    proposed: impl IntoIterator<Item = (u64, Promise)>,
    query: &Sketch,
    rule: &Rule,
    documents: &dyn Documents,
    bounded: &Bounded,
) -> Result<Option<Match>> {
    let queries = std::slice::from_ref(query);
    let mut candidates = Candidates::of_query(proposed);
    // Simhashes that decide alone need no bound.
    let candidates_max = rule.candidates_max.filter(|_| by_simhash(queries, rule).is_none());
    candidates.bound(queries.len(), &Rule { candidates_max, ..*rule });
    let found = candidates.confirm(queries, rule, Asked::Nearest, documents)?;
    bounded.add(candidates.n_bounded());
    Ok(found.into_iter().flat_map(|found| found.matches).next())
}

/// The simhashes of queries, where they decide alone: then a document's nearness is known without
/// reading the document.
fn by_simhash<'a>(queries: &'a [Sketch], rule: &Rule) -> Option<Vec<&'a Facet>> {
    let decides = |query: &'a Sketch| match query.facets() {
        [(Family::Simhash, facet)] => Some(facet),
        _ => None,
    };
    if rule.min_similarity.is_some() { None } else { queries.iter().map(decides).collect() }
}

fn by_distance(
    tables: &dyn Filed,
    queries: &[&Facet],
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
            outcome = take(&mut nearest, &hit, &|number| live.contains(number), documents);
        }
    })?;
    outcome?;
    if let Some(last) = answers.get_mut(current) {
        last.matches = nearest.into_matches();
    }
    Ok((answers, cost))
}

/// Offers a hit of tables where simhashes decide alone.
fn take(
    nearest: &mut Nearest,
    hit: &Hit<'_>,
    counts: &dyn Fn(u64) -> bool,
    documents: &dyn Documents,
) -> Result<()> {
    let nearness = Nearness::by_distance(hit.distance);
    let one = |number| {
        // Looking an id up is the cost; a hit farther than all held ones needs no id.
        if nearest.admits(nearness) && counts(number) {
            nearest.offer(Match::new(documents.id(number)?, hit.fingerprint, nearness));
        }
        Ok(())
    };
    hit.numbers.iter().copied().try_for_each(one)
}

/// Shares out the cost of a call. The buckets of a query are its keys; the candidates of a call are
/// known in sum only.
fn share_out(cost: Cost, queries: &[Sketch], answers: &mut [Neighbours]) {
    let n_queries = queries.len() as u64;
    for ((n, query), answer) in (0..).zip(queries).zip(answers) {
        let n_candidates = cost.n_candidates / n_queries + u64::from(n < cost.n_candidates % n_queries);
        answer.cost = Cost { n_buckets: query.n_keys() as u64, n_candidates };
    }
}

#[cfg(test)]
mod tests {
    use simhash::Fingerprint;

    use super::*;
    use crate::SketchKind;
    use crate::testsuite::apart;

    /// Documents named by their numbers.
    struct Numbered;

    impl Documents for Numbered {
        fn id(&self, number: u64) -> Result<DocumentId> {
            Ok(DocumentId::new(number.to_string()).expect("digits"))
        }

        fn features(&self, number: u64) -> Result<Cow<'_, Features>> {
            Ok(Cow::Owned(Fingerprint(number << 5).into()))
        }

        fn text(&self, _: u64) -> Result<Option<Text>> {
            Ok(None)
        }
    }

    /// The sum over a call's answers is the tables' cost, and each query's buckets are its own.
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
            let expected = tables.near(&facets, apart(3), &mut |_| {}).unwrap();
            let answers =
                neighbours(&tables, queries, &rule, 2, &Live::default(), &Numbered, &Bounded::default())
                    .unwrap();
            let sum = |of: fn(&Cost) -> u64| answers.iter().map(|answer| of(&answer.cost)).sum::<u64>();
            assert!(queries.is_empty() || expected.n_candidates > 0);
            assert_eq!(sum(|cost| cost.n_buckets), expected.n_buckets);
            assert_eq!(sum(|cost| cost.n_candidates), expected.n_candidates);
        }
    }
}
