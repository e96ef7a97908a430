//! The rows of an insertion, for a loader that brings them into HBase as files instead of by puts.
//!
//! `deploy/hbase/BulkLoad.java` is the loader. It brings documents unknown to the index, whole, and
//! all at one timestamp: the moment before it asks the index for their ids. The documents count as
//! put at that moment: a later insertion or removal of one of them wins, before the files are
//! loaded or after.
//!
//! A load brings no texts: in an index that keeps texts, the documents of a load have none.

use index::{
    Clock, Document, DocumentId, Error, ErrorKind, Index, Metadata, Mode, NewDocument, OpenOptions, Result,
    Sketch, Store, TextKeeping,
};

use super::layout::{RECORD_COLUMN, Record, document_row};
use super::rows::{Rows, Span, Table};
use super::store::HbaseStore;
use super::uri::HbaseUri;
use super::uri::of_transport;
use super::{documents, loads, retention};

/// Documents on their way into an index in HBase, in files.
pub struct BulkLoad {
    store: HbaseStore,
    /// `None` where the loader is to create the index.
    index: Option<Index>,
    metadata: Metadata,
    timestamp: i64,
}

/// The state of an id in an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The index has no row of the id: the document may come in a file.
    Unknown,
    /// The id has a row and no live document: removed, expired, or claimed by an insertion. The
    /// index itself must insert the document.
    Gone,
    /// The document is in the index with this sketch.
    Live(Sketch),
}

impl BulkLoad {
    /// Opens the index at `uri`, or decides the metadata of a new one. The loader creates a new
    /// index last, which keeps a partial load invisible. In both cases the tables must exist.
    ///
    /// # Errors
    /// `InvalidArgument` for a store other than HBase, `Mismatch` for an index that differs from
    /// `options` or a new one whose tables have documents already, and the errors of the store.
    pub fn begin(uri: &str, options: &OpenOptions) -> Result<Self> {
        if of_transport(uri).is_none() {
            return Err(Error::invalid(format!(
                "only HBase loads rows from files, and {uri:?} is another store; use `indexer index`"
            )));
        }
        let uri: HbaseUri = uri.parse()?;
        let open = || HbaseStore::open(&uri, Clock::system(), None);
        Self::over(open()?, || Ok(Box::new(open()?)), options)
    }

    /// Begins a load over stores that are open already.
    pub(super) fn over(
        store: HbaseStore,
        open: impl FnOnce() -> Result<Box<dyn Store>>,
        options: &OpenOptions,
    ) -> Result<Self> {
        let timestamp = store.clock.now().as_ms();
        let load = Self::at(timestamp, store, open, options)?;
        if load.metadata.texts != TextKeeping::None {
            tracing::warn!(
                "the index keeps texts, and a bulk load brings none: pairs with the documents of this load will be estimated \
                 and not counted"
            );
        }
        Ok(load)
    }

    fn at(
        timestamp: i64,
        store: HbaseStore,
        open: impl FnOnce() -> Result<Box<dyn Store>>,
        options: &OpenOptions,
    ) -> Result<Self> {
        if store.metadata()?.is_some() {
            let index = Index::over(open()?, &OpenOptions { mode: Mode::MustExist, ..options.clone() })?;
            let metadata = index.metadata().clone();
            return Ok(Self { store, index: Some(index), metadata, timestamp });
        }
        let metadata = options.new_metadata()?;
        retention::check_new(&*store.rows, &metadata)?;
        refuse_documents(&*store.rows)?;
        Ok(Self { store, index: None, metadata, timestamp })
    }

    /// Returns the name of the index table, with its namespace; the documents' table appends
    /// `_docs`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.store.rows.name(Table::Index)
    }

    /// Returns the metadata of the index, or of the index to be created.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Returns the index itself, for documents that the index knows already; `None` before the
    /// index exists.
    #[must_use]
    pub fn index(&self) -> Option<&Index> {
        self.index.as_ref()
    }

    /// Returns the timestamp of all cells of this load, in milliseconds since 1970.
    #[must_use]
    pub fn timestamp(&self) -> i64 {
        self.timestamp
    }

    /// Returns the state of each of these ids, in their order. Ids in ascending order of
    /// [`document_row`](Self::document_row) are read fastest.
    ///
    /// # Errors
    /// Those of a read.
    pub fn standings(&self, ids: &[DocumentId]) -> Result<Vec<Standing>> {
        if self.index.is_none() {
            return Ok(vec![Standing::Unknown; ids.len()]);
        }
        let stored = documents::read(&self.store.access()?, ids.iter())?;
        let standing = |id| match stored.get(id).map(|stored| &stored.live) {
            None => Standing::Unknown,
            Some(None) => Standing::Gone,
            Some(Some(live)) => Standing::Live(live.sketch.clone()),
        };
        Ok(ids.iter().map(standing).collect())
    }

    /// Returns the key of a document's row in the table of documents.
    #[must_use]
    pub fn document_row(id: &DocumentId) -> Vec<u8> {
        document_row(id)
    }

    /// Returns the document as the index will store it.
    #[must_use]
    pub fn document(&self, document: NewDocument) -> Document {
        let NewDocument { id, features, source } = document;
        Document { id, sketch: self.metadata.kind.sketch(features), source }
    }

    /// Returns the only cell of the document's row: qualifier and value.
    #[must_use]
    pub fn record(&self, document: &Document) -> (&'static [u8], Vec<u8>) {
        let Document { sketch, source, .. } = document;
        let (sketch, source) = (sketch.clone(), source.clone());
        let record = Record { sketch, timestamp: self.timestamp, source, text: None };
        (&RECORD_COLUMN[2..], record.encode(&self.metadata.kind))
    }

    /// Returns the rows of the index in which a document has a cell. Each cell has the id as
    /// qualifier and an empty value.
    pub fn index_rows(document: &Document) -> impl Iterator<Item = Vec<u8>> {
        document.sketch.rows().map(|row| row.encode().to_vec())
    }
}

/// Refuses to create an index over the remains of an unfinished load.
fn refuse_documents(rows: &dyn Rows) -> Result<()> {
    let under_way = loads::under_way(rows)?;
    let mut is_empty = true;
    let all = Span::new(&[], super::layout::DOCUMENTS_END);
    rows.scan(Table::Documents, super::layout::DOCUMENT_FAMILY, &[all], &mut |_, page| {
        is_empty = page.is_empty();
        Ok(())
    })?;
    let name = rows.name(Table::Documents);
    let what = match under_way.first_key_value() {
        Some((_, mark)) => {
            format!("a bulk load into it has begun and not ended ({mark}); end that one first")
        }
        None if !is_empty => format!("{name} has documents"),
        None => return Ok(()),
    };
    Err(Error::new(
        ErrorKind::Mismatch,
        format!("there is no index here yet, and {what}, or drop both tables and make them anew"),
    ))
}
