//! Gzip of any number of members, of which a damaged one is not the end: it is one error, and what can be read after it is
//! the next member. Who does not trust what follows an error stops there.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;
use memchr::memchr;

/// What a member begins with: the magic, and the one method there is.
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
            // Whatever does not put a state back leaves it ended.
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

/// Passes over what cannot begin a member. Where the magic lies across two buffers it is taken for one: if it is not,
/// that is another error.
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
