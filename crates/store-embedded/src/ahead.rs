//! Searches for the documents of a batch on all cores, before the batch decides one document after
//! another. They look through the committed documents alone, which the batch does not change.

use std::collections::HashMap;
use std::thread;

use index::backend::search::Filed;
use index::{Document, Result, Rule, SketchKind};
use simhash::{Distance, Facet, Fingerprint};
use tables::{Cost, Hit};

use super::environment::Opened;
use super::errors::Failure;
use super::image::Terms;
use super::limits::Limits;
use super::ram::Ram;
use super::record;

/// The documents of the last commit, while no other writer can commit.
#[derive(Clone, Copy)]
pub(super) struct Committed<'a> {
    /// As of that commit.
    pub(super) ram: &'a Ram,
    pub(super) opened: &'a Opened,
    pub(super) kind: &'a SketchKind,
    pub(super) terms: &'a Terms,
}

/// The answers of the committed documents by query, as far as they were searched for.
#[derive(Default)]
pub(super) struct Ahead(HashMap<Facet, Answer>);

struct Answer {
    /// The distance that was asked for.
    within: Distance,
    hits: Vec<(Fingerprint, u64)>,
    cost: Cost,
}

impl Ahead {
    /// Searches for the documents whose ids are not there. A search that fails has no answer here,
    /// so the batch searches again and meets the error.
    pub(super) fn search(
        documents: &[Document],
        rule: &Rule,
        committed: Committed<'_>,
        limits: Limits,
    ) -> Self {
        let n_cores = thread::available_parallelism().map_or(1, usize::from);
        let n_threads = n_cores.min(documents.len() / limits.ahead_min);
        if n_threads == 0 {
            return Self::default();
        }
        let n_hits_max = limits.ahead_hits_max / n_threads;
        let of_part = |part| {
            let mut answers = HashMap::new();
            // What this part has answered so far stays right after an error.
            let _ = add_answers(part, rule, committed, n_hits_max, &mut answers);
            answers
        };
        thread::scope(|scope| {
            let parts = documents.chunks(documents.len().div_ceil(n_threads));
            // Where a limit lets no thread begin, the batch searches for its part.
            let begin = |part| thread::Builder::new().spawn_scoped(scope, move || of_part(part)).ok();
            let searches: Vec<_> = parts.filter_map(begin).collect();
            let mut ahead = Self::default();
            for search in searches {
                ahead.0.extend(search.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            ahead
        })
    }

    /// The committed documents, which answer as searched where a query was searched for ahead.
    pub(super) fn before<'a>(&'a self, committed: &'a dyn Filed) -> impl Filed + use<'a> {
        Searched { ahead: self, committed }
    }
}

/// Searches until this thread holds the most hits that it may.
fn add_answers(
    documents: &[Document],
    rule: &Rule,
    Committed { ram, opened, kind, terms }: Committed<'_>,
    n_hits_max: usize,
    answers: &mut HashMap<Facet, Answer>,
) -> Result<(), Failure> {
    let txn = opened.read_txn()?;
    let committed = ram.imaged(opened, &txn, kind, terms);
    let mut n_hits_left = n_hits_max;
    for document in documents {
        // Most documents of a call that is repeated are there, and need no search.
        if opened.ids.get(&txn, &record::id_key(&document.id))?.is_some() {
            continue;
        }
        for (family, facet) in document.sketch.facets() {
            let within = rule.within(*family);
            let mut hits = Vec::new();
            let cost = committed.near(&[facet], within, &mut |hit| {
                if hits.len() <= n_hits_left {
                    hits.extend(hit.numbers.iter().map(|&number| (hit.fingerprint, number)));
                }
            })?;
            let Some(left) = n_hits_left.checked_sub(hits.len()) else { return Ok(()) };
            n_hits_left = left;
            answers.insert(facet.clone(), Answer { within, hits, cost });
        }
    }
    Ok(())
}

struct Searched<'a> {
    ahead: &'a Ahead,
    committed: &'a dyn Filed,
}

impl Filed for Searched<'_> {
    fn near(
        &self,
        queries: &[&Facet],
        max_distance: Distance,
        visit: &mut dyn FnMut(Hit<'_>),
    ) -> Result<Cost> {
        let mut cost = Cost::default();
        for (place, &query) in queries.iter().enumerate() {
            let answer = self.ahead.0.get(query).filter(|answer| answer.within == max_distance);
            let of_query = match answer {
                Some(answer) => {
                    for &(fingerprint, number) in &answer.hits {
                        let distance = fingerprint.distance(query.fingerprint());
                        visit(Hit { query: place, fingerprint, distance, numbers: &[number] });
                    }
                    answer.cost
                }
                None => self.committed.near(&[query], max_distance, &mut |hit| {
                    visit(Hit { query: place, ..hit });
                })?,
            };
            cost += of_query;
        }
        Ok(cost)
    }
}
