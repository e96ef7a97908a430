//! Memory limits of a run: warns before the run outgrows them, and stops the run in order.

use std::error::Error;
use std::fmt;

use engine::clusters::RunTexts;
use program::{MemoryLimits, MemoryUse};

use crate::numbers::megabytes;

/// Share of the input after which the initial growth of memory is over: dictionaries, buffers,
/// caches.
const SHARE_OF_START: f64 = 0.1;

/// Share of the input from which on the growth since then predicts the total.
const SHARE_THAT_TELLS: f64 = 0.25;

/// Fixed memory takes less than one part in `PART_THAT_TELLS` of a limit.
const PART_THAT_TELLS: u64 = 4;

/// Divisor of a limit: a run near it goes on only where more than one part was given back, so that
/// it does not give back a little at each look.
const PART_GIVEN_BACK: u64 = 64;

/// Divisor of a limit: from one part of it on, an index on disk may hold too much in memory.
const PART_HELD: u64 = 2;

/// Divisor of a limit: a further look at an index is due after so much more memory.
const PART_BETWEEN_LOOKS: u64 = 16;

/// Compares the memory of this process with its limits.
pub(crate) struct Watch {
    limits: MemoryLimits,
    /// The memory at the last look at an index, in bytes; 0 where there was none since memory was
    /// low.
    looked_at: u64,
    /// The share of the input read at the end of the initial growth, and the memory at that time in
    /// bytes.
    start: Option<(f64, u64)>,
    has_warned: bool,
}

/// The error of a run stopped near its memory limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutOfMemory {
    pub(crate) used: MemoryUse,
    has_journal: bool,
}

impl Watch {
    /// Starts to watch.
    pub(crate) fn new() -> Self {
        Self { limits: MemoryLimits::of_job(), looked_at: 0, start: None, has_warned: false }
    }

    /// Fails if so little memory is left that the run must stop.
    pub(crate) fn check(&self, has_journal: bool) -> Result<(), OutOfMemory> {
        self.check_leap(0, has_journal)
    }

    /// Fails if a step that takes `n_bytes` more, in leaps, would come near the limit.
    pub(crate) fn check_step(&self, n_bytes: u64) -> Result<(), OutOfMemory> {
        self.check_leap(n_bytes, false)
    }

    /// Fails if `n_bytes` more, taken at once, would come near the limit.
    pub(crate) fn check_leap(&self, n_bytes: u64, has_journal: bool) -> Result<(), OutOfMemory> {
        self.room_for(n_bytes).map_err(|used| OutOfMemory { used, has_journal })
    }

    /// Returns the limit, in bytes, where it is time to look at what an index on disk holds in
    /// memory.
    pub(crate) fn asks_for_room(&mut self) -> Option<u64> {
        let used = self.limits.nearest()?;
        if used.n_bytes < used.n_bytes_max / PART_HELD {
            self.looked_at = 0;
            return None;
        }
        let is_due = used.n_bytes >= self.looked_at + used.n_bytes_max / PART_BETWEEN_LOOKS;
        is_due.then(|| {
            self.looked_at = used.n_bytes;
            used.n_bytes_max
        })
    }

    /// Fails if `n_bytes` more come near the limit. Before it fails the system gets back what the
    /// allocator keeps for later: how much that is differs from run to run.
    fn room_for(&self, n_bytes: u64) -> Result<(), MemoryUse> {
        let is_near = |used: &MemoryUse| used.with_more(n_bytes).is_near_limit();
        let Some(before) = self.limits.nearest().filter(is_near) else { return Ok(()) };
        program::give_memory_back();
        let Some(used) = self.limits.nearest() else { return Ok(()) };
        let n_given_back = before.n_bytes.saturating_sub(used.n_bytes);
        let has_room = n_given_back > used.n_bytes_max / PART_GIVEN_BACK && !is_near(&used);
        if has_room { Ok(()) } else { Err(used) }
    }

    /// Returns a warning, once, if the whole input will exceed the limit at the present rate of
    /// growth.
    pub(crate) fn foresee(&mut self, share_read: f64) -> Option<String> {
        if self.has_warned || !(SHARE_OF_START..1.0).contains(&share_read) {
            return None;
        }
        let used = self.limits.nearest()?;
        let now = (share_read, used.n_bytes);
        let start = *self.start.get_or_insert(now);
        if share_read < start.0 + SHARE_THAT_TELLS - SHARE_OF_START {
            return None;
        }
        let foreseen = at_end(start, now);
        self.has_warned =
            used.n_bytes > used.n_bytes_max / PART_THAT_TELLS && foreseen > used.n_bytes_max as f64;
        self.has_warned.then(|| {
            format!(
                "this run may need about {:.0} MB of memory, and may take {}: it stops before it takes more; {WAYS_OUT}",
                megabytes(foreseen as u64),
                used.limit(),
            )
        })
    }
}

/// Bytes at the end of the input, extrapolated from two shares of the input and the bytes at each.
fn at_end((share_before, before): (f64, u64), (share_now, now): (f64, u64)) -> f64 {
    let grown = now.saturating_sub(before) as f64;
    before as f64 + grown * (1.0 - share_before) / (share_now - share_before)
}

/// Advice for the user.
const WAYS_OUT: &str =
    "give it more, or an index in HBase (--store); the profile minhash (the default of dedup) needs least";

/// Divisor of the free memory: the share of a part of the work that can do with less.
const SHARE_OF_FREE: u64 = 3;

/// Divisor of the free memory: the part of records that are read and not written yet.
const PARTS_UNDER_WAY: usize = 16;

/// Bytes that share the cost of a durable call well.
const BATCH_BYTES_MAX: usize = 32 << 20;

/// The least memory in which something can be sorted.
const SHARE_MIN: u64 = 8 << 20;

/// The most memory that sorting gains by.
const SHARE_MAX: u64 = 1 << 30;

/// The bytes of memory for a part of the work that can do with less: a third of what is free below
/// the limits, within bounds.
pub(crate) fn share() -> usize {
    room().min(SHARE_MAX) as usize
}

/// The bytes of memory for a part of the work that goes over its input as often as memory is short:
/// a third of what is free below the limits.
pub(crate) fn room() -> u64 {
    (MemoryLimits::of_job().n_free_bytes() / SHARE_OF_FREE).max(SHARE_MIN)
}

/// The most bytes of records that are read and not written yet: a sixteenth of what is free below
/// the limits, since each is held as text and as a line too.
pub(crate) fn under_way() -> usize {
    MemoryLimits::of_job().n_free_bytes() as usize / PARTS_UNDER_WAY
}

/// The most bytes of lines and texts in one call of a store. A journal wants the same calls of a
/// run that goes on, so they do not depend on the memory then.
pub(crate) fn batch_bytes(has_journal: bool) -> usize {
    if has_journal { BATCH_BYTES_MAX } else { under_way().min(BATCH_BYTES_MAX) }
}

/// The bytes for recently read texts in a step that takes `n_bytes` itself: a sixth of what is left
/// below the limits then, since blocks and texts are held side by side.
pub(crate) fn cache(n_bytes: u64) -> usize {
    let left = MemoryLimits::of_job().n_free_bytes().saturating_sub(n_bytes) / (2 * SHARE_OF_FREE);
    left.min(RunTexts::CACHE_BYTES as u64) as usize
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stopped before memory runs out, at {}: {WAYS_OUT}", self.used)?;
        if self.has_journal {
            f.write_str("; with more memory the same command goes on from its last checkpoint")?;
        }
        Ok(())
    }
}

impl Error for OutOfMemory {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_at_the_start_does_not_grow() {
        let mut at_ends = [(0.25, 130), (0.5, 180), (0.25, 90)].map(|now| at_end((0.1, 100), now));
        at_ends.iter_mut().for_each(|n_bytes| *n_bytes = n_bytes.round());
        assert_eq!(at_ends, [280.0, 280.0, 100.0]);
    }
}
