//! Rows of cells, cut as a dialect says: RFC 4180 at its strictest, where a closed quote ends its
//! cell.

use std::io::{self, BufRead};

use memchr::{memchr, memchr_iter, memchr2, memchr2_iter, memchr3};

use super::super::encoding::BYTE_ORDER_MARK;
use super::dialect::{Dialect, SAMPLE_BYTES};

/// Size of the buffer for the cells of a row, at first.
pub(super) const ROW_BYTES: usize = 64 << 10;

/// Maximum number of cells in a row, which bounds rows of empty cells.
pub(super) const ROW_CELLS_MAX: usize = 1 << 16;

/// Maximum number of spaces between a closed quote and the end of its cell.
const SPACES_MAX: usize = 64;

pub(super) struct Rows<R> {
    reader: R,
    dialect: Dialect,
    buffer: Vec<u8>,
    /// Place in the buffer of the first byte that is still needed.
    start: usize,
    /// Place in the buffer of the next byte.
    at: usize,
    /// The last row: its cells one after another, and the end of each.
    cells: Vec<u8>,
    ends: Vec<usize>,
    /// Number of cells in the first row; 0 before it.
    n_columns: usize,
    /// Number of quoted cells so far.
    pub(super) n_quoted: u64,
    /// Number of the next line.
    pub(super) number: u64,
    row_bytes_max: usize,
    is_too_long: bool,
    /// Place behind an opening quote of the row, and the number of its line.
    opened: Option<(usize, u64)>,
    /// True while the buffer has all from the place in `opened` on, to go back there.
    is_held: bool,
    /// The same of the first quoted cell with line breaks.
    broken: Option<(usize, u64)>,
    is_begun: bool,
}

pub(super) enum Row {
    Whole,
    TooLong,
    /// Text follows a closed quote, which opens in this line, so that another one is missing. The
    /// row is what is before the end of that line.
    Misquoted(u64),
    /// A quoted cell, which opens in this line, takes in whole rows. The row is what is before the
    /// end of that line.
    WithRows(u64),
    /// The file ends inside quotes, which open in this line. The row is what is before the end of
    /// that line.
    Unclosed(u64),
    /// A quoted cell, which opens in this line, is longer than a row may be, and its lines are
    /// rows. The row is what is before the end of that line.
    TooFar(u64),
    End,
}

/// End of a cell.
enum Ending {
    Cell,
    Row,
    Misquoted,
    Unclosed,
    TooFar,
}

impl<R: BufRead> Rows<R> {
    pub(super) fn new(reader: R, dialect: Dialect, row_bytes_max: usize) -> Self {
        Self {
            reader,
            dialect,
            buffer: Vec::new(),
            start: 0,
            at: 0,
            cells: Vec::with_capacity(ROW_BYTES),
            ends: Vec::new(),
            n_columns: 0,
            n_quoted: 0,
            number: 1,
            row_bytes_max,
            is_too_long: false,
            opened: None,
            is_held: false,
            broken: None,
            is_begun: false,
        }
    }

    /// Tells how many cells a row should have, other than the first row does.
    pub(super) fn with_columns(self, n_columns: Option<usize>) -> Self {
        Self { n_columns: n_columns.unwrap_or_default(), ..self }
    }

    pub(super) fn n_cells(&self) -> usize {
        self.ends.len()
    }

    /// Returns a cell of the last row.
    pub(super) fn cell(&self, i: usize) -> &[u8] {
        &self.cells[if i == 0 { 0 } else { self.ends[i - 1] }..self.ends[i]]
    }

    /// Skips blank lines. The reader then stands on the first line of the next row, whose number is
    /// that of the line.
    pub(super) fn skip_blank_lines(&mut self) -> io::Result<()> {
        if !self.is_begun {
            self.is_begun = true;
            while self.buffer.len() < BYTE_ORDER_MARK.len() && self.fill()? {}
            if self.buffer.starts_with(BYTE_ORDER_MARK) {
                self.at = BYTE_ORDER_MARK.len();
            }
        }
        while let Some(byte @ (b'\r' | b'\n')) = self.peek(0)? {
            // A carriage return ends its line alone, or together with a line feed.
            self.number += u64::from(byte == b'\n' || self.peek(1)? != Some(b'\n'));
            self.at += 1;
            self.start = self.at;
        }
        Ok(())
    }

    /// Reads the next row, if there is one.
    pub(super) fn read_row(&mut self) -> io::Result<Row> {
        self.start = self.at;
        self.cells.clear();
        self.ends.clear();
        (self.is_too_long, self.is_held, self.opened, self.broken) = (false, false, None, None);
        if self.peek(0)?.is_none() {
            return Ok(Row::End);
        }
        loop {
            let next = self.peek(0)?;
            if next.is_some_and(|byte| self.dialect.is_settled_by(byte)) && !self.is_too_long {
                self.settle()?;
            }
            let ending = match next {
                Some(byte) if Some(byte) == self.dialect.quote => self.read_quoted()?,
                _ => self.read_plain()?,
            };
            if self.cells.len() > self.row_bytes_max || self.ends.len() >= ROW_CELLS_MAX {
                self.is_too_long = true;
            }
            match ending {
                Ending::Unclosed if self.can_go_back() => {
                    return self.go_back(self.opened).map(Row::Unclosed);
                }
                Ending::Unclosed => {
                    return Ok(Row::Unclosed(self.opened.map_or(self.number, |(_, line)| line)));
                }
                Ending::TooFar => return self.go_back(self.opened).map(Row::TooFar),
                Ending::Misquoted if self.can_go_back() => {
                    return self.go_back(self.opened).map(Row::Misquoted);
                }
                Ending::Misquoted => {}
                Ending::Cell | Ending::Row => self.ends.push(self.cells.len()),
            }
            if self.is_too_long {
                // A row of such a length is not kept.
                self.cells.clear();
                self.ends.clear();
                self.start = self.at;
            }
            if matches!(ending, Ending::Row) {
                if self.n_columns == 0 {
                    self.n_columns = self.ends.len();
                }
                return match self.broken {
                    _ if self.is_too_long => Ok(Row::TooLong),
                    Some(_) if self.has_rows() => self.go_back(self.broken).map(Row::WithRows),
                    _ => Ok(Row::Whole),
                };
            }
        }
    }

    /// Returns true if each line of the row, which has several, has as many cells as a row: they
    /// are rows, between two quotes that do not belong together. A line that begins with a
    /// delimiter is one of an indented text.
    fn has_rows(&self) -> bool {
        let delimiter = self.dialect.delimiter;
        let lines = self.buffer[self.start..self.at].split(|byte| matches!(byte, b'\n' | b'\r'));
        let n_cells = |line: &[u8]| memchr_iter(delimiter, line).count() + 1;
        let is_row = |line: &[u8]| line.first() != Some(&delimiter) && n_cells(line) == self.n_columns;
        self.dialect.keeps_rows && self.n_columns > 1 && lines.filter(|line| !line.is_empty()).all(is_row)
    }

    /// Returns true if most of the whole lines after the one in which a cell opens, whose bytes
    /// begin at `place`, have as many cells as a row. Looks at as many bytes as a quoted cell may
    /// take: what is read at a time must not decide.
    fn takes_in_rows(&self, place: usize) -> bool {
        let end = self.buffer.len().min(place.saturating_add(self.quoted_bytes_max()));
        let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let (mut n_lines, mut n_rows) = (0_usize, 0_usize);
        let mut lines = self.buffer[place..end].split(is_end).skip(1).peekable();
        while let Some(line) = lines.next().filter(|_| lines.peek().is_some()) {
            n_lines += usize::from(!line.is_empty());
            let n_cells = memchr_iter(self.dialect.delimiter, line).count() + 1;
            n_rows += usize::from(!line.is_empty() && n_cells == self.n_columns);
        }
        n_lines > 0 && 2 * n_rows >= n_lines
    }

    /// Returns the number of bytes that a row of the greatest length may take between two quotes,
    /// all of them doubled.
    fn quoted_bytes_max(&self) -> usize {
        self.row_bytes_max.saturating_mul(2)
    }

    /// Returns true if the buffer has all from the place in `opened` on.
    fn can_go_back(&self) -> bool {
        self.is_held || !self.is_too_long
    }

    /// Settles an open dialect by the rows from this one on.
    fn settle(&mut self) -> io::Result<()> {
        let mut is_whole = false;
        while self.buffer.len() - self.start < SAMPLE_BYTES && !is_whole {
            is_whole = !self.fill()?;
        }
        self.dialect = self.dialect.settled(&self.buffer[self.start..], is_whole, self.n_columns);
        Ok(())
    }

    /// Reads a cell without quotes, and what ends it.
    fn read_plain(&mut self) -> io::Result<Ending> {
        loop {
            let rest = &self.buffer[self.at..];
            let end = memchr3(self.dialect.delimiter, b'\n', b'\r', rest);
            self.keep(end.unwrap_or(self.buffer.len() - self.at));
            if end.is_some() || !self.fill()? {
                return self.end_cell();
            }
        }
    }

    /// Reads a quoted cell, and what ends it.
    fn read_quoted(&mut self) -> io::Result<Ending> {
        let Dialect { quote, has_escapes, .. } = self.dialect;
        let quote = quote.unwrap_or_default();
        self.n_quoted += 1;
        self.at += 1;
        self.opened = Some((self.at, self.number));
        self.is_held = true;
        let mut is_after_return = false;
        loop {
            let rest = &self.buffer[self.at..];
            let found = if has_escapes { memchr2(quote, b'\\', rest) } else { memchr(quote, rest) };
            let n = found.unwrap_or(rest.len());
            if let Some((place, _)) = self.opened.filter(|_| self.is_held)
                && self.at + n - place > self.quoted_bytes_max()
            {
                // A row of such a length is passed over, or the rows in it are read.
                if self.takes_in_rows(place) {
                    return Ok(Ending::TooFar);
                }
                self.is_held = false;
            }
            self.number += n_line_ends(&rest[..n], &mut is_after_return);
            self.keep(n);
            if found.is_none() {
                if !self.fill()? {
                    return Ok(Ending::Unclosed);
                }
                continue;
            }
            is_after_return = false;
            let next = self.peek(1)?;
            if self.buffer[self.at] != quote {
                // The backslash goes, if the character after it has a meaning of its own.
                self.at += usize::from(next == Some(quote) || next == Some(b'\\'));
                self.keep(1);
            } else if next == Some(quote) {
                self.at += 1;
                self.keep(1);
            } else {
                self.at += 1;
                break;
            }
        }
        self.broken = self.broken.or(self.opened.filter(|(_, line)| self.number > *line));
        let mut n_spaces = 0;
        while n_spaces < SPACES_MAX && self.dialect.delimiter != b' ' && self.peek(n_spaces)? == Some(b' ') {
            n_spaces += 1;
        }
        match self.peek(n_spaces)? {
            None | Some(b'\n' | b'\r') => {}
            Some(byte) if byte == self.dialect.delimiter => {}
            Some(_) => return Ok(Ending::Misquoted),
        }
        self.is_held = false;
        self.at += n_spaces;
        self.end_cell()
    }

    /// Takes the delimiter or the line end that the reader stands on.
    fn end_cell(&mut self) -> io::Result<Ending> {
        let byte = self.peek(0)?;
        self.at += usize::from(byte.is_some());
        match byte {
            Some(byte) if byte == self.dialect.delimiter => return Ok(Ending::Cell),
            Some(b'\r') => {
                self.at += usize::from(self.peek(0)? == Some(b'\n'));
                self.number += 1;
            }
            Some(b'\n') => self.number += 1,
            _ => {}
        }
        Ok(Ending::Row)
    }

    /// Takes the next `n` bytes of the buffer into the cell.
    fn keep(&mut self, n: usize) {
        if !self.is_too_long {
            self.cells.extend_from_slice(&self.buffer[self.at..self.at + n]);
            // The rest is looked at for its end only.
            self.is_too_long = self.cells.len() > self.row_bytes_max;
        }
        self.at += n;
        if self.is_too_long && !self.is_held {
            self.start = self.at;
        }
    }

    /// Goes back to the end of the line with the opening quote of a cell: what follows are rows.
    /// Returns the number of that line.
    fn go_back(&mut self, opened: Option<(usize, u64)>) -> io::Result<u64> {
        let (place, number) = opened.unwrap_or((self.at, self.number));
        self.at = place;
        self.number = number;
        loop {
            if let Some(end) = memchr2(b'\n', b'\r', &self.buffer[self.at..]) {
                self.at += end;
                return Ok(number);
            }
            self.at = self.buffer.len();
            self.start = self.at;
            if !self.fill()? {
                return Ok(number);
            }
        }
    }

    /// Returns the byte `n` bytes ahead; `None` at the end.
    fn peek(&mut self, n: usize) -> io::Result<Option<u8>> {
        while self.buffer.len() <= self.at + n {
            if !self.fill()? {
                return Ok(None);
            }
        }
        Ok(self.buffer.get(self.at + n).copied())
    }

    /// Reads more; false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        let available = loop {
            match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                // Called again, since a borrow inside the loop cannot be returned.
                Ok(_) => break self.reader.fill_buf()?,
            }
        };
        self.buffer.drain(..self.start);
        self.at -= self.start;
        let moved = |(place, line): (usize, u64)| (place.saturating_sub(self.start), line);
        (self.opened, self.broken) = (self.opened.map(moved), self.broken.map(moved));
        self.start = 0;
        let n = available.len();
        self.buffer.extend_from_slice(available);
        self.reader.consume(n);
        Ok(n > 0)
    }
}

/// Counts the ends of lines: line feeds, and carriage returns that none follows.
/// `is_after_return` says that a carriage return, which is counted, ends the bytes before.
fn n_line_ends(bytes: &[u8], is_after_return: &mut bool) -> u64 {
    let is_end = |at: &usize| {
        let is_after = if *at == 0 { *is_after_return } else { bytes[*at - 1] == b'\r' };
        bytes[*at] == b'\r' || !is_after
    };
    let n = memchr2_iter(b'\n', b'\r', bytes).filter(is_end).count() as u64;
    if let Some(last) = bytes.last() {
        *is_after_return = *last == b'\r';
    }
    n
}
