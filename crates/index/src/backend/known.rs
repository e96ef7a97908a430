//! The check made by every call: the store still holds the index first seen by this process.
//!
//! A server can be emptied under a running process, and another index made in the same place. The
//! fingerprints of the other index may come from another recipe, so its answers would be wrong, and
//! documents written to it would never be found.

use std::sync::OnceLock;

use crate::{Error, ErrorKind, Metadata, Result};

/// The length of a seal: the last bytes of a metadata record, by which a script of Redis recognises
/// the record. They hold the identity and the checksum over the whole record. An index without an
/// identity of its own is recognised by the checksum.
const SEAL_LEN: usize = 80;

/// The index first seen by an open store, to which the store holds its calls.
pub struct Known {
    /// The place of the store, for messages.
    place: String,
    seen: OnceLock<Seen>,
}

struct Seen {
    metadata: Metadata,
    /// The stored bytes, so most checks compare bytes and decode nothing.
    record: Vec<u8>,
}

impl Known {
    /// A store at `place` that has seen no index yet.
    pub fn new(place: impl Into<String>) -> Self {
        Self { place: place.into(), seen: OnceLock::new() }
    }

    /// The metadata of the index, once seen.
    pub fn metadata(&self) -> Option<&Metadata> {
        self.seen.get().map(|seen| &seen.metadata)
    }

    /// The end of the metadata record, once seen.
    pub fn seal(&self) -> Option<&[u8]> {
        self.seen.get().map(|seen| &seen.record[seen.record.len().saturating_sub(SEAL_LEN)..])
    }

    /// Checks `record`, the record stored now, against the index seen first, and returns its
    /// metadata; `None` before there was an index.
    ///
    /// # Errors
    /// `Replaced` for another index, `NotFound` where the index has gone, and those of
    /// [`Metadata::decode`].
    pub fn find(&self, record: Option<&[u8]>) -> Result<Option<&Metadata>> {
        match (self.seen.get(), record) {
            (None, None) => Ok(None),
            (Some(_), None) => Err(self.gone()),
            (Some(seen), Some(record)) if seen.record == record => Ok(Some(&seen.metadata)),
            (_, Some(record)) => {
                let metadata = Metadata::decode(record)?;
                let seen =
                    self.seen.get_or_init(|| Seen { metadata: metadata.clone(), record: record.to_vec() });
                // Another thread may have seen another index at the same time.
                if seen.metadata != metadata {
                    return Err(self.replaced());
                }
                Ok(Some(&seen.metadata))
            }
        }
    }

    /// As [`find`](Self::find), for the record given by `read`. A missing record may have been read
    /// before another thread made the index.
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

    /// The error for another index than the one seen first.
    pub fn replaced(&self) -> Error {
        let place = &self.place;
        Error::new(
            ErrorKind::Replaced,
            format!(
                "the index at {place} was made anew since this process opened it; start the program again"
            ),
        )
    }

    /// The error for an index that has gone.
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
        // The same metadata in other bytes.
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

    /// The seals of two indexes differ if only their identities do, and also if neither has an
    /// identity.
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
