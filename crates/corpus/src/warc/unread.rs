//! A reader that takes bytes back.

use std::io::{self, BufRead, Read};

/// Maximum number of times that bytes are taken back, which bounds the time spent on them.
const TIMES_MAX: usize = 1000;

pub(super) struct Unread<R> {
    inner: R,
    back: Vec<u8>,
    /// Number of bytes of `back` read again.
    n_consumed: usize,
    n_times: usize,
}

impl<R> Unread<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, back: Vec::new(), n_consumed: 0, n_times: 0 }
    }

    /// Returns the next bytes without reading them: `n`, or fewer at the end.
    pub(super) fn peek(&mut self, n: usize) -> io::Result<&[u8]>
    where
        R: BufRead,
    {
        if self.back.len() - self.n_consumed < n {
            self.back.drain(..self.n_consumed);
            self.n_consumed = 0;
        }
        while self.back.len() - self.n_consumed < n {
            let available = self.inner.fill_buf()?;
            let n_more = available.len().min(n - self.back.len());
            if n_more == 0 {
                break;
            }
            self.back.extend_from_slice(&available[..n_more]);
            self.inner.consume(n_more);
        }
        let next = &self.back[self.n_consumed..];
        Ok(&next[..next.len().min(n)])
    }

    /// Forgets the bytes that were taken back or looked at, and not read.
    pub(super) fn forget(&mut self) {
        (self.back, self.n_consumed) = (Vec::new(), 0);
    }

    /// Takes back bytes, to be read next. Returns false if that was done too often.
    pub(super) fn take_back(&mut self, bytes: &[u8]) -> bool {
        self.n_times += 1;
        if self.n_times > TIMES_MAX {
            return false;
        }
        self.back = [bytes, &self.back[self.n_consumed..]].concat();
        self.n_consumed = 0;
        true
    }
}

impl<R: BufRead> Read for Unread<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut available = self.fill_buf()?;
        let n = available.read(buffer)?;
        self.consume(n);
        Ok(n)
    }
}

impl<R: BufRead> BufRead for Unread<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.n_consumed < self.back.len() {
            return Ok(&self.back[self.n_consumed..]);
        }
        self.inner.fill_buf()
    }

    fn consume(&mut self, n: usize) {
        if self.n_consumed == self.back.len() {
            return self.inner.consume(n);
        }
        self.n_consumed += n;
        if self.n_consumed == self.back.len() {
            self.back = Vec::new();
            self.n_consumed = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_back_comes_next() {
        let mut reader = Unread::new(&b"cdef"[..]);
        assert!(reader.take_back(b"b") && reader.take_back(b"a"));
        let mut read = [0; 3];
        reader.read_exact(&mut read).unwrap();
        assert_eq!(&read, b"abc");
        assert!(reader.take_back(b"xyz"));
        reader.read_exact(&mut read[..1]).unwrap();
        assert!(reader.take_back(b"w"));
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "wyzdef");
        let mut reader = Unread::new(io::BufReader::with_capacity(2, &b"cdef"[..]));
        assert!(reader.take_back(b"ab"));
        assert_eq!(reader.peek(5).unwrap(), b"abcde");
        reader.read_exact(&mut read).unwrap();
        assert_eq!((&read, reader.peek(1).unwrap()), (b"abc", &b"d"[..]));
        assert_eq!(reader.peek(9).unwrap(), b"def");
        assert_eq!((1..).find(|_| !reader.take_back(b"a")), Some(TIMES_MAX));
    }
}
