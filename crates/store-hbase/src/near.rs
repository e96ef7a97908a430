//! Searching: a bucket is read for each key of a query, what lies near in it is looked up among the documents, and only
//! what the documents confirm is a match.
//!
//! Cells are written before a document's record and deleted after it, so a cell may be of a document that is not there
//! any more, not there yet, or filed elsewhere by now. The document's row is the truth. A document that has moved while we
//! read is judged by its row alone; it is among the candidates, because its old cells stay for a while (`write`).

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use index::backend::search::Nearest;
use index::{DocumentId, Error, ErrorKind, Match, NearDocuments, Neighbours, Result};
use simhash::{BucketKey, Distance, Fingerprint, Sketch};
use tables::Cost;

use super::buckets::{Buckets, Candidate};
use super::layout::Record;
use super::{Access, documents};

/// How many queries are answered together: their candidates are in memory at one time.
const GROUP: usize = 64;

/// How often a search starts again because documents moved while it read.
const ATTEMPTS_MAX: usize = 10;

/// The contract of [`Store::near`](index::Store::near).
pub(super) fn near(
    access: &Access<'_>,
    queries: &[Sketch],
    max_distance: Distance,
    limit: usize,
) -> Result<Vec<Neighbours>> {
    search(access, queries, max_distance, limit, Search::into_neighbours)
}

/// The contract of [`Store::near_documents`](index::Store::near_documents): a search reads the documents in any case.
pub(super) fn near_documents(
    access: &Access<'_>,
    queries: &[Sketch],
    max_distance: Distance,
    limit: usize,
) -> Result<Vec<NearDocuments>> {
    search(access, queries, max_distance, limit, Search::into_near_documents)
}

fn search<'a, T>(
    access: &Access<'_>,
    queries: &'a [Sketch],
    max_distance: Distance,
    limit: usize,
    to_answer: impl Fn(Search<'a>) -> T,
) -> Result<Vec<T>> {
    let mut answers = Vec::with_capacity(queries.len());
    for queries in queries.chunks(GROUP) {
        let mut searches: Vec<_> =
            queries.iter().map(|query| Search::new(query, max_distance, limit)).collect();
        let mut attempt = 0;
        while searches.iter().any(|search| !search.is_settled) {
            if attempt == ATTEMPTS_MAX {
                return Err(Error::new(
                    ErrorKind::Busy,
                    "documents were replaced faster than they could be read; try again",
                ));
            }
            run(access, &mut searches)?;
            attempt += 1;
        }
        answers.extend(searches.into_iter().map(&to_answer));
    }
    Ok(answers)
}

/// One query.
struct Search<'a> {
    query: &'a Sketch,
    max_distance: Distance,
    limit: usize,
    nearest: Nearest<Record>,
    n_matches: u64,
    cost: Cost,
    /// Documents whose cells and records were seen to differ. They are judged by their records in the end, and by
    /// nothing else.
    moving: BTreeSet<DocumentId>,
    /// Hashes of the ids that were counted, where there is more than a page in a bucket: a document that moves from one
    /// page's time to the next one's would count under both sketches.
    counted: Option<HashSet<u64>>,
    is_settled: bool,
}

impl<'a> Search<'a> {
    fn new(query: &'a Sketch, max_distance: Distance, limit: usize) -> Self {
        Self {
            query,
            max_distance,
            limit,
            nearest: Nearest::new(limit),
            n_matches: 0,
            cost: Cost::default(),
            moving: BTreeSet::new(),
            counted: None,
            is_settled: false,
        }
    }

    fn begin(&mut self) {
        self.nearest = Nearest::new(self.limit);
        self.n_matches = 0;
        self.counted = None;
        self.is_settled = true;
    }

    /// The bucket in which a document counts that shares several with the query.
    fn first_shared(&self, sketch: &Sketch) -> Option<BucketKey> {
        self.query.keys().iter().copied().find(|key| sketch.keys().binary_search(key).is_ok())
    }

    fn distance(&self, fingerprint: Fingerprint) -> Option<Distance> {
        Some(self.query.fingerprint().distance(fingerprint)).filter(|&distance| distance <= self.max_distance)
    }

    /// Counts a candidate if its record says the same and it is not counted in another bucket.
    fn judge(&mut self, hasher: &RandomState, candidate: Candidate, record: &Record) {
        let sketch = &record.sketch;
        let shared = self.first_shared(sketch);
        // The cells of a sketch bear the timestamp of its record; another one is of a sketch before or after it, also
        // where it has this fingerprint.
        let is_of_record =
            sketch.fingerprint() == candidate.fingerprint && record.timestamp == candidate.timestamp;
        if is_of_record && shared != Some(candidate.bucket) || self.moving.contains(&candidate.id) {
            return;
        }
        let is_first = |counted: &mut HashSet<u64>| counted.insert(hasher.hash_one(&candidate.id));
        if is_of_record && self.counted.as_mut().is_none_or(is_first) {
            self.count(candidate.id, record);
        } else if shared.is_some() && self.distance(sketch.fingerprint()).is_some() {
            // It may have been counted already, or missed: only another round can tell.
            self.moving.insert(candidate.id);
            self.is_settled = false;
        }
    }

    fn count(&mut self, id: DocumentId, record: &Record) {
        let fingerprint = record.sketch.fingerprint();
        if let Some(distance) = self.distance(fingerprint) {
            self.n_matches += 1;
            self.nearest.offer_with(Match { id, fingerprint, distance }, || record.clone());
        }
    }

    fn into_neighbours(self) -> Neighbours {
        let Self { nearest, n_matches, cost, .. } = self;
        Neighbours { matches: nearest.into_matches(), n_matches, cost }
    }

    fn into_near_documents(self) -> NearDocuments {
        let Self { nearest, n_matches, cost, .. } = self;
        let to_document = |(found, record): (Match, Record)| {
            (found.distance, documents::to_stored_document(found.id, record))
        };
        NearDocuments { documents: nearest.into_known().map(to_document).collect(), n_matches, cost }
    }
}

/// Runs all searches that are not settled from their beginning.
fn run(access: &Access<'_>, searches: &mut [Search<'_>]) -> Result<()> {
    let mut buckets = Buckets::default();
    let mut begun = BTreeSet::new();
    for (number, search) in searches.iter_mut().enumerate().filter(|(_, search)| !search.is_settled) {
        search.begin();
        search.cost.n_buckets += search.query.keys().len() as u64;
        buckets.add(number, search.query);
        begun.insert(number);
    }
    let hasher = RandomState::new();
    loop {
        let is_near = |number: usize, fingerprint| searches[number].distance(fingerprint).is_some();
        let Some(pages) = buckets.next(access.rows, &is_near)? else { break };
        for number in pages.rows {
            searches[number].cost.n_candidates += 1;
        }
        for number in pages.unfinished {
            searches[number].counted.get_or_insert_default();
        }
        let records = documents::read_live(access, pages.candidates.iter().map(|candidate| &candidate.id))?;
        for candidate in pages.candidates {
            if let Some(record) = records.get(&candidate.id) {
                searches[candidate.query].judge(&hasher, candidate, record);
            }
        }
    }
    judge_moving(access, searches, &begun)
}

fn judge_moving(access: &Access<'_>, searches: &mut [Search<'_>], begun: &BTreeSet<usize>) -> Result<()> {
    let settled = |search: &Search<'_>| search.is_settled && !search.moving.is_empty();
    let numbers: Vec<_> = begun.iter().copied().filter(|&number| settled(&searches[number])).collect();
    let ids = numbers.iter().flat_map(|&number| &searches[number].moving);
    let records: HashMap<_, _> = documents::read_live(access, ids)?;
    for number in numbers {
        let search = &mut searches[number];
        for id in search.moving.clone() {
            if let Some(record) = records.get(&id)
                && search.first_shared(&record.sketch).is_some()
            {
                search.count(id, record);
            }
        }
    }
    Ok(())
}
