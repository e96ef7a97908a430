//! Bounds on the memory of an answer: two of its bytes may be an empty message, which takes a
//! hundred bytes in memory. Messages are counted before any room is made for them.

use prost::Message;

use crate::messages::MultiRequest;
use crate::{Answer, Error};

/// The longest answer that names the server of `hbase:meta` or the active master, in bytes.
pub(crate) const REGISTRY_LEN_MAX: usize = 64 << 10;

/// The longest description of a table, in bytes.
pub(crate) const SCHEMA_LEN_MAX: usize = 256 << 10;

impl Answer {
    /// Decodes the message, if not longer than `len_max` bytes.
    ///
    /// # Errors
    /// [`Error::Protocol`] if the message is longer, or is no such message.
    pub(crate) fn short_message<M: Message + Default>(&self, len_max: usize) -> Result<M, Error> {
        let len = self.bytes().len();
        if len > len_max {
            return Err(Error::Protocol(format!("a message of {len} bytes, where {len_max} are taken")));
        }
        self.message()
    }

    /// Checks that this `MultiResponse` has no more results than were asked for.
    ///
    /// # Errors
    /// [`Error::Protocol`] if there are more.
    pub(crate) fn check_results(&self, request: &MultiRequest) -> Result<(), Error> {
        let more = || Error::Protocol("an answer with more results than were asked for".to_owned());
        let mut asked = request.regions.iter();
        for region in nested(self.bytes()) {
            let asked = asked.next().ok_or_else(more)?;
            if nested(region).nth(asked.actions.len()).is_some() {
                return Err(more());
            }
        }
        Ok(())
    }
}

/// Iterates over the messages in field 1 of a message, up to the first unreadable bytes, which the
/// decoder reports.
fn nested(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        loop {
            let key = varint(&mut rest)?;
            let len = match key & 7 {
                0 => {
                    varint(&mut rest)?;
                    continue;
                }
                1 => 8,
                2 => usize::try_from(varint(&mut rest)?).ok()?,
                5 => 4,
                _ => return None,
            };
            let (value, later) = rest.split_at_checked(len)?;
            rest = later;
            if key == (1 << 3 | 2) {
                return Some(value);
            }
        }
    })
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, later) = rest.split_first()?;
        *rest = later;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::{MultiResponse, NameBytesPair, RegionActionResult, ResultOrException};

    #[test]
    fn they_are_found_among_other_fields() {
        let one = ResultOrException { index: Some(300), ..ResultOrException::default() };
        let exception = NameBytesPair { name: "a".repeat(200), value: None };
        let region =
            RegionActionResult { results: vec![one; 3], exception: Some(exception), processed: Some(true) };
        let whole = MultiResponse { regions: vec![region, RegionActionResult::default()] }.encode_to_vec();
        let counts: Vec<_> = nested(&whole).map(|region| nested(region).count()).collect();
        assert_eq!(counts, [3, 0]);
        for len in 0..whole.len() {
            assert!(nested(&whole[..len]).count() <= 2);
        }
    }
}
