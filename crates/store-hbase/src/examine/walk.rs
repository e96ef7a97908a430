//! Walks through a table in parts, side by side: while one page is examined, others are on their
//! way.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use index::{Error, ErrorKind, Examined, Result};
use simhash::ROW_KEY_LEN;

use super::super::layout::{DOCUMENT_FAMILY, DOCUMENTS_END, INDEX_FAMILY, document_starts};
use super::super::rows::{Row, Span, Table};
use super::{Access, Examination};

/// The number of parts read at once: each holds a page in memory, of a megabyte or two.
const N_LANES: usize = 8;

/// The number of parts of the index: enough for lanes to end at about the same time.
const N_PARTS: u32 = 64;

/// Opens the index. Each page is examined with its own `Access`, whose horizon is that of its own
/// time.
pub(super) type Open<'a> = &'a (dyn Fn() -> Result<Access<'a>> + Sync);

/// Examines a page of a span.
type Look<'l> = &'l (dyn Fn(&mut Examination<'_, '_>, &Span, Vec<Row>) -> Result<()> + Sync);

/// Reads a table from end to end and hands each page to `look`, on several threads. The findings
/// are reported on the caller's thread.
pub(super) fn walk(
    open: Open<'_>,
    table: Table,
    mends: bool,
    report: &mut dyn FnMut(Examined),
    look: Look<'_>,
) -> Result<()> {
    let parts = match table {
        Table::Index => index_parts(&open()?)?,
        Table::Documents => Span::parts(&document_starts(), DOCUMENTS_END),
    };
    let n_lanes = N_LANES.min(parts.len());
    let parts = Mutex::new(parts);
    let (found, told) = sync_channel(n_lanes);
    thread::scope(|scope| {
        for _ in 0..n_lanes {
            let (parts, found) = (&parts, found.clone());
            scope.spawn(move || {
                let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).pop();
                while let Some(part) = next() {
                    if let Err(error) = walk_part(open, table, part, mends, look, &found) {
                        // The receiver is gone once another lane has failed.
                        let _ = found.send(Err(error));
                        return;
                    }
                }
            });
        }
        drop(found);
        for page in told {
            page?.into_iter().for_each(&mut *report);
        }
        Ok(())
    })
}

/// Reads one part to its end.
fn walk_part(
    open: Open<'_>,
    table: Table,
    part: Span,
    mends: bool,
    look: Look<'_>,
    found: &SyncSender<Result<Vec<Examined>>>,
) -> Result<()> {
    let family = match table {
        Table::Index => INDEX_FAMILY,
        Table::Documents => DOCUMENT_FAMILY,
    };
    let mut left = Some(part);
    while let Some(span) = left.take() {
        let access = open()?;
        let mut page: Vec<Row> = Vec::new();
        access.rows.scan(table, family, std::slice::from_ref(&span), &mut |_, rows| {
            page = rows;
            Ok(())
        })?;
        left = span.rest(&page);
        let end = left.as_ref().map_or(&span.end, |rest| &rest.start);
        let read = Span::new(&span.start, end);
        let mut examined = Vec::new();
        let mut note = |one| examined.push(one);
        look(&mut Examination { access: &access, mends, report: &mut note }, &read, page)?;
        if found.send(Ok(examined)).is_err() {
            return Ok(());
        }
    }
    Ok(())
}

/// Returns spans over the whole index, of about the same size.
fn index_parts(access: &Access<'_>) -> Result<Vec<Span>> {
    let n_parts = N_PARTS.min(access.kind.n_regions_max());
    let splits = access.kind.splits(n_parts).map_err(|error| {
        Error::new(ErrorKind::Internal, "the index cannot be read in parts").caused_by(error)
    })?;
    let mut starts = vec![Vec::new()];
    starts.extend(splits.iter().map(|split| split.to_be_bytes().to_vec()));
    Ok(Span::parts(&starts, &[0xff; ROW_KEY_LEN + 1]))
}
