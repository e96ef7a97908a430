//! The seam that every backend stands behind, in terms of documents.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    Cell, Document, DocumentId, Examined, Insertion, Metadata, NearDocuments, Neighbours, Result, Rule,
    Segments, Selection, Sketch, StoredDocument, Text,
};

/// The most documents, ids or queries in one call, and the most documents in one page of a scan.
pub const MAX_BATCH: usize = 10_000;

/// The most buckets that one sketch may be filed under.
pub const MAX_SKETCH_KEYS: usize = 255;

/// A place that keeps documents and finds near ones.
///
/// Calls block and may be made from many threads at once; a caller on an asynchronous runtime crosses over once. Every
/// call takes a batch and answers in its order, one answer for each item; an empty batch is answered at once. A batch of
/// more than [`MAX_BATCH`] is refused with [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument).
///
/// A store keeps sketches, not fingerprints: it files a document by each of its facets, under their keys, and searches by them,
/// and never computes them anew, because for some kinds of sketch they do not follow from the fingerprint.
///
/// # What is near
/// A search finds what is near by a [`Rule`]: stored documents that share a bucket with the query and are near in the bits of
/// that facet are candidates, and those that the rule confirms are found. Who proposed a candidate makes no difference, and a
/// document that several facets propose is one. What a search counts, limits and orders is what was confirmed: a limit never
/// cuts candidates, so it hides no document that is nearer than one that is told, and a count is exact.
///
/// # Texts
/// In an index that [keeps texts](crate::Metadata::texts) a store keeps the [text](crate::Features::text) that a document comes
/// with, in a place that searches read only for pairs that are [worth a count](crate::Glance::Worth). The text goes with
/// its document: replaced, removed and expired. [`get`](Self::get), [`scan`](Self::scan) and the like do not read it;
/// [`texts`](Self::texts) does.
///
/// # How long a document stays
/// A store notes when it writes a document, by its clock. In an index that has a
/// [`retain`](crate::Metadata::retain), a document is there while `now < inserted_at + retain`, to the millisecond, where
/// `now` is what the clock of the process says that asks. Past that no call sees it, whether or not its room has been given
/// back yet, which later writes do; inserting its id again is `Inserted`. By how much the clocks of the process that wrote
/// and of the one that asks differ, by so much a document stays longer or shorter.
///
/// Each document expires by its own time, also where the clock was ahead before and has come back. A store may give one the
/// time of the document before it where that is later by a minute or so; where clocks go back again and again, by more (at
/// most 45 days, [`memory:`](crate::MemoryStore) and `embedded:` only). In HBase an id gets later
/// times only, so a document whose id was written by a clock that was ahead keeps to that clock when it is written again.
///
/// By a clock that has jumped ahead everything has expired, and what a write gives back is gone for good. So an index with
/// a retention notes when it was last written to. A writer's clock that is ahead of that by more than
/// [`AHEAD_MAX`](crate::AHEAD_MAX) is doubted: it is logged as a warning, once for each [`Clock`](crate::Clock), and what has
/// expired only by it is kept until writes have gone on by it for as long again. An index may have rested that long, which
/// nothing tells from a jump, so the write itself is done. One by a clock that is made to
/// [refuse](crate::Clock::refusing_ahead) fails with `Unavailable` and changes nothing. HBase gives room back by the clocks
/// of its servers, so there is nothing to note, and no clock is doubted.
///
/// # What an acknowledgement means
/// When a writing call has returned `Ok`, its changes are as durable as the store ever makes them and every search that
/// starts later, by any process, sees them. When it has returned an error, the caller cannot know: the batch may have
/// been written (the answer was lost), or not; each store says whether it can have been written in part. In every case
/// repeating the same call is right and ends in the same contents as one success. Only the answers may differ: what the
/// failed call had inserted is then `Unchanged`, what it had removed is then absent.
pub trait Store: Send + Sync {
    /// What the index says of itself, or `None` before [`create`](Self::create).
    ///
    /// # Errors
    /// `Corrupt` where it is damaged, `Mismatch` where a newer version of this program wrote it.
    fn metadata(&self) -> Result<Option<Metadata>>;

    /// Stores `metadata` unless there is some already, and returns what is stored then. Of several creators at once one
    /// wins and all get what it stored. Metadata never changes afterwards.
    ///
    /// # Errors
    /// As [`metadata`](Self::metadata), and those of a write.
    fn create(&self, metadata: &Metadata) -> Result<Metadata>;

    /// Says whether a new index there can keep texts: the tables of HBase may have no place for them. Asked before
    /// [`create`](Self::create), where nothing else decides.
    ///
    /// # Errors
    /// Those of a read.
    fn has_room_for_texts(&self) -> Result<bool> {
        Ok(true)
    }

    /// Makes the first search as fast as the later ones: a store that searches in memory fills it now. A service calls
    /// it before it says that it is ready; a program that does not search saves itself the time and the memory. What is
    /// filled stays filled and follows all later changes. Calling it again costs nothing.
    ///
    /// # Errors
    /// `NotFound` before [`create`](Self::create), and those of a read.
    fn prepare(&self) -> Result<()>;

    /// Tries what a service promises that uses the store: that it can be searched and written to. It writes nothing, and is
    /// soon done: a service asks it before it says that it is ready, as often as it is asked itself. As
    /// [`prepare`](Self::prepare), it makes the first search as fast as the later ones.
    ///
    /// # Errors
    /// What a call would meet now; `Busy` where others keep this process from writing.
    fn ready(&self) -> Result<()> {
        self.prepare()?;
        // A read as requests make it. Whether there is such a document makes no difference.
        let some_id = DocumentId::new("ready").map_err(|error| crate::Error::invalid(error.to_string()))?;
        self.get(&[some_id]).map(drop)
    }

    /// Writes documents in their order: an id that is not there is `Inserted`, one that is there with the same sketch is
    /// `Unchanged`, and with another sketch `Replaced`. An id that comes twice in a batch meets its first occurrence.
    /// What is inserted or replaced gets the time of the store's clock. What is `Unchanged` is left as it is: neither is
    /// its time renewed nor its source changed.
    /// Where texts are kept, a document with the same sketch and another text is `Replaced`, and so is one whose text was
    /// not known before.
    /// A sketch without keys is stored and never found; one of more than [`MAX_SKETCH_KEYS`] is refused with
    /// `InvalidArgument`, before anything is written.
    ///
    /// # Errors
    /// `NotFound` before [`create`](Self::create); `StorageFull` leaves everything as it was.
    fn insert(&self, documents: &[Document]) -> Result<Vec<Insertion>>;

    /// Writes those documents that nothing stored is near to, one after another in their order, so that later ones of
    /// the batch meet earlier ones. Of the documents that are near by `rule` under another id the nearest, by
    /// [nearness](crate::Nearness), then id, decides:
    ///
    /// | the id is | and none is near | and one is near |
    /// |---|---|---|
    /// | not there | `Inserted` | `Duplicate` |
    /// | there with the same sketch | `Unchanged` | `Unchanged` |
    /// | there with another sketch | `Replaced` | `Duplicate`, and the old version stays |
    ///
    /// Where the rule has only so many [candidates](Rule::candidates_max) judged, the store may take in a document that
    /// is near to one of the others, and counts that ([`Status::n_bounded`]).
    ///
    /// A document's own old version is never what makes it a duplicate. No other insertion can come between the search
    /// and the write, whichever thread or process makes it.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    fn insert_if_new(&self, documents: &[Document], rule: &Rule) -> Result<Vec<Insertion>>;

    /// Removes documents by id and says which were there. An id that comes twice is there the first time only.
    ///
    /// # Errors
    /// As [`remove_if`](Self::remove_if).
    fn remove(&self, ids: &[DocumentId]) -> Result<Vec<bool>> {
        self.remove_if(ids, &Selection::default())
    }

    /// Removes those of these documents that `selection` matches, and says which they were. What is looked at is what is
    /// removed: nobody can replace a document in between, so a version that does not match stays.
    ///
    /// # Errors
    /// `NotFound` before [`create`](Self::create), and those of a write: removing needs room as well.
    fn remove_if(&self, ids: &[DocumentId], selection: &Selection) -> Result<Vec<bool>>;

    /// The documents with these ids, all as of one moment.
    ///
    /// # Errors
    /// `NotFound` before [`create`](Self::create), `Corrupt` for a record that is not what was written.
    fn get(&self, ids: &[DocumentId]) -> Result<Vec<Option<StoredDocument>>>;

    /// The texts of the documents with these ids, of those that have one. `None` for all in an index that keeps no texts.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    fn texts(&self, ids: &[DocumentId]) -> Result<Vec<Option<Text>>> {
        check_batch(ids.len())?;
        Ok(vec![None; ids.len()])
    }

    /// The stored documents that are near to a query by `rule`: the nearest `limit` of them, by
    /// [nearness](crate::Nearness), then id, and how many there are. By simhashes of one table scheme, and for distances up to
    /// its own, these are all documents within the distance. With a limit of 0 they are only counted.
    ///
    /// Every change that was acknowledged before the call, in whatever process, is seen. Memory is bounded by `limit`
    /// for each query, and where the rule verifies by a few bytes for each candidate; time grows with the number of candidates.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    fn near(&self, queries: &[Sketch], rule: &Rule, limit: usize) -> Result<Vec<Neighbours>>;

    /// As [`near`](Self::near), with the documents as they are stored. One that is removed or replaced while it is looked
    /// up is left out.
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

    /// The next documents of the whole contents, at most `limit` and at most [`MAX_BATCH`], in an order of the store's
    /// own. From [`Cursor::start`] until [`Page::next`] is `None`, each document that is there all the time comes once;
    /// one that is inserted, replaced or removed meanwhile may come or not, and a replaced one may come twice.
    ///
    /// # Errors
    /// As [`get`](Self::get); `InvalidArgument` for a limit of 0 or another store's cursor.
    fn scan(&self, after: Cursor, limit: usize) -> Result<Page>;

    /// The next cells of these buckets in their order, at most `limit`, from a store that keeps them in that order. Any
    /// other store answers `None`, always, and its caller sorts what [`scan`](Self::scan) gives.
    ///
    /// From [`Cursor::start`] until [`CellPage::next`] is `None`, a cell of a document that is there all the time comes
    /// once. Pages end anywhere, also inside of a bucket or a row, and one before the last may be empty.
    ///
    /// A cell only leads to a document: there are some of versions that were replaced a moment ago, of insertions that are
    /// under way, and of writers that died. It counts where it [is of](Cell::is_of) what [`get`](Self::get) says is there.
    ///
    /// # Errors
    /// As [`scan`](Self::scan).
    fn cells(&self, segments: Segments, after: &Cursor, limit: usize) -> Result<Option<CellPage>> {
        let _ = (segments, after, limit);
        Ok(None)
    }

    /// Looks at everything that is stored, and tells `report` what is not as it should be. With `mends` it is mended, where it
    /// can be; else nothing is changed. Others may write meanwhile. A store that keeps nothing that could come to differ has
    /// only to be read.
    ///
    /// # Errors
    /// Those of a read, and with `mends` of a write. What is damaged is no error but a finding.
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

    /// The last write, in a store that numbers its writes, and [scans](Self::scan) go by these
    /// numbers; elsewhere `None`.
    ///
    /// # Errors
    /// Those of a read.
    fn last_write(&self) -> Result<Option<WriteMark>> {
        Ok(None)
    }

    /// True if a write is still in the past of this store. A copy of the index that was made before
    /// the write does not have it, also after later writes, as far as the records are there to tell.
    ///
    /// # Errors
    /// Those of a read.
    fn has_written(&self, _mark: &WriteMark) -> Result<bool> {
        Ok(true)
    }

    /// How much is stored, of what the store knows without reading it all.
    ///
    /// # Errors
    /// Those of a read.
    fn status(&self) -> Result<Status>;
}

/// Which write it was, to know a copy of the index that does not have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteMark {
    /// Its number: a later one has a greater one.
    pub number: u64,
    /// A checksum of what was written, where it tells one write of that number from another.
    pub checksum: Option<u32>,
}

/// Where a scan goes on; only the store that made it can read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor(Vec<u8>);

impl Cursor {
    /// Before the first document.
    #[must_use]
    pub fn start() -> Self {
        Self::default()
    }

    /// Where a store of its own kind of cursors goes on.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The bytes that the store gave, none for the start.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// After the document of this number, for stores that number their documents from 1.
    pub fn after(number: u64) -> Self {
        Self(number.to_be_bytes().to_vec())
    }

    /// The number it stands after, 0 for the start.
    pub fn number(&self) -> Result<u64> {
        match <[u8; 8]>::try_from(self.0.as_slice()) {
            Ok(bytes) => Ok(u64::from_be_bytes(bytes)),
            Err(_) if self.0.is_empty() => Ok(0),
            Err(_) => Err(crate::Error::invalid("the cursor is another store's; start the scan anew")),
        }
    }
}

/// A piece of a scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Documents, in the store's order.
    pub documents: Vec<StoredDocument>,
    /// Where to go on, `None` after the last document.
    pub next: Option<Cursor>,
}

/// A piece of the index in the order of its cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CellPage {
    /// Ascending.
    pub cells: Vec<Cell>,
    /// Where to go on, `None` after the last cell.
    pub next: Option<Cursor>,
}

/// How much is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Documents, where the store counts them.
    pub n_documents: Option<u64>,
    /// Bytes of this store's files, where it has files.
    pub n_disk_bytes: Option<u64>,
    /// Bytes of memory that its search tables hold in this process, where it has some.
    pub n_table_bytes: Option<u64>,
    /// Searches of this process that met more candidates than the rule has judged, where the store leaves some:
    /// [`candidates_max`](Rule::candidates_max).
    pub n_bounded: Option<u64>,
    /// What the insertions of this process have met of others, where there is no lock over all.
    pub claims: Option<ClaimCounts>,
    /// The connections of this process to the server, where there is one.
    pub connections: Option<ConnectionCounts>,
}

/// What a pool of connections holds. Whoever needs one where all are in use waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionCounts {
    /// As many as there may be.
    pub n_max: usize,
    /// Open, in use or not.
    pub n_open: usize,
    /// In use by a call.
    pub n_in_use: usize,
}

/// How insertions of what is new have got along with others, since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClaimCounts {
    /// Claims announced. Duplicates of what has long been there need none.
    pub n_claims: u64,
    /// Claims that somebody else had ended or overtaken, and that had to start again.
    pub n_conflicts: u64,
    /// Claims of others that were ended, because they came later or their leases had run out.
    pub n_aborted: u64,
    /// Pauses because of claims that came earlier.
    pub n_waits: u64,
    /// How long these were in all.
    pub waited: Duration,
}

/// `stored` has what is stored now under the ids of the matches.
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
            // Removed or replaced since it was found: a search that began now would be without it.
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

/// The length of a page for a limit, or an error for one of 0, which would never end.
pub fn page_len(limit: usize) -> Result<usize> {
    if limit == 0 {
        return Err(crate::Error::invalid("a scan needs a limit of at least 1"));
    }
    Ok(limit.min(MAX_BATCH))
}

/// What a store answers before it has been given metadata.
pub fn not_created() -> crate::Error {
    crate::Error::new(crate::ErrorKind::NotFound, "there is no index here yet; create it first")
}
