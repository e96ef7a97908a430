//! The limits of a store and of its environment.

use std::time::Duration;

use index::backend::SWEPT_MIN;

/// The most running threads that have read, in all processes together. Each keeps its place in
/// LMDB's table of readers, so it takes the table's lock once, not in every call.
pub(super) const READERS_MAX: u32 = 4096;

/// The changes applied to the tables in one step: some milliseconds, for which searches wait and a
/// snapshot is held.
const FOLLOW_STEP: u64 = 16_384;

/// The time a call waits for its turn to write while others commit nothing, by default.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// The greatest file whose pages are all checked when it is opened, which takes a twentieth of a
/// second at most. Of a larger file only pages with keys are checked then, and all pages before a
/// call that reads all records.
pub(super) const LOOKED_THROUGH_MAX: u64 = 128 << 20;

/// The most layers of an image.
pub(super) const LAYERS_MAX: usize = 8;

/// The most bytes of entries in a block of an image: four blocks fill a page of LMDB.
const BLOCK_BYTES: usize = 984;

/// A thread is started in a tenth of the time in which it searches for so many documents.
const AHEAD_MIN: usize = 64;

/// The limits of a store, which the tests set lower.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// The map of a new environment; it doubles when it is full. Address space, not disk or memory.
    pub(super) map_bytes: usize,
    /// The most removals kept for followers: some 40 MB. Below it there is one for each document,
    pub(super) removals_kept_max: u64,
    /// or this number where there are fewer documents.
    pub(super) removals_kept_min: u64,
    pub(super) follow_step: u64,
    /// The least bound on expired documents swept by one write.
    pub(super) swept_min: usize,
    /// The time a call waits for its turn.
    pub(super) patience: Duration,
    /// The documents in no image, or in one and gone, up to which none is written.
    pub(super) image_min: u64,
    /// The most layers of an image, [`LAYERS_MAX`] or less.
    pub(super) layers_max: usize,
    /// The most bytes of entries in a block of an image.
    pub(super) block_bytes: usize,
    /// The most blocks that an image takes over, writes or drops in one transaction.
    pub(super) blocks_at_once: usize,
    /// The fewest documents of a batch for which a thread searches ahead.
    pub(super) ahead_min: usize,
    /// The most hits that all such threads hold together, at 16 bytes each.
    pub(super) ahead_hits_max: usize,
    /// The file up to which opening looks at every page.
    pub(super) looked_through_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            map_bytes: 64 << 20,
            removals_kept_max: 1_000_000,
            removals_kept_min: 1_000,
            follow_step: FOLLOW_STEP,
            swept_min: SWEPT_MIN,
            patience: PATIENCE,
            image_min: 10_000,
            layers_max: LAYERS_MAX,
            block_bytes: BLOCK_BYTES,
            blocks_at_once: 8_192,
            ahead_min: AHEAD_MIN,
            ahead_hits_max: 1 << 20,
            looked_through_max: LOOKED_THROUGH_MAX,
        }
    }
}
