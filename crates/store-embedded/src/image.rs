//! The image of the search tables: all they hold up to one change, sorted in a database of the same
//! environment. A search reads the few blocks that it needs, so an opening builds tables of the
//! later changes alone. Drawn in `schema/embedded.md`.
//!
//! The records are the truth. A document counts only while its record is there, so removals leave
//! the image alone, and change numbers are never used again. An image that is damaged, or of
//! another index, is not used: then the tables are built from all records.

mod block;
mod check;
mod header;
mod imaged;
mod view;

use std::sync::atomic::{AtomicU32, Ordering};

use heed::RoTxn;
use index::Family;

pub(super) use self::block::{FINGERPRINTS, Place, encode, entry_bytes};
pub(super) use self::check::check;
pub(super) use self::header::{Header, Section, digest};
pub(super) use self::imaged::Imaged;
pub(super) use self::view::word_of;

use super::environment::Opened;
use super::errors::Failure;

/// The key in `meta` of the header of the image in use.
pub(super) const HEADER_KEY: &str = "image";

/// The key in `meta` of the last generation that was begun.
pub(super) const GENERATION_KEY: &str = "image_generation";

/// The place of a family in [`Family::ALL`].
pub(super) fn place_of(family: Family) -> u8 {
    let place = Family::ALL.iter().position(|of| *of == family);
    place.and_then(|place| u8::try_from(place).ok()).unwrap_or(u8::MAX)
}

/// The generation that this process does not use, because a block of it is damaged.
#[derive(Debug, Default)]
pub(super) struct Refused(AtomicU32);

impl Refused {
    /// 0 for none.
    pub(super) fn generation(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    /// Refuses a generation, and says so unless it was refused before.
    pub(super) fn refuse(&self, generation: u32, what: &str) {
        if self.0.swap(generation, Ordering::AcqRel) != generation {
            warn(what);
        }
    }
}

fn warn(what: &str) {
    tracing::warn!(
        "the image of the search tables is not used: {what}; the tables are built from the records, which takes longer; \
         `pigeonhole repair --apply` drops the image, and the next `indexer index` writes it anew"
    );
}

/// The header of the image in a snapshot, if it is fit for use.
pub(super) fn find(opened: &Opened, txn: &RoTxn<'_>, refused: &Refused) -> Result<Option<Header>, Failure> {
    match Header::find(opened, txn)? {
        Ok(found) => {
            Ok(found.filter(|header| header.generation != refused.generation() && opened.image().is_some()))
        }
        Err(what) => {
            refused.refuse(u32::MAX, what);
            Ok(None)
        }
    }
}
