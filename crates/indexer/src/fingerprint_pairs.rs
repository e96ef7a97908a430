//! The near pairs of an index in which fingerprints alone decide, without its cells.
//!
//! All documents are read once and sorted by fingerprint into a file. Threads join the different
//! fingerprints in memory, one table at a time, and one share of them at a time where memory holds
//! no more. The pairs are sorted by the bucket in which they count: the parts are those of a walk
//! over the cells, pair by pair but for buckets with very many cells.

mod documents;

use std::io;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::Context;
use engine::join::NearPair;
use index::{DocumentId, Index, Nearness, Rule, Segments, SketchKind};
use runs::StringSorter;
use simhash::{Distance, Fingerprint, RowKey, Table, TableScheme};
use tables::SelfJoin;

use self::documents::{Different, Documents, Recent};
use crate::memory;
use crate::progress::StepProgress;
use crate::string_file::{self, StringFile};

/// The most memory in which pairs are sorted.
const SORTED_BYTES_MAX: usize = 256 << 20;

/// Pairs that a thread finds before it hands them over.
const HANDED_OVER: usize = 1_000;

/// The comparisons that take as long as bringing a fingerprint together with others in a table: 11
/// ns, and .5 for each of a pair.
const COMPARISONS_A_TABLE: f64 = 20.0;

/// Bytes of a fingerprint in a join: its own, those of the partition, and those of two more cuts
/// where very many agree.
const BYTES_A_FINGERPRINT: u64 = 8 + 16 + 16;

/// The most fingerprints that are joined at a time.
const FINGERPRINTS_MAX: u64 = SelfJoin::LEN_MAX as u64;

/// A pair of fingerprints in the bucket in which it counts. Encoded, pairs are in the order in
/// which a walk over the cells meets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Meeting {
    /// The row of the greater fingerprint.
    row: RowKey,
    /// The lesser fingerprint; the greater one itself where a pair is of copies.
    lesser: u64,
}

/// A search for all pairs of an index in which fingerprints [decide alone](decide_alone).
pub(crate) struct FingerprintJoin<'a> {
    pub(crate) index: &'a Index,
    pub(crate) max_distance: Distance,
    pub(crate) parts: &'a [Segments],
    /// The parts whose pairs are wanted.
    pub(crate) wanted: &'a [bool],
    /// The folder of nameless files.
    pub(crate) folder: &'a Path,
    /// The memory of the fingerprints that are joined at a time, in bytes.
    pub(crate) n_bytes_max: u64,
    pub(crate) n_threads: usize,
}

/// The pairs of an index, by part.
pub(crate) struct FingerprintPairs {
    documents: Documents,
    meetings: StringFile,
    /// The place of each part, and the end of the last one.
    places: Vec<u64>,
    n_different: u64,
}

/// Returns true if near documents are those whose fingerprints are near.
pub(crate) fn decide_alone(index: &Index, rule: &Rule) -> bool {
    index.kind().files_by_simhash() && !index.kind().files_by_sets() && rule.min_similarity.is_none()
}

impl FingerprintJoin<'_> {
    /// Finds the pairs. Passes the number of documents read so far to `progress`.
    ///
    /// `None` if the cells must be gone through: a document is filed under other keys than those of
    /// its fingerprint, the index was written to meanwhile, or so many fingerprints agree in a
    /// table that memory does not hold them.
    pub(crate) fn run(
        &self,
        progress: &mut dyn FnMut(u64),
        quiet: bool,
    ) -> anyhow::Result<Option<FingerprintPairs>> {
        let failed = || format!("failed to sort in {}", self.folder.display());
        let Some((documents, different)) = Documents::sorted(self.index, self.folder, progress)? else {
            return Ok(None);
        };
        let Some(own) = self.index.kind().scheme() else { return Ok(None) };
        let scheme = scheme_for(own, self.max_distance, different.len());
        let mut tables = own.tables().to_vec();
        tables.sort_by_key(Table::flag);
        let joining = Joining {
            asked: self,
            join: SelfJoin::new(scheme.tables().iter().map(Table::mask).collect(), self.max_distance),
            tables,
            sorter: Mutex::new(StringSorter::new(self.folder, SORTED_BYTES_MAX.min(memory::share()))),
            is_over: AtomicBool::new(false),
        };
        let Some(shares) = joining.shares(&different).with_context(failed)? else { return Ok(None) };
        joining.run(&different, &shares, StepProgress::new("joining", quiet)).with_context(failed)?;
        let sorter = joining.sorter.into_inner().unwrap_or_else(PoisonError::into_inner);
        let sorted = sorter.finish().with_context(failed)?;
        let (meetings, places) =
            StringFile::write_in_parts(self.folder, sorted, self.parts).with_context(failed)?;
        Ok(Some(FingerprintPairs { documents, meetings, places, n_different: different.len() }))
    }
}

impl FingerprintPairs {
    /// The number of different fingerprints in the index.
    pub(crate) fn n_different(&self) -> u64 {
        self.n_different
    }

    /// Calls `visit` for each pair of a part, by bucket, and by the cells of the two.
    pub(crate) fn run(
        &self,
        part: u32,
        visit: &mut dyn FnMut(NearPair<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let part = part as usize;
        let (mut place, end) = (self.places[part], self.places[part + 1]);
        // The meetings of one row.
        let mut row: Option<RowKey> = None;
        let (mut lesser, mut recent) = (Vec::new(), Recent::new());
        while place < end {
            let page = self.meetings.read(&mut place, end).context("failed to read what was sorted")?;
            for string in page.strings() {
                let meeting = Meeting::decode(string).ok_or_else(string_file::changed)?;
                if row.is_some_and(|row| row != meeting.row) {
                    self.row(row, &lesser, &mut recent, visit)?;
                    lesser.clear();
                }
                row = Some(meeting.row);
                lesser.push(meeting.lesser);
            }
        }
        self.row(row, &lesser, &mut recent, visit)
    }

    /// Visits the pairs of the documents in a row.
    fn row(
        &self,
        row: Option<RowKey>,
        lesser: &[u64],
        recent: &mut Recent,
        visit: &mut dyn FnMut(NearPair<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let Some(RowKey { fingerprint, .. }) = row else { return Ok(()) };
        let mut read = |bits| self.documents.ids(bits, recent).context("failed to read what was sorted");
        let documents = read(fingerprint.0)?;
        let mut others: Vec<(Distance, Rc<[DocumentId]>)> = Vec::new();
        for &bits in lesser.iter().filter(|&&bits| bits != fingerprint.0) {
            others.push((fingerprint.distance(Fingerprint(bits)), read(bits)?));
        }
        let has_copies = lesser.last() == Some(&fingerprint.0);
        let mut pair = |one: &DocumentId, other: &DocumentId, distance| {
            let (a, b) = (one.min(other), one.max(other));
            visit(NearPair { a, b, nearness: Nearness::by_distance(distance) })
        };
        for (n, document) in documents.iter().enumerate() {
            for (distance, others) in &others {
                others.iter().try_for_each(|other| pair(document, other, *distance))?;
            }
            let copies = if has_copies { &documents[..n] } else { &[] };
            copies.iter().try_for_each(|copy| pair(document, copy, Distance::ZERO))?;
        }
        Ok(())
    }
}

/// The join of the different fingerprints, shared by the threads.
struct Joining<'a> {
    asked: &'a FingerprintJoin<'a>,
    join: SelfJoin,
    /// The tables of the index, by their flags ascending: a pair counts in the first that catches
    /// it.
    tables: Vec<Table>,
    sorter: Mutex<StringSorter>,
    /// True once a thread has failed.
    is_over: AtomicBool,
}

/// The shares in which the fingerprints are joined.
struct Shares {
    n_threads: usize,
    n_shares: usize,
    /// The number of fingerprints of each share, table by table; of all alike without shares.
    lens: Vec<u64>,
}

impl Joining<'_> {
    /// Cuts the fingerprints into shares that memory holds, one for each thread; fewer threads come
    /// before more shares, each of which reads all fingerprints. `None` if a share is too large.
    fn shares(&self, different: &Different) -> io::Result<Option<Shares>> {
        let n_bytes = (BYTES_A_FINGERPRINT * different.len()).max(1);
        let n_threads = self.asked.n_threads.min(self.join.n_tables());
        let n_at_once = (self.asked.n_bytes_max / n_bytes).min(n_threads as u64) as usize;
        if n_at_once > 0 && different.len() <= FINGERPRINTS_MAX {
            return Ok(Some(Shares { n_threads: n_at_once, n_shares: 1, lens: vec![different.len()] }));
        }
        let n_bytes_max = (self.asked.n_bytes_max / n_threads as u64).max(1);
        // Shares of equal size are rare.
        let n_shares = (n_bytes + n_bytes / 2).div_ceil(n_bytes_max).max(2) as usize;
        let mut lens = vec![0; self.join.n_tables() * n_shares];
        different.for_each(&mut |bits| {
            for (table, lens) in lens.chunks_mut(n_shares).enumerate() {
                lens[self.join.share(table, bits, n_shares)] += 1;
            }
        })?;
        let len_max = (n_bytes_max / BYTES_A_FINGERPRINT).min(FINGERPRINTS_MAX);
        let is_held = lens.iter().all(|&len| len <= len_max);
        Ok(is_held.then_some(Shares { n_threads, n_shares, lens }))
    }

    fn run(&self, different: &Different, shares: &Shares, mut progress: StepProgress) -> io::Result<()> {
        self.copies(different)?;
        let n_shares = shares.n_shares;
        let read = |task: usize, is_wanted: &dyn Fn(u64) -> bool| {
            let mut fingerprints = Vec::with_capacity(shares.lens[task] as usize);
            let add = &mut |bits| fingerprints.extend(Some(bits).filter(|&bits| is_wanted(bits)));
            different.for_each(add).map(|()| fingerprints)
        };
        // Without shares, all threads and tables join the same fingerprints.
        let all = if n_shares == 1 { Some(read(0, &|_| true)?) } else { None };
        let (n_tasks, next) = (self.join.n_tables() * n_shares, AtomicUsize::new(0));
        let (done, results) = crossbeam_channel::unbounded();
        thread::scope(|scope| {
            for _ in 0..shares.n_threads {
                let (done, next, read, all) = (done.clone(), &next, &read, all.as_deref());
                scope.spawn(move || {
                    let mut join = self.join.clone();
                    loop {
                        let task = next.fetch_add(1, Ordering::Relaxed);
                        if task >= n_tasks || self.is_over.load(Ordering::Relaxed) {
                            break;
                        }
                        let (table, share) = (task / n_shares, task % n_shares);
                        let is_of_share = |bits| self.join.share(table, bits, n_shares) == share;
                        let joined = match all {
                            Some(all) => self.table(&mut join, table, all),
                            None => read(task, &is_of_share)
                                .and_then(|of_share| self.table(&mut join, table, &of_share)),
                        };
                        let failed = joined.is_err();
                        if done.send(joined).is_err() || failed {
                            self.is_over.store(true, Ordering::Relaxed);
                        }
                    }
                });
            }
            drop(done);
            let mut first_failure = Ok(());
            for (n_done, joined) in results.iter().enumerate() {
                first_failure = first_failure.and(joined);
                progress.show((n_done + 1) as f64 / n_tasks as f64);
            }
            first_failure
        })
    }

    /// Joins fingerprints in a table: all of them, or all of a share.
    fn table(&self, join: &mut SelfJoin, n: usize, fingerprints: &[u64]) -> io::Result<()> {
        let mut found = Found { joining: self, meetings: Vec::with_capacity(HANDED_OVER), failed: Ok(()) };
        join.in_table(n, fingerprints, &mut |lesser, greater| found.add(lesser, greater));
        found.finish()
    }

    /// Adds the meetings of documents with equal fingerprints, in the first table.
    fn copies(&self, different: &Different) -> io::Result<()> {
        let mut found = Found { joining: self, meetings: Vec::new(), failed: Ok(()) };
        different.repeated().iter().for_each(|&bits| found.add(bits, bits));
        found.finish()
    }

    fn is_wanted(&self, segment: u32) -> bool {
        let after = self.asked.parts.partition_point(|part| part.start() <= segment);
        self.asked.wanted[after - 1]
    }
}

/// The meetings that a thread has found, handed over many at a time.
struct Found<'a> {
    joining: &'a Joining<'a>,
    meetings: Vec<Meeting>,
    failed: io::Result<()>,
}

impl Found<'_> {
    fn add(&mut self, lesser: u64, greater: u64) {
        let tables = &self.joining.tables;
        // The tables of the index catch every pair within its distance.
        let Some(table) = tables.iter().find(|table| (lesser ^ greater) & table.mask() == 0) else { return };
        let row = RowKey::new(table.key(Fingerprint(greater)), Fingerprint(greater));
        if self.failed.is_ok() && self.joining.is_wanted(row.segment) {
            self.meetings.push(Meeting { row, lesser });
            if self.meetings.len() >= HANDED_OVER {
                self.failed = self.hand_over();
            }
        }
    }

    fn hand_over(&mut self) -> io::Result<()> {
        let mut sorter = self.joining.sorter.lock().unwrap_or_else(PoisonError::into_inner);
        self.meetings.drain(..).try_for_each(|meeting| sorter.push(&meeting.encode()))
    }

    fn finish(mut self) -> io::Result<()> {
        std::mem::replace(&mut self.failed, Ok(()))?;
        self.hand_over()
    }
}

impl Meeting {
    const LEN: usize = simhash::ROW_KEY_LEN + 8;

    fn encode(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        let (row, lesser) = bytes.split_at_mut(simhash::ROW_KEY_LEN);
        row.copy_from_slice(&self.row.encode());
        lesser.copy_from_slice(&self.lesser.to_be_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (row, lesser) = bytes.split_at_checked(simhash::ROW_KEY_LEN)?;
        let lesser = u64::from_be_bytes(lesser.try_into().ok()?);
        Some(Self { row: RowKey::decode(row).ok()?, lesser })
    }
}

/// The tables in which so many fingerprints are joined the fastest: those of the index, or others
/// that catch every pair within the distance.
fn scheme_for(own: &TableScheme, max_distance: Distance, n_fingerprints: u64) -> TableScheme {
    let catching = |scheme: &TableScheme| scheme.max_distance() >= max_distance;
    let others = SketchKind::NAMES.iter().filter_map(|name| name.parse().ok()).filter(catching);
    let cost = |scheme: &TableScheme| {
        scheme.tables().len() as f64 * COMPARISONS_A_TABLE + scheme.expected_candidates(n_fingerprints as f64)
    };
    std::iter::once(own.clone())
        .chain(others)
        .min_by(|a, b| cost(a).total_cmp(&cost(b)))
        .unwrap_or(own.clone())
}

#[cfg(test)]
mod tests;
