//! Searches: reads a bucket for each key of a query, looks the near cells of the bucket up among
//! the documents, and matches only documents whose records confirm the cell. The same look-up gives
//! the similarity of verified documents, and the records of the answer.
//!
//! Cells are written before a document's record and deleted after it: a cell may belong to a
//! document that is gone, not there yet, or filed elsewhere by now. The document's row is the
//! truth. A document that moves during the search is judged by its row alone; it is among the
//! candidates, because its old cells stay for a while (`write`).
//!
//! Where the index keeps texts, a candidate whose signature makes it worth a count is counted: its
//! row is read once more, with its texts. If the row has changed since the first read, the document
//! has moved.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use index::backend::nearest::Nearest;
use index::{
    DocumentId, Error, ErrorKind, Glance, Match, NearDocuments, Nearness, Neighbours, Result, Rule, Sketch,
};
use simhash::BucketKey;
use tables::Cost;

use super::access::Access;
use super::buckets::{Buckets, Candidate, Reach};
use super::documents;
use super::layout::Record;

/// The number of queries answered together: their candidates are in memory at one time.
const GROUP: usize = 64;

/// The number of candidates looked up together: at most as many records are in memory at one time.
const LOOKED_UP: usize = 10_000;

/// The most attempts of a search; another attempt is needed when documents moved during the last
/// one.
const ATTEMPTS_MAX: usize = 10;

/// Implements [`Store::near`](index::Store::near).
pub(super) fn near(
    access: &Access<'_>,
    queries: &[Sketch],
    rule: &Rule,
    limit: usize,
) -> Result<Vec<Neighbours>> {
    search(access, queries, rule, limit, Search::into_neighbours)
}

/// Implements [`Store::near_documents`](index::Store::near_documents): a search reads the documents
/// in any case.
pub(super) fn near_documents(
    access: &Access<'_>,
    queries: &[Sketch],
    rule: &Rule,
    limit: usize,
) -> Result<Vec<NearDocuments>> {
    search(access, queries, rule, limit, Search::into_near_documents)
}

fn search<'a, T>(
    access: &Access<'_>,
    queries: &'a [Sketch],
    rule: &'a Rule,
    limit: usize,
    to_answer: impl Fn(Search<'a>) -> T,
) -> Result<Vec<T>> {
    let mut answers = Vec::with_capacity(queries.len());
    for queries in queries.chunks(GROUP) {
        let mut searches: Vec<_> = queries.iter().map(|query| Search::new(query, rule, limit)).collect();
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
    rule: &'a Rule,
    limit: usize,
    nearest: Nearest<Record>,
    n_matches: u64,
    cost: Cost,
    /// Documents with a difference between cell and record. At the end of the search, their records
    /// alone decide.
    moving: BTreeSet<DocumentId>,
    /// Hashes of the counted ids, once a bucket has more than one page: a document that moves
    /// between the reads of two pages would count under both sketches.
    counted: Option<HashSet<u64>>,
    /// Documents to be counted over their texts, each once, with their records.
    worth: Vec<(DocumentId, Record)>,
    is_settled: bool,
}

impl<'a> Search<'a> {
    fn new(query: &'a Sketch, rule: &'a Rule, limit: usize) -> Self {
        Self {
            query,
            rule,
            limit,
            nearest: Nearest::new(limit),
            n_matches: 0,
            cost: Cost::default(),
            moving: BTreeSet::new(),
            counted: None,
            worth: Vec::new(),
            is_settled: false,
        }
    }

    fn begin(&mut self) {
        self.nearest = Nearest::new(self.limit);
        self.n_matches = 0;
        self.counted = None;
        self.worth.clear();
        self.is_settled = true;
    }

    /// Returns the bucket in which a document counts if it shares several with the query.
    fn first_shared(&self, sketch: &Sketch) -> Option<BucketKey> {
        self.rule.first_shared(self.query, sketch)
    }

    fn glance(&self, sketch: &Sketch) -> Glance {
        self.rule.glance(self.query.features(), sketch.features())
    }

    /// Counts a candidate if its record agrees with the cell and the document does not count in
    /// another bucket.
    fn judge(&mut self, hasher: &RandomState, candidate: &Candidate, record: &Record) {
        let sketch = &record.sketch;
        let shared = self.first_shared(sketch);
        // The cells of a sketch have the timestamp of its record. A cell with another timestamp
        // belongs to an earlier or later sketch, even if its row ends with the same bits.
        let &Candidate { family, row, timestamp, .. } = candidate;
        let facet = sketch.facet(family);
        let is_of_record = record.timestamp == timestamp
            && facet.is_some_and(|facet| facet.fingerprint() == row.fingerprint);
        if is_of_record && shared != Some(row.bucket()) || self.moving.contains(&candidate.id) {
            return;
        }
        let is_first = |counted: &mut HashSet<u64>| counted.insert(hasher.hash_one(&candidate.id));
        if is_of_record && self.counted.as_mut().is_none_or(is_first) {
            self.count(candidate.id.clone(), record);
        } else if shared.is_some() && self.glance(sketch) != Glance::Far {
            self.moves(candidate.id.clone());
        }
    }

    /// Notes a moving document, which may have been counted already or missed: only another round
    /// can tell.
    fn moves(&mut self, id: DocumentId) {
        self.moving.insert(id);
        self.is_settled = false;
    }

    /// Counts a document if it is near: at once, or when its text has been read.
    fn count(&mut self, id: DocumentId, record: &Record) {
        match self.glance(&record.sketch) {
            Glance::Far => {}
            Glance::Near(nearness) => self.offer(id, record, nearness),
            Glance::Worth { .. } if record.text.is_some() => self.worth.push((id, record.clone())),
            Glance::Worth { .. } => self.count_told(id, record),
        }
    }

    /// Counts a document if it is near by the rule, over its text if the text was read.
    fn count_told(&mut self, id: DocumentId, record: &Record) {
        if let Some(nearness) = self.rule.confirms(self.query.features(), record.sketch.features()) {
            self.offer(id, record, nearness);
        }
    }

    fn offer(&mut self, id: DocumentId, record: &Record, nearness: Nearness) {
        self.n_matches += 1;
        let found = Match::new(id, record.sketch.fingerprint(), nearness);
        // Without the text, which may be long.
        let untold = || Record { sketch: record.sketch.clone().with_text(None), ..record.clone() };
        self.nearest.offer_with(found, untold);
    }

    fn into_neighbours(self) -> Neighbours {
        let Self { nearest, n_matches, cost, .. } = self;
        Neighbours { matches: nearest.into_matches(), n_matches, cost }
    }

    fn into_near_documents(self) -> NearDocuments {
        let Self { nearest, n_matches, cost, .. } = self;
        let to_document = |(found, record): (Match, Record)| {
            (found.nearness, documents::to_stored_document(found.id, record))
        };
        NearDocuments { documents: nearest.into_known().map(to_document).collect(), n_matches, cost }
    }
}

/// Runs all unsettled searches from their beginning.
fn run(access: &Access<'_>, searches: &mut [Search<'_>]) -> Result<()> {
    let mut buckets = Buckets::default();
    let mut begun = BTreeSet::new();
    for (number, search) in searches.iter_mut().enumerate().filter(|(_, search)| !search.is_settled) {
        search.begin();
        search.cost.n_buckets += search.query.n_keys() as u64;
        buckets.add(number, search.query, search.rule, Reach::All, None);
        begun.insert(number);
    }
    let hasher = RandomState::new();
    let mut is_checked = true;
    while let Some(mut pages) = buckets.next(access.rows)? {
        // Reading records confirms that the tables belong to the index, and did for the pages
        // before.
        is_checked = !pages.candidates.is_empty();
        for number in pages.rows {
            searches[number].cost.n_candidates += 1;
        }
        for number in pages.unfinished {
            searches[number].counted.get_or_insert_default();
        }
        pages.candidates.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        for candidates in in_groups(&pages.candidates) {
            let records = documents::read_live(access, candidates.iter().map(|candidate| &candidate.id))?;
            for candidate in candidates {
                if let Some(record) = records.get(&candidate.id) {
                    searches[candidate.query].judge(&hasher, candidate, record);
                }
            }
            count_worth(access, searches)?;
        }
    }
    if !is_checked {
        access.rows.check()?;
    }
    judge_moving(access, searches, &begun)
}

/// Cuts candidates, sorted by id, into groups, and never between two of one id: all cells of a
/// document in a page are judged by one read of its record.
fn in_groups(candidates: &[Candidate]) -> impl Iterator<Item = &[Candidate]> {
    let mut rest = candidates;
    std::iter::from_fn(move || {
        let last = rest.get(..LOOKED_UP).unwrap_or(rest).last()?;
        let len = rest.partition_point(|candidate| candidate.id <= last.id);
        let (group, left) = rest.split_at(len);
        rest = left;
        Some(group)
    })
}

/// Reads the texts of documents worth a count, each together with the record that names it.
fn count_worth(access: &Access<'_>, searches: &mut [Search<'_>]) -> Result<()> {
    let mut worth: Vec<(DocumentId, usize, Record)> = Vec::new();
    for (number, search) in searches.iter_mut().enumerate() {
        worth.extend(search.worth.drain(..).map(|(id, record)| (id, number, record)));
    }
    worth.sort_unstable_by(|(a, a_number, _), (b, b_number, _)| (a, a_number).cmp(&(b, b_number)));
    for group in worth.chunks_mut(documents::TOLD_AT_ONCE) {
        let told = documents::read_live_told(access, group.iter().map(|(id, ..)| id))?;
        // Documents of one query together: the query's text is prepared once.
        group.sort_by_key(|(_, number, _)| *number);
        for (id, number, record) in group {
            let search = &mut searches[*number];
            match told.get(id) {
                Some(now) if now == record => search.count_told(id.clone(), now),
                Some(_) => search.moves(id.clone()),
                // The document was removed since.
                None => {}
            }
        }
    }
    Ok(())
}

fn judge_moving(access: &Access<'_>, searches: &mut [Search<'_>], begun: &BTreeSet<usize>) -> Result<()> {
    let settled = |search: &Search<'_>| search.is_settled && !search.moving.is_empty();
    let numbers: Vec<_> = begun.iter().copied().filter(|&number| settled(&searches[number])).collect();
    let ids = numbers.iter().flat_map(|&number| &searches[number].moving);
    let counts = searches.iter().any(|search| access.counts_by(search.rule));
    let records: HashMap<_, _> =
        if counts { documents::read_live_told(access, ids)? } else { documents::read_live(access, ids)? };
    for number in numbers {
        let search = &mut searches[number];
        for id in search.moving.clone() {
            if let Some(record) = records.get(&id)
                && search.first_shared(&record.sketch).is_some()
            {
                search.count_told(id, record);
            }
        }
    }
    Ok(())
}
