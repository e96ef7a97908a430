//! Reads pages: scanners are opened, read and closed, even if the connection breaks in between.

use std::collections::VecDeque;

use hbase_thrift::hbase::TScan;
use thrift::protocol::TType;

use super::calls::{Exceptions, read_rows};
use super::connection::{Connection, Exception, Failure};
use super::plan::Call;
use super::witness::Witness;
use crate::rows::{PAGE_RESULTS, RESULT_CELLS, Row, Span, successor};

/// One page of each of a few spans: all scanners are opened in one round, read and closed in the
/// next.
pub(super) struct Scan<'a> {
    pub(super) table: &'a [u8],
    pub(super) family: u8,
    /// The number of the first span in the call.
    pub(super) first: usize,
    pub(super) spans: &'a [Span],
    stage: Stage,
    /// The scanners of this attempt, in the order of the spans.
    open: VecDeque<i32>,
    /// Scanners still to be closed, and possibly closed already: those of an attempt that broke
    /// off, and those whose close was answered with an exception.
    leftover: Vec<i32>,
    exceptions: Exceptions,
    pub(super) witness: Witness<'a>,
    pub(super) pages: Vec<Vec<Row>>,
}

/// The replies that come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// To the closes of leftover scanners, and to the opens.
    Opening,
    /// To a read and a close of each scanner, and to the witness.
    Reading,
    /// To the closes of leftover scanners, for the last time.
    Closing,
}

impl<'a> Scan<'a> {
    pub(super) fn new(
        table: &'a [u8],
        family: u8,
        first: usize,
        spans: &'a [Span],
        witness: Witness<'a>,
    ) -> Self {
        Self {
            table,
            family,
            first,
            spans,
            stage: Stage::Opening,
            open: VecDeque::new(),
            leftover: Vec::new(),
            exceptions: Exceptions::default(),
            witness,
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
            caching: Some(span.n_results as i32),
            filter_string: filter,
            batch_size: Some(RESULT_CELLS as i32),
            sort_columns: None,
            reversed: None,
            // A walk through a whole table would push out the blocks that searches read again and
            // again.
            cache_blocks: (span.n_results > PAGE_RESULTS).then_some(false),
        };
        connection.request("scannerOpenWithScan", |fields| {
            fields.bytes(1, self.table)?;
            fields.field(2, TType::Struct, |output| scan.write_to_out_protocol(output))?;
            fields.attributes(3, &[])
        })
    }

    /// Requests a read and a close of each open scanner.
    fn request_pages(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        for (&scanner, span) in self.open.iter().zip(self.spans) {
            connection.request("scannerGetList", |fields| {
                fields.i32(1, scanner)?;
                fields.i32(2, span.n_results as i32)
            })?;
            request_close(connection, scanner)?;
        }
        self.witness.request(connection)?;
        connection.flush()
    }

    fn request_closes(&self, connection: &mut Connection) -> Result<(), Failure> {
        self.leftover.iter().try_for_each(|&scanner| request_close(connection, scanner))
    }

    /// Reads the replies to closes, and keeps the scanners whose close failed. An unknown scanner
    /// counts as closed: the gateway may have restarted, or have done an earlier close whose reply
    /// was lost.
    fn read_closes(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        let mut at = 0;
        while at < self.leftover.len() {
            if read_close(connection)? {
                self.leftover.remove(at);
            } else {
                at += 1;
            }
        }
        Ok(())
    }
}

impl Call for Scan<'_> {
    type Connection = Connection;

    fn start(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        self.stage = Stage::Opening;
        self.pages.clear();
        self.exceptions = Exceptions::default();
        // The gateway keeps the scanners of a broken connection for minutes, unless they are
        // closed.
        self.leftover.extend(self.open.drain(..));
        self.request_closes(connection)?;
        for span in self.spans {
            self.request_open(connection, span)?;
        }
        connection.flush()
    }

    fn go_on(&mut self, connection: &mut Connection) -> Result<bool, Failure> {
        match self.stage {
            Stage::Opening => {
                self.read_closes(connection)?;
                for _ in self.spans {
                    let answer = connection.reply(|input| input.read_i32());
                    self.open.extend(self.exceptions.or_none(answer)?);
                }
                if self.exceptions.is_none() {
                    self.stage = Stage::Reading;
                    self.request_pages(connection)?;
                    return Ok(false);
                }
                self.leftover.extend(self.open.drain(..));
            }
            Stage::Reading => {
                for _ in 0..self.open.len() {
                    let rows = self.exceptions.or_none(connection.reply(read_rows))?;
                    self.pages.push(rows.unwrap_or_default());
                    let is_closed = read_close(connection)?;
                    self.leftover.extend(self.open.pop_front().filter(|_| !is_closed));
                }
                self.witness.reply(connection, &mut self.exceptions)?;
            }
            Stage::Closing => {
                self.read_closes(connection)?;
                // A scanner whose close failed twice is left to the gateway, which forgets unused
                // scanners.
                self.leftover.clear();
            }
        }
        if self.leftover.is_empty() {
            return std::mem::take(&mut self.exceptions).into_result().map(|()| true);
        }
        self.stage = Stage::Closing;
        self.request_closes(connection)?;
        connection.flush()?;
        Ok(false)
    }
}

/// Reads the reply to a close; returns true if the scanner is closed.
fn read_close(connection: &mut Connection) -> Result<bool, Failure> {
    match connection.reply(|_| Ok(())) {
        Ok(_) | Err(Failure::Exception(Exception::Argument(_))) => Ok(true),
        Err(Failure::Exception(_)) => Ok(false),
        Err(failure) => Err(failure),
    }
}

fn request_close(connection: &mut Connection, scanner: i32) -> Result<(), Failure> {
    connection.request("scannerClose", |fields| fields.i32(1, scanner))
}

/// Returns the filter for the cells of a row after `qualifier`, in HBase's filter language, where a
/// quote is doubled.
fn columns_after(qualifier: &[u8]) -> Vec<u8> {
    let mut filter = b"ColumnRangeFilter('".to_vec();
    for &byte in qualifier {
        filter.extend(std::iter::repeat_n(byte, if byte == b'\'' { 2 } else { 1 }));
    }
    filter.extend(b"', false, '', false)");
    filter
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
