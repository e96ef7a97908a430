//! All pairs of near documents of an index, once each, from its cells in order. The cells of a
//! bucket are neighbours: one pass meets every pair of a search.
//!
//! Cells of a bucket propose each other if their bits are near. The documents of a proposed pair
//! are read, and decide: a cell not confirmed by its document leads nowhere, and a pair that meets
//! in several buckets counts in the [first](Rule::first_shared) alone. Therefore no pair has to be
//! remembered, and parts of an index can be joined separately if no bucket is cut.
//!
//! If the index keeps texts, the texts of pairs worth a count are read, many in one call, and the
//! pairs are counted.
//!
//! Memory is bounded: each thread holds [`BLOCK_CELLS`] cells twice, with their documents, and
//! about 16 MB of texts; all threads share at most 256 MB of recently read documents and 64 MB of
//! texts, as near ones meet again in other buckets. A bucket with more cells is written to a file
//! first, and each block of the file is compared with all later ones. Time is spent on reading the
//! cells, and on m² comparisons of 64 bits for a bucket of m.

mod crowd;
mod shelf;
#[cfg(test)]
mod tests;
mod texts;

use std::fs::File;
use std::io;

use index::{Cell, DocumentId, Glance, Index, MAX_BATCH, Nearness, Result as IndexResult, Rule, Sketch};
use simhash::{BucketKey, RowKey};

use self::crowd::Crowd;
use self::shelf::{Kept, Shelf};
use self::texts::{KeptTexts, Waiting};

/// The number of cells of one bucket that are compared with each other at a time.
pub const BLOCK_CELLS: usize = MAX_BATCH;

/// Makes empty files for data too large for memory. A join reads and writes them, and leaves them
/// useless.
pub type Scratch<'a> = &'a dyn Fn() -> io::Result<File>;

/// Fails if a join is to end, or may not take so many more bytes of memory. A join calls it before
/// each step of a long bucket, and before it reads documents.
pub type Check<'a, E> = &'a dyn Fn(u64) -> Result<(), E>;

/// Finds the near pairs of an index, in any number of threads.
pub struct CellJoin<'a> {
    index: &'a Index,
    rule: Rule,
    block: usize,
    kept: Kept,
    texts: KeptTexts,
}

/// Two near documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearPair<'a> {
    /// The lesser id.
    pub a: &'a DocumentId,
    /// The other one.
    pub b: &'a DocumentId,
    /// The nearness of the two.
    pub nearness: Nearness,
}

/// Counts of a join.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    /// Distinct row keys read.
    pub n_rows: u64,
    /// Pairs of cells whose documents were compared.
    pub n_candidates: u64,
    /// Near pairs.
    pub n_pairs: u64,
}

impl std::ops::AddAssign for Joined {
    fn add_assign(&mut self, more: Self) {
        self.n_rows += more.n_rows;
        self.n_candidates += more.n_candidates;
        self.n_pairs += more.n_pairs;
    }
}

impl<'a> CellJoin<'a> {
    /// Makes a join by the index's own rule, or a narrower one.
    ///
    /// # Errors
    /// See [`Index::check_rule`].
    pub fn new(index: &'a Index, rule: Rule) -> IndexResult<Self> {
        index.check_rule(&rule)?;
        let (kept, texts) = (Kept::new(usize::MAX), KeptTexts::new(usize::MAX));
        Ok(Self { index, rule, block: BLOCK_CELLS, kept, texts })
    }

    /// Keeps recently read documents and texts of at most about `n_bytes`.
    #[must_use]
    pub fn with_cache(self, n_bytes: usize) -> Self {
        let texts_bytes = n_bytes / 5;
        Self { kept: Kept::new(n_bytes - texts_bytes), texts: KeptTexts::new(texts_bytes), ..self }
    }

    /// Calls `visit` for each near pair that counts in a bucket of these cells, always in the same
    /// order for the same cells. The cells come ascending, in pages of any length, and all cells of
    /// a bucket or none; a cell twice in a row counts once.
    ///
    /// # Errors
    /// The errors of the pages, of reading documents, of scratch files, of `check` and of `visit`.
    pub fn run<E: From<index::Error> + From<io::Error>>(
        &self,
        pages: impl Iterator<Item = Result<Vec<Cell>, E>>,
        scratch: Scratch<'_>,
        check: Check<'_, E>,
        visit: &mut dyn FnMut(NearPair<'_>) -> Result<(), E>,
    ) -> Result<Joined, E> {
        let mut work = Work {
            join: self,
            scratch,
            check,
            visit,
            row: None,
            run: Vec::new(),
            crowd: None,
            pending: Vec::new(),
            n_pending: 0,
            joined: Joined::default(),
        };
        for page in pages {
            page?.into_iter().try_for_each(|cell| work.take(cell))?;
        }
        work.end_run()?;
        work.judge_pending()?;
        Ok(work.joined)
    }
}

/// A join under way.
struct Work<'a, 'v, E> {
    join: &'a CellJoin<'a>,
    scratch: Scratch<'v>,
    check: Check<'v, E>,
    visit: &'v mut dyn FnMut(NearPair<'_>) -> Result<(), E>,
    /// The row of the last cell.
    row: Option<RowKey>,
    /// The cells so far of the current bucket; for a crowd only the last one.
    run: Vec<Cell>,
    crowd: Option<Crowd>,
    /// Cells of finished buckets with a near one in their bucket, to be looked up together.
    pending: Vec<Vec<Cell>>,
    n_pending: usize,
    joined: Joined,
}

impl<E: From<index::Error> + From<io::Error>> Work<'_, '_, E> {
    fn take(&mut self, cell: Cell) -> Result<(), E> {
        if self.row != Some(cell.row) {
            self.joined.n_rows += 1;
            if self.row.is_some_and(|last| last.bucket() != cell.row.bucket()) {
                self.end_run()?;
            }
            self.row = Some(cell.row);
        } else if self.run.last() == Some(&cell) {
            return Ok(());
        }
        if let Some(crowd) = &mut self.crowd {
            crowd.push(&cell)?;
            // The last cell stays, to be compared with the next.
            self.run.clear();
        } else if self.run.len() == self.join.block {
            let mut crowd = Crowd::new((self.scratch)()?);
            self.run.iter().chain([&cell]).try_for_each(|cell| crowd.push(cell))?;
            self.run.clear();
            self.crowd = Some(crowd);
        }
        self.run.push(cell);
        Ok(())
    }

    fn end_run(&mut self) -> Result<(), E> {
        if let Some(crowd) = self.crowd.take() {
            self.run.clear();
            self.judge_pending()?;
            return self.judge_crowd(crowd);
        }
        if let Some(meeting) = self.meeting() {
            let mut near = vec![false; self.run.len()];
            meeting.mark(&self.run, &mut near);
            let run = std::mem::take(&mut self.run).into_iter().zip(near);
            let run: Vec<Cell> = run.filter(|(_, is_near)| *is_near).map(|(cell, _)| cell).collect();
            self.n_pending += run.len();
            self.pending.extend(Some(run).filter(|run| !run.is_empty()));
        }
        self.run.clear();
        if self.n_pending >= self.join.block { self.judge_pending() } else { Ok(()) }
    }

    /// The meeting of the cells of the run, if there are several.
    fn meeting(&self) -> Option<Meeting<'_>> {
        let [first, _, ..] = &self.run[..] else { return None };
        Some(Meeting::new(self.join, first))
    }

    fn judge_pending(&mut self) -> Result<(), E> {
        let mut shelf = Shelf::default();
        let runs = std::mem::take(&mut self.pending);
        self.n_pending = 0;
        runs.iter().flatten().for_each(|cell| shelf.want(cell));
        shelf.fetch(self.join.index, &self.join.kept, self.check)?;
        for run in &runs {
            let Some(first) = run.first() else { continue };
            let (join, sketches) = (self.join, shelf.sketches(run));
            let meeting = Meeting::new(join, first);
            let mut waiting = Waiting::default();
            for at in 0..run.len() {
                self.judge(&meeting, Side(&run[..at], &sketches), (&run[at], sketches[at]), &mut waiting)?;
            }
            self.settle(&mut waiting)?;
        }
        Ok(())
    }

    /// Compares each block of a crowd with itself, and with all pages after it.
    fn judge_crowd(&mut self, mut crowd: Crowd) -> Result<(), E> {
        let join = self.join;
        let mut start = crowd.start()?;
        loop {
            (self.check)(0)?;
            let (block, after_block) = crowd.read(start, join.block)?;
            let Some(first) = block.first() else { return Ok(()) };
            let meeting = Meeting::new(join, first);
            let mut shelf = Shelf::default();
            let mut near = vec![false; block.len()];
            meeting.mark(&block, &mut near);
            shelf.want_marked(&block, &near);
            shelf.fetch(join.index, &join.kept, self.check)?;
            let sketches = shelf.sketches(&block);
            let mut waiting = Waiting::default();
            for at in 0..block.len() {
                self.judge(
                    &meeting,
                    Side(&block[..at], &sketches),
                    (&block[at], sketches[at]),
                    &mut waiting,
                )?;
            }
            self.settle(&mut waiting)?;
            let mut at = after_block;
            loop {
                // The comparisons of a crowd may take hours.
                (self.check)(0)?;
                let (page, after) = crowd.read(at, join.block)?;
                if page.is_empty() {
                    break;
                }
                at = after;
                let mut near_page = vec![false; page.len()];
                near.fill(false);
                meeting.mark_between(&block, &mut near, &page, &mut near_page);
                if !near_page.contains(&true) {
                    continue;
                }
                let mut of_page = Shelf::default();
                shelf.want_marked(&block, &near);
                shelf.fetch(join.index, &join.kept, self.check)?;
                of_page.want_marked(&page, &near_page);
                of_page.fetch(join.index, &join.kept, self.check)?;
                let (sketches, of_page) = (shelf.sketches(&block), of_page.sketches(&page));
                let mut waiting = Waiting::default();
                for (cell, sketch) in page.iter().zip(of_page) {
                    self.judge(&meeting, Side(&block, &sketches), (cell, sketch), &mut waiting)?;
                }
                self.settle(&mut waiting)?;
            }
            start = after_block;
        }
    }

    /// Decides about a cell and all near ones on the other side.
    fn judge<'c>(
        &mut self,
        meeting: &Meeting<'_>,
        Side(cells, sketches): Side<'_, 'c>,
        (cell, sketch): (&'c Cell, Option<&'c Sketch>),
        waiting: &mut Waiting<'c>,
    ) -> Result<(), E> {
        let Some(sketch) = sketch else { return Ok(()) };
        let rule = &self.join.rule;
        for (other, of_other) in cells.iter().zip(sketches) {
            let Some(of_other) = of_other.filter(|_| meeting.proposes(other, cell)) else { continue };
            self.joined.n_candidates += 1;
            if rule.first_shared(of_other, sketch) != Some(meeting.bucket) {
                continue;
            }
            let nearness =
                match rule.glance_at(of_other.features(), sketch.features(), rule.counter.is_some()) {
                    Glance::Far => continue,
                    // Uncounted shares are in the order of the arguments; the pair is told with the
                    // lesser id first.
                    Glance::Near(nearness) if cell.id < other.id => Some(nearness.turned()),
                    Glance::Near(nearness) => Some(nearness),
                    Glance::Worth { .. } => None,
                };
            waiting.push((&other.id, of_other), (&cell.id, sketch), nearness);
            if waiting.is_full() {
                self.settle(waiting)?;
            }
        }
        Ok(())
    }

    /// Counts the waiting pairs, and visits the near ones.
    fn settle(&mut self, waiting: &mut Waiting<'_>) -> Result<(), E> {
        let Self { join, visit, joined, .. } = self;
        waiting.settle(join.index, &join.rule, &join.texts, &mut |a, b, nearness| {
            joined.n_pairs += 1;
            visit(NearPair { a, b, nearness })
        })
    }
}

/// Cells of a bucket, each with its sketch if the document is still filed there.
struct Side<'s, 'c>(&'c [Cell], &'s [Option<&'c Sketch>]);

/// The rule by which cells of a bucket propose each other.
struct Meeting<'a> {
    join: &'a CellJoin<'a>,
    bucket: BucketKey,
    /// The greatest number of bits in which near cells differ.
    n_bits_max: u32,
}

impl<'a> Meeting<'a> {
    /// The meeting in the bucket of a cell.
    fn new(join: &'a CellJoin<'a>, Cell { row, .. }: &Cell) -> Self {
        let n_bits_max = join.rule.within(join.index.kind().family(row.flag)).as_bits();
        Self { join, bucket: row.bucket(), n_bits_max }
    }

    fn proposes(&self, one: &Cell, other: &Cell) -> bool {
        (one.row.fingerprint.0 ^ other.row.fingerprint.0).count_ones() <= self.n_bits_max
            && one.id != other.id
            // For signatures only the documents tell if they met in an earlier bucket.
            && !self.join.index.kind().meet_earlier(one.row, other.row)
    }

    /// Marks the cells that are near another one.
    fn mark(&self, cells: &[Cell], near: &mut [bool]) {
        for at in 1..cells.len() {
            for before in 0..at {
                if self.proposes(&cells[before], &cells[at]) {
                    (near[before], near[at]) = (true, true);
                }
            }
        }
    }

    /// Marks the cells that are near one of the other side.
    fn mark_between(&self, cells: &[Cell], near: &mut [bool], others: &[Cell], near_others: &mut [bool]) {
        for (other, near_other) in others.iter().zip(near_others) {
            for (cell, near) in cells.iter().zip(near.iter_mut()) {
                if self.proposes(cell, other) {
                    (*near, *near_other) = (true, true);
                }
            }
        }
    }
}
