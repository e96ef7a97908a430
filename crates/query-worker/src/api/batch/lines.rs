//! Splits the pieces of a body into lines.

use crate::problem::Problem;

/// A line that is not blank.
pub(super) struct Line {
    /// Number of the line, from 1; blank lines count.
    pub(super) number: u64,
    /// Bytes without the line break, or the fault of the line.
    pub(super) content: Result<Vec<u8>, Problem>,
}

impl Line {
    /// Returns the bytes of memory of the line, up to a constant.
    pub(super) fn n_bytes(&self) -> usize {
        self.content.as_ref().map_or(0, Vec::len)
    }
}

/// Splitter that holds the unfinished line.
pub(super) struct Lines {
    begun: Vec<u8>,
    /// True if the unfinished line is too long; the rest of it is dropped.
    too_long: bool,
    line_bytes_max: usize,
    number: u64,
}

impl Lines {
    pub(super) fn new(line_bytes_max: usize) -> Self {
        Self { begun: Vec::new(), too_long: false, line_bytes_max, number: 1 }
    }

    /// Returns the number of the unfinished line.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Takes a piece; returns the lines that it completes.
    pub(super) fn push(&mut self, piece: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        for part in piece.split_inclusive(|&byte| byte == b'\n') {
            let (part, ends) = part.split_last().map_or((part, false), |(last, before)| match last {
                b'\n' => (before, true),
                _ => (part, false),
            });
            if self.too_long || part.len() > self.line_bytes_max - self.begun.len() {
                self.too_long = true;
                self.begun = Vec::new();
            } else {
                self.begun.extend_from_slice(part);
            }
            if ends {
                lines.extend(self.end());
            }
        }
        lines
    }

    /// Ends the unfinished line. The last line of a body needs no line break.
    pub(super) fn end(&mut self) -> Option<Line> {
        let content = std::mem::take(&mut self.begun);
        let number = self.number;
        self.number += 1;
        if std::mem::take(&mut self.too_long) {
            return Some(Line { number, content: Err(Problem::line_too_long(self.line_bytes_max)) });
        }
        (!content.trim_ascii().is_empty()).then_some(Line { number, content: Ok(content) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a text do not depend on its division into pieces.
    #[test]
    fn lines_do_not_depend_on_the_pieces() {
        let text = b"one\n\ntwo\r\n \n12345678\n123456789\nlast";
        let expected = [
            (1, Some(&b"one"[..])),
            (3, Some(b"two\r")),
            (5, Some(b"12345678")),
            (6, None),
            (7, Some(b"last")),
        ];
        for piece_bytes in 1..=text.len() {
            let mut lines = Lines::new(8);
            let mut cut: Vec<Line> = text.chunks(piece_bytes).flat_map(|piece| lines.push(piece)).collect();
            cut.extend(lines.end());
            let cut: Vec<_> = cut.iter().map(|line| (line.number, line.content.as_deref().ok())).collect();
            assert_eq!(cut, expected, "pieces of {piece_bytes}");
        }
        assert!(Lines::new(8).end().is_none());
    }
}
