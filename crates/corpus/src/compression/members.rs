//! Gzip with any number of members. A damaged member is one error and not the end: the next member
//! is read after it. A caller with no trust in content after an error stops there.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;
use memchr::memchr;

/// Beginning of a member: the magic number, and the only method.
const MEMBER: [u8; 3] = [0x1f, 0x8b, 0x08];

pub(super) struct Members<R>(State<R>);

enum State<R> {
    Between(R),
    Inside(Box<GzDecoder<R>>),
    /// At the end, or after an error of the source itself.
    Ended,
}

impl<R: BufRead> Members<R> {
    pub(super) fn new(raw: R) -> Self {
        Self(State::Between(raw))
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            // Any path that does not put a state back leaves the reader ended.
            let mut member = match std::mem::replace(&mut self.0, State::Ended) {
                State::Ended => return Ok(0),
                State::Between(mut raw) => {
                    if raw.fill_buf()?.is_empty() {
                        return Ok(0);
                    }
                    Box::new(GzDecoder::new(raw))
                }
                State::Inside(member) => member,
            };
            match member.read(buffer) {
                Ok(0) => self.0 = State::Between(member.into_inner()),
                Ok(n) => {
                    self.0 = State::Inside(member);
                    return Ok(n);
                }
                Err(error) => {
                    if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) {
                        let mut raw = member.into_inner();
                        skip_to_member(&mut raw)?;
                        self.0 = State::Between(raw);
                    }
                    return Err(error);
                }
            }
        }
    }
}

/// Skips bytes that cannot begin a member. A magic number across two buffers is taken for a member:
/// if wrong, the result is another error.
fn skip_to_member(raw: &mut impl BufRead) -> io::Result<()> {
    loop {
        let available = raw.fill_buf()?;
        if available.is_empty() {
            return Ok(());
        }
        let Some(place) = memchr(MEMBER[0], available) else {
            let n = available.len();
            raw.consume(n);
            continue;
        };
        let is_member = available[place..].iter().zip(MEMBER).all(|(byte, magic)| *byte == magic);
        raw.consume(if is_member { place } else { place + 1 });
        if is_member {
            return Ok(());
        }
    }
}
