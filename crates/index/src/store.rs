//! The seam between an index and its backends, in terms of documents.

mod pages;
mod status;

use serde::{Deserialize, Serialize};

pub use self::pages::{CellPage, Cursor, Page};
pub use self::status::{ClaimCounts, ConnectionCounts, ImageStatus, Status};
use crate::{
    Document, DocumentId, Examined, Insertion, Metadata, NearDocuments, Neighbours, Result, Rule, Segments,
    Selection, Sketch, StoredDocument, Text,
};

/// The most documents, ids or queries in one call, and the most documents in one page of a scan.
pub const MAX_BATCH: usize = 10_000;

/// The most buckets that one sketch may be filed under.
pub const MAX_SKETCH_KEYS: usize = 255;

/// A place for documents, in which near ones are found.
///
/// Calls block and may be made from many threads at once; a caller on an asynchronous runtime
/// crosses over once. Every call takes a batch and answers in the order of the batch, one answer
/// for each item. An empty batch is answered at once. A batch of more than [`MAX_BATCH`] is refused
/// with [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument).
///
/// A store keeps sketches, not fingerprints. It files a document by each facet of its sketch under
/// the keys of that facet, and searches by these keys. It never computes keys, because the keys of
/// some kinds of sketch do not follow from the fingerprint.
///
/// # Nearness
/// A search finds near documents by a [`Rule`]. Candidates are the stored documents in a bucket of
/// the query whose bits of that facet are near to the query's. The search finds the candidates
/// confirmed by the rule. A candidate counts once however many facets propose it, and whichever
/// they are. Count, limit and order apply to confirmed candidates. So a limit hides no document
/// nearer than one in the answer, and a count is exact.
///
/// # Texts
/// In an index [with texts](crate::Metadata::texts) a store keeps the [text](crate::Features::text)
/// of each document, in a place read by searches only for pairs [worth a
/// count](crate::Glance::Worth). A text is replaced, removed and expires with its document.
/// [`texts`](Self::texts) reads texts; [`get`](Self::get), [`scan`](Self::scan) and all other reads
/// do not.
///
/// # Retention
/// A store notes the time of each write of a document, by its own clock. In an index with a
/// [`retain`](crate::Metadata::retain), a document is there while `now < inserted_at + retain`, to
/// the millisecond, where `now` is the time by the clock of the reading process. An expired
/// document is seen by no call, whether or not its space has been reused yet by later writes;
/// inserting its id again is `Inserted`. A document stays longer or shorter by the difference
/// between the clocks of the writing process and the reading process.
///
/// Each document expires by its own time, also where the clock was ahead before and has come back.
/// A store may give a document the time of the document before it where the latter is later by a
/// minute or so. Where clocks go back again and again, the difference may be larger (at most 45
/// days, [`memory:`](crate::MemoryStore) and `embedded:` only). In HBase the times of an id only
/// grow. An id once written by a clock ahead keeps to that clock when it is written again.
///
/// By a clock that has jumped ahead every document has expired, and documents swept by a write are
/// gone for good. Therefore an index with a retention notes the time of its last write. A writer's
/// clock is doubted while it is ahead of the last write by more than
/// [`AHEAD_MAX`](crate::AHEAD_MAX). The store logs a warning, once for each
/// [`Clock`](crate::Clock). It keeps the documents expired only by the doubted clock until writes
/// by this clock have gone on for as long again. The write itself is done, because an index may
/// have rested for so long, and a rest looks like a jump. A write by a clock made to
/// [refuse](crate::Clock::refusing_ahead) fails with `Unavailable` and changes nothing. HBase
/// sweeps by the clocks of its servers, notes no last write and doubts no clock.
///
/// # Acknowledgement
/// When a writing call has returned `Ok`, its changes are as durable as the store ever makes them.
/// Every search that starts later, by any process, sees the changes. When a writing call has
/// returned an error, the caller cannot know the outcome: the batch may have been written (the
/// answer was lost), or not, unless the [error says](crate::Error::has_written_nothing) that
/// nothing was written. Each store says whether a batch can have been written in part.
/// Repeating the same call is always right and ends in the same contents as one success. Only the
/// answers may differ: documents inserted by the failed call are then `Unchanged`, documents
/// removed by it are then absent.
pub trait Store: Send + Sync {
    /// Returns the metadata of the index, or `None` before [`create`](Self::create).
    ///
    /// # Errors
    /// `Corrupt` where the metadata is damaged, `Mismatch` where a newer version of this program
    /// wrote it.
    fn metadata(&self) -> Result<Option<Metadata>>;

    /// Stores `metadata` unless the store has some already, and returns the stored metadata. Of
    /// several creators at once one wins, and all get the winner's. Metadata never changes
    /// afterwards.
    ///
    /// # Errors
    /// As [`metadata`](Self::metadata), and those of a write.
    fn create(&self, metadata: &Metadata) -> Result<Metadata>;

    /// Returns true if a new index in this store can keep texts: tables of HBase may have no place
    /// for texts. Called before [`create`](Self::create), where no option decides.
    ///
    /// # Errors
    /// Those of a read.
    fn has_room_for_texts(&self) -> Result<bool> {
        Ok(true)
    }

    /// Makes the first search as fast as later ones: a store that searches in memory fills its
    /// tables now. A service calls `prepare` before it says that it is ready. A program without
    /// searches saves the time and the memory. Filled tables stay filled and follow all later
    /// changes. A second call costs nothing.
    ///
    /// # Errors
    /// `NotFound` before [`create`](Self::create), and those of a read.
    fn prepare(&self) -> Result<()>;

    /// Lets the store take up to `n_bytes` of memory beyond what it needs, where it becomes faster
    /// by that. A program gives memory before the first document and the first search.
    fn give_memory(&self, _n_bytes: u64) {}

    /// Returns the bytes of memory that `n` more documents may take at once, as a table that
    /// doubles does.
    fn leap_bytes(&self, _n: usize) -> u64 {
        0
    }

    /// Makes the first search after later openings as fast as after this one: a store that fills
    /// tables in memory writes down an image of them, where many documents are in none, and frees
    /// what they take. A job calls `write_image` at its end. Others may read and write meanwhile.
    /// Hands the share of the work done, from 0 to 1, to `progress` now and then. Returns true if
    /// an image was written.
    ///
    /// # Errors
    /// Those of a write. The documents are as before, whatever happens.
    fn write_image(&self, _progress: &mut dyn FnMut(f64)) -> Result<bool> {
        Ok(false)
    }

    /// Tries the two promises of a service: the store can be searched, and it can be written to.
    /// Writes nothing and is soon done. A service calls `ready` for each check of its readiness.
    /// Makes the first search as fast as later ones, as [`prepare`](Self::prepare) does.
    ///
    /// # Errors
    /// Those of a call made now; `Busy` where other processes keep this process from writing.
    fn ready(&self) -> Result<()> {
        self.prepare()?;
        // A read as made by requests. Whether the document exists makes no difference.
        let some_id = DocumentId::new("ready").map_err(|error| crate::Error::invalid(error.to_string()))?;
        self.get(&[some_id]).map(drop)
    }

    /// Writes documents in their order. An absent id is `Inserted`, a present one is `Unchanged`
    /// with the same sketch and `Replaced` with another sketch. The second occurrence of an id in a
    /// batch meets the first one. An inserted or replaced document gets the time of the store's
    /// clock. An unchanged document keeps its time and its source.
    /// Where texts are kept, a document with the same sketch is `Replaced` also if its text
    /// differs, or was not known before.
    /// A sketch without keys is stored and never found. A sketch of more than [`MAX_SKETCH_KEYS`]
    /// is refused with `InvalidArgument`, before anything is written.
    ///
    /// # Errors
    /// `NotFound` before [`create`](Self::create); `StorageFull`, which of some stores leaves
    /// everything as it was, and [says](crate::Error::has_written_nothing) so.
    fn insert(&self, documents: &[Document]) -> Result<Vec<Insertion>>;

    /// Writes the documents to which no stored document is near, one after another in their order,
    /// so later documents of the batch meet earlier ones. Of the near documents by `rule` under
    /// other ids the nearest, by [nearness](crate::Nearness), then id, decides:
    ///
    /// | the id is | and none is near | and one is near |
    /// |---|---|---|
    /// | not there | `Inserted` | `Duplicate` |
    /// | there with the same sketch | `Unchanged` | `Unchanged` |
    /// | there with another sketch | `Replaced` | `Duplicate`, and the old version stays |
    ///
    /// Where the rule bounds the number of [candidates](Rule::candidates_max), the store may insert
    /// a document near to one of the candidates left out, and counts such searches
    /// ([`Status::n_bounded`]).
    ///
    /// A document's own old version never makes it a duplicate. No other insertion can come between
    /// the search and the write, from any thread or process.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    fn insert_if_new(&self, documents: &[Document], rule: &Rule) -> Result<Vec<Insertion>>;

    /// Removes documents by id, and returns for each id whether a document was there. The second
    /// occurrence of an id in a batch finds none.
    ///
    /// # Errors
    /// As [`remove_if`](Self::remove_if).
    fn remove(&self, ids: &[DocumentId]) -> Result<Vec<bool>> {
        self.remove_if(ids, &Selection::default())
    }

    /// Removes each of the given documents that `selection` matches, and returns true for each
    /// removed one. The version compared with `selection` is the version removed: no writer can
    /// replace a document in between, so a version without a match stays.
    ///
    /// # Errors
    /// `NotFound` before [`create`](Self::create), and those of a write: a removal needs space as
    /// well.
    fn remove_if(&self, ids: &[DocumentId], selection: &Selection) -> Result<Vec<bool>>;

    /// Returns the documents with these ids, all as of one moment.
    ///
    /// # Errors
    /// `NotFound` before [`create`](Self::create), `Corrupt` for a record with other bytes than
    /// written.
    fn get(&self, ids: &[DocumentId]) -> Result<Vec<Option<StoredDocument>>>;

    /// Returns the texts of the documents with these ids: `None` for a document without a text, and
    /// for every id in an index that keeps no texts.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    fn texts(&self, ids: &[DocumentId]) -> Result<Vec<Option<Text>>> {
        check_batch(ids.len())?;
        Ok(vec![None; ids.len()])
    }

    /// Finds the stored documents near to each query by `rule`: the nearest `limit`, by
    /// [nearness](crate::Nearness), then id, and the number of all near documents. By simhashes of
    /// one table scheme, and for distances up to the scheme's own, these are all documents within
    /// the distance. With a limit of 0 they are only counted.
    ///
    /// Sees every change acknowledged before the call, in any process. Memory is bounded by `limit`
    /// for each query, plus a few bytes for each candidate where the rule verifies. Time grows with
    /// the number of candidates.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    fn near(&self, queries: &[Sketch], rule: &Rule, limit: usize) -> Result<Vec<Neighbours>>;

    /// Finds documents as [`near`](Self::near) does, and returns them as stored. Leaves out a
    /// document removed or replaced between search and read.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    fn near_documents(&self, queries: &[Sketch], rule: &Rule, limit: usize) -> Result<Vec<NearDocuments>> {
        let found = self.near(queries, rule, limit)?;
        let ids: Vec<_> = found.iter().flat_map(|found| &found.matches).map(|near| near.id.clone()).collect();
        let mut stored = Vec::with_capacity(ids.len());
        for ids in ids.chunks(MAX_BATCH) {
            stored.extend(self.get(ids)?);
        }
        let mut stored = stored.into_iter();
        Ok(found.into_iter().map(|found| with_documents(found, &mut stored)).collect())
    }

    /// Returns the next documents of the whole contents, at most `limit` and at most [`MAX_BATCH`],
    /// in an order of the store's own. From [`Cursor::start`] until [`Page::next`] is `None`, a
    /// document that stays throughout comes once. A document inserted, replaced or removed
    /// meanwhile may come or not, and a replaced one may come twice.
    ///
    /// # Errors
    /// As [`get`](Self::get); `InvalidArgument` for a limit of 0 or another store's cursor.
    fn scan(&self, after: Cursor, limit: usize) -> Result<Page>;

    /// Returns the next cells of these buckets in their order, at most `limit`, from a store that
    /// keeps cells in order. Any other store always answers `None`, and its caller sorts the cells
    /// of the documents from [`scan`](Self::scan).
    ///
    /// From [`Cursor::start`] until [`CellPage::next`] is `None`, a cell of a document that stays
    /// throughout comes once. Pages end anywhere, also inside of a bucket or a row, and a page
    /// before the last may be empty.
    ///
    /// A cell only leads to a document. Some cells are of versions replaced a moment ago, of
    /// insertions under way, and of dead writers. A cell counts where it
    /// [is of](crate::Cell::is_of) the sketch that [`get`](Self::get) returns.
    ///
    /// # Errors
    /// As [`scan`](Self::scan).
    fn cells(&self, segments: Segments, after: &Cursor, limit: usize) -> Result<Option<CellPage>> {
        let _ = (segments, after, limit);
        Ok(None)
    }

    /// Examines all stored data, and reports each defect to `report`. With `mends` it mends the
    /// defects that can be mended; otherwise it changes nothing. Other processes may write
    /// meanwhile. A store without redundant data only reads all documents.
    ///
    /// # Errors
    /// Those of a read, and with `mends` of a write. Damaged data is a finding, not an error.
    fn examine(&self, mends: bool, report: &mut dyn FnMut(Examined)) -> Result<()> {
        let _ = mends;
        let mut next = Some(Cursor::start());
        while let Some(after) = next {
            let page = self.scan(after, MAX_BATCH)?;
            report(Examined::Items(page.documents.len() as u64));
            next = page.next;
        }
        Ok(())
    }

    /// Returns the last write, in a store that numbers its writes and [scans](Self::scan) in the
    /// order of these numbers; `None` elsewhere.
    ///
    /// # Errors
    /// Those of a read.
    fn last_write(&self) -> Result<Option<WriteMark>> {
        Ok(None)
    }

    /// Returns a mark of all writes so far, by which [`has_written`](Self::has_written) recognises
    /// a copy of the index made before. A store whose writes have no numbers counts its marks: if
    /// `counts`, the store writes the next mark, else it returns the last one, and a reader needs
    /// no right to write. `None` in a store without marks, or before the first.
    ///
    /// # Errors
    /// Those of a read, and if `counts` of a write.
    fn mark(&self, _counts: bool) -> Result<Option<WriteMark>> {
        self.last_write()
    }

    /// Returns true if `mark` is a past [mark](Self::mark) of this store. A copy of the index made
    /// before does not have it, also after later writes, as far as the store can tell.
    ///
    /// # Errors
    /// Those of a read.
    fn has_written(&self, _mark: &WriteMark) -> Result<bool> {
        Ok(true)
    }

    /// Returns the amounts of stored data that the store knows without reading all.
    ///
    /// # Errors
    /// Those of a read.
    fn status(&self) -> Result<Status>;
}

/// A mark of one write, by which a copy of the index without the write is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteMark {
    /// The number of the write: later writes have greater numbers.
    pub number: u64,
    /// A checksum of the written data, or a number drawn for the mark, where it tells apart two
    /// writes of the same number.
    pub checksum: Option<u32>,
}

/// Joins `found` with `stored`, the documents stored now under the ids of its matches.
fn with_documents(
    found: Neighbours,
    stored: &mut impl Iterator<Item = Option<StoredDocument>>,
) -> NearDocuments {
    let Neighbours { matches, mut n_matches, cost } = found;
    let mut documents = Vec::with_capacity(matches.len());
    for (found, stored) in matches.into_iter().zip(stored) {
        match stored {
            Some(stored) if stored.document.sketch.fingerprint() == found.fingerprint => {
                documents.push((found.nearness, stored));
            }
            // Removed or replaced since the search: a search begun now would be without this
            // document.
            _ => n_matches -= 1,
        }
    }
    NearDocuments { documents, n_matches, cost }
}

/// Refuses a batch above [`MAX_BATCH`].
pub fn check_batch(len: usize) -> Result<()> {
    if len > MAX_BATCH {
        return Err(crate::Error::invalid(format!(
            "a batch of {len} is too large; split it into at most {MAX_BATCH}"
        )));
    }
    Ok(())
}

/// Refuses a batch above [`MAX_BATCH`], and a sketch above [`MAX_SKETCH_KEYS`].
pub fn check_documents(documents: &[Document]) -> Result<()> {
    check_batch(documents.len())?;
    match documents.iter().find(|document| document.sketch.n_keys() > MAX_SKETCH_KEYS) {
        Some(document) => Err(crate::Error::invalid(format!(
            "the sketch of document {:?} has {} keys, at most {MAX_SKETCH_KEYS} can be stored",
            document.id.as_str(),
            document.sketch.n_keys()
        ))),
        None => Ok(()),
    }
}

/// Returns the length of a page for a limit, or an error for a limit of 0, with which a scan never
/// ends.
pub fn page_len(limit: usize) -> Result<usize> {
    if limit == 0 {
        return Err(crate::Error::invalid("a scan needs a limit of at least 1"));
    }
    Ok(limit.min(MAX_BATCH))
}

/// The error of every call on a store without metadata.
pub fn not_created() -> crate::Error {
    crate::Error::new(crate::ErrorKind::NotFound, "there is no index here yet; create it first")
}
