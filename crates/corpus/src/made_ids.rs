//! Ids for records without one.

use uuid::Builder;

use super::records::Position;

/// Id for a record without one.
#[derive(Clone, Copy, Debug)]
pub enum MadeIds {
    /// No id: the record is rejected.
    None,
    /// File and number of the record: the same whenever the file is read, and only as unique as the
    /// file names.
    ByPlace,
    /// An id that no other collector makes, with any name of the file.
    Unique(RoundIds),
}

/// The ids of one round of collecting: UUIDs of version 7 (RFC 9562, section 5.7), which sort by
/// the time of the round and then by the record's place in it (section 6.2, method 1, with a
/// counter of 44 bits).
///
/// A repeated round makes the same ids. Two collectors without knowledge of each other make the
/// same id only if they begin rounds in one millisecond and draw the same 30 bits.
///
/// ```text
/// 48 bits  milliseconds since 1970
/// 12 bits  number of the file
/// 32 bits  number of the record in the file
/// 30 bits  drawn for the round
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RoundIds {
    /// Milliseconds since 1970.
    time_ms: u64,
    drawn: u32,
}

const DRAWN_BITS: u32 = 30;

/// Maximum number of files in a round: the number of values for the file in an id.
pub const FILES_MAX: usize = 1 << 12;

impl RoundIds {
    /// Returns the ids of the round that began at `time_ms`, with a random number of its own.
    pub fn new(time_ms: u64, random: u32) -> Self {
        Self { time_ms, drawn: random & ((1 << DRAWN_BITS) - 1) }
    }

    /// Returns the id of the record that ends at `position`; the error is the reason shown to the
    /// user.
    pub(super) fn id(self, position: Position) -> Result<String, String> {
        let n_file = u16::try_from(position.n_file).ok().filter(|n_file| usize::from(*n_file) < FILES_MAX);
        let n_record = u32::try_from(position.n_records).ok();
        let (Some(n_file), Some(n_record)) = (n_file, n_record) else {
            return Err(
                "it has no id, and none can be made for so late a record of one file; split it".to_owned()
            );
        };
        let mut tail = [0; 10];
        tail[..2].copy_from_slice(&n_file.to_be_bytes());
        let low = u64::from(n_record) << DRAWN_BITS | u64::from(self.drawn);
        tail[2..].copy_from_slice(&low.to_be_bytes());
        Ok(Builder::from_unix_timestamp_millis(self.time_ms, &tail).into_uuid().to_string())
    }
}

#[cfg(test)]
mod tests {
    use uuid::{Uuid, Variant};

    use super::*;

    fn id(time_ms: u64, drawn: u32, n_file: usize, n_records: u64) -> Uuid {
        RoundIds::new(time_ms, drawn).id(Position { n_file, n_records }).unwrap().parse().unwrap()
    }

    #[test]
    fn ids_are_of_version_7_and_sort_by_time_file_and_record() {
        let (last_file, last_record) = (FILES_MAX - 1, u64::from(u32::MAX));
        let places = [(0, 1), (0, 2), (0, last_record), (1, 1), (last_file, 1), (last_file, last_record)];
        let mut ids = Vec::new();
        for time_ms in [1_700_000_000_000, 1_700_000_000_001, 1_800_000_000_000] {
            ids.extend(places.map(|(n_file, n_records)| id(time_ms, 7, n_file, n_records).to_string()));
        }
        assert!(ids.is_sorted_by(|a, b| a < b), "{ids:#?}");
        let made = id(1_700_000_000_000, u32::MAX, last_file, last_record);
        assert_eq!((made.get_version_num(), made.get_variant()), (7, Variant::RFC4122));
        assert_eq!(made.get_timestamp().unwrap().to_unix(), (1_700_000_000, 0));
        assert_ne!(id(1, 2, 0, 1), id(1, 3, 0, 1), "another collector draws another number");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (n_file, n_records) in [(FILES_MAX, 1), (0, 1 << 32)] {
            RoundIds::new(0, 0).id(Position { n_file, n_records }).unwrap_err();
        }
    }
}
