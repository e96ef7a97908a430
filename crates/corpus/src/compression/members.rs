//! Gzip with any number of members. A damaged member is one error and not the end: the next member
//! is read after it. A caller with no trust in content after an error stops there.
//!
//! A member that was cut off shows only when bytes of the next ones were unpacked in its place, so
//! the search for the next member goes back to the beginning of the damaged one.

mod kept;

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;
use memchr::memchr;

use super::GZIP_MAGIC;
use kept::Kept;

/// Beginning of a member: the magic number, and the only method.
const MEMBER: &[u8] = b"\x1f\x8b\x08";

const NO_GZIP: &str =
    "bytes that are not gzip follow a member of it; `gzip -dc` unpacks what comes before them";

/// Maximum number of times that the search goes back, which bounds the time spent on it.
const TIMES_BACK_MAX: usize = 1000;

pub(super) struct Members<R> {
    state: State<R>,
    n_times_back: usize,
    /// True after an error, until a member is whole.
    is_lost: bool,
}

enum State<R> {
    Between(Kept<R>),
    Inside(Box<GzDecoder<Kept<R>>>),
    /// At the end, or after an error of the source itself.
    Ended,
}

impl<R: BufRead> Members<R> {
    pub(super) fn new(raw: R) -> Self {
        Self { state: State::Between(Kept::new(raw)), n_times_back: 0, is_lost: false }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            // Any path that does not put a state back leaves the reader ended.
            let mut member = match std::mem::replace(&mut self.state, State::Ended) {
                State::Ended => return Ok(0),
                State::Between(mut raw) => {
                    if is_at_end(&mut raw)? {
                        return Ok(0);
                    }
                    raw.mark();
                    Box::new(GzDecoder::new(raw))
                }
                State::Inside(member) => member,
            };
            match member.read(buffer) {
                Ok(0) => {
                    self.is_lost = false;
                    self.state = State::Between(member.into_inner());
                }
                Ok(n) => {
                    self.state = State::Inside(member);
                    return Ok(n);
                }
                Err(error) => {
                    let mut raw = member.into_inner();
                    if raw.has_failed() {
                        return Err(error);
                    }
                    let is_gzip = raw.begins_with(GZIP_MAGIC);
                    if self.n_times_back < TIMES_BACK_MAX {
                        self.n_times_back += 1;
                        raw.go_back();
                    }
                    let was_lost = std::mem::replace(&mut self.is_lost, true);
                    let is_found = skip_to_member(&mut raw)?;
                    self.state = State::Between(raw);
                    let is_end = error.kind() == io::ErrorKind::UnexpectedEof;
                    return Err(if !is_gzip {
                        damaged(NO_GZIP)
                    } else if is_end && (is_found || was_lost) {
                        damaged("a member of gzip breaks off")
                    } else {
                        error
                    });
                }
            }
        }
    }
}

fn damaged(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Skips zero bytes, with which tapes and disks fill their last block. Returns true if nothing else
/// follows.
fn is_at_end(raw: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let available = raw.fill_buf()?;
        let n_zeros = available.iter().take_while(|byte| **byte == 0).count();
        let (is_at_end, is_zeros) = (available.is_empty(), n_zeros == available.len());
        raw.consume(n_zeros);
        if is_at_end || !is_zeros {
            return Ok(is_at_end);
        }
    }
}

/// Skips bytes that cannot begin a member. Returns false if none follows.
fn skip_to_member(raw: &mut Kept<impl BufRead>) -> io::Result<bool> {
    loop {
        let available = raw.fill_buf()?;
        if available.is_empty() {
            return Ok(false);
        }
        let place = memchr(MEMBER[0], available);
        let n_skipped = place.unwrap_or(available.len());
        raw.consume(n_skipped);
        if place.is_some() {
            if raw.peek(MEMBER.len())? == MEMBER {
                return Ok(true);
            }
            raw.consume(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Write};

    use super::*;

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    /// Returns the members that are whole, and the errors in their places.
    fn read(raw: &[u8]) -> Vec<String> {
        // A buffer so short that each magic number lies across two at some place.
        let mut members = Members::new(BufReader::with_capacity(7, raw));
        let (mut read, mut buffer, mut content) = (Vec::new(), [0; 256], Vec::new());
        loop {
            match members.read(&mut buffer) {
                Ok(0) => return read,
                Ok(n) => {
                    content.extend_from_slice(&buffer[..n]);
                    let text = String::from_utf8_lossy(&content);
                    read.extend(text.strip_suffix('.').map(str::to_owned));
                    if text.ends_with('.') {
                        content.clear();
                    }
                }
                Err(error) => {
                    content.clear();
                    read.push(format!("error: {error}"));
                }
            }
        }
    }

    fn is_error(shown: &str) -> bool {
        shown.starts_with("error: ")
    }

    /// A text that takes some hundred bytes, packed.
    fn text(n: u32) -> String {
        let words: Vec<String> =
            (0..90).map(|i: u32| format!("{:x}", (i + 97 * n).wrapping_mul(2_654_435_761))).collect();
        words.join(" ")
    }

    fn members(n: u32) -> Vec<Vec<u8>> {
        (0..n).map(|n| gzip(format!("{}.", text(n)).as_bytes())).collect()
    }

    #[test]
    fn a_member_that_is_cut_off_costs_none_behind_it() {
        for n_behind in [0, 1, 2, 5] {
            let members = members(2 + n_behind);
            for cut in [3, 9, 10, 11, 80, 200, members[1].len() - 8, members[1].len() - 1] {
                let raw = [&members[0][..], &members[1][..cut], &members[2..].concat()].concat();
                let read = read(&raw);
                let whole: Vec<&String> = read.iter().filter(|shown| !is_error(shown)).collect();
                assert_eq!(whole[0], &text(0));
                for n in 2..2 + n_behind {
                    assert!(whole.contains(&&text(n)), "{n_behind} {cut} {n}");
                }
                assert!(read.iter().any(|shown| is_error(shown)), "{n_behind} {cut}");
            }
        }
    }

    #[test]
    fn zeros_between_and_behind_members_are_nothing() {
        let members = members(3);
        for n in [1, 4, 512, 70_000] {
            let zeros = vec![0; n];
            let raw = [&members[0][..], &zeros, &members[1], &members[2], &zeros].concat();
            assert_eq!(read(&raw), [text(0), text(1), text(2)], "{n}");
        }
    }

    #[test]
    fn what_follows_and_is_not_gzip_is_told_and_costs_no_member() {
        let members = members(2);
        for other in [&b"x"[..], b"garbage", b"\0\0garbage and more of it", b"\x1f"] {
            let raw = [&members[0][..], other, &members[1]].concat();
            let shown = read(&raw);
            assert_eq!([&shown[0], shown.last().unwrap()], [&text(0), &text(1)], "{shown:?}");
            assert!(shown[1].contains("not gzip follow"), "{shown:?}");
            let shown = read(&[&members[0][..], other].concat());
            assert!(other == b"\x1f" || shown[1].contains("not gzip follow"), "{shown:?}");
        }
    }

    #[test]
    fn a_file_that_is_cut_off_is_one_error_of_its_end() {
        let whole = members(1).concat();
        let mut members = Members::new(&whole[..whole.len() - 20]);
        let error = members.read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(members.read(&mut [0; 9]).unwrap(), 0);
    }
}
