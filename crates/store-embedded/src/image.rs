//! The image of the search tables: all they hold up to one change, sorted in a database of the same
//! environment. A search reads the few blocks that it needs, so an opening builds tables of the
//! later changes alone. Drawn in `schema/embedded.md`.
//!
//! An image has layers, each of the changes after the one below. So a new layer costs what is new,
//! and from time to time takes over the layers below it.
//!
//! The records are the truth. A document counts only while its record is there, so removals leave
//! the image alone, and change numbers are never used again. A layer that is damaged, or of another
//! index, is not used, nor are those above it: the tables are built from the records then.

mod block;
mod check;
mod filter;
mod header;
mod imaged;
mod view;
mod walk;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use heed::RoTxn;
use index::Family;

pub(super) use self::block::{Block, FINGERPRINTS, Place, encode, entry_bytes};
pub(super) use self::check::check;
pub(super) use self::filter::Filters;
pub(super) use self::header::{Header, Headers, Section, digest};
pub(super) use self::imaged::{Image, Imaged};
pub(super) use self::view::word_of;
pub(super) use self::walk::Walk;

use super::environment::Opened;
use super::errors::Failure;
use super::limits::LAYERS_MAX;

/// The keys in `meta` of the headers of the layers, from the lowest one on.
pub(super) const HEADER_KEYS: [&str; LAYERS_MAX] =
    ["image", "image_1", "image_2", "image_3", "image_4", "image_5", "image_6", "image_7"];

/// The key in `meta` of the last generation that was begun.
pub(super) const GENERATION_KEY: &str = "image_generation";

/// The memory of filters where nothing else is said: enough for 2 million documents.
const FILTER_BYTES_MAX: u64 = 64 << 20;

/// The place of a family in [`Family::ALL`].
pub(super) fn place_of(family: Family) -> u8 {
    let place = Family::ALL.iter().position(|of| *of == family);
    place.and_then(|place| u8::try_from(place).ok()).unwrap_or(u8::MAX)
}

/// The terms on which this process uses images.
#[derive(Debug)]
pub(super) struct Terms {
    /// The generation that is not used, because a block of it is damaged.
    refused: AtomicU32,
    /// True once a header that does not fit was met.
    has_warned: AtomicBool,
    filter_bytes_max: AtomicU64,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            refused: AtomicU32::new(0),
            has_warned: AtomicBool::new(false),
            filter_bytes_max: AtomicU64::new(FILTER_BYTES_MAX),
        }
    }
}

impl Terms {
    /// Lets the filters of the layers found later take this much memory.
    pub(super) fn give_filters(&self, n_bytes: u64) {
        self.filter_bytes_max.store(n_bytes, Ordering::Relaxed);
    }

    pub(super) fn filter_bytes_max(&self) -> u64 {
        self.filter_bytes_max.load(Ordering::Relaxed)
    }

    /// The generation that is not used, 0 for none.
    pub(super) fn refused(&self) -> u32 {
        self.refused.load(Ordering::Acquire)
    }

    /// Refuses a generation, and says so unless it was refused before.
    pub(super) fn refuse(&self, generation: u32, what: &str) {
        if self.refused.swap(generation, Ordering::AcqRel) != generation {
            warn(what);
        }
    }

    /// Says once that a header does not fit.
    fn warn_of_header(&self, what: &str) {
        if !self.has_warned.swap(true, Ordering::Relaxed) {
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

/// The headers in a snapshot, of which those that are sound are fit for use.
pub(super) fn find(opened: &Opened, txn: &RoTxn<'_>, terms: &Terms) -> Result<Headers, Failure> {
    if opened.image().is_none() {
        return Ok(Headers::default());
    }
    let mut found = Headers::find(opened, txn)?;
    if let Some(what) = found.defect {
        terms.warn_of_header(what);
    }
    let refused = terms.refused();
    if let Some(place) = found.sound.iter().position(|header| header.generation == refused) {
        found.sound.truncate(place);
    }
    Ok(found)
}
