//! The search in memory: from the hits of the tables, by numbers, to matches, by documents. Shared
//! by every store that searches in memory; the one place that chooses a layout.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use minhash::Similarity;
use simhash::{Distance, Facet};
use tables::{BucketTables, Cost, Hit, Tables};

use crate::backend::nearest::Nearest;
use crate::backend::runs::Live;
use crate::sketch::Family;
use crate::{DocumentId, Error, Features, Glance, Match, Nearness, Neighbours, Result, Rule, Sketch, Text};

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
    tables: &dyn Tables,
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
            candidates.propose(tables, queries, rule, &|number| live.contains(number));
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
    tables: &dyn Tables,
    queries: &[Sketch],
    rule: &Rule,
    counts: &dyn Fn(u64) -> bool,
    documents: &dyn Documents,
) -> Result<Vec<u64>> {
    let mut candidates = Candidates::default();
    candidates.propose(tables, queries, rule, counts);
    let rule = &Rule { candidates_max: None, counted_max: None, ..*rule };
    candidates.bound(queries.len(), rule);
    let found = candidates.confirm(queries, rule, Asked::All { limit: 0 }, documents)?;
    Ok(found.into_iter().map(|found| found.n_matches).collect())
}

/// Finds the nearest document by nearness, then id, among the numbers for which `counts` is true,
/// in several tables.
pub fn nearest(
    tables: &[&dyn Tables],
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
            });
        }
        outcome?;
        return Ok(nearest.into_matches().pop());
    }
    let mut candidates = Candidates::default();
    for tables in tables {
        candidates.propose(*tables, queries, rule, counts);
    }
    candidates.bound(queries.len(), rule);
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
    tables: &dyn Tables,
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
    });
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

/// A document proposed by a facet of a query.
#[derive(Clone, Copy)]
struct Candidate {
    /// The place of the query.
    query: usize,
    number: u64,
    /// True if a simhash proposes the document, and the number of bits in which the facets differ.
    promise: (bool, Distance),
}

/// The extent of the answer asked for.
#[derive(Clone, Copy)]
enum Asked {
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
struct Candidates {
    proposed: Vec<Candidate>,
    cost: Cost,
    /// The queries with candidates left out.
    bounded: BTreeSet<usize>,
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
            let (places, facets): (Vec<usize>, Vec<&Facet>) = queries
                .iter()
                .enumerate()
                .filter_map(|(place, query)| Some((place, query.facet(family)?)))
                .unzip();
            let cost = tables.near(&facets, rule.within(family), &mut |hit| {
                let numbers = hit.numbers.iter().copied().filter(|&number| counts(number));
                let (query, promise) = (places[hit.query], (family == Family::Simhash, hit.distance));
                self.proposed.extend(numbers.map(|number| Candidate { query, number, promise }));
            });
            self.cost.n_buckets += cost.n_buckets;
            self.cost.n_candidates += cost.n_candidates;
        }
    }

    /// The number of queries with candidates left out.
    fn n_bounded(&self) -> u64 {
        self.bounded.len() as u64
    }

    /// Sorts the candidates by queries, each document once, whichever facets proposed it. Of a
    /// query with more candidates than the rule's bound the most promising stay.
    fn bound(&mut self, n_queries: usize, rule: &Rule) {
        // With a single query the rest is not even sorted. Each family proposes a document at most
        // once.
        let n_sorted_max =
            rule.candidates_max.filter(|_| n_queries == 1).map(|n_max| n_max * Family::ALL.len());
        if let Some(n_max) = n_sorted_max.filter(|&n_max| self.proposed.len() > n_max) {
            self.proposed.select_nth_unstable_by_key(n_max, |found| (found.promise, found.number));
            self.proposed.truncate(n_max + 1);
        }
        self.proposed.sort_unstable_by_key(|found| (found.query, found.number, found.promise));
        self.proposed.dedup_by_key(|found| (found.query, found.number));
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
    fn confirm(
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
            for &Candidate { number, .. } in of_query {
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
            let expected = tables.near(&facets, apart(3), &mut |_| {});
            let answers =
                neighbours(&*tables, queries, &rule, 2, &Live::default(), &Numbered, &Bounded::default())
                    .unwrap();
            let sum = |of: fn(&Cost) -> u64| answers.iter().map(|answer| of(&answer.cost)).sum::<u64>();
            assert!(queries.is_empty() || expected.n_candidates > 0);
            assert_eq!(sum(|cost| cost.n_buckets), expected.n_buckets);
            assert_eq!(sum(|cost| cost.n_candidates), expected.n_candidates);
        }
    }
}
