//! Standard input as it arrives: a program at its other end may write a line now and then.

use std::io;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Longest time for which a portion takes further records. A line is decided and written within a
/// second of its arrival, and the rest of that second is for the work on it.
const PORTION_TIME_MAX: Duration = Duration::from_millis(400);

/// Longest wait for a further record of a portion.
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// The age of a portion of records read from standard input.
#[derive(Default)]
pub(super) struct Live {
    /// Time of the first record; `None` for an empty portion.
    begun: Option<Instant>,
}

impl Live {
    /// Begins another portion.
    pub(super) fn restart(&mut self) {
        self.begun = None;
    }

    /// Returns true if a portion with records is to be handed on: it is old, or no further line is
    /// at hand. `has_line` says that a whole line was read already.
    pub(super) fn is_due(&mut self, has_line: bool) -> bool {
        let age = self.begun.get_or_insert_with(Instant::now).elapsed();
        age >= PORTION_TIME_MAX || (!has_line && !arrives_within(PAUSE_MAX))
    }
}

/// Waits for bytes on standard input, or its end. Returns false if none came in time.
fn arrives_within(time: Duration) -> bool {
    let Ok(time) = Timespec::try_from(time) else { return true };
    let stdin = io::stdin();
    let mut watched = [PollFd::new(&stdin, PollFlags::IN)];
    // An input that cannot be watched is read, and reading reports its faults.
    poll(&mut watched, Some(&time)).map_or(true, |n_ready| n_ready > 0)
}
