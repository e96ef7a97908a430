//! Going through a table in parts, side by side: while one page is looked at, others are on their
//! way.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use index::{Error, ErrorKind, Examined, Result};
use simhash::ROW_KEY_LEN;

use super::super::layout::{DOCUMENT_FAMILY, DOCUMENTS_END, INDEX_FAMILY};
use super::super::rows::{LONG_PAGE_RESULTS, Row, Span, Table};
use super::{Access, Examination};

/// How many parts are read at once: each is a page in memory, of a megabyte or two.
const N_LANES: usize = 8;

/// How many parts the index has: enough that lanes end at about the same time.
const N_PARTS: u32 = 64;

/// What opens the index: each page has its own, which knows what has expired by then.
pub(super) type Open<'a> = &'a (dyn Fn() -> Result<Access<'a>> + Sync);

/// What is done with a page of a span.
type Look<'l> = &'l (dyn Fn(&mut Examination<'_, '_>, &Span, Vec<Row>) -> Result<()> + Sync);

/// Reads a table from end to end and hands each page to `look`, on several threads. What they find
/// is reported on this one.
pub(super) fn walk(
    open: Open<'_>,
    table: Table,
    mends: bool,
    report: &mut dyn FnMut(Examined),
    look: Look<'_>,
) -> Result<()> {
    let parts = match table {
        Table::Index => index_parts(&open()?)?,
        Table::Documents => document_parts(),
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
                        // Nobody listens once another lane has failed.
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

/// The whole index, in parts of about the same size.
fn index_parts(access: &Access<'_>) -> Result<Vec<Span>> {
    let n_parts = N_PARTS.min(access.kind.n_regions_max());
    let splits = access.kind.splits(n_parts).map_err(|error| {
        Error::new(ErrorKind::Internal, "the index cannot be read in parts").caused_by(error)
    })?;
    let mut starts = vec![Vec::new()];
    starts.extend(splits.iter().map(|split| split.to_be_bytes().to_vec()));
    Ok(spans(&starts, &[0xff; ROW_KEY_LEN + 1]))
}

/// All documents, by the first digit of their rows.
fn document_parts() -> Vec<Span> {
    let mut starts: Vec<Vec<u8>> = b"0123456789abcdef".iter().map(|digit| vec![*digit]).collect();
    starts[0].clear();
    spans(&starts, DOCUMENTS_END)
}

fn spans(starts: &[Vec<u8>], last: &[u8]) -> Vec<Span> {
    let ends = starts.iter().skip(1).map(Vec::as_slice).chain([last]);
    let long =
        |(start, end): (&Vec<u8>, &[u8])| Span { n_results: LONG_PAGE_RESULTS, ..Span::new(start, end) };
    starts.iter().zip(ends).map(long).collect()
}
