//! A reader that can go back to a mark.

use std::io::{self, BufRead, Read};

/// Number of bytes before the current place to which a reader can go back at least; it holds up to
/// twice as many. A member that was cut off shows within some KiB.
const KEPT_BYTES: usize = 256 << 10;

pub(super) struct Kept<R> {
    inner: R,
    /// The last bytes that came from `inner`, of which those from `at` on are read next.
    bytes: Vec<u8>,
    at: usize,
    /// Place of the mark in `bytes`, or 0 if it is no longer among them.
    mark: usize,
    has_mark: bool,
    has_failed: bool,
}

impl<R> Kept<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, bytes: Vec::new(), at: 0, mark: 0, has_mark: true, has_failed: false }
    }

    /// Returns true if `inner` itself gave an error.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Marks the current place.
    pub(super) fn mark(&mut self) {
        if self.at == self.bytes.len() {
            self.bytes.clear();
            self.at = 0;
        }
        (self.mark, self.has_mark) = (self.at, true);
    }

    /// Returns true unless the bytes read since the mark begin with others.
    pub(super) fn begins_with(&self, magic: &[u8]) -> bool {
        let since = self.bytes.get(self.mark..).unwrap_or_default();
        !self.has_mark || since.iter().zip(magic).all(|(byte, expected)| byte == expected)
    }

    /// Goes back to the byte behind the mark, or as far as bytes are kept.
    pub(super) fn go_back(&mut self) {
        self.at = (self.mark + 1).min(self.bytes.len());
    }
}

impl<R: BufRead> Kept<R> {
    /// Returns the next bytes without reading them: `n`, or fewer at the end.
    pub(super) fn peek(&mut self, n: usize) -> io::Result<&[u8]> {
        while self.bytes.len() - self.at < n {
            let n_missing = n - (self.bytes.len() - self.at);
            let available = filled(&mut self.inner, &mut self.has_failed)?;
            let n_more = available.len().min(n_missing);
            if n_more == 0 {
                break;
            }
            self.bytes.extend_from_slice(&available[..n_more]);
            self.inner.consume(n_more);
        }
        let next = &self.bytes[self.at..];
        Ok(&next[..next.len().min(n)])
    }
}

/// Returns the buffer of the source, and notes if it fails.
fn filled<'r>(inner: &'r mut impl BufRead, has_failed: &mut bool) -> io::Result<&'r [u8]> {
    // The bytes are asked for twice, since a loop cannot hand out what it borrows.
    loop {
        match inner.fill_buf() {
            Ok(_) => return inner.fill_buf(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                *has_failed = true;
                return Err(error);
            }
        }
    }
}

impl<R: BufRead> Read for Kept<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(buffer)?;
        self.consume(n);
        Ok(n)
    }
}

impl<R: BufRead> BufRead for Kept<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at < self.bytes.len() {
            return Ok(&self.bytes[self.at..]);
        }
        filled(&mut self.inner, &mut self.has_failed)
    }

    fn consume(&mut self, n: usize) {
        if self.at < self.bytes.len() {
            self.at += n;
            return;
        }
        // These bytes lie in the buffer of `inner`.
        let available = self.inner.fill_buf().unwrap_or_default();
        self.bytes.extend_from_slice(&available[..n.min(available.len())]);
        self.inner.consume(n);
        if self.bytes.len() > 2 * KEPT_BYTES {
            let n_dropped = self.bytes.len() - KEPT_BYTES;
            self.bytes.drain(..n_dropped);
            self.has_mark &= self.mark >= n_dropped;
            self.mark = self.mark.saturating_sub(n_dropped);
        }
        self.at = self.bytes.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_back_to_its_mark_and_no_farther_than_bytes_are_kept() {
        let raw: Vec<u8> = (0..3_000_000_u32).map(|n| (n / 7) as u8).collect();
        let mut kept = Kept::new(io::BufReader::with_capacity(1000, &raw[..]));
        let mut read = vec![0; 100];
        kept.read_exact(&mut read).unwrap();
        kept.mark();
        kept.read_exact(&mut read[..50]).unwrap();
        assert!(kept.begins_with(&raw[100..103]) && !kept.begins_with(b"x"));
        kept.go_back();
        assert_eq!(kept.peek(60).unwrap(), &raw[101..161]);
        kept.mark();
        let mut long = vec![0; 2_000_000];
        kept.read_exact(&mut long).unwrap();
        assert_eq!(long, raw[101..2_000_101]);
        assert!(kept.begins_with(b"x") && kept.bytes.len() <= 2 * KEPT_BYTES);
        kept.go_back();
        let mut rest = Vec::new();
        kept.read_to_end(&mut rest).unwrap();
        assert!(rest.len() >= 999_899 + KEPT_BYTES - 1, "{}", rest.len());
        assert_eq!(rest, raw[raw.len() - rest.len()..]);
    }
}
