//! A store in HBase, over the rows of any transport.

use std::time::Duration;

use index::backend::{Horizon, check_batch, check_documents, not_created, page_len};
use index::{
    CallSizes, Capabilities, CellPage, Clock, Cursor, Document, DocumentId, Error, ErrorKind, Examined,
    Insertion, Metadata, Mode, NearDocuments, Neighbours, Page, Place, Result, Rule, Segments, Selection,
    Sketch, Status, Store, StoredDocument, Text, TextKeeping, WriteMark,
};

use super::access::Access;
use super::counters::Counters;
use super::documents::{self, to_stored_document};
use super::layout::{METADATA_COLUMN, METADATA_ROW, RECORD_COLUMN, TEXT_FAMILY, in_row};
use super::options::Options;
use super::outlook::Outlook;
use super::rows::{MasterWait, Rows, Swap, Swapped, Table};
#[cfg(feature = "rpc")]
use super::rpc::RpcRows;
#[cfg(feature = "thrift")]
use super::thrift::ThriftRows;
use super::transport::Transport;
use super::uri::HbaseUri;
use super::{cells, claiming, examine, marks, near, remove, retention, write};

/// A store in HBase.
///
/// Nothing is kept in this process: every process sees the writes of all others as soon as they are
/// acknowledged. A batch that fails may have been written in part; the error says which part.
///
/// Any number of processes may insert new documents at the same time: of near documents one is
/// kept. [`Store::insert`] makes no check: if it writes while another insertion is between its
/// search and its end, the other insertion does not notice.
pub struct HbaseStore {
    pub(super) rows: Box<dyn Rows>,
    pub(super) clock: Clock,
    counters: Counters,
    pub(super) outlook: Outlook,
}

/// The least wait for a reply: without patience a call is still made, once.
const REPLY_MIN: Duration = Duration::from_secs(1);

impl HbaseStore {
    /// Returns the store of the index at `uri`; it connects on first use. `patience` is the longest
    /// wait for a server or a region that is away; the default is 120 s from the last answer.
    ///
    /// # Errors
    /// `InvalidArgument` where the transport of the URL is not in this build.
    pub fn open(uri: &HbaseUri, clock: Clock, patience: Option<Duration>) -> Result<Self> {
        let mut options = Options { n_connections: uri.n_connections, ..Options::default() };
        options.patience = patience.unwrap_or(options.patience);
        options.reply_timeout = options.reply_timeout.min(options.patience.max(REPLY_MIN));
        Ok(Self::over(rows_at(uri, options)?, clock))
    }

    pub(super) fn over(rows: Box<dyn Rows>, clock: Clock) -> Self {
        Self { rows, clock, counters: Counters::default(), outlook: Outlook::default() }
    }

    pub(super) fn access(&self) -> Result<Access<'_>> {
        let Metadata { kind, retain, texts, .. } = self.created()?;
        let horizon = Horizon::new(*retain, self.clock.now());
        let keeps_texts = *texts != TextKeeping::None;
        Ok(Access { rows: &*self.rows, kind, clock: &self.clock, horizon, keeps_texts })
    }

    fn created(&self) -> Result<&Metadata> {
        match self.rows.known().metadata() {
            Some(metadata) => Ok(metadata),
            None => self.find()?.ok_or_else(not_created),
        }
    }

    /// Reads the stored metadata, which must equal those seen first.
    fn find(&self) -> Result<Option<&Metadata>> {
        self.rows.known().find_in(|| self.stored())
    }

    /// Returns the metadata as they are stored.
    fn stored(&self) -> Result<Option<Vec<u8>>> {
        // HBase always reports a missing table or family on reads, and not on writes.
        for (table, column) in [(Table::Index, &b"f"[..]), (Table::Documents, RECORD_COLUMN)] {
            self.rows.get(table, &[column], &[METADATA_ROW.to_vec()])?;
        }
        let rows = self.rows.get(Table::Documents, &[METADATA_COLUMN], &[METADATA_ROW.to_vec()])?;
        let cell = rows.into_iter().flatten().next();
        if let Some(cell) = &cell {
            // Before the store is bound to the metadata: tables that do not fit may be altered and
            // tried again.
            let metadata = Metadata::decode(&cell.value).map_err(|error| in_row(METADATA_ROW, error))?;
            retention::check_opened(&*self.rows, &metadata)?;
        }
        Ok(cell.map(|cell| cell.value))
    }
}

impl Store for HbaseStore {
    fn metadata(&self) -> Result<Option<Metadata>> {
        Ok(self.find()?.cloned())
    }

    fn create(&self, metadata: &Metadata) -> Result<Metadata> {
        if let Some(stored) = self.metadata()? {
            return Ok(stored);
        }
        retention::check_new(&*self.rows, metadata)?;
        let (row, column) = (METADATA_ROW.to_vec(), METADATA_COLUMN.to_vec());
        let record = metadata.encode()?;
        let put = Swap { row, column, from: None, to: record.clone(), time_to_live: None };
        let swapped = self.rows.swap(Table::Documents, &[put])?;
        if swapped == [Swapped::Done] {
            return Ok(self.rows.known().check(Some(&record))?.clone());
        }
        self.metadata()?.ok_or_else(|| match swapped[..] {
            [Swapped::Unknown] => {
                Error::new(ErrorKind::Unavailable, "the metadata was not written; try again")
            }
            _ => Error::corrupt("the metadata of the index was deleted while it was created"),
        })
    }

    fn has_room_for_texts(&self) -> Result<bool> {
        let has_family = self.rows.has_family(Table::Documents, TEXT_FAMILY, MasterWait::Whole)?;
        if !has_family {
            let name = self.rows.name(Table::Documents);
            tracing::warn!(
                "the new index keeps no texts, because {name} has no family for them, and estimates decide: schema/README.md \
                 tells how to add it"
            );
        }
        Ok(has_family)
    }

    fn prepare(&self) -> Result<()> {
        self.created()?;
        // Also if both tables were there before. Each call reads the documents' table as its
        // witness.
        self.rows.get(Table::Index, &[b"f"], &[METADATA_ROW.to_vec()]).map(drop)
    }

    fn insert(&self, documents: &[Document]) -> Result<Vec<Insertion>> {
        check_documents(documents)?;
        write::insert(&self.access()?, documents)
    }

    fn insert_if_new(&self, documents: &[Document], rule: &Rule) -> Result<Vec<Insertion>> {
        check_documents(documents)?;
        rule.check_similar_alone()?;
        claiming::insert_if_new(&self.access()?, documents, rule, &self.counters, &self.outlook)
    }

    fn remove_if(&self, ids: &[DocumentId], selection: &Selection) -> Result<Vec<bool>> {
        check_batch(ids.len())?;
        remove::remove_if(&self.access()?, ids, selection)
    }

    fn get(&self, ids: &[DocumentId]) -> Result<Vec<Option<StoredDocument>>> {
        check_batch(ids.len())?;
        let records = documents::read_live(&self.access()?, ids.iter())?;
        let get = |id: &DocumentId| Some(to_stored_document(id.clone(), records.get(id)?.clone()));
        Ok(ids.iter().map(get).collect())
    }

    fn texts(&self, ids: &[DocumentId]) -> Result<Vec<Option<Text>>> {
        check_batch(ids.len())?;
        documents::texts(&self.access()?, ids)
    }

    fn near(&self, queries: &[Sketch], rule: &Rule, limit: usize) -> Result<Vec<Neighbours>> {
        check_batch(queries.len())?;
        rule.check_similar_alone()?;
        near::near(&self.access()?, queries, rule, limit)
    }

    fn near_documents(&self, queries: &[Sketch], rule: &Rule, limit: usize) -> Result<Vec<NearDocuments>> {
        check_batch(queries.len())?;
        rule.check_similar_alone()?;
        near::near_documents(&self.access()?, queries, rule, limit)
    }

    fn scan(&self, after: Cursor, limit: usize) -> Result<Page> {
        let limit = page_len(limit)?;
        documents::scan(&self.access()?, &after, limit)
    }

    fn cells(&self, segments: Segments, after: &Cursor, limit: usize) -> Result<Option<CellPage>> {
        // Cells are small: a page of cells may be longer than a batch.
        page_len(limit)?;
        cells::cells(&self.access()?, segments, after, limit).map(Some)
    }

    fn examine(&self, mends: bool, report: &mut dyn FnMut(Examined)) -> Result<()> {
        examine::examine(&|| self.access(), mends, report)
    }

    fn mark(&self, counts: bool) -> Result<Option<WriteMark>> {
        self.created()?;
        if counts { marks::next(&*self.rows).map(Some) } else { marks::last(&*self.rows) }
    }

    fn has_written(&self, mark: &WriteMark) -> Result<bool> {
        self.created()?;
        marks::has(&*self.rows, mark)
    }

    /// HBase cannot count the rows of a table without reading them all; no count is given.
    fn status(&self) -> Result<Status> {
        Ok(Status {
            claims: Some(self.counters.read()),
            connections: Some(self.rows.connections()),
            ..Status::default()
        })
    }
}

#[cfg(feature = "thrift")]
impl HbaseStore {
    /// Returns the store of the index `name` behind the Thrift gateway at `gateway`, `HOST:PORT`,
    /// with at most `n_connections` at a time. It connects on first use.
    #[must_use]
    pub fn new(gateway: String, name: &str, n_connections: usize) -> Self {
        Self::with_clock(gateway, name, n_connections, Clock::system())
    }

    /// Works as [`new`](Self::new), with another clock than this machine's.
    #[must_use]
    pub fn with_clock(gateway: String, name: &str, n_connections: usize, clock: Clock) -> Self {
        let options = Options { n_connections, ..Options::default() };
        Self::over(Box::new(ThriftRows::new(gateway, name, options)), clock)
    }
}

/// Returns the rows of the index at `uri`. Makes no request to HBase yet.
#[cfg_attr(
    not(any(feature = "thrift", feature = "rpc")),
    expect(unused_variables, reason = "this build has no transport that takes the options")
)]
fn rows_at(uri: &HbaseUri, options: Options) -> Result<Box<dyn Rows>> {
    match uri.transport {
        #[cfg(feature = "thrift")]
        Transport::Gateway => Ok(Box::new(ThriftRows::new(uri.server.clone(), &uri.name, options))),
        #[cfg(not(feature = "thrift"))]
        Transport::Gateway => Err(missing(uri, "thrift")),
        #[cfg(feature = "rpc")]
        Transport::Rpc => Ok(Box::new(RpcRows::new(uri, options)?)),
        #[cfg(not(feature = "rpc"))]
        Transport::Rpc => Err(missing(uri, "rpc")),
    }
}

/// Returns the error of a transport that is not in this build.
#[cfg(not(all(feature = "thrift", feature = "rpc")))]
fn missing(uri: &HbaseUri, feature: &str) -> Error {
    let HbaseUri { transport, server, name, .. } = uri;
    let (scheme, what) = (transport.scheme(), transport.server());
    Error::invalid(format!(
        "this build has no {what} transport, so it cannot open {scheme}://{server}/{name}; build it with the feature \
         `{feature}`"
    ))
}

impl Place for HbaseUri {
    fn open(&self, _: Mode, clock: Clock, patience: Option<Duration>) -> Result<Box<dyn Store>> {
        if clock.refuses_ahead() {
            return Err(Error::invalid(
                "an index in HBase does not know when it was last written to; leave --clock-ahead-max out (what has \
                 expired is dropped by the clocks of HBase's servers, not by this machine's)",
            ));
        }
        Ok(Box::new(HbaseStore::open(self, clock, patience)?))
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities {
            local_path: None,
            outlives_process: true,
            n_handles_max: self.n_connections,
            // Two round trips for up to 64, the documents included.
            searches: CallSizes::new(4, 64),
            // An insertion may wait for another process: few others share its wait.
            insertions: CallSizes::new(16, 64),
            contained: false,
            // Where the tables have a family for them.
            texts: TextKeeping::Zstd,
        }
    }

    fn public_name(&self) -> String {
        format!("{}://{}/{}", self.transport.scheme(), self.server, self.name)
    }
}
