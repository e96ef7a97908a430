//! Every call checks that the store still holds the index that this process has seen first.
//!
//! A server can be emptied under a running process, and another index made in the same place: one whose fingerprints come
//! from another recipe, so that answers from it would be wrong, and what is written into it would never be found.

use std::sync::OnceLock;

use crate::{Error, ErrorKind, Metadata, Result};

/// The bytes of a metadata record by which a script of Redis knows it: its end, with the identity and the checksum over
/// all of it. Of an index without an identity of its own it is the checksum that tells.
const SEAL_LEN: usize = 80;

/// The index that an open store has seen first, and holds its calls to.
pub struct Known {
    /// Of the store, for messages.
    place: String,
    seen: OnceLock<Seen>,
}

struct Seen {
    metadata: Metadata,
    /// As it is stored, so that mostly bytes are compared and nothing is decoded.
    record: Vec<u8>,
}

impl Known {
    /// Nothing has been seen yet of the index at `place`.
    pub fn new(place: impl Into<String>) -> Self {
        Self { place: place.into(), seen: OnceLock::new() }
    }

    /// What the index says of itself, once it has been seen.
    pub fn metadata(&self) -> Option<&Metadata> {
        self.seen.get().map(|seen| &seen.metadata)
    }

    /// The end of the metadata record, once it has been seen.
    pub fn seal(&self) -> Option<&[u8]> {
        self.seen.get().map(|seen| &seen.record[seen.record.len().saturating_sub(SEAL_LEN)..])
    }

    /// `record` is what is stored now: `None` before there was an index, and from then on the one that was seen first.
    ///
    /// # Errors
    /// `Replaced` where it is another one, `NotFound` where it has gone, and those of [`Metadata::decode`].
    pub fn find(&self, record: Option<&[u8]>) -> Result<Option<&Metadata>> {
        match (self.seen.get(), record) {
            (None, None) => Ok(None),
            (Some(_), None) => Err(self.gone()),
            (Some(seen), Some(record)) if seen.record == record => Ok(Some(&seen.metadata)),
            (_, Some(record)) => {
                let metadata = Metadata::decode(record)?;
                let seen =
                    self.seen.get_or_init(|| Seen { metadata: metadata.clone(), record: record.to_vec() });
                // Another thread may have seen another one at the same time.
                if seen.metadata != metadata {
                    return Err(self.replaced());
                }
                Ok(Some(&seen.metadata))
            }
        }
    }

    /// As [`find`](Self::find), of what `read` gives. What is not there was perhaps read before another thread made it.
    pub fn find_in<R: AsRef<[u8]>, E: From<Error>>(
        &self,
        read: impl FnOnce() -> Result<Option<R>, E>,
    ) -> Result<Option<&Metadata>, E> {
        let was_seen = self.seen.get().is_some();
        match read()? {
            None if !was_seen => Ok(None),
            record => Ok(self.find(record.as_ref().map(R::as_ref))?),
        }
    }

    /// As [`find`](Self::find), where there must be an index.
    pub fn check(&self, record: Option<&[u8]>) -> Result<&Metadata> {
        self.find(record)?.ok_or_else(crate::store::not_created)
    }

    /// What is there is not what was seen first.
    pub fn replaced(&self) -> Error {
        let place = &self.place;
        Error::new(
            ErrorKind::Replaced,
            format!(
                "the index at {place} was made anew since this process opened it; start the program again"
            ),
        )
    }

    /// Nothing is there any more.
    pub fn gone(&self) -> Error {
        let place = &self.place;
        Error::new(
            ErrorKind::NotFound,
            format!(
                "the index at {place} is not there any more; restore it, or start the program again to make a new one"
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testsuite::apart;
    use crate::{OpenOptions, Profile};

    #[test]
    fn only_the_first_index_will_do() {
        let known = Known::new("here");
        assert_eq!(known.find(None).unwrap(), None);
        let records: Vec<_> =
            (0..2).map(|_| OpenOptions::default().new_metadata().unwrap().encode().unwrap()).collect();
        let first = known.check(Some(&records[0])).unwrap().clone();
        assert_eq!(known.check(Some(&records[0])).unwrap(), &first);
        // The same in other bytes.
        assert_eq!(known.check(Some(&[&records[0][..], b"\n"].concat())).unwrap(), &first);
        for (record, kind) in [
            (Some(&records[1][..]), ErrorKind::Replaced),
            (Some(b"{}"), ErrorKind::Corrupt),
            (None, ErrorKind::NotFound),
        ] {
            assert_eq!(known.find(record).unwrap_err().kind(), kind);
        }
        assert_eq!(known.metadata(), Some(&first));
    }

    /// Of two indexes that are alike but for their identities the seals differ, and so they do of two that have none.
    #[test]
    fn a_seal_tells_indexes_apart() {
        let classic = Some(Profile::Classic);
        let options = OpenOptions { profile: classic, verify: Some(false), ..OpenOptions::default() };
        let seal_of = |metadata: &Metadata| {
            let known = Known::new("here");
            known.check(Some(&metadata.encode().unwrap())).unwrap();
            known.seal().unwrap().to_vec()
        };
        let [a, b] = [(); 2].map(|()| options.new_metadata().unwrap());
        assert_ne!(seal_of(&a), seal_of(&b));
        let text = String::from_utf8(seal_of(&a)).unwrap();
        assert!(text.contains(&a.identity.to_string()) && text.contains("crc32"), "{text}");
        let [a, b] =
            [2, 3].map(apart).map(|max_distance| Metadata { format_version: 1, max_distance, ..a.clone() });
        assert_ne!(seal_of(&a), seal_of(&b));
    }
}
