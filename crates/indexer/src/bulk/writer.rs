//! Writes versions of documents, sorted by row, into the files.

use ::index::{DocumentId, Features, Index, NewDocument};
use anyhow::Context;
use simhash::ROW_KEY_LEN;
use store_hbase::{BulkLoad, Standing};

use super::versions::{Version, Versions, decode};
use super::{Description, RowFiles, RowsFolder, SORTING};
use crate::report::Indexed;
use runs::StringSorter;

/// Documents in one query to the index.
const BATCH: usize = 2048;

const ASKING: &str =
    "failed to ask the index which documents it knows; the same command again makes the rows anew";
const INSERTING: &str = "failed to write documents that the index knows already; what was written stays, and the same \
                         command again does the rest";

/// Turns the versions of all documents into rows.
pub(crate) struct Writer<'a> {
    load: &'a BulkLoad,
    documents: RowFiles,
    n_documents: u64,
    index_rows: StringSorter,
    /// The latest row, followed by the id.
    index_row: Vec<u8>,
    batch: Vec<Versions>,
    counts: Indexed,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(load: &'a BulkLoad, folder: &RowsFolder, n_bytes_max: usize) -> Self {
        Self {
            load,
            documents: folder.documents(),
            n_documents: 0,
            index_rows: StringSorter::new(folder.path(), n_bytes_max),
            index_row: Vec::new(),
            batch: Vec::with_capacity(BATCH),
            counts: Indexed::default(),
        }
    }

    /// Takes the next version.
    pub(crate) fn take(&mut self, entry: &[u8]) -> anyhow::Result<()> {
        let (row, version) = decode(entry)?;
        if let Some(versions) = self.batch.last_mut().filter(|versions| versions.row() == row) {
            versions.add(version);
            return Ok(());
        }
        if self.batch.len() == BATCH {
            self.flush()?;
        }
        self.batch.push(Versions::new(row, version)?);
        Ok(())
    }

    /// Completes the folder. Returns the counts of the versions, and the number of documents with
    /// rows in the folder.
    pub(crate) fn finish(mut self, folder: RowsFolder) -> anyhow::Result<(Indexed, u64)> {
        self.flush()?;
        let Self { load, documents, n_documents, index_rows, counts, .. } = self;
        let documents = documents.finish()?;
        let mut index = folder.index();
        let mut rows = index_rows.finish().context(SORTING)?;
        while let Some(row) = rows.next_string().context(SORTING)? {
            let (row, id) = row.split_at(ROW_KEY_LEN);
            index.write(row, id, b"")?;
        }
        let metadata = load.metadata();
        let description = Description {
            name: load.name(),
            metadata: &metadata.encode()?,
            timestamp: load.timestamp(),
            retain_seconds: metadata.retain.map(::index::Retention::as_seconds),
        };
        folder.finish(&description, &index.finish()?, &documents)?;
        Ok((counts, n_documents))
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        let batch = std::mem::take(&mut self.batch);
        let ids: Vec<DocumentId> = batch.iter().map(|versions| versions.id.clone()).collect();
        let standings = self.load.standings(&ids).context(ASKING)?;
        let mut known = Vec::new();
        for (versions, standing) in batch.into_iter().zip(standings) {
            self.counts += versions.counts(live(&standing));
            match standing {
                Standing::Unknown => {
                    if let Some(document) = versions.latest() {
                        self.write(document)?;
                    }
                }
                Standing::Gone | Standing::Live(_) => known.push(versions.into_replay()),
            }
        }
        match self.load.index() {
            Some(index) => replay(index, known),
            None => Ok(()),
        }
    }

    fn write(&mut self, document: NewDocument) -> anyhow::Result<()> {
        let document = self.load.document(document);
        let (qualifier, record) = self.load.record(&document);
        self.documents.write(&BulkLoad::document_row(&document.id), qualifier, &record)?;
        self.n_documents += 1;
        for row in BulkLoad::index_rows(&document) {
            self.index_row.clear();
            self.index_row.extend_from_slice(&row);
            self.index_row.extend_from_slice(document.id.as_str().as_bytes());
            self.index_rows.push(&self.index_row).context(SORTING)?;
        }
        Ok(())
    }
}

fn live(standing: &Standing) -> Option<&Features> {
    match standing {
        Standing::Live(sketch) => Some(sketch.features()),
        Standing::Unknown | Standing::Gone => None,
    }
}

/// Inserts documents known to the index: first the version before the latest, where there is one,
/// then the latest.
fn replay(index: &Index, known: Vec<(DocumentId, Option<Version>, Version)>) -> anyhow::Result<()> {
    let (mut before, mut latest) = (Vec::new(), Vec::new());
    for (id, earlier, version) in known {
        before.extend(earlier.map(|earlier| (id.clone(), earlier)));
        latest.push((id, version));
    }
    for versions in [before, latest] {
        let (mut inserts, mut removals) = (Vec::new(), Vec::new());
        for (id, version) in versions {
            match version.document(&id) {
                Some(document) => inserts.push(document),
                None => removals.push(id),
            }
        }
        index.insert(&inserts).context(INSERTING)?;
        index.remove(&removals).context(INSERTING)?;
    }
    Ok(())
}
