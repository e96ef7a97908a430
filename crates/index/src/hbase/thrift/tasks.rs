//! What a connection is asked: each task is a few requests at a time, whose replies are read later, so that one thread
//! keeps several connections busy. Every task is harmless to repeat.

use std::collections::VecDeque;

use hbase_thrift::hbase::{BatchMutation, Mutation as ThriftMutation, TRowResult, TScan};
use thrift::protocol::{TInputProtocol, TType};

use super::connection::{Connection, Failure, protocol_error};
use crate::hbase::rows::{Cell, Mutation, PAGE_RESULTS, RESULT_CELLS, Row, Span, successor};

/// A few requests that belong together.
pub(super) trait Task {
    /// Writes the first requests, from the beginning also where an earlier attempt broke off.
    fn start(&mut self, connection: &mut Connection) -> Result<(), Failure>;

    /// Reads the replies to what was written last, all of them also where one is an exception, and writes what comes
    /// next. Returns whether that was all.
    fn go_on(&mut self, connection: &mut Connection) -> Result<bool, Failure>;
}

/// One page of each of a few spans: all scanners are opened in one round, read and closed in the next.
pub(super) struct Scan<'a> {
    pub(super) table: &'a [u8],
    pub(super) family: u8,
    /// The number of the first span in the call.
    pub(super) first: usize,
    pub(super) spans: &'a [Span],
    /// Scanners that are open, or were when a connection broke.
    open: VecDeque<i32>,
    /// How many of the open scanners are left from a connection that broke.
    n_left_open: usize,
    is_reading: bool,
    pub(super) pages: Vec<Vec<Row>>,
}

impl<'a> Scan<'a> {
    pub(super) fn new(table: &'a [u8], family: u8, first: usize, spans: &'a [Span]) -> Self {
        Self {
            table,
            family,
            first,
            spans,
            open: VecDeque::new(),
            n_left_open: 0,
            is_reading: false,
            pages: Vec::new(),
        }
    }

    fn request_open(&self, connection: &mut Connection, span: &Span) -> Result<(), Failure> {
        let (end, filter) = match &span.within {
            None => (span.end.clone(), None),
            Some(after) => (successor(&span.start), Some(columns_after(after))),
        };
        let scan = TScan {
            start_row: Some(span.start.clone()),
            stop_row: Some(end),
            timestamp: None,
            columns: Some(vec![vec![self.family]]),
            caching: Some(PAGE_RESULTS as i32),
            filter_string: filter,
            batch_size: Some(RESULT_CELLS as i32),
            sort_columns: None,
            reversed: None,
            cache_blocks: None,
        };
        connection.request("scannerOpenWithScan", |fields| {
            fields.bytes(1, self.table)?;
            fields.field(2, TType::Struct, |output| scan.write_to_out_protocol(output))?;
            fields.attributes(3, &[])
        })
    }

    /// Reads and closes what is open.
    fn request_pages(&self, connection: &mut Connection) -> Result<(), Failure> {
        for &scanner in &self.open {
            connection.request("scannerGetList", |fields| {
                fields.i32(1, scanner)?;
                fields.i32(2, PAGE_RESULTS as i32)
            })?;
            request_close(connection, scanner)?;
        }
        connection.flush()
    }

    /// Reads that the first of the open scanners is closed.
    fn read_close(
        &mut self,
        connection: &mut Connection,
        exceptions: &mut Exceptions,
    ) -> Result<(), Failure> {
        exceptions.or_none(connection.reply(|_| Ok(())))?;
        self.open.pop_front();
        Ok(())
    }
}

impl Task for Scan<'_> {
    fn start(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        self.is_reading = false;
        self.pages.clear();
        self.n_left_open = self.open.len();
        // Those of a connection that broke are the gateway's for ever, unless somebody closes them.
        for &scanner in &self.open {
            request_close(connection, scanner)?;
        }
        for span in self.spans {
            self.request_open(connection, span)?;
        }
        connection.flush()
    }

    fn go_on(&mut self, connection: &mut Connection) -> Result<bool, Failure> {
        let mut exceptions = Exceptions::default();
        if self.is_reading {
            self.is_reading = false;
            for _ in 0..self.open.len() {
                let rows = exceptions.or_none(connection.reply(read_rows))?;
                self.pages.push(rows.unwrap_or_default());
                self.read_close(connection, &mut exceptions)?;
            }
            return exceptions.into_result().map(|()| true);
        }
        for _ in 0..std::mem::take(&mut self.n_left_open) {
            // A gateway that was started again does not know them.
            self.read_close(connection, &mut Exceptions::default())?;
        }
        for _ in self.spans {
            self.open.extend(exceptions.or_none(connection.reply(|input| input.read_i32()))?);
        }
        if exceptions.is_none() {
            self.is_reading = true;
            self.request_pages(connection)?;
            return Ok(false);
        }
        for &scanner in &self.open {
            request_close(connection, scanner)?;
        }
        connection.flush()?;
        for _ in 0..self.open.len() {
            self.read_close(connection, &mut exceptions)?;
        }
        exceptions.into_result().map(|()| true)
    }
}

fn request_close(connection: &mut Connection, scanner: i32) -> Result<(), Failure> {
    connection.request("scannerClose", |fields| fields.i32(1, scanner))
}

/// The filter for the cells of a row after one of them, in the words of HBase's filter language, where a quote is
/// doubled.
fn columns_after(qualifier: &[u8]) -> Vec<u8> {
    let mut filter = b"ColumnRangeFilter('".to_vec();
    for &byte in qualifier {
        filter.extend(std::iter::repeat_n(byte, if byte == b'\'' { 2 } else { 1 }));
    }
    filter.extend(b"', false, '', false)");
    filter
}

/// One column of a few rows.
pub(super) struct Get<'a> {
    pub(super) table: &'a [u8],
    pub(super) column: &'a [u8],
    /// The number of the first row in the call.
    pub(super) first: usize,
    pub(super) keys: &'a [Vec<u8>],
    /// Those that are there, in the gateway's order.
    pub(super) rows: Vec<Row>,
}

impl Task for Get<'_> {
    fn start(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        connection.request("getRowsWithColumns", |fields| {
            fields.bytes(1, self.table)?;
            fields.list(2, TType::String, self.keys, |output, key| output.write_bytes(key))?;
            fields.list(3, TType::String, &[self.column], |output, column| output.write_bytes(column))?;
            fields.attributes(4, &[])
        })?;
        connection.flush()
    }

    fn go_on(&mut self, connection: &mut Connection) -> Result<bool, Failure> {
        self.rows = connection.reply(read_rows)?.unwrap_or_default();
        Ok(true)
    }
}

/// A few mutations.
pub(super) struct Apply<'a> {
    pub(super) table: &'a [u8],
    pub(super) timestamp: i64,
    /// Of what is put, in milliseconds.
    pub(super) time_to_live: Option<i64>,
    pub(super) mutations: &'a [Mutation],
}

impl Task for Apply<'_> {
    fn start(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        let time_to_live = self.time_to_live.map(i64::to_be_bytes);
        let attributes: Vec<(&[u8], &[u8])> =
            time_to_live.iter().map(|bytes| (&b"_ttl"[..], &bytes[..])).collect();
        connection.request("mutateRowsTs", |fields| {
            fields.bytes(1, self.table)?;
            fields.list(2, TType::Struct, self.mutations, |output, mutation| {
                let change = to_thrift(mutation);
                BatchMutation { row: Some(mutation.row.clone()), mutations: Some(vec![change]) }
                    .write_to_out_protocol(output)
            })?;
            fields.i64(3, self.timestamp)?;
            fields.attributes(4, &attributes)
        })?;
        connection.flush()
    }

    fn go_on(&mut self, connection: &mut Connection) -> Result<bool, Failure> {
        connection.reply(|_| Ok(()))?;
        Ok(true)
    }
}

pub(super) fn to_thrift(mutation: &Mutation) -> ThriftMutation {
    ThriftMutation {
        is_delete: Some(mutation.value.is_none()),
        column: Some(mutation.column.clone()),
        value: mutation.value.clone(),
        write_to_w_a_l: Some(true),
    }
}

/// The first exception of several replies, all of which have to be read.
#[derive(Default)]
struct Exceptions(Option<Failure>);

impl Exceptions {
    fn or_none<T>(&mut self, answer: Result<Option<T>, Failure>) -> Result<Option<T>, Failure> {
        match answer {
            Err(failure @ Failure::Exception(_)) => {
                self.0.get_or_insert(failure);
                Ok(None)
            }
            answer => answer,
        }
    }

    fn is_none(&self) -> bool {
        self.0.is_none()
    }

    fn into_result(self) -> Result<(), Failure> {
        self.0.map_or(Ok(()), Err)
    }
}

fn read_rows(input: &mut dyn TInputProtocol) -> thrift::Result<Vec<Row>> {
    let list = input.read_list_begin()?;
    let mut rows = Vec::new();
    for _ in 0..list.size {
        rows.push(to_row(TRowResult::read_from_in_protocol(input)?)?);
    }
    input.read_list_end()?;
    Ok(rows)
}

fn to_row(row: TRowResult) -> thrift::Result<Row> {
    let missing = |what: &str| protocol_error(format!("a row came without its {what}"));
    let key = row.row.ok_or_else(|| missing("key"))?;
    let columns = row.columns.ok_or_else(|| missing("columns"))?;
    let mut cells = Vec::with_capacity(columns.len());
    for (column, cell) in columns {
        let colon = column.iter().position(|&byte| byte == b':').ok_or_else(|| missing("families"))?;
        cells.push(Cell {
            qualifier: column[colon + 1..].to_vec(),
            value: cell.value.ok_or_else(|| missing("values"))?,
            timestamp: cell.timestamp.ok_or_else(|| missing("timestamps"))?,
        });
    }
    Ok(Row { key, cells })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_doubled() {
        let filter = columns_after(b"it's ''");
        assert_eq!(String::from_utf8(filter).unwrap(), "ColumnRangeFilter('it''s ''''', false, '', false)");
    }
}
